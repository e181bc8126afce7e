"""Batches: distant stretches of rows whose sums of features may be taken as independent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.source import Block, Layout

#: Batches of independent rows have at least so many rows, so that sums are less skewed ...
FEWEST_ROWS = 4
#: ... and batches of a chain so many autocorrelation times, with one between neighbours: sums
#: over shorter ones still agree with their neighbours, which flips would take for evidence.
BATCH_TIMES, BATCH_GAP_TIMES = 4.0, 1.0
#: More batches make the flips dearer and the verdict hardly better.
MOST_BATCHES = 250


class Stretch(NamedTuple):
    """Rows ``start:stop`` of a chain, and the batch whose sum they belong to."""

    chain: int
    start: int
    stop: int
    batch: int


class Segments(NamedTuple):
    """Rows ``low:high`` of a block that belong to a batch, one entry for each segment."""

    low: NDArray[np.intp]
    high: NDArray[np.intp]
    batch: NDArray[np.intp]


def cut(layout: Layout, time: float | None) -> Batches:
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
    return Batches(
        tuple(Stretch(*stretch, k * batches // total) for k, stretch in enumerate(stretches))
    )


@dataclass(frozen=True, eq=False)
class Batches:
    """Stretches in time order, and the batches that they belong to."""

    stretches: tuple[Stretch, ...]

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

    def segments(self, block: Block) -> Segments:
        """Which rows of a block belong to which batch."""
        low, high, batch = [], [], []
        for run in block.runs:
            starts, stops, batches = self._of_chain[run.chain]
            end = run.start + run.high - run.low
            first, last = np.searchsorted(stops, run.start, "right"), np.searchsorted(starts, end)
            offset = run.low - run.start
            low.append(np.maximum(starts[first:last], run.start) + offset)
            high.append(np.minimum(stops[first:last], end) + offset)
            batch.append(batches[first:last])
        return Segments(np.concatenate(low), np.concatenate(high), np.concatenate(batch))

    @cached_property
    def _of_chain(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """Starts, stops and batches of the stretches of each chain."""
        table = np.array(self.stretches, dtype=np.intp)
        borders = np.searchsorted(table[:, 0], np.arange(table[-1, 0] + 2))
        return [
            (table[low:high, 1], table[low:high, 2], table[low:high, 3])
            for low, high in pairwise(borders)
        ]

    def merged(self, count: int) -> tuple[NDArray[np.intp], Batches]:
        """Join ``count`` neighbouring batches of a chain: where each group starts, and the result.

        What is left over at the end of a chain joins the group before it.
        """
        borders = np.concatenate([[0], np.flatnonzero(~self.neighbours) + 1, [self.count]])
        starts = []
        for low, high in pairwise(borders.tolist()):
            groups = max(1, (high - low) // count)
            starts += [low + count * k for k in range(groups)]
        group = np.searchsorted(starts, np.arange(self.count), "right") - 1
        stretches = tuple(one._replace(batch=int(group[one.batch])) for one in self.stretches)
        return np.array(starts), Batches(stretches)
