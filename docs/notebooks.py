"""Execute stored notebooks: `python -m docs.notebooks [NAME...]`, by default all in docs/tutorials.

Tutorials that need more than polystein and a minute are notebooks with stored outputs. The build of
the site shows these outputs and runs nothing. This command runs the notebooks in place, and stores
a hash of their code cells, so that `tests/test_tutorials.py` notices code that was edited later.
What the notebooks import has to be installed, and `nbclient` with `ipykernel`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polystein

TUTORIALS = Path(__file__).parent / "tutorials"
#: Seconds that one cell may take. Samplers of a heavy tutorial run for minutes.
TIME_LIMIT = 3600
#: Paths that say on which machine a notebook ran, and in which environment.
MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|root|tmp|work|opt|usr|var|mnt|Users|private)/[\w.-]"
    r"|\b[A-Za-z]:\\{1,2}\w|ipykernel_\d|site-packages"
)


def text_of(source: str | list[str]) -> str:
    """A multiline string of a notebook, which may be stored as a list of lines."""
    return source if isinstance(source, str) else "".join(source)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are executed."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def fingerprint(notebook: dict[str, Any]) -> str:
    """SHA-256 of the code cells in their order; text and outputs do not count."""
    sources = [text_of(cell["source"]) for cell in code_cells(notebook)]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def shown(output: dict[str, Any]) -> str:
    """What a reader sees of an output as text."""
    parts = [output.get("text", ""), *output.get("traceback", [])]
    parts += [value for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
    return "\n".join(text_of(part) for part in parts)


def faults_of_cell(cell: dict[str, Any]) -> list[str]:
    """What must not be published: errors, logs, machine paths, pictures without text."""
    found = []
    described = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
    quiet = "remove-stderr" in cell["metadata"].get("tags", [])
    for output in cell["outputs"]:
        path = MACHINE_PATH.search(shown(output))
        if output["output_type"] == "error":
            found.append(f"an error is stored: {output['ename']}")
        if path:
            found.append(f"an output has a path of the machine: {path[0]}")
        if output.get("name") == "stderr" and not quiet:
            found.append("a warning or a log is stored: silence it, or tag the cell remove-stderr")
        if any(kind.startswith("image/") for kind in output.get("data", {})) and not described:
            found.append("a picture has no text: set mystnb.image.alt in the cell's metadata")
    return found


def faults(notebook: dict[str, Any]) -> list[str]:
    """Why a stored notebook must not be published; nothing if it may be."""
    stored = notebook["metadata"].get("polystein", {})
    found = []
    if stored.get("sha256") != fingerprint(notebook):
        found.append("the code is not the code that ran: run `python -m docs.notebooks` again")
    if not stored.get("version"):
        found.append("the version of polystein is not stored")
    for place, cell in enumerate(code_cells(notebook)):
        if cell.get("execution_count") != place + 1:
            found.append(f"code cell {place}: did not run in its order")
        found += [f"code cell {place}: {words}" for words in faults_of_cell(cell)]
    return found


def execute(path: Path) -> None:
    """Run a notebook from top to bottom in a new directory, and store it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=TIME_LIMIT,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "polystein": {"sha256": fingerprint(notebook), "version": polystein.__version__},
    }
    found = faults(notebook)
    if found:
        sys.exit(f"{path.name} was not stored:\n" + "\n".join(found))
    nbformat.write(notebook, path)


def main(names: list[str]) -> None:
    """Execute the named notebooks, and say how long each took."""
    for path in [TUTORIALS / f"{name}.ipynb" for name in names] or sorted(
        TUTORIALS.glob("*.ipynb")
    ):
        start = time.monotonic()
        execute(path)
        print(f"{path.name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
