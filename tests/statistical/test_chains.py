"""Verdicts on Markov chains: right ones keep the level, faulty ones are found.

``studies/chains.csv``, the table behind ``docs/mcmc.md``, keeps every decision: the first ones of
each cell are made again, and the rates of all are held against what was promised.
"""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from tests.statistical.chains import CELLS, FAULTS, OTHERS, SIZES, Cell, check, outcome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning"),
]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mcmc.md"
# Replicates of every cell that are run again: a twentieth.
FEW = 25


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.chains")


# Cells of `check` are of the one before its shares were chosen anew, and have to be made again.
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.test is not check], ids=str)
def test_decisions_are_as_published(cell: Cell, study: ModuleType) -> None:
    """A rejection here is one there: the decisions are stored one by one."""
    published = study.stored()[cell.name]["decisions"]
    result = outcome(cell, FEW)
    assert len(published) == cell.replicates
    assert study.marks(result) == published[:FEW]
    assert cell.least_ess == 0.0 or result.ess.min() >= cell.least_ess


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_published_rate_is_as_promised(cell: Cell, study: ModuleType) -> None:
    row = study.stored()[cell.name]
    rate = row["decisions"].count("x") / cell.replicates
    assert f"{rate:.4f}" == row["rate"]
    assert cell.low is None or rate >= cell.low
    assert cell.high is None or rate <= cell.high
    assert cell.least_ess == 0.0 or float(row["ess_least"]) >= cell.least_ess


def test_the_table_holds_every_cell_and_no_other(study: ModuleType) -> None:
    assert list(study.stored()) == [cell.name for cell in CELLS]


def test_the_page_shows_the_table(study: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for cells in (SIZES, FAULTS, OTHERS):
        assert "\n".join(study.markdown(cells)) in page
