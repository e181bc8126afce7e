"""Stretches of chains, and sums of Stein features over their batches."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import Frame
from polystein.data.source import Layout
from polystein.methods.check import batch_sums
from polystein.methods.check.batch_sums import FEWEST_ROWS, MOST_BATCHES, BatchSums, Stretch, cut
from polystein.stein.basis import LinearAndBounded, Monomial
from tests.conftest import Array, arbitrary_rows, arbitrary_weights
from tests.reference import check as literal

ORDER = 3


def layout(*lengths: int) -> Layout:
    return Layout(lengths, 1, True)


def least_and_gap(time: float | None) -> tuple[int, int]:
    if time is None:
        return 4, 0
    return max(4, math.ceil(4.0 * time)), math.ceil(time)


lengths = st.lists(st.integers(1, 400), min_size=1, max_size=8)
times = st.none() | st.floats(1.0, 60.0)


@given(lengths, times)
def test_stretches_keep_their_distance_and_their_length(sizes: list[int], time: Any) -> None:
    least, gap = least_and_gap(time)
    found = cut(layout(*sizes), time)
    for chain, rows in enumerate(sizes):
        own = [stretch for stretch in found if stretch.chain == chain]
        assert (own[0].start, own[-1].stop) == (0, rows)
        for before, after in itertools.pairwise(own):
            assert after.start - before.stop == gap
        sizes_of_own = [stretch.stop - stretch.start for stretch in own]
        assert max(sizes_of_own) - min(sizes_of_own) <= 1
        # One that is too short is a whole chain.
        assert min(sizes_of_own) >= min(least, rows)


@given(lengths)
def test_independent_rows_are_all_used_once(sizes: list[int]) -> None:
    rows = [(s.chain, t) for s in cut(layout(*sizes), None) for t in range(s.start, s.stop)]
    assert rows == [(chain, t) for chain, size in enumerate(sizes) for t in range(size)]


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=8), times)
def test_batches_are_numbered_and_few(sizes: list[int], time: Any) -> None:
    numbers = [stretch.batch for stretch in cut(layout(*sizes), time)]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(numbers[-1] + 1))
    assert numbers[-1] < MOST_BATCHES


def test_many_rows_make_as_many_batches_as_there_may_be() -> None:
    for rows in (1000, 1001, 100_000):
        found = cut(layout(rows), None)
        assert len(found) == MOST_BATCHES
        assert min(stretch.stop - stretch.start for stretch in found) == rows // MOST_BATCHES


def test_few_rows_make_batches_of_four() -> None:
    assert cut(layout(10), None) == [Stretch(0, 0, 5, 0), Stretch(0, 5, 10, 1)]
    assert len(cut(layout(999), None)) == 999 // FEWEST_ROWS


def test_chains_are_cut_with_a_time_between() -> None:
    """A time of 2.5 asks for 10 rows a stretch and 3 between; 36 rows hold three."""
    assert cut(layout(36, 5), 2.5) == [
        Stretch(0, 0, 10, 0),
        Stretch(0, 13, 23, 1),
        Stretch(0, 26, 36, 2),
        Stretch(1, 0, 5, 3),
    ]


def test_more_chains_than_batches_share_them() -> None:
    found = cut(layout(*[6] * 300), 1.0)
    assert [stretch[:3] for stretch in found] == [(chain, 0, 6) for chain in range(300)]
    counts = np.bincount([stretch.batch for stretch in found])
    assert counts.size == MOST_BATCHES
    assert set(counts.tolist()) == {1, 2}


# Sums, against loops over the rows


def chains(count: int, rows: int, d: int, weighted: bool = False) -> tuple[ps.Sample, Any]:
    """A sample in arbitrary coordinates, and what its standardised rows are."""
    draws, scores = (flat.reshape(count, rows, d) for flat in arbitrary_rows(count * rows, d, 3))
    log_weights, weights = arbitrary_weights(count * rows)
    log_weights, weights = log_weights.reshape(count, rows), weights.reshape(count, rows)
    sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
    frame = Frame(np.linspace(-0.5, 0.7, d), np.linspace(0.8, 1.5, d))
    standard = frame.apply(draws, scores)
    # Weights of `Sample` are relative to the largest.
    return sample, (frame, *standard, weights / weights.max() if weighted else None)


def assert_sums(count: int, rows: int, d: int, time: float | None, weighted: bool = False) -> None:
    sample, (frame, draws, scores, weights) = chains(count, rows, d, weighted)
    places = cut(sample.layout, time)
    sums = BatchSums(sample, frame, LinearAndBounded(ORDER), places)
    expected = literal.diagonal_sums(draws, scores, weights, places, ORDER)
    assert sums.count == expected.shape[0] == places[-1].batch + 1
    assert sums.diagonal == pytest.approx(expected, rel=1e-10, abs=1e-10)
    for order in (1, 3):
        pairs = np.concatenate(list(sums.pairs(order)), axis=1)
        expected = literal.pair_sums(draws, scores, weights, places, order)
        assert pairs == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert d == 1 or np.abs(expected).max() > 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("time", [None, 1.0, 2.5])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.filterwarnings("error")
def test_sums_are_the_loops(d: int, time: float | None, weighted: bool) -> None:
    assert_sums(2, 61, d, time, weighted)


@pytest.mark.parametrize("time", [None, 2.5])
@pytest.mark.parametrize("d", [1, 2])
def test_stretches_longer_than_a_block_of_the_cache(
    d: int, time: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", 1)
    assert passes.block_rows(d) == 2 * d
    monkeypatch.setattr(batch_sums, "MOST_BATCHES", 5)
    assert_sums(2, 61, d, time, weighted=True)


@pytest.mark.parametrize("rows", [7, 12, 13, 25, 60])
def test_any_number_of_stretches_may_fit_into_a_block_of_the_cache(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOST_ROWS", rows)
    assert_sums(2, 61, 2, None)
    assert_sums(2, 61, 2, 1.0)


def test_stretches_longer_than_the_real_blocks_of_the_cache() -> None:
    """20,000 rows are more than any block has."""
    sample, (frame, draws, scores, _) = chains(2, 20_000, 1)
    places = [Stretch(0, 0, 20_000, 0), Stretch(1, 0, 20_000, 1)]
    sums = BatchSums(sample, frame, Monomial(1), places).diagonal
    assert sums[:, 0] == pytest.approx(scores.sum(axis=1), rel=1e-10)
    assert sums[:, 1] == pytest.approx((scores * draws + 1.0).sum(axis=1), rel=1e-10)


@pytest.mark.filterwarnings("ignore::polystein.errors.DependenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_short_chains_share_their_sums(weighted: bool) -> None:
    assert_sums(300, 6, 2, 1.0, weighted)


@pytest.mark.parametrize("time", [None, 2.5])
def test_the_effective_number_of_batches_is_that_of_their_weights(time: float | None) -> None:
    sample, (frame, _, _, weights) = chains(2, 61, 2, weighted=True)
    places = cut(sample.layout, time)
    held = [0.0] * (places[-1].batch + 1)
    for chain, start, stop, batch in places:
        for t in range(start, stop):
            held[batch] += weights[chain, t]
    expected = sum(held) ** 2 / sum(weight**2 for weight in held)
    sums = BatchSums(sample, frame, LinearAndBounded(1), places)
    assert 1.0 < expected < 0.97 * sums.count
    assert sums.effective_count == pytest.approx(expected, rel=1e-10)
    sample, (frame, *_) = chains(2, 61, 2)
    sums = BatchSums(sample, frame, LinearAndBounded(1), places)
    assert sums.effective_count == sums.count


def test_neighbours_may_share_a_batch() -> None:
    sample, (frame, draws, scores, _) = chains(1, 30, 2)
    places = [Stretch(0, 0, 10, 0), Stretch(0, 10, 20, 0), Stretch(0, 20, 30, 1)]
    sums = BatchSums(sample, frame, LinearAndBounded(ORDER), places)
    expected = literal.diagonal_sums(draws, scores, None, places, ORDER)
    assert sums.diagonal == pytest.approx(expected, rel=1e-10, abs=1e-10)
    expected = literal.pair_sums(draws, scores, None, places, 2)
    assert next(sums.pairs(2)) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("numbers", "parts"), [(1, 5), (61, 5), (150, 3), (10**6, 1)])
def test_pairs_come_in_parts(numbers: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """15 batches of 5 coordinates are 75 numbers for each score coordinate."""
    sample, (frame, draws, scores, _) = chains(1, 60, 5)
    places = cut(sample.layout, None)
    sums = BatchSums(sample, frame, LinearAndBounded(ORDER), places)
    monkeypatch.setattr(batch_sums, "_MOST_NUMBERS", numbers)
    found = list(sums.pairs(2))
    assert (sums.count, len(found)) == (15, parts)
    expected = literal.pair_sums(draws, scores, None, places, 2)
    assert np.concatenate(found, axis=1) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_the_diagonal_is_no_pair() -> None:
    sample, (frame, *_) = chains(1, 60, 4)
    sums = BatchSums(sample, frame, LinearAndBounded(2), cut(sample.layout, None))
    (pairs,) = sums.pairs(1)
    zero = np.broadcast_to(np.eye(4, dtype=bool), pairs.shape)
    assert np.array_equal(pairs == 0.0, zero)


def test_an_order_beyond_the_basis_is_an_error() -> None:
    sample, (frame, *_) = chains(1, 60, 2)
    sums = BatchSums(sample, frame, LinearAndBounded(2), cut(sample.layout, None))
    with pytest.raises(IndexError):
        list(sums.pairs(3))


def test_the_draws_are_left_alone() -> None:
    sample, (frame, *_) = chains(2, 61, 2, weighted=True)
    before: tuple[Array, Array] = (sample.draws.copy(), sample.scores.copy())
    sums = BatchSums(sample, frame, LinearAndBounded(2), cut(sample.layout, 2.0))
    assert sums.diagonal.shape[0] == sums.count
    list(sums.pairs(1))
    assert np.array_equal(sample.draws, before[0])
    assert np.array_equal(sample.scores, before[1])


def test_neighbours_are_batches_of_one_chain() -> None:
    """Chains of 9, 4 and 13 rows are cut into two, one and three batches."""
    sample = ps.Sample(np.ones((3, 13, 1)), np.ones((3, 13, 1)))
    places = cut(layout(9, 4, 13), None)
    assert [place.chain for place in places] == [0, 0, 1, 2, 2, 2]
    sums = BatchSums(sample, Frame(), LinearAndBounded(1), places)
    assert sums.neighbours.tolist() == [True, False, False, True, True]
