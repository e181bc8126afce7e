"""The README's Python examples run, and print what the README says they print."""

import re
from pathlib import Path

import pytest

from tests.pages import examples, run

README = Path(__file__).parent.parent / "README.md"


def test_readme_examples_print_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = README.read_text(encoding="utf-8")
    assert any(expected is not None for _, expected in examples(text)), "no example with output"
    monkeypatch.chdir(tmp_path)
    run(text)


def test_examples_of_other_libraries_are_left_to_the_integration_tests() -> None:
    run("<!-- examples/x.py -->\n```python\nimport nothing_of_the_kind\n```\n")


def test_a_wrong_output_is_noticed() -> None:
    with pytest.raises(AssertionError, match="but the example prints"):
        run("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")


def test_each_command_is_one_line_after_its_marker() -> None:
    text = README.read_text(encoding="utf-8")
    for marker in ("demo-command", "test-command"):
        found = re.search(rf"<!-- {marker} -->\n```\w*\n(.*)\n```\n", text)
        assert found, f"README.md needs one line in a block after <!-- {marker} -->"
