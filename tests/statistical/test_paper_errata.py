"""Evidence for the errata in docs/paper.md that takes a simulation."""

import math

import pytest
from scipy.stats import binomtest

from polystein.experiments.engine.cells import Cell, Replicate
from polystein.experiments.paper import experiment2, published
from polystein.experiments.paper.methods import Method

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning"),
]

SETS = 10
# Sweeps of Gibbs sampling; the paper has 2,000, and so has the study.
SWEEPS = 300


def rejections(spread: float, method: Method) -> int:
    cell = Cell.of("errata", replicates=1, perturbation=spread, n=1000, d=50, sweeps=SWEEPS)
    rows = [experiment2.task(Replicate(cell, index, seed=0), [method]) for index in range(SETS)]
    return sum(int(row["rejected"] or 0) for (row,) in rows)


def test_the_noise_of_table_1_has_standard_deviations_and_not_variances() -> None:
    """Table 1 says sigma^2 = 0.02, where PSD of order 0 rejects in 0.23 of the repetitions."""
    (line,) = [
        one
        for one in published.experiment2()
        if (one.perturbation, one.method, one.order) == (0.02, "psd", 0)
    ]
    assert line.rejection_rate == 0.23
    as_variance = rejections(math.sqrt(0.02), Method("psd", 0))
    assert as_variance == SETS
    assert binomtest(as_variance, SETS, line.rejection_rate).pvalue < 1e-5
    as_deviation = rejections(0.02, Method("psd", 0))
    assert binomtest(as_deviation, SETS, line.rejection_rate).pvalue > 0.01
