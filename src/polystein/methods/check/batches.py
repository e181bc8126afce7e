"""Batches: stretches of rows, whose sums of features are what `check` judges by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polystein._lib.numerics import summed_products
from polystein._lib.segments import Cuts, Segments
from polystein.data.source import Block, Layout
from polystein.inference.columns import segment_sums
from polystein.types import FloatArray

#: Batches have at least this many rows, so that sums are less skewed.
FEWEST_ROWS = 4
#: More batches of independent rows make the flips dearer and the verdict hardly better.
MOST_BATCHES = 250
#: A chain of four is cut into 64 batches, which halve five times.
MOST_BATCHES_OF_CHAINS = 256
#: From this many chains on the batches are chains, which are independent of each other ...
MANY_CHAINS = 32
#: ... and from this many on if they are too short to show their autocorrelation.
MANY_SHORT_CHAINS, SHORT_CHAIN = 16, 64
# At most this many segments of a block are summed one by one.
_FEW_SEGMENTS = 8


class Stretch(NamedTuple):
    """Rows ``start:stop`` of a chain, and the batch whose sum they belong to."""

    chain: int
    start: int
    stop: int
    batch: int


def cut(layout: Layout, *, chains: bool) -> Batches:
    """Cut every chain into stretches of nearly equal length, one after the other.

    ``chains`` says whether rows depend on those before them. A chain too short for two
    stretches is one, and many chains share the batches.
    """
    whole = chains and chains_are_batches(layout)
    most = MOST_BATCHES_OF_CHAINS if chains else MOST_BATCHES
    edges: dict[int, NDArray[np.intp]] = {}
    for rows in set(layout.lengths):
        count = 1 if whole else max(1, min(rows // FEWEST_ROWS, most * rows // layout.total))
        edges[rows] = np.linspace(0, rows, count + 1).astype(np.intp)
    own = [edges[rows] for rows in layout.lengths]
    chain = np.repeat(np.arange(len(own)), [len(bounds) - 1 for bounds in own])
    starts = np.concatenate([bounds[:-1] for bounds in own])
    stops = np.concatenate([bounds[1:] for bounds in own])
    batch = np.arange(len(chain)) * min(len(chain), most) // len(chain)
    return Batches(np.stack([chain, starts, stops, batch], axis=1))


def chains_are_batches(layout: Layout) -> bool:
    """Whether chains are the batches, as there are many of them, or many short ones."""
    count = len(layout.lengths)
    short = min(layout.lengths) < SHORT_CHAIN
    return count >= MANY_CHAINS or (short and count >= MANY_SHORT_CHAINS)


class Batches:
    """Stretches in time order, and the batches that they belong to.

    They are given as such, or as the rows of an array.
    """

    def __init__(self, stretches: Sequence[Stretch] | NDArray[np.intp]) -> None:
        self._table = np.asarray(stretches, dtype=np.intp)

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The stretches one by one."""
        return tuple(Stretch(*row) for row in self._table.tolist())

    @cached_property
    def count(self) -> int:
        """How many batches there are."""
        return int(self._table[-1, 3]) + 1

    @cached_property
    def chain_of(self) -> NDArray[np.intp]:
        """The chain of each batch; the first one, if a batch has several."""
        firsts = np.searchsorted(self._table[:, 3], np.arange(self.count))
        chains: NDArray[np.intp] = self._table[firsts, 0]
        return chains

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """How many rows each batch has."""
        _, starts, stops, batches = self._table.T
        return np.bincount(batches, (stops - starts).astype(np.float64)).astype(np.intp)

    def before(self, stops: Sequence[int]) -> NDArray[np.intp]:
        """The batches whose rows all lie before a row of their chain, one for each chain."""
        chains, _, last, batches = self._table.T
        early = np.ones(self.count, dtype=np.bool_)
        early[batches[last > np.asarray(stops)[chains]]] = False
        return np.flatnonzero(early)

    def of_rows(self, chains: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The batch of each of some rows of chains, which are in order and all in a batch."""
        runs = [
            (chain, row, 0, 1) for chain, row in zip(chains.tolist(), rows.tolist(), strict=True)
        ]
        return self._cuts.segments(runs).number

    def segments(self, block: Block) -> Segments:
        """Which rows of a block belong to which batch."""
        return self._cuts.segments(block.chains)

    @cached_property
    def _cuts(self) -> Cuts:
        return Cuts(*self._table.T)


def add_to_batches(sums: FloatArray, batches: NDArray[np.intp], values: FloatArray) -> None:
    """Add values to the sums of their batches, several of which may be the same."""
    if batches.size == 1:
        sums[batches[0]] += values[0]
    elif np.all(batches[1:] > batches[:-1]):
        sums[batches] += values
    else:
        np.add.at(sums, batches, values)


class Totals:
    """Sums over the segments of a block, times the importance weights if there are any."""

    def __init__(self, seen: Block, segments: Segments) -> None:
        self._segments, self._rows = segments, seen.weights_or_ones
        #: The total weight of each segment, or its number of rows.
        self.weights = (segments.high - segments.low).astype(np.float64)
        if seen.weights is not None:
            self.weights = segment_sums(seen.weights, segments.low, segments.high)

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        return list(zip(self._segments.low.tolist(), self._segments.high.tolist(), strict=True))

    @cached_property
    def _matrix(self) -> csr_array:
        """The weight of every row in the sum of its segment, of shape (segments, rows)."""
        low, high = (bound.astype(np.int32) for bound in self._segments[:2])
        ends = np.cumsum(high - low, dtype=np.int32)
        rows = np.arange(ends[-1], dtype=np.int32) + np.repeat(high - ends, high - low)
        starts = np.concatenate([np.zeros(1, dtype=np.int32), ends])
        return csr_array((self._rows[rows], rows, starts), shape=(low.size, self._rows.size))

    def write(self, column: FloatArray, out: FloatArray) -> None:
        """Write the sums of a column to `out`, of shape (segments, d)."""
        if self.weights.size <= _FEW_SEGMENTS:
            # Products with weights are several times as fast as sums of rows.
            for place, (low, high) in enumerate(self._bounds):
                summed_products(self._rows[low:high], column[low:high], out=out[place])
        else:
            # Several times as fast as `np.add.reduceat`, too.
            out[:] = self._matrix @ column
