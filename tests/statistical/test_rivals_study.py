"""The study of the rivals' size: its table holds, begins again as published, and is retold."""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import polystein as ps

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "rivals.md"
METHODS = [
    "ksd_imq", "ksd_gauss", "nystrom", "fssd_opt", "fssd_rand", "rfsd", "psd_l2", "psd_l2_free",
    "ksdagg_gauss",
]  # fmt: skip
ONLY_SHORT = ["ksdagg_imq", "ksdagg_imq_small"]
NAMES = [
    f"{method}, n={n}, d={d}"
    for method in METHODS + ONLY_SHORT
    for n in ((300, 1000) if method in METHODS else (300,))
    for d in (2, 16)
]
# A twentieth of the replicates, or what a few seconds allow.
FEW, MILLISECONDS = 50, 3000.0


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.rivals_size")


def test_the_table_holds_every_cell_in_full_and_no_other(study: ModuleType) -> None:
    rows = study.STUDY.stored()
    assert list(rows) == NAMES == [study.name(cell) for cell in study.CELLS]
    for row in rows.values():
        assert int(row["replicates"]) == len(row["decisions"]) == 1000
        assert int(row["rejections"]) == row["decisions"].count("x")
        assert float(row["rate"]) == int(row["rejections"]) / 1000


def test_no_rate_is_above_what_chance_allows_at_the_level(study: ModuleType) -> None:
    """99.9 % of the tests whose size is 0.05 stay within 73 rejections of 1,000."""
    rows = study.STUDY.stored()
    assert {row["highest"] for row in rows.values()} == {"0.0730"}
    above = [name for name, row in rows.items() if float(row["rate"]) > float(row["highest"])]
    assert not above


@pytest.mark.parametrize("name", NAMES)
def test_the_cells_begin_as_published(name: str, study: ModuleType) -> None:
    """A rejection here is one there: the decisions are stored one by one."""
    cell = study.STUDY.cell(name)
    count = min(FEW, round(MILLISECONDS / cell.cost))
    assert count >= 9
    decisions = study.STUDY.stored()[name]["decisions"]
    assert study.STUDY.marks_of(cell, range(count)) == decisions[:count]


@pytest.mark.parametrize(
    ("test", "method"),
    [
        (ps.ksd_test, "ksd_imq"),
        (ps.ksd_test, "ksd_gauss"),
        (ps.nystrom_ksd_test, "nystrom"),
        (ps.fssd_test, "fssd_opt"),
        (ps.rfsd_test, "rfsd"),
        (ps.psd_l2_test, "psd_l2"),
        (ps.ksdagg_test, "ksdagg_imq"),
    ],
)
def test_the_docstrings_tell_the_same(test: object, method: str, study: ModuleType) -> None:
    """Each pair of sizes in d = 2 and 16 at n = 300, as counts or as rates."""
    rows = study.STUDY.stored()
    counts = [int(rows[f"{method}, n=300, d={d}"]["rejections"]) for d in (2, 16)]
    text = " ".join((inspect.getdoc(test) or "").split())
    told = re.findall(r"([\d.]+)(?: \(d = 2\))? and ([\d.]+)(?: \(d = 16\))?", text)
    pairs = [[round(float(x) * (1000 if "." in x else 1)) for x in pair] for pair in told]
    assert counts in pairs


def test_the_docstring_of_ksdagg_tells_what_fewer_replicates_do(study: ModuleType) -> None:
    count = study.STUDY.stored()["ksdagg_imq_small, n=300, d=2"]["rejections"]
    text = " ".join((inspect.getdoc(ps.ksdagg_test) or "").split())
    assert f"in {count} (d = 2) with B1 = 300 and B2 = 150" in text


def test_the_page_shows_the_table(study: ModuleType) -> None:
    assert "\n".join(study.markdown()) in PAGE.read_text(encoding="utf-8")
