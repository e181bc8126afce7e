"""Below every table of a study stand the command, the seed and the commits that made it."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))

# Examples and studies are in the repository, but not beside the tests of an installed package.
pytestmark = pytest.mark.skipif(not (ROOT / "studies").exists(), reason="there are no studies here")


@pytest.fixture
def sources() -> ModuleType:
    return importlib.import_module("studies._sources")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_lines_are_those_of_the_committed_tables(sources: ModuleType, page: Path) -> None:
    """If not: `python -m studies._sources`."""
    text = page.read_text("utf-8")
    assert sources.with_sources(text) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_of_a_study_has_its_line(page: Path) -> None:
    text = page.read_text("utf-8")
    ends = re.findall(r"<!-- end of table: (\w+) -->\n(\n<!-- from: )?", text)
    assert [name for name, mark in ends if not mark and name != "statistics"] == []


def test_every_committed_table_of_a_page_is_named() -> None:
    named = set(re.findall(r"<!-- from: (\S+\.csv)", "".join(p.read_text("utf-8") for p in PAGES)))
    alone = {path.relative_to(ROOT).as_posix() for path in (ROOT / "studies").glob("*.csv")}
    assert alone <= named
    assert {"studies/check/size.csv", "studies/refine/level.csv"} <= named


def test_a_line_says_command_seed_and_commits(sources: ModuleType, tmp_path: Path) -> None:
    table = ROOT / "studies" / "check" / "size.csv"
    assert re.fullmatch(
        r"\*Made by `python -m studies.check size`, seed \d+, commits? [0-9a-f]{7}.*\.\*",
        sources.source(table),
    )
    (tmp_path / "studies").mkdir()
    few = tmp_path / "studies" / "few.csv"
    few.write_text("cell,commit\na,aaaaaaaaaa\nb,bbbbbbbbbb aaaaaaaaaa\n", encoding="utf-8")
    sources.ROOT = tmp_path
    try:
        expected = "*Made by `python -m studies.few`, seed 0, commits aaaaaaa, bbbbbbb.*"
        assert sources.source(few) == expected
        mark = "<!-- from: studies/few.csv, seed 3 -->\n"
        new = sources.with_sources(f"{mark}\nText.\n")
        assert new == f"{mark}\n{expected.replace('seed 0', 'seed 3')}\n\nText.\n"
        assert sources.with_sources(new) == new
    finally:
        sources.ROOT = ROOT
