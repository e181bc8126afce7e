"""R-hat and ESS from sums over batches: the fast code against loops, and near the truth."""

import math

import numpy as np
import pytest

from polystein.inference.convergence_of_means import MeansConvergence, convergence_of_means
from tests.conftest import Array
from tests.reference import convergence as reference
from tests.statistical.samplers import autoregressive


def of_means(chains: Array, batches: int) -> MeansConvergence:
    count, length, dimension = chains.shape
    sums = chains.reshape(count, batches, -1, dimension).sum(axis=2).reshape(-1, dimension)
    rows = np.full(count * batches, length // batches)
    return convergence_of_means(
        sums, rows, np.repeat(np.arange(count), batches), chains.var(axis=(0, 1))
    )


@pytest.mark.parametrize("count", [1, 4])
def test_the_rhat_of_means_is_the_classical_one(count: int) -> None:
    chains = autoregressive(np.random.default_rng(2), count, 600, 3, 0.9)
    chains[0, :, 1] += 2.0
    halves = np.concatenate([chains[:, :300], chains[:, 300:]])
    expected = [reference.rhat(halves[:, :, column].tolist()) for column in range(3)]
    assert of_means(chains, 60).rhat == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.97])
def test_the_ess_of_means_is_near_the_truth(memory: float) -> None:
    """The truth is n (1 - memory)/(1 + memory).

    The largest of several variances is cautious. Sixteen batches of 750 rows are 11 times as long
    as the slowest chains' autocorrelation time, and miss a tenth of their variance.
    """
    chains = autoregressive(np.random.default_rng(4), 4, 3000, 40, memory)
    truth = 12_000 * (1.0 - memory) / (1.0 + memory)
    ess = of_means(chains, 60).ess
    assert 0.6 * truth < np.median(ess) < 1.2 * truth
    assert ess.max() <= 12_000.0


def test_the_ess_of_many_columns_is_not_halved() -> None:
    """The smallest of 60 columns of independent rows, each with 256 batches."""
    chains = autoregressive(np.random.default_rng(6), 4, 3200, 60, 0.0)
    ess = of_means(chains, 64).ess
    assert ess.min() > 0.75 * 12_800


def test_one_chain_elsewhere_is_worth_few_draws() -> None:
    chains = autoregressive(np.random.default_rng(4), 4, 1200, 2, 0.0)
    chains[3, :, 1] += 3.0
    found = of_means(chains, 60)
    assert found.rhat[1] > 1.5 > 1.01 > found.rhat[0]
    assert found.ess[1] < 60.0 < 1000.0 < found.ess[0]


def test_a_constant_column_has_no_rhat_of_means() -> None:
    chains = autoregressive(np.random.default_rng(4), 4, 600, 2, 0.0)
    chains[:, :, 0] = 2.0
    found = of_means(chains, 60)
    assert math.isnan(found.rhat[0])
    assert found.ess[0] == 2400.0


def test_batches_without_weight_count_for_nothing() -> None:
    draws = autoregressive(np.random.default_rng(3), 4, 600, 2, 0.5)
    sums, rows = draws.reshape(80, 30, 2).sum(axis=1), np.full(80, 30.0)
    chains, variances = np.repeat(np.arange(4), 20), draws.var(axis=(0, 1))
    expected = convergence_of_means(sums, rows, chains, variances)
    places = np.repeat(np.arange(80), 1 + (np.arange(80) % 7 == 0))  # some batches, once more
    empty = np.append(False, places[1:] == places[:-1])
    sums, rows = (np.where(empty, 0.0, part[places].T).T for part in (sums, rows))
    found = convergence_of_means(sums, rows, chains[places], variances)
    np.testing.assert_array_equal(found, expected)


def test_many_short_chains_and_uneven_batches() -> None:
    rng = np.random.default_rng(0)
    chains = np.repeat(np.arange(50), rng.integers(1, 4, 50))
    rows = rng.integers(3, 9, chains.size)
    values = [rng.standard_normal((length, 2)) for length in rows]
    sums = np.array([value.sum(axis=0) for value in values])
    found = convergence_of_means(sums, rows, chains, np.concatenate(values).var(axis=0))
    assert np.all(found.rhat < 1.1)
    assert np.all(found.ess > 0.5 * rows.sum())


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.99, -0.8])
@pytest.mark.parametrize(
    "counts", [[60] * 4, [64], [5], [3] * 7, [3] * 8, [2] * 20, [1] * 40, [40, 9, 70, 1], [16]]
)
def test_the_ess_of_means_is_that_of_the_loops(counts: list[int], memory: float) -> None:
    """Batches of uneven lengths of chains of uneven lengths, and rows that are no whole numbers."""
    rng = np.random.default_rng(sum(counts))
    chains = np.repeat(np.arange(len(counts)), counts)
    rows = rng.integers(3, 9, chains.size) * 0.7
    lengths = np.ceil(rows).astype(int)
    values = autoregressive(rng, 1, int(lengths.sum()), 3, memory)[0]
    sums = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    variances = values.var(axis=0)
    found = convergence_of_means(sums, rows, chains, variances)
    expected = reference.ess_of_means(
        sums.tolist(), rows.tolist(), chains.tolist(), variances.tolist()
    )
    assert found.ess == pytest.approx(expected, rel=1e-9)


def test_variances_that_still_grow_are_taken_further() -> None:
    """Batches of 64 rows of AR(.99) have a quarter of its variance; more of it is allowed for.

    The truth is 8 draws. Median over 40 columns.
    """
    chains = autoregressive(np.random.default_rng(4), 4, 400, 40, 0.99)
    ess = of_means(chains, 50).ess
    assert 0.5 * 8.0 < np.median(ess) < 2.5 * 8.0


@pytest.mark.parametrize("count", [7, 8, 12])
def test_chains_that_never_meet_are_worth_a_draw_each_at_most(count: int) -> None:
    """Each has a place of its own; whole chains, or what variances grow by, show it."""
    rng = np.random.default_rng(4)
    chains = rng.standard_normal((count, 60, 40)) + rng.normal(0.0, 2.0, (count, 1, 40))
    assert np.median(of_means(chains, 12).ess) < 1.2 * count


@pytest.mark.parametrize("still", [False, True])
def test_families_of_columns_are_those_one_by_one(still: bool) -> None:
    """Growth is pooled within a family, also if none of its columns varies."""
    rng = np.random.default_rng(3)
    batches = np.cumsum(rng.standard_normal((64, 2, 3)), axis=0)
    batches[:, 1] = 0.0 if still else rng.standard_normal((64, 3))
    rows, chains = np.full(64, 10.0), np.repeat(np.arange(4), 16)
    variances = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0] if still else [4.0, 5.0, 0.0]])
    both = convergence_of_means(batches, rows, chains, variances)
    for family in range(2):
        own = batches[:, family], rows, chains, variances[family]
        alone = convergence_of_means(*own)
        for part, other in zip(both, alone, strict=True):
            assert part[family] == pytest.approx(other, rel=1e-12, nan_ok=True)
