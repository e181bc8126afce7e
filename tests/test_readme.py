"""The README's Python examples run, and print what the README says they print."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.pages import blocks, examples, run

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_only_example_is_one_that_the_integration_tests_run() -> None:
    text = README.read_text(encoding="utf-8")
    found = [block for block in blocks(text) if block.language == "python"]
    assert [block.where for block in found] == ["example"]
    assert examples(text) == []


def test_links_work_wherever_the_readme_is_shown() -> None:
    """PyPI shows no other file of the repository: every link leads to a page of the site."""
    text = README.read_text(encoding="utf-8")
    site = PROJECT["urls"]["Documentation"].rstrip("/") + "/"
    inline = re.findall(r"\]\(([^)]*)\)", text)
    targets = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.M))
    assert [one for one in [*inline, *targets.values()] if not one.startswith("https://")] == []
    used = {
        words
        for line in text.splitlines()
        if not line.startswith("[")
        for words in targets
        if f"[{words}]" in line
    }
    assert used == set(targets)
    for address in targets.values():
        page, _, anchor = address.removeprefix(site).partition("#")
        assert page != address
        if page.startswith("_images/"):
            assert (DOCS / page.replace("_images", "images")).exists()
            continue
        source = DOCS / page.replace(".html", ".md")
        assert source.exists() or source.parent.name == "generated", page
        if anchor:
            headings = re.findall(r"^#+ (.*)$", source.read_text("utf-8"), re.M)
            slugs = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
            assert anchor in slugs


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
