"""Execute stored notebooks: `python -m docs.notebooks [--stale] [--trial] [NAME...]`, or all.

Tutorials that need more than polystein and a minute are notebooks with stored outputs. The build of
the site shows these outputs and runs nothing. This command runs the notebooks in place, and stores
hashes of what went in: their code cells, which `tests/test_tutorials.py` compares at once, and the
package, for which a release is refused. `--stale` runs those with another input only, `--trial`
stores nothing: this is how `.ci/run integration` runs the short ones. What the notebooks import has
to be installed, and `nbclient` with `ipykernel`. Numbers in the text have to be among the outputs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import time
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).parent / "tutorials"
PACKAGE = Path(__file__).parents[1] / "src" / "polystein"
#: Rooms that no tutorial with stored outputs enters, and the version, which a release changes.
UNUSED = {"experiments", "cli", "testing", "_version.py"}
#: Seconds that one cell may take. Samplers of a heavy tutorial run for minutes.
TIME_LIMIT = 3600
#: Paths that say on which machine a notebook ran, and in which environment.
MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|root|tmp|work|opt|usr|var|mnt|Users|private)/[\w.-]"
    r"|\b[A-Za-z]:\\{1,2}\w|ipykernel_\d|site-packages"
)
#: A warning of one library about another: its place, and the line that it quotes.
DEPRECATION = re.compile(r"^\S+:\d+: DeprecationWarning: .*\n(?: .*\n)?", re.MULTILINE)


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


def package_hash(package: Path = PACKAGE) -> str:
    """SHA-256 of the files that a notebook may have run, whatever their line ends."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if path.suffix in {".py", ".json"} and name.parts[0] not in UNUSED:
            content = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def changed_inputs(notebook: dict[str, Any], package: Path = PACKAGE) -> list[str]:
    """What went into the stored outputs and is another one by now."""
    stored = notebook["metadata"].get("polystein", {})
    now = {"sha256": fingerprint(notebook), "package": package_hash(package)}
    words = {"sha256": "its code", "package": "the package"}
    return [words[name] for name, value in now.items() if stored.get(name) != value]


def stale(folder: Path = TUTORIALS, package: Path = PACKAGE) -> list[str]:
    """A sentence for every notebook whose outputs come from other inputs than those of today."""
    found = []
    for path in sorted(folder.glob("*.ipynb")):
        inputs = changed_inputs(json.loads(path.read_text("utf-8")), package)
        if inputs:
            words = " and ".join(inputs)
            found.append(
                f"{path.name} was run before {words} changed: `python -m docs.notebooks --stale`"
            )
    return found


NUMBER = re.compile(r"(?<![\w.,/])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w⁻⁰-⁹]|\.\d)( ?%)?")
#: Units in the text, as parts of what an output prints.
UNITS = {"million": 1e6, "GB": 1e3}


def unsupported(notebook: dict[str, Any]) -> list[str]:
    """Numbers in the text that no output and no code has, at the precision of the text.

    Whole numbers below 13 are not looked for: they would be found anywhere.
    """
    cells = code_cells(notebook)
    printed = [text_of(cell["source"]) for cell in cells]
    printed += [shown(output) for cell in cells for output in cell.get("outputs", [])]
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", "\n".join(printed))
    known = {abs(float(one)) for one in re.findall(r"\d+(?:\.\d+)?(?:e[-+]\d+)?", plain)}
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        text = re.sub(r"`[^`]*`|\]\([^)]*\)|^#.*$", "", text_of(cell["source"]), flags=re.M)
        for one in NUMBER.finditer(text):
            digits = len(one[2]) - 1 if one[2] else 0
            value = float(one[1].replace(",", "") + (one[2] or ""))
            unit = UNITS.get(re.match(r"\s*(\w*)", text[one.end() :])[1], 1.0)  # type: ignore[index]
            scales = {1.0, 1.0 / unit, 100.0 if one[3] else 1.0}
            bound = 0.5001 * 10.0**-digits
            same = any(abs(scale * k - value) <= bound for scale in scales for k in known)
            if (digits or value > 12) and not same:
                found.append(one[0].strip())
    return found


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
    found += [f"no output has the number {one} of the text" for one in unsupported(notebook)]
    for place, cell in enumerate(code_cells(notebook)):
        if cell.get("execution_count") != place + 1:
            found.append(f"code cell {place}: did not run in its order")
        found += [f"code cell {place}: {words}" for words in faults_of_cell(cell)]
    return found


def without_deprecations(outputs: list[Any]) -> list[Any]:
    """The outputs without what libraries warn each other of while they are imported."""
    kept = []
    for output in outputs:
        if output.get("name") == "stderr":
            output["text"] = DEPRECATION.sub("", text_of(output["text"]))
        if output.get("name") != "stderr" or output["text"]:
            kept.append(output)
    return kept


def execute(path: Path, *, trial: bool = False) -> None:
    """Run a notebook from top to bottom in a new directory, and store it unless on trial."""
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
    for cell in code_cells(notebook):
        cell["outputs"] = without_deprecations(cell["outputs"])
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "polystein": {
            "sha256": fingerprint(notebook),
            "package": package_hash(),
            "version": version("polystein"),
            "libraries": libraries(notebook),
        },
    }
    found = faults(notebook)
    if found:
        sys.exit(f"{path.name} was not stored:\n" + "\n".join(found))
    if not trial:
        nbformat.write(notebook, path)


def libraries(notebook: dict[str, Any]) -> dict[str, str]:
    """The versions of the libraries that the cells import."""
    text = "\n".join(text_of(cell["source"]) for cell in code_cells(notebook))
    names = set(re.findall(r"^(?:import|from) (\w+)", text, re.M)) - {"polystein"}
    places = packages_distributions()
    return {name: version(places[name][0]) for name in sorted(names) if name in places}


def main(words: list[str]) -> None:
    """Execute the named notebooks, and say how long each took."""
    parser = argparse.ArgumentParser(prog="python -m docs.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all in docs/tutorials if absent")
    parser.add_argument("--stale", action="store_true", help="only those with another input")
    parser.add_argument("--trial", action="store_true", help="run and judge, and store nothing")
    options = parser.parse_args(words)
    every = [TUTORIALS / f"{name}.ipynb" for name in options.names]
    for path in every or sorted(TUTORIALS.glob("*.ipynb")):
        if options.stale and not changed_inputs(json.loads(path.read_text("utf-8"))):
            print(f"{path.name}: nothing changed")
            continue
        start = time.monotonic()
        execute(path, trial=options.trial)
        print(f"{path.name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
