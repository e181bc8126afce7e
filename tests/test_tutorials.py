"""Stored notebooks are those that ran, and all tutorials can be shown to everybody.

Tutorials in Markdown are executed by the build of the site, where an error in a cell is an error.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from docs.notebooks import faults, fingerprint

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
