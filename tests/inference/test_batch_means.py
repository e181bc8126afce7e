"""Batch means of many rows by sums over short batches: the columns themselves say the same."""

import numpy as np
import pytest
from numpy.typing import NDArray

from polystein.inference import batch_means
from polystein.inference.batch_means import BatchMeans, ShortBatches
from polystein.inference.variance import ChainAccumulator

Array = NDArray[np.float64]


def autoregressive(rows: int, memory: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((rows, 2))
    for t in range(1, rows):
        draws[t] = memory * draws[t - 1] + np.sqrt(1 - memory**2) * draws[t]
    return 3.0 + draws


def fed(accumulator: ShortBatches | ChainAccumulator, chains: list[Array], size: int,
        weights: list[Array] | None = None, first: int = 0):  # fmt: skip
    for number, chain in enumerate(chains):
        for low in range(first, len(chain), size):
            part = slice(low, min(low + size, len(chain)))
            own = None if weights is None else weights[number][part]
            accumulator.update(chain[part], own, number, low)
    return accumulator


def test_short_batches_of_the_batch_length_give_the_batches_themselves() -> None:
    chains = [autoregressive(1000, 0.5, seed) for seed in (1, 2)]
    rule = BatchMeans(length=50)
    short = fed(ShortBatches(rule, [1000, 1000], 2, 50), chains, 333).finalise()
    whole = fed(ChainAccumulator(rule), chains, 333).finalise()
    for found, expected in zip(short, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_weighted_short_batches_give_the_weighted_batches() -> None:
    chains = [autoregressive(1000, 0.5, seed) for seed in (1, 2)]
    weights = [np.random.default_rng(seed).exponential(size=1000) for seed in (3, 4)]
    rule = BatchMeans(length=50)
    short = fed(ShortBatches(rule, [1000, 1000], 2, 50), chains, 333, weights).finalise()
    whole = fed(ChainAccumulator(rule), chains, 333, weights).finalise()
    for found, expected in zip(short, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("memory", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_automatic_batches_of_short_ones_find_the_same_variance(memory: float) -> None:
    """AR(1): the variance of the mean is (1 + rho)/(1 - rho)/n; batches say it within 20 %."""
    chains = [autoregressive(60_000, memory, seed) for seed in (5, 6)]
    rule = BatchMeans()
    accumulator = ShortBatches(rule, [60_000] * 2, 2, 8)
    short = fed(accumulator, chains, 4096, first=20_003).finalise()
    whole = fed(ChainAccumulator(rule), chains, 4096, first=20_003).finalise()
    np.testing.assert_allclose(short.mean, whole.mean, rtol=1e-12)
    exact = (1.0 + memory) / (1.0 - memory) / (2 * 39_997)
    np.testing.assert_allclose(np.diagonal(short.covariance), exact, rtol=0.2)
    np.testing.assert_allclose(short.covariance, whole.covariance, rtol=0.2, atol=0.2 * exact)


def test_short_batches_merge_in_any_order() -> None:
    chains = [autoregressive(5000, 0.5, seed) for seed in (1, 2)]
    whole = fed(ShortBatches(BatchMeans(), [5000, 5000], 2, 16), chains, 500).finalise()
    first = ShortBatches(BatchMeans(), [5000, 5000], 2, 16)
    second = first.zero()
    for number, chain in enumerate(chains):
        for low in range(0, 5000, 700):
            part = second if low < 2500 else first
            part.update(chain[low : low + 700], None, number, low)
    for found, expected in zip(first.merge(second).finalise(), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_memory_does_not_grow_with_the_rows() -> None:
    for rows in (10**7, 10**9):
        accumulator = BatchMeans().accumulator([rows // 4] * 4, 3)
        assert isinstance(accumulator, ShortBatches)
        assert len(accumulator._sums) <= batch_means.MOST_SHORT_BATCHES + 4
    assert isinstance(BatchMeans().accumulator([1000], 3), ChainAccumulator)
