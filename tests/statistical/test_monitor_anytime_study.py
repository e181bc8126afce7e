"""The study of looks at any time: its table holds, begins as published, and is on the page."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binom

import polystein as ps
from tests.statistical.samplers import autoregressive

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
#: Median delay with looks at any time over that of five fixed looks.
MOST_DELAY = 1.5


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.monitor_anytime")


def test_the_table_holds_every_cell_in_full_and_no_other(study: ModuleType) -> None:
    rows = study.STUDY.stored()
    assert list(rows) == [study.name(cell) for cell in study.CELLS]
    for cell in study.CELLS:
        row = rows[study.name(cell)]
        runs = 10_000 if cell["fault"] == "right" else 100
        assert int(row["replicates"]) == len(row["decisions"]) == runs
        expected = study.rates(cell, row["decisions"])
        assert {name: row[name] for name in expected} == {
            name: str(value) for name, value in expected.items()
        }


def test_false_alarms_stay_within_the_level(study: ModuleType) -> None:
    """Also of batches of fewer than ten autocorrelation times, 19 draws each."""
    for name, row in study.STUDY.stored().items():
        if name.startswith("right"):
            assert int(row["alarms"]) <= binom.ppf(0.999, 10_000, 0.05), name


def test_delays_are_at_most_those_of_five_looks_and_a_half(study: ModuleType) -> None:
    """Of faults that five looks find in 0.95 of the runs."""
    rows, judged = study.STUDY.stored(), 0
    for fault in {name.rpartition("; ")[0] for name in rows if name.endswith("; any")}:
        five, found = rows[f"{fault}; five looks"], rows[f"{fault}; any"]
        if float(five["rate"]) >= 0.95:
            judged += 1
            assert float(found["median_delay"]) <= MOST_DELAY * float(five["median_delay"]), fault
    assert judged >= 5


def test_a_part_begins_as_published(study: ModuleType) -> None:
    for cell in study.CELLS:
        found = study.STUDY.marks_of(cell, range(1 if cell["fault"] == "right" else 3))
        assert study.STUDY.stored()[study.name(cell)]["decisions"].startswith(found)


def test_bets_side_by_side_are_those_of_a_monitor(study: ModuleType) -> None:
    draws = autoregressive(np.random.default_rng(1), 12, 3000, 4, 0.9).reshape(3, 4, 3000, 4)
    draws += 0.1
    for run, pvalue in zip(draws, study.pvalues(draws, 200), strict=True):
        monitor = ps.Monitor(lambda x: -x, study.ORDER, looks="any", batch=200, chains=4)
        (look,) = monitor.update(run)
        assert look.pvalue == pytest.approx(pvalue, rel=1e-9)
        assert look.pvalue < 1.0


def test_the_page_shows_the_tables(study: ModuleType) -> None:
    assert "\n".join(study.markdown()) in PAGE.read_text(encoding="utf-8")
