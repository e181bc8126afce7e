"""The variance of sums over all rows, from the sums over stretches of them.

Plain arrays: sums of columns over equal stretches come in, variances of the sums over all rows and
their degrees of freedom go out. How long chains remember is measured by `memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein.inference.memory import joinings, speeds, variance_curves
from polystein.types import FloatArray

#: Stretches of all chains together, before any are joined.
MOST_STRETCHES = 256
#: Stretches of independent rows: so many squares tell a variance to two per cent.
MOST_INDEPENDENT = 4096
#: A stretch has at least so many rows, where its chain has.
FEWEST_ROWS = 4
#: With so many chains their sums are independent stretches themselves.
ENOUGH_CHAINS = 32


class Stretches:
    """Equal stretches of every chain, a power of two of them in each."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = tuple(lengths)
        self.counts = tuple(_stretches_of(rows, len(self.lengths)) for rows in self.lengths)
        self._first = np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def total(self) -> int:
        """Number of stretches."""
        return int(self._first[-1])

    @property
    def rows(self) -> FloatArray:
        """How many rows each stretch has, to rounding."""
        sizes = [length / count for length, count in zip(self.lengths, self.counts, strict=True)]
        return np.repeat(sizes, self.counts)

    @property
    def chains(self) -> NDArray[np.intp]:
        """The chain of each stretch."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def of_rows(self, chain: int, start: int, rows: int) -> NDArray[np.intp]:
        """The stretch that each of consecutive rows of a chain belongs to."""
        position = np.arange(start, start + rows)
        own = position * self.counts[chain] // self.lengths[chain]
        result: NDArray[np.intp] = self._first[chain] + own
        return result


class IndependentStretches:
    """Stretches of independent rows, whatever chains they are in: single rows if these are few."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = tuple(lengths)
        self._first = np.concatenate([[0], np.cumsum(self.lengths)])
        self.total = min(int(self._first[-1]), MOST_INDEPENDENT)

    def of_rows(self, chain: int, start: int, rows: int) -> NDArray[np.intp]:
        """The stretch that each of consecutive rows of a chain belongs to."""
        position = np.arange(start, start + rows) + self._first[chain]
        result: NDArray[np.intp] = position * self.total // int(self._first[-1])
        return result


def _stretches_of(rows: int, chains: int) -> int:
    most = max(1, min(MOST_STRETCHES // chains, rows // FEWEST_ROWS))
    return 1 << (most.bit_length() - 1)


class LongRunVariance(NamedTuple):
    """The variance of the sum of each column over all rows, and its degrees of freedom."""

    variance: FloatArray
    df: FloatArray


def independent_variance(sums: FloatArray) -> LongRunVariance:
    """Variance of the total of columns with mean 0, from sums over independent stretches.

    The degrees of freedom of a sum of squares are 2 over its relative variance, which the fourth
    powers tell: a variance that rests on a few large values is uncertain.
    """
    squares = sums**2
    variance = squares.sum(axis=0)
    relative = np.einsum("ij,ij->j", squares, squares) / np.maximum(variance**2, TINY)
    return LongRunVariance(variance, np.maximum(2.0 / np.maximum(relative, TINY), 1.0))


def lugsail_variance(sums: FloatArray, stretches: Stretches) -> LongRunVariance:
    """Variance of the total of columns with mean 0, whose sums over stretches are given.

    Stretches are joined until they are longer than the columns' memory, and what memory is left
    between them is allowed for by lugsail batch means, see `memory`. Columns that remember longer
    than most are pooled on their own. Many chains are independent stretches themselves.

    Parameters
    ----------
    sums : array of shape (stretches, columns)
        Sums over stretches in time order, chain after chain.
    stretches : Stretches
        What they are sums over.
    """
    chains = stretches.chains
    if len(stretches.counts) >= ENOUGH_CHAINS:
        return _of_squares(np.add.reduceat(sums, np.flatnonzero(np.diff(chains, prepend=-1))))
    levels = joinings(stretches.rows, chains)
    curves = variance_curves(sums, levels)
    variance, freedom = np.empty(sums.shape[1]), np.empty(sums.shape[1])
    for columns, memory in speeds(curves, levels):
        found = _of_squares(levels[memory.level].joined(sums[:, columns]))
        variance[columns] = found.variance / memory.deflation
        # The sum of squares has the relative variance 2/count. The pooled allowance for memory
        # is a ratio of such sums, and adds 3/count over the number of columns.
        freedom[columns] = found.df / (1.0 + 1.5 / np.count_nonzero(columns))
    return LongRunVariance(variance, np.maximum(freedom, 1.0))


def _of_squares(sums: FloatArray) -> LongRunVariance:
    """Variance of the total by squared sums; few large ones tell it less well than normal ones."""
    squares = sums**2
    second, fourth = squares.mean(axis=0), (squares**2).mean(axis=0)
    # (kurtosis - 1)/2 is the variance of a mean of squares over that of normal sums.
    excess = np.maximum(0.5 * (fourth / np.maximum(second**2, TINY) - 1.0), 1.0)
    freedom = np.maximum((len(sums) - 1.0) / excess, 1.0)
    return LongRunVariance(squares.sum(axis=0), freedom)
