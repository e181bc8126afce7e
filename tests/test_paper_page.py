"""docs/paper.md: every item of the paper is there, and everything that it names exists."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

import polystein
from polystein.cli.reproduce import Study
from tests.pages import examples

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "paper.md"
TEXT = PAGE.read_text("utf-8")

#: All that has a number in the paper, and the claims of its sections.
ITEMS = (
    "Definition 3.1", "Proposition 3.2", "Theorem 3.3", "Corollary 3.4", "Theorem 3.5",
    "Remark 3.6", "Proposition 3.7", "Remark 3.8",
    "Definition 4.1", "Proposition 4.2", "Proposition 4.3", "Theorem 4.4",
    "Algorithm 1", "Algorithm 2", "Algorithm 3",
    *(f"Equation ({number})" for number in range(1, 27)),
    "Section 3.2", "Section 3.3", "Section 3.4", "Section 3.4.1",
    "Section 4.1", "Section 4.2", "Section 4.3", "Section 4.4",
    "Experiment 1", "Experiment 2", "Gauss KSD", "IMQ KSD", "FSSD-opt", "RFSD",
    "Figure 1", "Figure 2", "Table 1", "Figure 3", "Figure 4", "Figure 5",
)  # fmt: skip
#: Where the paper is wrong; each has a row of errata.
ERRATA = (
    "Remark 3.6", "Definition 4.1", "Algorithm 2", "Experiment 1", "Experiment 2", "MSNR",
    "Section 5.2", "sign(", "200 replicates", "σ² =", "Section 5.3",
)  # fmt: skip


def rows(text: str, width: int) -> list[list[str]]:
    """Cells of the tables of this width; an escaped bar is no border."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [cells for cells in split if len(cells) == width and not set(cells[0]) <= {"-"}]


def items() -> dict[str, list[str]]:
    return {cells[0]: cells[1:] for cells in rows(TEXT, 5) if cells[0] != "item"}


def quoted(text: str) -> list[str]:
    """Return what stands in backticks, outside of fenced blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M))


TESTS = sorted({name for name in quoted(TEXT) if name.startswith("tests/") and "::" in name})
NAMES = sorted({found for name in quoted(TEXT) for found in re.findall(r"\bps\.([\w.]+)", name)})
COMMANDS = sorted({name for name in quoted(TEXT) if name.startswith("polystein reproduce")})
LINKS = sorted(set(re.findall(r"\]\(([^)#]+\.(?:md|png|csv))", TEXT)))


def test_every_item_of_the_paper_is_on_the_page_and_nothing_else() -> None:
    assert set(items()) == set(ITEMS)
    assert len(rows(TEXT, 5)) == len(ITEMS) + TEXT.count("| item |")


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_a_function_or_command_and_a_test(item: str) -> None:
    words, function, tests, _ = items()[item]
    assert words
    assert re.search(r"`(ps\.\w+|polystein reproduce \w+)", function)
    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", tests)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_public(name: str) -> None:
    found: object = polystein
    for part in name.split("."):
        assert part in dir(found), f"ps.{name} has no {part}"
        found = getattr(found, part)
    assert name.split(".")[0] in polystein.__all__


@pytest.mark.parametrize("name", TESTS)
def test_every_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("link", LINKS)
def test_every_file_that_is_linked_exists(link: str) -> None:
    assert (PAGE.parent / link).is_file()


def test_files_and_commands_that_are_named_exist() -> None:
    for name in quoted(TEXT):
        if re.fullmatch(r"(docs|tests|studies|src)/[\w/.]+", name):
            assert (ROOT / name).exists(), name
        if found := re.match(r"python -m (\w+)", name):
            assert (ROOT / found[1] / "__main__.py").is_file(), name
    assert {command.removeprefix("polystein reproduce ") for command in COMMANDS} == set(Study)


def test_sections_that_are_linked_exist() -> None:
    for page, section in re.findall(r"\]\(([\w/.]*)#([\w-]+)\)", TEXT):
        text = (PAGE.parent / page).read_text("utf-8") if page else TEXT
        headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
        anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in headings}
        assert section in anchors, (page, section)


@pytest.mark.parametrize("word", ERRATA)
def test_every_erratum_is_listed_with_evidence(word: str) -> None:
    errata = [cells for cells in rows(TEXT, 4) if cells[0] != "where"]
    assert all(all(cells) for cells in errata)
    assert any(word in cells[0] or word in cells[1] for cells in errata)


def test_the_examples_print_what_the_page_shows() -> None:
    namespace: dict[str, object] = {}
    assert len(examples(TEXT)) == 2
    for code, expected in examples(TEXT):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/paper.md", "exec"), namespace)
        assert printed.getvalue() == expected


def test_the_test_of_the_page_sees_what_does_not_exist() -> None:
    with pytest.raises(AssertionError, match="no lambda_psd_tset"):
        test_every_function_is_public("lambda_psd_tset")
    with pytest.raises(AssertionError):
        test_every_test_exists("tests/test_paper_page.py::test_of_nothing")
