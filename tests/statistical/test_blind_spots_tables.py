"""Tables of blind spots, rivals, stores and seeds: they hold, begin as published, and are shown.

They must be complete: run ``python -m studies.check`` first.
"""

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
PARTS = ("blind_spots", "head_to_head", "memory_and_store", "seeds")
#: Lines that fall short of what is promised.
SHORT: set[str] = set()


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.check.{part}")


def twentieths() -> list[tuple[str, str, int]]:
    """A twentieth of every line, at least one replicate; none where there are no studies."""
    if importlib.util.find_spec("studies") is None:
        return []
    return [
        (part, study(part).STUDY.name(cell), max(1, cell.replicates // 20))
        for part in PARTS
        for cell in study(part).STUDY.cells
    ]


@pytest.mark.parametrize("part", PARTS)
def test_the_table_holds_every_cell_in_full_and_no_other(part: str) -> None:
    one = study(part).STUDY
    rows = one.stored()
    expected = [(one.name(cell), cell.replicates) for cell in one.cells]
    assert [(name, int(row["replicates"])) for name, row in rows.items()] == expected
    for row in rows.values():
        assert re.fullmatch(r"[xp.]+", row["decisions"])
        assert len(row["decisions"]) == int(row["replicates"])
        assert float(row["rate"]) == pytest.approx(
            row["decisions"].count("x") / len(row["decisions"]), abs=5e-5
        )
        assert int(row["seed"]) == one.seed


@pytest.mark.parametrize(("part", "name", "count"), twentieths())
def test_the_cells_begin_as_published(part: str, name: str, count: int) -> None:
    one = study(part).STUDY
    decisions = one.stored()[name]["decisions"]
    assert one.marks_of(one.cell(name), range(count)) == decisions[:count]


@pytest.mark.parametrize("part", PARTS)
def test_the_page_shows_the_table(part: str) -> None:
    assert "\n".join(study(part).markdown()) in PAGE.read_text(encoding="utf-8")


def test_what_is_promised_of_blind_spots_holds() -> None:
    blind = study("blind_spots")
    lines = blind.lines()
    assert [line.label for line in lines] == list(blind.SPOTS)
    assert {line.label for line in lines if not line.holds} == SHORT


def test_no_kernel_test_is_ahead_by_more_than_a_tenth() -> None:
    head = study("head_to_head")
    found = head.comparisons()
    assert len(found) == 2 * len(study("head_to_head_targets").FAULTS)
    assert [(one.label, one.dimension) for one in found if one.ahead is not None] == []


def test_verdicts_are_the_same_in_memory_and_in_a_file() -> None:
    rows = study("memory_and_store").STUDY.stored().values()
    assert sum(int(row["replicates"]) for row in rows) == 400
    assert sum(int(row["verdicts_differ"]) for row in rows) == 0


def test_at_most_one_border_case_hangs_on_the_seed() -> None:
    seeds = study("seeds")
    rows = seeds.STUDY.stored().values()
    assert sum(int(row["replicates"]) for row in rows) == 40
    assert sum(int(row["changes"]) for row in rows) <= seeds.MOST_CHANGES
