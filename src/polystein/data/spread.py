"""Rows spread evenly over all chains, for what looks at some of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block, Layout, Source
from polystein.types import FloatArray


class KeptRows:
    """Some rows of all chains, with their scores and importance weights: an accumulator.

    ``places`` says which rows, in order and counted over all chains.
    """

    def __init__(self, layout: Layout, places: NDArray[np.intp]) -> None:
        self.layout, self._places = layout, places
        # How many rows come before each chain.
        self._offsets = np.cumsum([0, *layout.lengths])
        #: Draws and beside them scores.
        self.values = np.empty((places.size, 2 * layout.dimension))
        #: Importance weights, 1 without them.
        self.weights = np.ones(places.size)
        self._held = np.zeros(places.size, dtype=np.bool_)

    def zero(self) -> KeptRows:
        """An accumulator of the same kind without rows."""
        return KeptRows(self.layout, self._places)

    def update(self, block: Block) -> None:
        """Take the rows of a block that are to be kept."""
        chain, start, low, high = np.array(block.chains).T
        start = self._offsets[chain] + start
        first = np.searchsorted(self._places, start)
        counts = np.searchsorted(self._places, start + high - low) - first
        ends = first + counts
        wanted: slice | NDArray[np.intp] = slice(first[0], ends[-1])
        if (ends[:-1] != first[1:]).any():
            shift = np.repeat(ends - np.cumsum(counts), counts)
            wanted = np.arange(shift.size) + shift
        rows = self._places[wanted] - np.repeat(start - low, counts)
        dimension = self.layout.dimension
        self.values[wanted, :dimension] = block.draws.take(rows, axis=0)
        self.values[wanted, dimension:] = block.scores.take(rows, axis=0)
        if block.weights is not None:
            self.weights[wanted] = block.weights[rows]
        self._held[wanted] = True

    def merge(self, other: KeptRows) -> KeptRows:
        """Add another accumulator's rows."""
        self.values[other._held] = other.values[other._held]
        self.weights[other._held] = other.weights[other._held]
        self._held |= other._held
        return self

    @property
    def draws_and_scores(self) -> tuple[FloatArray, FloatArray]:
        """The draws of the kept rows, and their scores."""
        dimension = self.layout.dimension
        return self.values[:, :dimension], self.values[:, dimension:]

    @property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The chain of each kept row, and which of the chain's rows it is."""
        chain = np.searchsorted(self._offsets, self._places, "right") - 1
        return chain, self._places - self._offsets[chain]

    def by_chain(self) -> list[FloatArray]:
        """The values of each chain's rows."""
        return np.split(self.values, np.searchsorted(self._places, self._offsets[1:-1]))


def evenly(places: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Some of the places, evenly spaced."""
    return places[((np.arange(count) + 0.5) * len(places) / count).astype(np.intp)]


def rows_at(source: Source, places: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """The draws and scores at places that count through all chains, in their order.

    It takes a pass: of rows that are elsewhere, nothing but these comes here.
    """
    kept = KeptRows(source.layout, np.sort(places))
    run_pass(source, every_row(source), kept)
    return kept.draws_and_scores
