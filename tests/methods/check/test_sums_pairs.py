"""Sums of pairs of coordinates over batches, within the budget and beyond it."""

import numpy as np
import pytest

from polystein.methods.check import sums as batch_sums
from polystein.methods.check.batches import cut
from polystein.methods.check.sums import BatchSums
from tests.methods.check.standard_rows import PAIRS, assert_joined, chains, taken, whole_pairs
from tests.reference import check as literal


@pytest.mark.parametrize(("numbers", "parts"), [(1, 5), (61, 5), (150, 3), (10**6, 1)])
def test_pairs_come_in_parts(numbers: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """15 batches of 5 coordinates are 75 numbers for each score coordinate."""
    sample, (frame, draws, scores, _) = chains(1, 60, 5)
    places = cut(sample.layout, chains=False)
    monkeypatch.setattr(batch_sums, "PAIR_NUMBERS", numbers)
    sums = taken(sample, frame, places, pairs=(2,))
    found = [part.copy() for part in sums.pairs(2)]
    assert (sums.count, len(found)) == (15, parts)
    expected = literal.pair_sums(draws, scores, None, places.stretches, 2)
    assert np.concatenate(found, axis=1) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def held_numbers(sums: BatchSums) -> int:
    return sum(part.sums.size for part in sums._pairs.values())


@pytest.mark.parametrize(
    ("numbers", "weighted"), [(1, False), (200, True), (700, False), (10**6, True)]
)
def test_pairs_beyond_the_budget_are_the_loops(
    numbers: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30 batches of 4 coordinates are 480 numbers an order; asked for or again."""
    monkeypatch.setattr(batch_sums, "PAIR_NUMBERS", numbers)
    sample, standard = chains(2, 61, 4, weighted)
    places = cut(sample.layout, chains=False)
    sums = taken(sample, standard.frame, places)
    assert (sums.count, sample.mean_reads) == (30, 1.0)
    for _ in range(2):
        assert_joined(sums, standard, places)
        assert held_numbers(sums) <= max(numbers, 30 * 4)
    assert sums.keeps_pairs == (numbers >= 2 * 480)
    if numbers >= 2 * 480:
        assert sample.mean_reads == 1.0
    else:
        assert sample.mean_reads > 2.0


def test_sums_of_the_diagonal_stay_when_pairs_are_summed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample, (frame, *_) = chains(2, 61, 3, weighted=True)
    whole = taken(sample, frame, cut(sample.layout, chains=True))
    monkeypatch.setattr(batch_sums, "PAIR_NUMBERS", 1)
    parts = taken(sample, frame, cut(sample.layout, chains=True))
    for order in PAIRS:
        assert whole_pairs(parts, order) == pytest.approx(whole_pairs(whole, order), abs=1e-12)
    assert np.array_equal(parts.diagonal, whole.diagonal)
    assert np.array_equal(parts.sizes, whole.sizes)
    assert np.array_equal(parts.draws, whole.draws)
    assert np.array_equal(parts.squares, whole.squares)
    assert vars(parts.deviations)["_total"] == vars(whole.deviations)["_total"]


def test_the_diagonal_is_no_pair() -> None:
    sample, (frame, *_) = chains(1, 60, 4)
    sums = taken(sample, frame, cut(sample.layout, chains=False), order=2, pairs=(1,))
    (pairs,) = sums.pairs(1)
    zero = np.broadcast_to(np.eye(4, dtype=bool), pairs.shape)
    assert np.array_equal(pairs == 0.0, zero)


@pytest.mark.parametrize("order", [2, 3])
def test_an_order_that_was_not_asked_for_is_an_error(order: int) -> None:
    """Or one beyond the basis."""
    sample, (frame, *_) = chains(1, 60, 2)
    sums = taken(sample, frame, cut(sample.layout, chains=False), order=2, pairs=(1,))
    with pytest.raises(IndexError):
        list(sums.pairs(order))


def test_one_coordinate_has_no_pairs() -> None:
    sample, (frame, *_) = chains(1, 60, 1)
    with pytest.raises(IndexError):
        list(taken(sample, frame, cut(sample.layout, chains=False)).pairs(1))
