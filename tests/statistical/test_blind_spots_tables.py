"""Tables of blind spots, rivals, stores and seeds: complete, on the page, and they begin again."""

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
PARTS = ("blind_spots", "head_to_head", "memory_and_store", "seeds")
# Where a kernel test is ahead of `check` by more than 0.1, as the page says.
BEHIND = {
    ("mixture of two: weights 0.3, 0.7", 2),
    ("mixture of two: weights 0.3, 0.7", 6),
    ("comb of five: teeth moved by 0.1", 2),
    ("comb of five: teeth moved by 0.1", 6),
    ("logistic: hole of radius 0.7 at (1.5, 0)", 2),
    ("mixture of two: rounded to 0.5", 2),
}


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.check.{part}")


def twentieths() -> list[tuple[str, str, int]]:
    """A twentieth of the replicates of every line of `check`; none where there are no studies."""
    if importlib.util.find_spec("studies") is None:
        return []
    return [
        (part, study(part).STUDY.name(cell), cell.replicates // 20)
        for part in ("blind_spots", "head_to_head")
        for cell in study(part).STUDY.cells
        if cell["method"] == "check"
    ]


@pytest.mark.parametrize("part", PARTS)
def test_the_table_holds_every_cell_in_full_and_no_other(part: str) -> None:
    one = study(part).STUDY
    found = [(name, int(row["replicates"])) for name, row in one.stored().items()]
    assert found == [(one.name(cell), cell.replicates) for cell in one.cells]


@pytest.mark.parametrize(("part", "name", "count"), twentieths())
def test_the_cells_begin_as_published(part: str, name: str, count: int) -> None:
    one = study(part).STUDY
    decisions = one.stored()[name]["decisions"]
    assert one.marks_of(one.cell(name), range(count)) == decisions[:count]


@pytest.mark.parametrize("part", PARTS)
def test_the_page_shows_the_table(part: str) -> None:
    assert "\n".join(study(part).markdown()) in PAGE.read_text(encoding="utf-8")


def test_every_promise_about_blind_spots_holds() -> None:
    lines = study("blind_spots").lines()
    assert sum(line.wanted is not None for line in lines) >= 20
    assert [line.label for line in lines if not line.holds] == []


def test_kernel_tests_are_ahead_where_the_page_says() -> None:
    found = study("head_to_head").comparisons()
    assert {(one.label, one.dimension) for one in found if one.ahead} == BEHIND


def test_no_verdict_depends_on_where_the_rows_are() -> None:
    rows = study("memory_and_store").STUDY.stored().values()
    assert sum(int(row["replicates"]) for row in rows) == 400
    assert {row["verdicts_differ"] for row in rows} == {"0"}


def test_two_of_forty_border_cases_depend_on_the_seed() -> None:
    rows = study("seeds").STUDY.stored().values()
    assert sum(int(row["changes"]) for row in rows) == 2
