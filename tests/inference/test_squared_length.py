"""The squared length of an expectation: the literal U-statistic, no bias, errors that hold."""

import numpy as np
import pytest
from scipy.stats import binomtest

from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.inference.squared_length import SquaredLength, squared_length
from polystein.results.tolerance import quantile
from tests.reference.squared_length import concentration, u_statistic
from tests.statistical.samplers import autoregressive


def found(rows: np.ndarray, *, iid: bool = False) -> SquaredLength:
    """That of chains, or of independent rows, of shape (chain, row, column)."""
    chains, n, d = rows.shape
    batches = IndependentBatches([n] * chains, 256) if iid else EqualBatches([n] * chains)
    mean = rows.mean(axis=(0, 1))
    sums = np.zeros((batches.total, d))
    for chain in range(chains):
        np.add.at(sums, batches.of_rows(chain, 0, n), (rows[chain] - mean) / (chains * n))
    return squared_length(mean, sums, batches)


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_of_independent_rows_it_is_the_u_statistic(shift: float) -> None:
    rows = shift + np.random.default_rng(0).standard_normal((1, 40, 3))
    one = found(rows, iid=True)
    assert one.value == pytest.approx(u_statistic(rows[0]), rel=1e-10)
    n, mean = 40, rows[0].mean(axis=0)
    sums = (rows[0] - mean) / n
    trace = n / (n - 1) * np.sum(sums**2)
    square = 2.0 * trace**2 * concentration(sums)
    around = 4.0 * n / (n - 1) * np.sum((sums @ mean) ** 2)
    assert one.error**2 == pytest.approx(max(around - square, square), rel=1e-10)


def test_wide_rows_are_summed_the_other_way_round() -> None:
    rows = np.random.default_rng(1).standard_normal((1, 12, 30))
    n, sums = 12, (rows[0] - rows[0].mean(axis=0)) / 12
    trace = n / (n - 1) * np.sum(sums**2)
    least = 2.0 * trace**2 * concentration(sums)
    assert found(rows, iid=True).error ** 2 >= least * (1.0 - 1e-10)


def test_constant_columns_have_no_error() -> None:
    one = found(np.ones((1, 30, 2)), iid=True)
    assert (one.value, one.error) == (pytest.approx(2.0), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "rows"), [(0.0, 200), (0.5, 500), (0.8, 1500)])
@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_intervals_cover(memory: float, rows: int, shift: float) -> None:
    rng, truth, runs = np.random.default_rng(5), 5 * shift**2, 300
    covered = 0
    for _ in range(runs):
        one = found(shift + autoregressive(rng, 4, rows, 5, memory))
        covered += abs(one.value - truth) <= quantile(0.05, one.df) * one.error
    # Squares are skewed: the nominal 0.95 holds to about 0.02.
    assert binomtest(covered, runs, 0.93, alternative="less").pvalue > 1e-3


def test_the_noise_of_many_chains_is_subtracted_whole() -> None:
    """Of 32 chains or more each is one batch: deviations from their mean lack one of 32 parts."""
    rng, batches, found = np.random.default_rng(12), EqualBatches((32,) * 32), []
    for _ in range(60):
        means = rng.standard_normal((batches.total, 1000)) / batches.total
        mean = means.sum(axis=0)
        found.append(squared_length(mean, means - mean / batches.total, batches).value)
    # The bias would be 0.7 of an sd, which is 5 standard errors.
    assert abs(np.mean(found)) < 3.3 * np.std(found, ddof=1) / np.sqrt(60)
