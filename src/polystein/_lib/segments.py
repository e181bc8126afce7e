"""Numbered ranges of rows of chains, and where they lie in a block of rows of several chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.intp]
# A chain and a row of it are one number, which grows from row to row and from chain to chain.
_ROWS_OF_CHAIN = 2**40


class Segments(NamedTuple):
    """Rows ``low:high`` of a block that belong to a range, and the number of the range."""

    low: Integers
    high: Integers
    number: Integers


class Cuts:
    """Ranges of rows, chain by chain and in time order, each with a number.

    Several ranges may have the same number.
    """

    def __init__(
        self, chains: Integers, starts: Integers, stops: Integers, numbers: Integers
    ) -> None:
        self._starts = chains * _ROWS_OF_CHAIN + starts
        self._stops = chains * _ROWS_OF_CHAIN + stops
        self._numbers = numbers

    def segments(self, runs: Sequence[tuple[int, int, int, int]]) -> Segments:
        """Where the ranges lie in a block.

        ``runs`` has, for each chain of the block, its number, its first row read, and which
        rows of the block, ``low:high``, are its own.
        """
        chain, row, low, high = np.array(runs, dtype=np.intp).T
        start = chain * _ROWS_OF_CHAIN + row
        stop = start + high - low
        first = np.searchsorted(self._stops, start, "right")
        count = np.maximum(np.searchsorted(self._starts, stop) - first, 0)
        # The ranges first, first + 1, ... of every chain of the block, one chain after the other.
        place = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        own_start, own_stop = np.repeat(start, count), np.repeat(stop, count)
        offset = np.repeat(low, count) - own_start
        return Segments(
            np.maximum(self._starts[place], own_start) + offset,
            np.minimum(self._stops[place], own_stop) + offset,
            self._numbers[place],
        )
