"""The study of the monitor: its table holds, begins again as published, and is on the page."""

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
NULL = [
    "right; 4 chains of 10000 draws; order 3",
    "right; 1 chain of 40000 draws; order 3",
]
WRONG = [
    "variance 1.2 from half-way on; 4 chains of 10000 draws; order 3",
    "variance 1.5 from half-way on; 4 chains of 10000 draws; order 3",
    "mean 0.2 from half-way on; 4 chains of 10000 draws; order 3",
    "variance 1.1 from the start; 4 chains of 10000 draws; order 3",
    "mean 0.1 from the start; 4 chains of 10000 draws; order 3",
]
#: All looks together may raise so many false alarms in 2,000 runs, as a rate.
BOUND = 0.06


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.monitor")


def test_the_table_holds_every_cell_in_full_and_no_other(study: ModuleType) -> None:
    rows = study.STUDY.stored()
    assert list(rows) == NULL + WRONG == [study.name(cell) for cell in study.CELLS]
    for name, row in rows.items():
        assert int(row["replicates"]) == len(row["decisions"]) == (2000 if name in NULL else 200)
        assert int(row["rejections"]) == row["decisions"].count("x")


@pytest.mark.parametrize("name", NULL)
def test_false_alarms_stay_within_the_bound(name: str, study: ModuleType) -> None:
    """Not only the rate: a size above 0.05 is unlikely by a binomial test."""
    row = study.STUDY.stored()[name]
    assert float(row["rate"]) <= BOUND
    assert int(row["rejections"]) <= binom.ppf(0.999, 2000, 0.05)


@pytest.mark.parametrize("name", WRONG[1:3])
def test_a_sampler_that_goes_wrong_half_way_is_found(name: str, study: ModuleType) -> None:
    """A variance of 1.2 is not always found: the page shows its rate, and nothing is promised."""
    assert float(study.STUDY.stored()[name]["rate"]) >= 0.95


@pytest.mark.parametrize("name", NULL + WRONG)
def test_a_twentieth_begins_as_published(name: str, study: ModuleType) -> None:
    """An alarm here is one there: the decisions are stored one by one."""
    count = 100 if name in NULL else 10
    decisions = study.STUDY.stored()[name]["decisions"]
    assert study.STUDY.marks_of(study.STUDY.cell(name), range(count)) == decisions[:count]


def test_chains_that_come_one_after_the_other_raise_no_more_false_alarms() -> None:
    """A later chain's test function is fixed by all draws of the earlier ones."""
    alarms, runs = 0, 300
    for run in range(runs):
        draws = autoregressive(np.random.default_rng([run, 11]), 4, 4000, 3, 0.7)
        monitor = ps.Monitor(lambda x: -x, 2, looks=range(800, 4001, 800), chains=4)
        for chain in range(4):
            monitor.update(draws[chain], chain=chain)
        alarms += monitor.alarm
    assert alarms <= binom.ppf(0.999, runs, 0.05)


def test_the_page_shows_the_table(study: ModuleType) -> None:
    assert "\n".join(study.markdown()) in PAGE.read_text(encoding="utf-8")
