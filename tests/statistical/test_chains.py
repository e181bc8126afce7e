"""Verdicts on Markov chains: right ones keep the level, faulty ones are found.

Every cell runs in full. What it comes to is also the line of ``studies/chains.csv``, the table
behind ``docs/mcmc.md``.
"""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.statistical.chains import CELLS, FAULTS, OTHERS, SIZES, Cell, outcome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning"),
]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mcmc.md"
PROMISED = [cell for cell in CELLS if cell.low is not None or cell.high is not None]
# Of cells without a promise the first replicates are run again.
FEW = 40


@pytest.fixture
def study() -> ModuleType:
    """The study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("studies.chains")


@pytest.mark.parametrize("cell", PROMISED, ids=str)
def test_rejections_are_as_promised_and_as_published(cell: Cell, study: ModuleType) -> None:
    result = outcome(cell)
    published = study.stored()[cell.name]
    message = f"{result.rate} at a least effective size of {result.ess.min():.0f}"
    assert cell.low is None or result.rate >= cell.low, message
    assert cell.high is None or result.rate <= cell.high, message
    assert result.ess.min() >= cell.least_ess, message
    assert result.replicates == int(published["replicates"])
    assert result.rejections == int(published["rejections"])


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell not in PROMISED], ids=str)
def test_the_other_cells_begin_as_published(cell: Cell, study: ModuleType) -> None:
    """A rejection here is one there: the decisions are stored one by one."""
    published = study.stored()[cell.name]["decisions"]
    assert len(published) == cell.replicates
    assert study.marks(outcome(cell, FEW)) == published[:FEW]


def test_the_table_holds_every_cell_and_no_other(study: ModuleType) -> None:
    assert list(study.stored()) == [cell.name for cell in CELLS]


def test_the_page_shows_the_table(study: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for cells in (SIZES, FAULTS, OTHERS):
        assert "\n".join(study.markdown(cells)) in page


def test_the_code_on_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {})
