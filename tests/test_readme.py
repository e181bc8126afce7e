"""The README's Python examples run, and print what the README says they print."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
# A ```python block and, if it follows at once, the ```text block with its output.
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\n*^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
# An example that needs another library; the integration tests run it.
ELSEWHERE = re.compile(r"<!-- examples/\w+\.py -->\n(?=```python\n)")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(text: str) -> list[tuple[str, str | None]]:
    """Return (code, printed output or None) of every example, in order."""
    return [
        (found[1], found[2])
        for found in EXAMPLE.finditer(text)
        if not any(one.end() == found.start() for one in ELSEWHERE.finditer(text))
    ]


def run(text: str) -> None:
    """Run the examples of `text` one after another in one namespace and compare outputs."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for code, expected in examples(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), namespace)
        if expected is not None:
            same = doctest.OutputChecker().check_output(expected, printed.getvalue(), FLAGS)
            assert same, (
                f"the README shows\n{expected}\nbut the example prints\n{printed.getvalue()}"
            )


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
