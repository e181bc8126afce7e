"""The variance of a mean of independent rows, weighted or not."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.errors import DegenerateError
from polystein.inference.variance import LongRun
from tests.conftest import Array, arbitrary_weights


def long_run(columns: Array, weights: Array | None = None, block: int = 300) -> LongRun:
    accumulator = ps.IID().accumulator((len(columns),), columns.shape[1])
    for low in range(0, len(columns), block):
        part = None if weights is None else weights[low : low + block]
        accumulator.update(columns[low : low + block], part, 0, low)
    return accumulator.finalise()


@pytest.mark.parametrize("block", [300, 7])
def test_unweighted_is_the_sample_variance_over_n(block: int) -> None:
    columns = np.random.default_rng(0).normal(5.0, [1.0, 3.0], (300, 2))
    result = long_run(columns, block=block)
    assert result.mean == pytest.approx(columns.mean(axis=0), rel=1e-13)
    assert result.covariance == pytest.approx(np.cov(columns.T) / 300, rel=1e-12)
    assert result.ess == pytest.approx([300.0, 300.0], rel=1e-14)
    assert np.all(np.isinf(result.df))


@pytest.mark.parametrize("block", [300, 7])
def test_equal_weights_on_any_scale_are_no_weights(block: int) -> None:
    columns = np.random.default_rng(0).normal(5.0, [1.0, 3.0], (300, 2))
    plain, weighted = long_run(columns), long_run(columns, np.full(300, 1e-3), block)
    for name in ("mean", "covariance", "ess"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name), rel=1e-11)
    # Weighted rows get a t reference, which for so many is nearly the normal.
    assert weighted.df == pytest.approx([299.0, 299.0])


@pytest.mark.parametrize("block", [300, 7])
def test_weighted_is_the_formula_of_the_docstring(block: int) -> None:
    columns = np.random.default_rng(0).normal(5.0, [1.0, 3.0], (300, 2))
    weights = arbitrary_weights(300)[1]
    result = long_run(columns, 37.0 * weights, block)
    mean = weights @ columns
    deviations = weights[:, None] * (columns - mean)
    squares = float(weights @ weights)
    assert result.mean == pytest.approx(mean, rel=1e-13)
    expected = deviations.T @ deviations / (1.0 - squares)
    assert result.covariance == pytest.approx(expected, rel=1e-11)
    assert result.ess == pytest.approx([1 / squares] * 2, rel=1e-12)


def test_weighted_z_statistics_are_standard_normal() -> None:
    """Draws of N(0, 1) reweighted to N(0.3, 1), whose mean is then tested against 0.3."""
    rng = np.random.default_rng(1)
    z = []
    for _ in range(1000):
        draws = rng.standard_normal((300, 1))
        weights = np.exp(0.3 * draws[:, 0])
        result = long_run(draws - 0.3, weights)
        z.append(result.mean[0] / np.sqrt(result.covariance[0, 0]))
    rejections = int(np.sum(np.abs(z) > stats.norm.ppf(0.975)))
    assert stats.binomtest(rejections, 1000, 0.05).pvalue > 0.001


def test_it_says_what_it_is() -> None:
    assert repr(ps.IID()) == "IID()"
    assert ps.IID() == ps.IID()


@pytest.mark.parametrize("variance", [ps.IID(), ps.InitialSequence(), ps.BatchMeans()])
def test_all_weight_on_one_row_is_no_verdict(variance: Any) -> None:
    log_weights = np.zeros(400)
    log_weights[-1] = 200.0
    draws = np.random.default_rng(1).standard_normal((400, 2))
    sample = ps.Sample(draws, -draws, log_weights=log_weights)
    with pytest.raises(DegenerateError, match="`log_weights` must leave at least 2 effective"):
        ps.psd_test(sample, order=1, split=ps.BlockSplit(0.5, gap=0), variance=variance)
