"""The README's Python examples run, and print what the README says they print."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.pages import blocks, examples, run

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_only_example_is_one_that_the_integration_tests_run() -> None:
    text = README.read_text(encoding="utf-8")
    found = [block for block in blocks(text) if block.language == "python"]
    assert [block.where for block in found] == ["example"]
    assert examples(text) == []


def links(text: str) -> dict[str, str]:
    """The addresses of the README's links, all of which stand below the text."""
    assert re.findall(r"\]\((?!https://)", text) == []
    return dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.M))


def test_links_lead_to_files_of_the_repository_and_are_used() -> None:
    text = README.read_text(encoding="utf-8")
    targets = links(text)
    words = re.sub(r"^\[[^\]]+\]: .*$", "", text, flags=re.M)
    assert {one for one in targets if f"[{one}]" in words} == set(targets)
    for address in targets.values():
        path, _, anchor = address.partition("#")
        assert (ROOT / path).is_file(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text("utf-8"), re.M)
            slugs = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
            assert anchor in slugs


def test_every_link_has_an_address_on_pypi() -> None:
    """PyPI shows no other file of the repository: the build puts addresses for paths."""
    text = README.read_text(encoding="utf-8")
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for one in hook["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    found = links(text)
    assert all(address.startswith("https://") for address in found.values())
    assert found["picture"].endswith("/raw/docs/images/demo.png")


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
