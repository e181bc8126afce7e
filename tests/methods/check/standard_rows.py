"""Rows in a frame, their sums over batches, and the loops that these are compared with."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.inference.memory import FEWEST_A_CHAIN
from polystein.methods.check.batches import Batches, Stretch, cut
from polystein.methods.check.sums import BatchSums
from polystein.stein.basis import LinearAndBounded
from tests.conftest import Array, arbitrary_rows, arbitrary_weights
from tests.reference import check as literal
from tests.reference import memory as literal_memory
from tests.sources import CountingSample

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
