"""Sums of Stein features over distant batches of rows, which may be taken as independent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import kish_size
from polystein.data.coordinates import Frame
from polystein.data.passes import block_rows, read_blocks
from polystein.data.source import Block, Layout, Rows, Source
from polystein.stein.basis import Basis
from polystein.stein.operator import diagonal_entries
from polystein.types import FloatArray

#: Batches of independent rows have at least this many rows, so that sums are less skewed ...
FEWEST_ROWS = 4
#: ... and batches of a chain this many autocorrelation times, with one between neighbours. Sums
#: over shorter batches are correlated, which sign flips would take for evidence.
BATCH_TIMES, BATCH_GAP_TIMES = 4.0, 1.0
#: More batches make the flips slower and the verdict hardly better.
MOST_BATCHES = 250
# Sums over pairs of coordinates are taken in parts of at most this many numbers: 64 MB.
_MOST_NUMBERS = 8_388_608


class Stretch(NamedTuple):
    """Rows ``start:stop`` of a chain, and the batch whose sum they belong to."""

    chain: int
    start: int
    stop: int
    batch: int


def cut(layout: Layout, time: float | None) -> list[Stretch]:
    """Cut every chain into stretches of nearly equal length.

    ``time`` is the autocorrelation time; None stands for independent rows. A chain
    too short for two stretches is one, and many chains share the batches.
    """
    least = FEWEST_ROWS if time is None else max(FEWEST_ROWS, math.ceil(BATCH_TIMES * time))
    gap = 0 if time is None else math.ceil(BATCH_GAP_TIMES * time)
    stretches: list[tuple[int, int, int]] = []
    for chain, rows in enumerate(layout.lengths):
        most = MOST_BATCHES * rows // layout.total
        count = max(1, min((rows + gap) // (least + gap), most))
        bounds = np.linspace(0, rows - gap * (count - 1), count + 1).astype(int).tolist()
        stretches += [(chain, bounds[k] + k * gap, bounds[k + 1] + k * gap) for k in range(count)]
    total = len(stretches)
    batches = min(total, MOST_BATCHES)
    return [Stretch(*stretch, k * batches // total) for k, stretch in enumerate(stretches)]


@dataclass(frozen=True, eq=False)
class BatchSums:
    """Sums of features over the batches, in a standardised frame."""

    source: Source
    frame: Frame
    basis: Basis
    stretches: list[Stretch]
    # Sums over pairs that fit into memory as a whole, by order; they are used twice.
    _kept: dict[int, FloatArray] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many batches there are."""
        return self.stretches[-1].batch + 1

    @cached_property
    def neighbours(self) -> NDArray[np.bool_]:
        """Whether each batch but the last is followed by one of the same chain."""
        result = np.zeros(self.count - 1, dtype=np.bool_)
        for one, other in pairwise(self.stretches):
            if one.batch != other.batch:
                result[one.batch] = one.chain == other.chain
        return result

    @cached_property
    def effective_count(self) -> float:
        """Kish's effective number of batches; their number if there are no importance weights."""
        if not self.source.weighted:
            return float(self.count)
        weights = np.zeros(self.count)
        for piece in self._pieces():
            for batch, (start, stop) in zip(piece.batches, piece.bounds, strict=True):
                weights[batch] += piece.block.weights_or_ones[start:stop].sum()
        return kish_size(float(weights.sum()), float(weights @ weights))

    @cached_property
    def diagonal(self) -> FloatArray:
        """Sums of s, and of s phi_i + phi_i' for each order; of shape (batches, 1 + Q, d)."""
        size = (1 + self.basis.order) * self.source.layout.dimension
        sums = np.zeros((self.count, size))
        for piece in self._pieces():
            with np.errstate(over="ignore", invalid="ignore"):  # reported where sums are used
                entries = diagonal_entries(self.basis, piece.block.draws, piece.block.scores)
            if piece.block.weights is not None:
                entries *= piece.block.weights[:, None]
            np.add.at(sums, piece.batches, np.add.reduceat(entries, piece.cuts)[:: piece.step])
        return sums.reshape(self.count, 1 + self.basis.order, -1)

    def pairs(self, order: int) -> Iterator[FloatArray]:
        """Sums of s_l phi_m for l != m, a few score coordinates l at a time.

        Yields sums of shape (batches, part, d) that are 0 where l = m, for these are the
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
            scores = piece.block.scores[:, part]
            if piece.block.weights is not None:
                scores = scores * piece.block.weights[:, None]
            values = piece.term(self.basis, order)
            for batch, (start, end) in zip(piece.batches, piece.bounds, strict=True):
                sums[batch] += scores[start:end].T @ values[start:end]
        own = np.arange(low, stop)
        sums[:, own - low, own] = 0.0
        return sums

    def _pieces(self) -> Iterator[_Piece]:
        for group in _groups(self.stretches, block_rows(self.source.layout.dimension)):
            rows = Rows(group[0].chain, group[0].start, group[-1].stop)
            for block in read_blocks(self.source, [rows]):
                yield _Piece.of(self.frame.see(block), group)


class _Piece(NamedTuple):
    """A block in the standardised frame, and which of its rows are in which batch."""

    block: Block
    batches: list[int]
    bounds: list[tuple[int, int]]

    @classmethod
    def of(cls, block: Block, group: list[Stretch]) -> _Piece:
        bounds = [
            (max(0, stretch.start - block.start), min(block.rows, stretch.stop - block.start))
            for stretch in group
        ]
        return cls(block, [stretch.batch for stretch in group], bounds)

    def term(self, basis: Basis, order: int) -> FloatArray:
        """phi_i at the rows, i = order."""
        for i, term in enumerate(basis.terms(self.block.draws), start=1):
            if i == order:
                return term.values
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


def _groups(stretches: list[Stretch], rows: int) -> Iterator[list[Stretch]]:
    """Neighbouring stretches of one chain that fit into one block of the cache."""
    group: list[Stretch] = []
    for stretch in stretches:
        full = group and (stretch.chain != group[0].chain or stretch.stop - group[0].start > rows)
        if full:
            yield group
            group = []
        group.append(stretch)
    if group:
        yield group
