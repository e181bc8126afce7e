"""Sums of Stein features over distant blocks of rows, which may be taken as independent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import to_numpy
from polystein.data.coordinates import Coordinates
from polystein.data.passes import block_rows, read_blocks
from polystein.protocols import Basis, Block, FloatArray, Layout, Rows, Source
from polystein.stein.operator import diagonal_entries

#: Blocks of independent rows have at least so many rows, so that sums are less skewed ...
FEWEST_ROWS = 4
#: ... and blocks of a chain so many autocorrelation times, with one between neighbours.
BLOCK_TIMES, GAP_TIMES = 4.0, 1.0
#: More blocks make the flips dearer and the verdict hardly better.
MOST_BLOCKS = 250
# Sums over pairs of coordinates are taken in parts of at most this many numbers.
_MOST_NUMBERS = 8_388_608


class Segment(NamedTuple):
    """Rows ``start:stop`` of a chain, and the block whose sum they belong to."""

    chain: int
    start: int
    stop: int
    block: int


def cut(layout: Layout, time: float | None) -> list[Segment]:
    """Cut every chain into segments of nearly equal length.

    ``time`` is the autocorrelation time; None stands for independent rows. A chain
    too short for two segments is one, and many chains share the blocks.
    """
    least = FEWEST_ROWS if time is None else max(FEWEST_ROWS, math.ceil(BLOCK_TIMES * time))
    gap = 0 if time is None else math.ceil(GAP_TIMES * time)
    stretches: list[tuple[int, int, int]] = []
    for chain, rows in enumerate(layout.lengths):
        share = MOST_BLOCKS * rows // layout.total
        count = max(1, min((rows + gap) // (least + gap), share))
        bounds = np.linspace(0, rows - gap * (count - 1), count + 1).astype(int).tolist()
        stretches += [(chain, bounds[k] + k * gap, bounds[k + 1] + k * gap) for k in range(count)]
    total = len(stretches)
    blocks = min(total, MOST_BLOCKS)
    return [Segment(*stretch, k * blocks // total) for k, stretch in enumerate(stretches)]


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums of features over the blocks, in standardised coordinates."""

    source: Source
    coordinates: Coordinates
    basis: Basis
    segments: list[Segment]
    # Sums over pairs that fit into memory as a whole, by order: they are looked at twice.
    _kept: dict[int, FloatArray] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return self.segments[-1].block + 1

    @cached_property
    def neighbours(self) -> NDArray[np.bool_]:
        """Whether each block but the last is followed by one of the same chain."""
        result = np.zeros(self.count - 1, dtype=np.bool_)
        for one, other in pairwise(self.segments):
            if one.block != other.block:
                result[one.block] = one.chain == other.chain
        return result

    @cached_property
    def effective_count(self) -> float:
        """(sum W)^2 / sum W^2 of the blocks' importance weights W: their number without any."""
        weights = np.zeros(self.count)
        for piece in self._pieces():
            if piece.weights is None:
                return float(self.count)
            for block, (start, stop) in zip(piece.blocks, piece.bounds, strict=True):
                weights[block] += piece.weights[start:stop].sum()
        return float(weights.sum() ** 2 / (weights @ weights))

    @cached_property
    def diagonal(self) -> FloatArray:
        """Sums of s, and of s phi_i + phi_i' for each order; of shape (blocks, 1 + Q, d)."""
        size = (1 + self.basis.order) * self.source.layout.dimension
        sums = np.zeros((self.count, size))
        for piece in self._pieces():
            with np.errstate(over="ignore", invalid="ignore"):  # who reads the sums finds out
                entries = diagonal_entries(self.basis, piece.draws, piece.scores)
            if piece.weights is not None:
                entries *= piece.weights[:, None]
            np.add.at(sums, piece.blocks, np.add.reduceat(entries, piece.cuts)[:: piece.step])
        return sums.reshape(self.count, 1 + self.basis.order, -1)

    def pairs(self, order: int) -> Iterator[FloatArray]:
        """Sums of s_l phi_m for l != m, a few score coordinates l at a time.

        Yields sums of shape (blocks, part, d) that are 0 where l = m, for these are the
        diagonal's.
        """
        dimension = self.source.layout.dimension
        at_once = max(1, _MOST_NUMBERS // (self.count * dimension))
        if at_once >= dimension:
            if order not in self._kept:
                self._kept[order] = self._pair_sums(order, slice(dimension))
            yield self._kept[order]
            return
        for low in range(0, dimension, at_once):
            yield self._pair_sums(order, slice(low, min(low + at_once, dimension)))

    def _pair_sums(self, order: int, part: slice) -> FloatArray:
        low, stop = part.start or 0, part.stop
        sums = np.zeros((self.count, stop - low, self.source.layout.dimension))
        for piece in self._pieces():
            scores = piece.scores[:, part]
            if piece.weights is not None:
                scores = scores * piece.weights[:, None]
            values = piece.term(self.basis, order)
            for block, (start, end) in zip(piece.blocks, piece.bounds, strict=True):
                sums[block] += scores[start:end].T @ values[start:end]
        own = np.arange(low, stop)
        sums[:, own - low, own] = 0.0
        return sums

    def _pieces(self) -> Iterator[_Piece]:
        for group in _groups(self.segments, block_rows(self.source.layout.dimension)):
            rows = Rows(group[0].chain, group[0].start, group[-1].stop)
            for block in read_blocks(self.source, [rows]):
                yield _Piece.of(block, group, self.coordinates)


class _Piece(NamedTuple):
    """Some rows in standardised coordinates, and which of them are in which block."""

    draws: FloatArray
    scores: FloatArray
    weights: FloatArray | None
    blocks: list[int]
    bounds: list[tuple[int, int]]

    @classmethod
    def of(cls, block: Block, group: list[Segment], coordinates: Coordinates) -> _Piece:
        draws, scores = map(to_numpy, coordinates.apply(block.draws, block.scores))
        bounds = [
            (max(0, segment.start - block.start), min(block.rows, segment.stop - block.start))
            for segment in group
        ]
        return cls(draws, scores, block.weights, [s.block for s in group], bounds)

    def term(self, basis: Basis, order: int) -> FloatArray:
        """phi_i at the rows, i = order."""
        for i, term in enumerate(basis.terms(self.draws), start=1):
            if i == order:
                return to_numpy(term.values)
        raise IndexError(order)

    @property
    def step(self) -> int:
        """Every second sum is over a gap, if there are gaps."""
        return 1 if self._touching else 2

    @property
    def cuts(self) -> list[int]:
        """Where `np.add.reduceat` starts a sum."""
        if self._touching:
            return [start for start, _ in self.bounds]
        # The last sum goes to the end of the rows.
        return [position for pair in self.bounds for position in pair][:-1]

    @property
    def _touching(self) -> bool:
        return all(one[1] == other[0] for one, other in pairwise(self.bounds))


def _groups(segments: list[Segment], rows: int) -> Iterator[list[Segment]]:
    """Neighbouring segments of one chain that fit into one block of the cache."""
    group: list[Segment] = []
    for segment in segments:
        full = group and (segment.chain != group[0].chain or segment.stop - group[0].start > rows)
        if full:
            yield group
            group = []
        group.append(segment)
    if group:
        yield group
