"""Sums of Stein features over batches, against loops over the rows."""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import Frame
from polystein.data.source import Rows, complete
from polystein.methods.check import batches
from polystein.methods.check.batches import Batches, Stretch, cut
from polystein.methods.check.sums import BatchSums
from polystein.stein.basis import LinearAndBounded, Monomial
from tests.conftest import Array, arbitrary_rows, arbitrary_weights
from tests.methods.check.standard_rows import (
    ORDER,
    PAIRS,
    Standard,
    assert_joined,
    assert_loops,
    assert_sums,
    chains,
    some_frame,
    taken,
    whole_pairs,
)
from tests.reference import check as literal
from tests.sources import MinimalSource, WeightedSource


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
    monkeypatch.setattr(batches, "MOST_BATCHES_OF_ROWS", 5)
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
@pytest.mark.parametrize(("of_chains", "weighted"), [(False, True), (True, False)])
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


@pytest.mark.parametrize("of_chains", [False, True])
@pytest.mark.parametrize(("rows", "weighted"), [(7, True), (50, False), (None, False)])
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
