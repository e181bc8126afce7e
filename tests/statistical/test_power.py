"""Power: as many rejections as the paper publishes, judged by Fisher's exact test."""

import pytest
from scipy.stats import fisher_exact

from polystein.experiments.paper import published
from tests.statistical.rejections import Cell, count_rejections

# What a warning says of one replicate changes nothing in how many are rejected.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning"),
]

REPLICATES = 200
CHANCE = 0.003
TELLING = (0.1, 0.9)

# Every published cell of PSD and lambda-PSD in which a difference could show.
CELLS = {
    Cell(row.method, row.order, row.sampler, row.n, row.dimension): row
    for row in published.experiment1()
    if row.order is not None and TELLING[0] <= row.rejection_rate <= TELLING[1]
}


def test_cells_cover_both_methods_and_every_sampler() -> None:
    assert len(CELLS) == 45
    assert {cell.method for cell in CELLS} == {"psd", "lambda_psd"}
    assert {cell.sampler for cell in CELLS} == {"gaussian", "perturbed", "student_t", "laplace"}


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_power_is_the_published_one(cell: Cell) -> None:
    row = CELLS[cell]
    rejections = count_rejections(cell, REPLICATES)
    table = [
        [rejections, REPLICATES - rejections],
        [row.rejections, row.replicates - row.rejections],
    ]
    message = f"{rejections / REPLICATES} here, {row.rejection_rate} published"
    assert fisher_exact(table).pvalue > CHANCE, message
