"""Variances, effective sizes and tail indices against `arch` and ArviZ."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from arch.covariance.kernel import Bartlett, QuadraticSpectral

import polystein as ps
from polystein.inference.autocorrelation import autocovariances
from polystein.inference.pareto import pareto_index
from polystein.inference.variance import LongRun
from tests.conftest import Array
from tests.statistical.samplers import autoregressive

with warnings.catch_warnings():
    # It announces its next major version.
    warnings.simplefilter("ignore", FutureWarning)
    import arviz

REPLICATES = 60
RULES: list[Any] = [ps.InitialSequence(), ps.BatchMeans()]


def long_run(rule: Any, chains: Array) -> LongRun:
    """Chains of shape (chain, row, column)."""
    lengths = (chains.shape[1],) * chains.shape[0]
    accumulator = rule.accumulator(lengths, chains.shape[2])
    for number, chain in enumerate(chains):
        accumulator.update(chain, None, number, 0)
    result: LongRun = accumulator.finalise()
    return result


def replicates(chains: int, rows: int, columns: int, memory: float) -> Array:
    rng = np.random.default_rng(11)
    draws = autoregressive(rng, REPLICATES * chains, rows, columns, memory)
    return draws.reshape(REPLICATES, chains, rows, columns)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_one_chain_has_the_long_run_covariance_of_arch(rule: Any, memory: float) -> None:
    """Two columns, x_1 and x_1 + x_2: variances and covariance, on average over replicates.

    The kernel's bandwidth is twice the one of the smallest mean squared error for this AR(1)
    process, 1.3221 (a n)^(1/5) with a = 4 r^2 / (1 - r)^4 (Andrews, 1991): averages over
    replicates can afford the noise, and its bias is a quarter. The bound is 10 % and what the
    replicates leave open.
    """
    strength = 4.0 * memory**2 / (1.0 - memory) ** 4
    bandwidth = max(1.0, 2.0 * 1.3221 * (strength * 4000) ** 0.2)
    ratios = []
    for chains in np.cumsum(replicates(1, 4000, 2, memory), axis=3):
        ours = 4000 * long_run(rule, chains).covariance
        theirs = np.asarray(QuadraticSpectral(chains[0], bandwidth=bandwidth).cov.long_run)
        ratios.append([ours[0, 0] / theirs[0, 0], ours[1, 1] / theirs[1, 1],
                       ours[0, 1] / theirs[0, 1]])  # fmt: skip
    means = np.mean(ratios, axis=0)
    errors = np.std(ratios, axis=0) / math.sqrt(REPLICATES)
    assert np.all(np.abs(means - 1.0) < 0.1 + 3.0 * errors), means


@pytest.mark.parametrize("lags", [0, 5, 40])
def test_a_window_of_given_lags_is_that_of_arch(lags: int) -> None:
    """Bartlett's kernel from our autocovariances, to rounding."""
    column = autoregressive(np.random.default_rng(3), 1, 500, 1, 0.8)[0]
    gamma = autocovariances([column - column.mean()])[:, 0]
    weights = 1.0 - np.arange(1, lags + 1) / (lags + 1.0)
    ours = gamma[0] + 2.0 * float(weights @ gamma[1 : lags + 1])
    theirs = np.asarray(Bartlett(column, bandwidth=lags).cov.long_run)[0, 0]
    assert ours == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("chains", "rows"), [(4, 1000), (1, 4000)])
def test_effective_sizes_are_those_of_arviz(chains: int, rows: int, memory: float) -> None:
    """To 10 %: it splits chains, and adds the variance between them."""
    ratios = []
    for draws in replicates(chains, rows, 1, memory):
        ours = long_run(ps.InitialSequence(), draws).ess[0]
        ratios.append(ours / float(arviz.ess(draws[..., 0], method="mean")))
    assert np.median(ratios) == pytest.approx(1.0, abs=0.1)
    assert np.quantile(np.abs(np.log(ratios)), 0.9) < 0.25


@pytest.mark.parametrize("index", [0.0, 0.3, 0.7, 1.1])
@pytest.mark.parametrize("n", [400, 3600])
def test_pareto_indices_are_those_of_arviz(index: float, n: int) -> None:
    """Its index is drawn towards 1/2 as by 10 further values, which is done here by hand."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        uniform = rng.random(n)
        values = -np.log(uniform) if index == 0.0 else (uniform**-index - 1.0) / index
        _, theirs = arviz.psislw(np.log(values), reff=1.0)
        count = 3 * math.isqrt(n)
        ours = (pareto_index(values)[0] * count + 5.0) / (count + 10.0)
        assert ours == pytest.approx(float(theirs), abs=1e-6)
