"""Size: how often draws from the target itself are rejected at level 0.05."""

import pytest
from scipy.stats import binomtest, fisher_exact

from tests.statistical.rejections import LEVEL, Cell, count_rejections

# What a warning says of one replicate changes nothing in how many are rejected.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning"),
]

N = 1000
REPLICATES = 2000
# What a correct test fails by chance: one seed in a thousand.
CHANCE = 0.001

NOMINAL = [
    Cell(method, order, "gaussian", N, dimension)
    for method in ("psd", "lambda_psd")
    for order, dimension in ((3, 8), (4, 16))
]

# At d = 2 the test column u is so skewed that the z-test of the paper rejects too often.
# Documented: 0.082 (PSD, order 3) and 0.066 (lambda-PSD, order 4) over 3,000 replicates. The
# replicates here are so many that a true size of 0.065 is told from 0.05 in 98 of 100 runs.
SKEWED = {
    Cell("psd", 3, "gaussian", N, 2): (246, 3000),
    Cell("lambda_psd", 4, "gaussian", N, 2): (198, 3000),
}
SKEWED_REPLICATES = 6000


@pytest.mark.parametrize("cell", NOMINAL, ids=str)
def test_size_is_nominal(cell: Cell) -> None:
    rejections = count_rejections(cell, REPLICATES)
    assert binomtest(rejections, REPLICATES, LEVEL).pvalue > CHANCE, rejections / REPLICATES


@pytest.mark.parametrize("cell", SKEWED, ids=str)
def test_size_at_two_dimensions_is_what_is_documented(cell: Cell) -> None:
    """Above the level, and by as much as the docstring of `psd_test` warns of."""
    rejections = count_rejections(cell, SKEWED_REPLICATES)
    documented, replicates = SKEWED[cell]
    above = binomtest(rejections, SKEWED_REPLICATES, LEVEL, alternative="greater")
    table = [
        [rejections, SKEWED_REPLICATES - rejections],
        [documented, replicates - documented],
    ]
    assert above.pvalue < CHANCE, rejections / SKEWED_REPLICATES
    assert fisher_exact(table).pvalue > CHANCE, rejections / SKEWED_REPLICATES
