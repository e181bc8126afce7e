"""R-hat and ESS: the fast code against loops, and what they say where nothing converged."""

import math

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from polystein.inference import convergence
from polystein.inference.convergence import (
    convergence_of_means,
    rank_columns,
    ranked_convergence,
)
from tests.conftest import Array
from tests.reference import convergence as reference
from tests.statistical.samplers import autoregressive


def columns(count: int, length: int, memory: float) -> Array:
    """Smooth, tied, coarse and heavy-tailed columns; one in which a chain is off, one frozen."""
    chains = autoregressive(np.random.default_rng(3), count, length, 6, memory)
    chains[:, :, 1] = np.round(chains[:, :, 1], 1)
    chains[:, :, 2] = np.sign(chains[:, :, 2])
    chains[:, :, 3] = np.exp(5.0 * chains[:, :, 3])
    chains[0, :, 4] += 3.0
    chains[0, :, 5] = 0.2
    return chains


@pytest.mark.parametrize(
    ("count", "length", "memory"),
    [(4, 60, 0.5), (2, 101, 0.9), (3, 64, -0.9), (1, 80, 0.5), (2, 4, 0.0), (2, 5, 0.0), (5, 7, 0)],
)
def test_the_diagnostics_are_those_of_the_loops(count: int, length: int, memory: float) -> None:
    chains = columns(count, length, memory)
    found = ranked_convergence(chains)
    for column in range(chains.shape[2]):
        own = chains[:, :, column].tolist()
        expected = (
            reference.rank_rhat(own),
            reference.ess_bulk(own),
            reference.ess_tail(own),
            reference.ess_folded(own),
        )
        ours = [part[column] for part in found]
        assert ours == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_columns_are_worked_on_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = columns(4, 60, 0.5)
    whole = ranked_convergence(chains)
    monkeypatch.setattr(convergence, "_NUMBERS_AT_ONCE", 500)
    for part, other in zip(ranked_convergence(chains), whole, strict=True):
        assert np.array_equal(part, other)


def test_chains_of_different_lengths_give_their_last_rows() -> None:
    chains = columns(3, 80, 0.5)
    ragged = [chains[0], chains[1, 20:], chains[2, 5:]]
    even = np.stack([chain[-60:] for chain in ragged])
    for part, other in zip(ranked_convergence(ragged), ranked_convergence(even), strict=True):
        assert np.array_equal(part, other)


def test_inputs_stay_as_they_are() -> None:
    chains = columns(3, 50, 0.5)
    before = chains.copy()
    ranked_convergence(chains)
    assert np.array_equal(chains, before)


@pytest.mark.parametrize("change", [lambda x: 1e150 * x, np.exp, lambda x: -3.0 * x + 7.0])
def test_bulk_sizes_depend_on_ranks_alone(change: object) -> None:
    chains = autoregressive(np.random.default_rng(5), 4, 100, 3, 0.5)
    changed = change(chains)  # type: ignore[operator]
    assert ranked_convergence(changed).ess_bulk == pytest.approx(
        ranked_convergence(chains).ess_bulk, rel=1e-12
    )


# What cannot converge


def test_draws_that_are_all_equal_have_no_rhat_and_count_whole() -> None:
    found = ranked_convergence(np.full((4, 50, 2), 3.0))
    assert np.isnan(found.rhat).all()
    assert found.ess_bulk.tolist() == found.ess_tail.tolist() == [200.0, 200.0]


def test_chains_frozen_at_different_values_have_an_infinite_rhat() -> None:
    chains = np.broadcast_to(np.arange(4.0)[:, None, None], (4, 50, 1))
    found = ranked_convergence(chains)
    assert found.rhat[0] == math.inf
    assert found.ess_bulk[0] < 5.0


def test_one_frozen_chain_of_four_shows() -> None:
    chains = autoregressive(np.random.default_rng(1), 4, 1000, 1, 0.5)
    chains[2] = 0.01
    assert ranked_convergence(chains).rhat[0] > 1.3


def test_huge_values_give_numbers() -> None:
    chains = autoregressive(np.random.default_rng(1), 4, 100, 1, 0.5)
    chains[1:3], chains[3] = -1e308, 1e308
    found = ranked_convergence(chains)
    assert all(np.isfinite(part).all() for part in found)
    assert found.rhat[0] > 1.3


@pytest.mark.parametrize("length", [1, 2, 3])
def test_chains_too_short_for_halves_have_none(length: int) -> None:
    found = ranked_convergence(np.random.default_rng(0).standard_normal((3, length, 2)))
    assert all(np.isnan(part).all() for part in found)


# From sums over batches


def of_means(chains: Array, batches: int) -> convergence.MeansConvergence:
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
    both = convergence.convergence_of_means(batches, rows, chains, variances)
    for family in range(2):
        own = batches[:, family], rows, chains, variances[family]
        alone = convergence.convergence_of_means(*own)
        for part, other in zip(both, alone, strict=True):
            assert part[family] == pytest.approx(other, rel=1e-12, nan_ok=True)


# Ranks

COUNT = 60


def blom(rows: Array) -> Array:
    """Normal scores by the ranks of SciPy, row by row."""
    ranks = np.array([rankdata(row) for row in rows])
    return np.asarray(norm.ppf((ranks - 0.375) / (rows.shape[1] + 0.25)))


def kinds() -> dict[str, Array]:
    """Rows of many kinds, four of each."""
    plain = np.random.default_rng(2).standard_normal((4, COUNT))
    close = 1.0 + 2.0**-50 * np.round(8.0 * plain)
    one_close = plain.copy()
    one_close[2] = close[2]
    pair, three = plain.copy(), plain.copy()
    pair[1, 5] = pair[1, 40] + 1e-12
    three[1, 5], three[1, 9] = three[1, 40] + 2e-12, three[1, 40] + 1e-12
    return {
        "plain": plain,
        "rounded": np.round(plain, 1),
        "signs": np.sign(plain),
        "equal": np.full((4, COUNT), 0.3),
        "different in their last digits": close,
        "different in their last digits in one row": one_close,
        "two nearly equal": pair,
        "three nearly equal": three,
        "of all sizes": np.exp(100.0 * plain),
        "tiny": np.round(3.0 * plain) * 5e-324,
        "zeros of both signs": np.where(plain > 0.5, plain, np.copysign(0.0, plain)),
        "huge": np.where(np.abs(plain) < 0.5, plain, np.copysign(1.7e308, plain)),
    }


@pytest.mark.parametrize("kind", list(kinds()))
def test_scores_are_those_of_average_ranks(kind: str) -> None:
    rows = kinds()[kind]
    halves = rows.reshape(4, 2, -1)
    folded, scores = rank_columns(halves, halves).reshape(4, *rows.shape)[:2]
    assert scores == pytest.approx(blom(rows), rel=1e-12, abs=1e-15)
    with np.errstate(over="ignore"):
        inorder = np.sort(rows, axis=1)
        median = 0.5 * inorder[:, COUNT // 2 - 1] + 0.5 * inorder[:, COUNT // 2]
        distances = np.abs(rows - median[:, None])
    assert folded == pytest.approx(blom(distances), rel=1e-12, abs=1e-15)
