"""The rows that the guard looks at: stretches of every chain, taken from a pass over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polystein.data.source import Block, Layout, Rows
from polystein.types import FloatArray

#: Most rows that are looked at, and about how many chains and stretches they come from.
MOST_ROWS = 4096
#: At most so many numbers, 8 MiB, of draws and of scores, but at least so many rows.
MOST_NUMBERS, _FEWEST_OF_MANY = 2**20, 256
_CHAINS, _STRETCHES = 16, 8
#: Fewer rows than this say nothing.
LEAST_ROWS = 50


class ScreenedRows:
    """Rows from stretches of every chain, `MOST_ROWS` at the most: an accumulator for any pass."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._parts: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}
        #: Importance weights of the same rows, if there are any.
        self._weights: dict[tuple[int, int], FloatArray] = {}

    @cached_property
    def _stretches(self) -> dict[int, list[Rows]]:
        found: dict[int, list[Rows]] = {}
        for stretch in stretches(self._layout):
            own = found.setdefault(stretch.chain, [])  # those that meet are taken as one
            start = own.pop().start if own and own[-1].stop == stretch.start else stretch.start
            own.append(Rows(stretch.chain, start, stretch.stop))
        return found

    def zero(self) -> ScreenedRows:
        """An accumulator of the same kind without rows."""
        return ScreenedRows(self._layout)

    def update(self, block: Block) -> None:
        """Take the rows of a block that are in a stretch."""
        for run in block.chains:
            for stretch in self._stretches.get(run.chain, ()):
                first = max(stretch.start, run.start)
                last = min(stretch.stop, run.start + run.high - run.low)
                if first < last:
                    part = slice(run.low + first - run.start, run.low + last - run.start)
                    place = (run.chain, first)
                    self._parts[place] = block.draws[part].copy(), block.scores[part].copy()
                    if block.weights is not None:
                        self._weights[place] = block.weights[part].copy()

    def merge(self, other: ScreenedRows) -> ScreenedRows:
        """Add another accumulator's rows."""
        self._parts |= other._parts
        self._weights |= other._weights
        return self

    def in_order(self) -> tuple[FloatArray, FloatArray, NDArray[np.intp], NDArray[np.intp]]:
        """Draws and scores by chain and time, whatever their weights, with chains and times."""
        places = sorted(self._parts)
        parts = [self._parts[place] for place in places]
        draws, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        sizes = [len(part[0]) for part in parts]
        chains = np.repeat([chain for chain, _ in places], sizes)
        times = np.concatenate(
            [start + np.arange(size) for (_, start), size in zip(places, sizes, strict=True)]
        )
        return draws, scores, chains, times

    def finalise(self) -> tuple[FloatArray, FloatArray]:
        """Draws and scores in proportion to their importance weights.

        There are none if too few rows carry the weight.
        """
        draws, scores, *_ = self.in_order()
        if not self._weights:
            return (draws, scores) if len(draws) >= LEAST_ROWS else (draws[:0], scores[:0])
        kept = _by_weight(np.concatenate([self._weights[place] for place in sorted(self._parts)]))
        if np.unique(kept).size < LEAST_ROWS:
            kept = kept[:0]
        return draws[kept], scores[kept]


def _by_weight(weights: FloatArray) -> NDArray[np.intp]:
    """The places of rows in proportion to their importance weights, in their order."""
    shares = np.cumsum(weights) / max(float(weights.sum()), np.finfo(float).tiny)
    levels = (np.arange(weights.size) + 0.5) / weights.size
    return np.minimum(np.searchsorted(shares, levels), weights.size - 1)


def stretches(layout: Layout) -> Iterator[Rows]:
    """Stretches of some chains, `MOST_ROWS` rows at the most, and fewer of many coordinates."""
    lengths = layout.lengths
    most = min(MOST_ROWS, max(_FEWEST_OF_MANY, MOST_NUMBERS // layout.dimension))
    shown = range(0, len(lengths), max(1, len(lengths) // _CHAINS))
    size = max(1, most // (len(shown) * _STRETCHES))
    for chain in shown:
        for start in _starts(lengths[chain], size):
            yield Rows(chain, start, min(start + size, lengths[chain]))


def _starts(length: int, size: int) -> list[int]:
    """Where stretches of a chain begin: they cover it if it is short, else they lie apart."""
    if length <= size * _STRETCHES:
        return list(range(0, length, size))
    return [int(place) for place in np.linspace(0, length - size, _STRETCHES)]
