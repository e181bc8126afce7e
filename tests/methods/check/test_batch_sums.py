"""Sums of Stein features over batches, against loops over the rows."""

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import Frame
from polystein.data.source import Rows, complete
from polystein.inference.memory import FEWEST_A_CHAIN
from polystein.methods.check import batch_sums, batches
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import Batches, Stretch, cut
from polystein.stein.basis import LinearAndBounded, Monomial
from tests.conftest import Array, arbitrary_rows, arbitrary_weights
from tests.reference import check as literal
from tests.reference import memory as literal_memory
from tests.sources import CountingSample, MinimalSource, WeightedSource

ORDER = 3
PAIRS = (1, 3)


class Standard(NamedTuple):
    """A frame, and what the loops need: the rows in it, chain by chain, and their weights."""

    frame: Frame
    draws: Any
    scores: Any
    weights: Any


def chains(count: int, rows: int, d: int, weighted: bool = False) -> tuple[ps.Sample, Standard]:
    """A sample in arbitrary coordinates, and what its standardised rows are."""
    draws, scores = (flat.reshape(count, rows, d) for flat in arbitrary_rows(count * rows, d, 3))
    log_weights, weights = arbitrary_weights(count * rows)
    log_weights, weights = log_weights.reshape(count, rows), weights.reshape(count, rows)
    sample = CountingSample(draws, scores, log_weights=log_weights if weighted else None)
    frame = some_frame(d)
    standard = frame.apply(draws, scores)
    # Weights of `Sample` are relative to the largest.
    return sample, Standard(frame, *standard, weights / weights.max() if weighted else None)


def some_frame(d: int) -> Frame:
    return Frame(np.linspace(-0.5, 0.7, d), np.linspace(0.8, 1.5, d))


def taken(
    source: Any, frame: Frame, places: Batches, order: int = ORDER, pairs: Any = PAIRS
) -> BatchSums:
    return BatchSums(source, frame, LinearAndBounded(order), places, pairs).take()


def whole_pairs(sums: BatchSums, order: int) -> Array:
    return np.concatenate(list(sums.pairs(order)), axis=1)


def assert_loops(sums: BatchSums, standard: Standard, places: Iterable[Stretch], d: int) -> None:
    """Diagonal and pairs are the loops' over the given stretches."""
    own = standard[1:]
    expected = literal.diagonal_sums(*own, places, ORDER)
    assert sums.count == expected.shape[0]
    assert sums.diagonal == pytest.approx(expected, rel=1e-10, abs=1e-10)
    for order in PAIRS if d > 1 else ():
        expected = literal.pair_sums(*own, places, order)
        assert whole_pairs(sums, order) == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert np.abs(expected).max() > 1.0


def assert_sums(count: int, rows: int, d: int, of_chains: bool, weighted: bool = False) -> None:
    sample, standard = chains(count, rows, d, weighted)
    places = cut(sample.layout, chains=of_chains)
    sums = taken(sample, standard.frame, places)
    assert sums.count == places.count == places.stretches[-1].batch + 1
    assert_loops(sums, standard, places.stretches, d)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("of_chains", [False, True])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.filterwarnings("error")
def test_sums_are_the_loops(d: int, of_chains: bool, weighted: bool) -> None:
    assert_sums(2, 61, d, of_chains, weighted)


