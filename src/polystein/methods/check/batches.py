"""Batches: stretches of rows, and what is summed over them: columns, and products of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polystein._lib.numerics import summed_products
from polystein._lib.segments import Cuts, Segments
from polystein.data.source import Block, Layout
from polystein.inference.agreement import MANY_CHAINS
from polystein.inference.columns import segment_sums
from polystein.types import FloatArray

#: Batches have at least this many rows, so that sums are less skewed.
ROWS_A_BATCH = 4
#: More batches of independent rows make the flips dearer and the verdict hardly better.
MOST_BATCHES_OF_ROWS = 250
#: Each of four chains is cut into 64 batches, which are joined by twos four times: five lengths.
MOST_BATCHES_OF_CHAINS = 256
#: The batches are chains, which are independent of each other, from `MANY_CHAINS` on, and from this
#: many on if they are too short to show their autocorrelation.
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
    most = MOST_BATCHES_OF_CHAINS if chains else MOST_BATCHES_OF_ROWS
    edges: dict[int, NDArray[np.intp]] = {}
    for rows in set(layout.lengths):
        count = 1 if whole else max(1, min(rows // ROWS_A_BATCH, most * rows // layout.total))
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
        chains, starts, stops, batches = self._table.T
        self._cuts = Cuts(chains, starts, stops, batches)
        #: How many batches there are.
        self.count = int(batches[-1]) + 1
        #: The chain of each batch; the first one, if a batch has several.
        self.chain_of: NDArray[np.intp]
        self.chain_of = chains[np.searchsorted(batches, np.arange(self.count))]
        #: How many rows each batch has.
        self.rows = np.bincount(batches, (stops - starts).astype(np.float64)).astype(np.intp)

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The stretches one by one."""
        return tuple(Stretch(*row) for row in self._table.tolist())

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


# More sums over pairs than this are kept in single precision ...
_MANY_SUMS = 2**22
# ... if the largest score of a block lies between these: their products with standardised draws
# and their squares stay far from the limits of single precision.
_LEAST_SCORE, _MOST_SCORE = 1e-12, 1e12
# At least this many segments of a block are multiplied at once, if they have few products.
_MANY_SEGMENTS, _FEW_PRODUCTS = 16, 2**16


class PairJob(NamedTuple):
    """Sums of s_l phi_m of one order, or of magnitudes, for the coordinates l of a slice."""

    order: int
    low: int
    high: int


class PairSums:
    """Sums over the batches of products u_l v_m, for the coordinates l of a job.

    Many sums are kept in single precision, which halves their memory and the time of their
    flips. Flips rank sums that are rounded alike, and need no more digits than that. Scores of
    a size at which single precision could overflow or underflow are summed in double precision.
    """

    def __init__(self, job: PairJob, batches: int, dimension: int) -> None:
        self._job = job
        shape = (batches, job.high - job.low, dimension)
        self.sums: NDArray[Any] = np.zeros(
            shape, dtype=np.float32 if math.prod(shape) > _MANY_SUMS else np.float64
        )
        self._seen = np.zeros(batches, dtype=np.bool_)

    def add(
        self,
        left: FloatArray,
        values: FloatArray,
        weights: FloatArray | None,
        segments: Segments,
    ) -> None:
        """Add u'v of every segment to the sums of its batch."""
        scores = left[:, self._job.low : self._job.high]
        if weights is not None:
            scores = scores * weights[:, None]
        if self.sums.dtype == np.float32 and not _LEAST_SCORE < np.abs(scores).max() < _MOST_SCORE:
            self.sums = self.sums.astype(np.float64)
        scores, values = (rows.astype(self.sums.dtype, copy=False) for rows in (scores, values))
        count = segments.number.size
        if count >= _MANY_SEGMENTS and count * self.sums[0].size <= _FEW_PRODUCTS:
            self._add_at_once(scores, values, segments)
            return
        product = np.empty(self.sums.shape[1:], dtype=self.sums.dtype)
        for low, high, batch in zip(*(part.tolist() for part in segments), strict=True):
            factors = scores[low:high], values[low:high]
            if self._seen[batch]:
                self.sums[batch] += summed_products(*factors, out=product)
            else:
                # The first product of a batch is written where it belongs.
                summed_products(*factors, out=self.sums[batch])
                self._seen[batch] = True

    def _add_at_once(self, scores: FloatArray, values: FloatArray, segments: Segments) -> None:
        """The same with one product for all segments of equal length, which are few lengths."""
        lengths = segments.high - segments.low
        for length in np.unique(lengths).tolist():
            own = lengths == length
            rows = segments.low[own, None] + np.arange(length)
            products = scores.take(rows, axis=0).transpose(0, 2, 1) @ values.take(rows, axis=0)
            add_to_batches(self.sums, segments.number[own], products)
        self._seen[segments.number] = True

    def merge(self, other: PairSums) -> None:
        """Add the sums of other rows."""
        if self.sums.dtype != other.sums.dtype:
            self.sums = self.sums.astype(np.float64)
        self.sums += other.sums
        self._seen |= other._seen

    def without_diagonal(self) -> FloatArray:
        """The sums, with 0 where l = m: these are the diagonal's."""
        own = np.arange(self._job.low, self._job.high)
        self.sums[:, own - self._job.low, own] = 0.0
        return self.sums
