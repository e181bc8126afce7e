"""Stored notebooks are those that ran, and all tutorials can be shown to everybody.

Tutorials in Markdown are executed by the build of the site, where an error in a cell is an error.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from docs.notebooks import (
    changed_inputs,
    faults,
    fingerprint,
    package_hash,
    stale,
    unsupported,
    without_deprecations,
)

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
STORED = sorted(TUTORIALS.glob("*.ipynb"))
WRITTEN = sorted(path for path in TUTORIALS.glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_notebook_is_the_one_that_ran(path: Path) -> None:
    assert faults(json.loads(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_written_tutorial_is_a_notebook_for_the_build(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n# ")
    assert "```{code-cell}\n" in text
    # Blocks of this kind would not be executed by the build.
    assert "```python" not in text


def notebook() -> dict[str, Any]:
    """A notebook with a picture, as it is stored."""
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"mystnb": {"image": {"alt": "a line"}}},
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["3 of 4 / 5 rows\n"]},
                {"output_type": "display_data", "data": {"image/png": "aGFs"}, "metadata": {}},
            ],
            "source": ["x = 1\n", "draw(x)"],
        },
    ]
    one = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    one["metadata"] = {"polystein": {"sha256": fingerprint(one), "version": "0.2.0"}}
    return one


def test_a_notebook_without_faults_has_none() -> None:
    assert faults(notebook()) == []


def test_text_and_the_form_of_sources_do_not_change_the_hash() -> None:
    one = notebook()
    one["cells"][0]["source"] = "# Another title"
    one["cells"][1]["source"] = "x = 1\ndraw(x)"
    assert faults(one) == []


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("cells", 1, "source"), "x = 2\ndraw(x)", "the code is not the code that ran"),
        (("metadata", "polystein"), {}, "the code is not the code that ran"),
        (("metadata", "polystein", "version"), "", "the version of polystein is not stored"),
        (("cells", 1, "execution_count"), 2, "did not run in its order"),
        (("cells", 1, "metadata"), {}, "a picture has no text"),
        (("cells", 1, "outputs", 0, "text"), "see /home/me/x.nc", "path of the machine: /home/m"),
        (("cells", 1, "outputs", 0, "name"), "stderr", "a warning or a log is stored"),
        (("cells", 1, "outputs", 0, "text"), r"see C:\Users\me", "path of the machine"),
        (
            ("cells", 1, "outputs", 0),
            {"output_type": "error", "ename": "KeyError", "evalue": "", "traceback": []},
            "an error is stored: KeyError",
        ),
    ],
)
def test_faults_are_noticed(place: tuple[Any, ...], value: object, words: str) -> None:
    one = copy.deepcopy(notebook())
    *way, last = place
    inside: Any = one
    for step in way:
        inside = inside[step]
    inside[last] = value
    assert any(words in found for found in faults(one)), faults(one)


def package(folder: Path) -> Path:
    """A package of two files, of which no notebook runs the second."""
    for name in ("check.py", "cli/app.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("", None),
        ("check.py", "the package"),
        ("new.py", "the package"),
        ("cli/app.py", None),
        ("code", "its code"),
    ],
)
def test_a_changed_input_makes_a_notebook_stale(
    tmp_path: Path, change: str, words: str | None
) -> None:
    home, one = package(tmp_path / "package"), notebook()
    one["metadata"]["polystein"]["package"] = package_hash(home)
    if change == "code":
        one["cells"][1]["source"] = "draw(2)"
    elif change:
        (home / change).write_text("x = 2\n", encoding="utf-8")
    assert changed_inputs(one, home) == ([words] if words else [])
    (tmp_path / "one.ipynb").write_text(json.dumps(one), encoding="utf-8")
    assert len(stale(tmp_path, home)) == (words is not None)


def test_line_ends_are_no_change(tmp_path: Path) -> None:
    home = package(tmp_path)
    before = package_hash(home)
    (home / "check.py").write_bytes(b"x = 1\r\n")
    assert package_hash(home) == before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is 0.28 sd, 28 % of 4,000 draws, and 2.5 million rows.", []),
        ("It is 0.29.", ["0.29"]),
        ("It is 27 % of 3,000 draws.", ["27 %", "3,000"]),
        ("In 12 groups, as `0.9` and [here](x-99.md) say, and 10⁸.", []),
        ("Not 3.1 million.", ["3.1"]),
    ],
)
def test_numbers_of_the_text_are_among_the_outputs(text: str, found: list[str]) -> None:
    one = notebook()
    one["cells"][0]["source"] = text
    one["cells"][1]["outputs"][0]["text"] = "sd 0.2849, 4000 draws of 2513000"
    assert unsupported(one) == found


def test_what_libraries_warn_each_other_of_is_left_out() -> None:
    warned = "/x/y.py:106: DeprecationWarning: old\n  from z import w\n"
    one = {"output_type": "stream", "name": "stderr", "text": warned}
    two = {"output_type": "stream", "name": "stderr", "text": f"{warned}a real one\n"}
    three = {"output_type": "stream", "name": "stdout", "text": warned}
    kept = without_deprecations([one, two, three])
    assert [output["text"] for output in kept] == ["a real one\n", warned]