@pytest.mark.parametrize("of_chains", [False, True])
@pytest.mark.parametrize("d", [1, 2])
def test_stretches_longer_than_a_block_of_the_cache(
    d: int, of_chains: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", 1)
    assert passes.block_rows(d) == 2 * d
    monkeypatch.setattr(batches, "MOST_BATCHES", 5)
    assert_sums(2, 61, d, of_chains, weighted=True)


@pytest.mark.parametrize("rows", [7, 12, 13, 25, 60])
def test_any_number_of_stretches_may_fit_into_a_block_of_the_cache(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOST_ROWS", rows)
    assert_sums(2, 61, 2, of_chains=False)
    assert_sums(2, 61, 2, of_chains=True)


def test_stretches_longer_than_the_real_blocks_of_the_cache() -> None:
    """20,000 rows are more than any block has."""
    sample, (frame, draws, scores, _) = chains(2, 20_000, 1)
    places = Batches((Stretch(0, 0, 20_000, 0), Stretch(1, 0, 20_000, 1)))
    sums = BatchSums(sample, frame, Monomial(1), places).take().diagonal
    assert sums[:, 0] == pytest.approx(scores.sum(axis=1), rel=1e-10)
    assert sums[:, 1] == pytest.approx((scores * draws + 1.0).sum(axis=1), rel=1e-10)


@pytest.mark.filterwarnings("ignore::polystein.errors.DependenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_short_chains_share_their_sums(weighted: bool) -> None:
    assert_sums(300, 6, 2, True, weighted)


@pytest.mark.filterwarnings("ignore::polystein.errors.DependenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("of_chains", [False, True])
def test_many_short_chains_joined_to_one_block(of_chains: bool, weighted: bool) -> None:
    assert_sums(60, 20, 3, of_chains, weighted)


RAGGED = (61, 5, 1, 33, 20, 2, 90)


def ragged(weighted: bool) -> tuple[Any, Standard]:
    """Chains that differ in length, and their standardised rows padded by what is never read."""
    rows, most = sum(RAGGED), max(RAGGED)
    (draws, scores), ends = arbitrary_rows(rows, 2, seed=4), np.cumsum(RAGGED)[:-1]
    logs, weights = (np.split(array, ends) for array in arbitrary_weights(rows))
    parts = list(zip(np.split(draws, ends), np.split(scores, ends), strict=True))
    source: Any = MinimalSource(parts, time_ordered=True)
    if weighted:
        source = WeightedSource(parts, logs, ("a", "b"), time_ordered=True)
    frame, table = some_frame(2), np.full((5, len(RAGGED), most), np.nan)
    largest = max(float(own.max()) for own in weights)
    for chain, (own, size) in enumerate(zip(parts, RAGGED, strict=True)):
        table[:2, chain, :size], table[2:4, chain, :size] = (a.T for a in frame.apply(*own))
        table[4, chain, :size] = weights[chain] / largest
    padded = np.moveaxis(table[:2], 0, -1), np.moveaxis(table[2:4], 0, -1)
    return complete(source), Standard(frame, *padded, table[4] if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("of_chains", [False, True])
@pytest.mark.parametrize("rows", [7, 50, None])
def test_chains_of_different_lengths(
    rows: int | None, of_chains: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rows is not None:
        monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    source, standard = ragged(weighted)
    places = cut(source.layout, chains=of_chains)
    sums = taken(source, standard.frame, places)
    assert_loops(sums, standard, places.stretches, 2)
    assert_joined(sums, standard, places)


@pytest.mark.parametrize("of_chains", [False, True])
def test_the_effective_number_of_batches_is_that_of_their_weights(of_chains: bool) -> None:
    sample, (frame, _, _, weights) = chains(2, 61, 2, weighted=True)
    places = cut(sample.layout, chains=of_chains)
    held = weights_held(places.stretches, weights)
    sums = taken(sample, frame, places, order=1, pairs=())
    # Together they are as many as Kish counts rows, each batch by its share of the weight.
    kish = float(np.sum(weights)) ** 2 / float(np.sum(weights**2))
    assert sums.sizes == pytest.approx(kish * np.array(held) / sum(held), rel=1e-10)
    assert sums.sizes == pytest.approx(sums.weight_scale * np.array(held), rel=1e-10)
    for joining in sums.joinings:
        own = joining.rows
        expected = sum(own) ** 2 / sum(weight**2 for weight in own)
        assert 1.0 < expected < 0.99 * joining.count
        assert sums.effective_count(joining) == pytest.approx(expected, rel=1e-10)
    sample, (frame, *_) = chains(2, 61, 2)
    sums = taken(sample, frame, places, order=1, pairs=())
    assert sums.weight_scale == 1.0
    assert sums.sizes.tolist() == places.rows.tolist()
    for joining in sums.joinings:
        assert sums.effective_count(joining) == joining.count


def weights_held(places: Iterable[Stretch], weights: Array) -> list[float]:
    places = list(places)
    held = [0.0] * (places[-1].batch + 1)
    for chain, start, stop, batch in places:
        for t in range(start, stop):
            held[batch] += weights[chain, t]
    return held


def test_neighbours_may_share_a_batch() -> None:
    sample, (frame, draws, scores, _) = chains(1, 30, 2)
    places = Batches((Stretch(0, 0, 10, 0), Stretch(0, 10, 20, 0), Stretch(0, 20, 30, 1)))
    sums = taken(sample, frame, places, pairs=(2,))
    expected = literal.diagonal_sums(draws, scores, None, places.stretches, ORDER)
    assert sums.diagonal == pytest.approx(expected, rel=1e-10, abs=1e-10)
    expected = literal.pair_sums(draws, scores, None, places.stretches, 2)
    assert next(sums.pairs(2)) == pytest.approx(expected, rel=1e-10, abs=1e-10)


# Pairs, within the budget and beyond it


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("numbers", [1, 200, 700, 10**6])
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


# Joined batches


def assert_joined(sums: BatchSums, standard: Standard, places: Batches) -> None:
    """Sums at every level are those of the loops, group by group."""
    own, chain_of = standard[1:], places.chain_of.tolist()
    diagonal = literal.diagonal_sums(*own, places.stretches, ORDER)
    pairs = {order: literal.pair_sums(*own, places.stretches, order) for order in PAIRS}
    levels = literal_memory.levels(chain_of, FEWEST_A_CHAIN)
    assert len(sums.joinings) == len(levels)
    # The last order is asked for first and again: it may be held still, or not.
    found = {order: whole_pairs(sums, order) for order in (*reversed(PAIRS), PAIRS[-1])}
    for joining, groups in zip(sums.joinings, levels, strict=True):
        assert joining.starts.tolist() == [group[0] for group in groups]
        expected = literal.joined_sums(diagonal, groups)
        assert joining.joined(sums.diagonal) == pytest.approx(expected, rel=1e-10, abs=1e-10)
        for order in PAIRS:
            expected = literal.joined_sums(pairs[order], groups)
            assert joining.joined(found[order]) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chain_count", [1, 3])
def test_joined_sums_are_the_loops(chain_count: int, weighted: bool) -> None:
    sample, standard = chains(chain_count, 91, 2, weighted)
    places = cut(sample.layout, chains=True)
    sums = taken(sample, standard.frame, places)
    assert len(sums.joinings) > 2
    assert_joined(sums, standard, places)
    # No row was read again.
    assert sample.mean_reads == 1.0


@pytest.mark.parametrize("of_chains", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_and_squares_are_the_loops(weighted: bool, of_chains: bool) -> None:
    sample, (frame, draws, scores, weights) = chains(2, 61, 3, weighted)
    places = cut(sample.layout, chains=of_chains)
    sums = taken(sample, frame, places)
    expected = literal.summed(draws, weights, places.stretches)
    assert sums.draws == pytest.approx(expected, rel=1e-10, abs=1e-10)
    for kind, values in enumerate((draws, scores)):
        expected = literal.summed(values**2, weights, places.stretches)
        assert sums.squares[:, kind] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_independent_rows_are_never_joined() -> None:
    """They remember nothing, whatever their order."""
    draws = np.random.default_rng(0).standard_normal((400, 2))
    sample = ps.Sample(draws, -draws)
    sums = taken(sample, some_frame(2), cut(sample.layout, chains=False))
    assert [joining.count for joining in sums.joinings] == [100]


# Rows that are read on the way


def test_the_draws_are_left_alone() -> None:
    sample, (frame, *_) = chains(2, 61, 2, weighted=True)
    before: tuple[Array, Array] = (sample.draws.copy(), sample.scores.copy())
    sums = taken(sample, frame, cut(sample.layout, chains=True), order=2, pairs=(1,))
    assert sums.diagonal.shape[0] == sums.count
    list(sums.pairs(1))
    assert np.array_equal(sample.draws, before[0])
    assert np.array_equal(sample.scores, before[1])


@pytest.mark.parametrize("rows", [3, 50])
def test_rows_between_batches_are_looked_at_for_outliers(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However they are cut into blocks: some of 3 rows belong to no batch."""
    monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    draws = np.random.default_rng(0).standard_normal((60, 1))
    draws[15] = 1e3
    frame = Frame(np.zeros(1), np.ones(1))
    sums = taken(ps.Sample(draws, -draws), frame, between(10, 20, 60), order=1, pairs=())
    warning = sums.deviations.warning()
    assert warning is not None
    total = float(np.max(draws**2)) / 60.0
    assert f"makes up {total:.0%}" in str(warning)


def between(low: int, high: int, rows: int) -> Batches:
    """Two batches, and no batch of the rows between them."""
    return Batches((Stretch(0, 0, low, 0), Stretch(0, high, rows, 1)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bounds", [(0, 20, 35, 61), (0, 13, 14, 61)])
def test_parts_of_a_pass_merge_to_the_whole(bounds: tuple[int, ...], weighted: bool) -> None:
    """In any order, and with rows that come after the merging."""
    sample, (frame, *_) = chains(3, 61, 2, weighted)
    whole = taken(sample, frame, cut(sample.layout, chains=True))
    parts = BatchSums(
        sample, frame, LinearAndBounded(ORDER), cut(sample.layout, chains=True), PAIRS
    )
    first, second = parts._pass, parts._pass.zero()
    for own, (low, high) in zip((first, second), itertools.pairwise(bounds[:3]), strict=True):
        passes.run_pass(sample, [Rows(chain, low, high) for chain in range(3)], own)
    first.merge(second)
    passes.run_pass(sample, [Rows(chain, *bounds[2:]) for chain in range(3)], first)
    assert parts.diagonal == pytest.approx(whole.diagonal, rel=1e-12, abs=1e-12)
    assert parts.sizes == pytest.approx(whole.sizes, rel=1e-12)
    assert parts.draws == pytest.approx(whole.draws, rel=1e-12, abs=1e-12)
    assert parts.squares == pytest.approx(whole.squares, rel=1e-12)
    for order in PAIRS:
        expected = whole_pairs(whole, order)
        assert whole_pairs(parts, order) == pytest.approx(expected, rel=1e-12, abs=1e-12)


# What batches say of memory


@pytest.mark.parametrize(
    ("lengths", "known"),
    [
        ([31] * 8, False),
        ([30] * 4, False),
        ([31], False),
        ([32] * 4, True),
        ([32], True),
        # Many short chains are independent batches.
        ([16] * 16, True),
        ([31] * 15, False),
        ([7] * 40, True),
        # A chain of the middle length decides.
        ([400, 400, 8], True),
        ([400, 8, 8], False),
    ],
)
def test_memory_is_known_of_long_chains_and_of_many(lengths: list[int], known: bool) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((rows, 2)) for rows in lengths]
    source = complete(MinimalSource([(part, -part) for part in parts], time_ordered=True))
    sums = taken(source, some_frame(2), cut(source.layout, chains=True), order=1, pairs=())
    assert sums.memory_is_known == known


@pytest.mark.parametrize("rows", [20, 61, 2_000])
def test_independent_rows_have_no_memory(rows: int) -> None:
    """Batches of them are never joined, however many there are."""
    values = np.random.default_rng(0).standard_normal((rows, 2))
    for ordered in (False, True):
        source = complete(MinimalSource([(values, -values)], time_ordered=ordered))
        places = cut(source.layout, chains=ordered)
        sums = taken(source, some_frame(2), places, order=1, pairs=())
        if ordered:
            assert sums.memory_is_known == (len(sums.joinings) > 1) == (rows >= 32)
        else:
            assert sums.memory_is_known
            (joining,) = sums.joinings
            assert joining.count == places.count
