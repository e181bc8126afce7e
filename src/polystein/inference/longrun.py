"""The variance of sums over chains, from the sums over stretches of them (lugsail batch means).

Plain arrays: sums of columns over equal stretches of every chain come in, variances of the sums
over all rows and their degrees of freedom go out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein.types import FloatArray

#: Stretches of all chains together, before any are joined.
MOST_STRETCHES = 256
#: Stretches of independent rows: so many squares tell a variance to two per cent.
MOST_INDEPENDENT = 4096
#: A stretch has at least so many rows, where its chain has.
FEWEST_ROWS = 4
#: The variance of joined stretches rests on at least so many of them, where there are so many.
FEWEST_STRETCHES = 16
#: With so many chains their sums are independent stretches themselves.
ENOUGH_CHAINS = 32
#: A curve is flat if it rises by no more than this, and by a part of its standard error ...
FLAT = 0.1
#: ... which part depends on whether it is an average over all columns or that of one.
POOLED_ERRORS, OWN_ERRORS = 0.3, 1.0
#: A column's own curve counts where it is above the pooled one by more standard errors than this.
SURE_ERRORS = 0.5


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


def lugsail_variance(sums: FloatArray, counts: Sequence[int]) -> LongRunVariance:
    """Variance of the total of columns with mean 0, whose sums over stretches are given.

    Let V_L be the sum of squares of the sums over stretches of length L. Neighbours that agree
    make it too small, and 2 V_2L - V_L allows for that (Vats and Flegal, 2022, Lugsail lag
    windows). L is the shortest length from which on that curve is flat, by the average of all
    columns and by each column's own. The ratio of that to V_2L is noisy: its average over all
    columns is used, unless a column's own is larger beyond doubt.

    Parameters
    ----------
    sums : array of shape (stretches, columns)
        Sums over stretches in time order, chain after chain.
    counts : sequence of int
        Stretches of each chain, powers of two.
    """
    squares, sizes = _squares_by_length(sums, np.asarray(counts))
    excess = _excess_noise(sums)
    if len(counts) >= ENOUGH_CHAINS or len(sizes) == 1:
        return LongRunVariance(squares[-1], np.maximum((sizes[-1] - 1.0) / excess, 1.0))
    usable = max(1, sum(size >= FEWEST_STRETCHES for size in sizes) - 1)
    short, long = squares[:usable], squares[1 : usable + 1]
    size = np.array(sizes[1 : usable + 1], dtype=float)
    own = np.maximum(2.0 * long - short, 0.5 * long)
    average = (squares[: usable + 1] / np.maximum(squares[0], TINY)).mean(axis=1)
    pooled = np.maximum(2.0 * average[1:] - average[:-1], 0.5 * average[1:])
    level = _first_flat(pooled[:, None], size, POOLED_ERRORS)
    level = np.maximum(level, _first_flat(own, size, OWN_ERRORS))
    at = level, np.arange(sums.shape[1])
    variance = long[at] * (pooled / np.maximum(average[1:], TINY))[level]
    # A column that remembers for longer than the others shows it, beyond the noise of its curve.
    surely = own[at] * (1.0 - SURE_ERRORS * np.sqrt(5.0 / size[level]))
    # V_2L has the relative variance 2/size, and the average ratio adds 3/size over the columns.
    freedom = (size[level] - 1.0) / (1.0 + 1.5 / sums.shape[1]) / excess
    return LongRunVariance(np.maximum(variance, surely), np.maximum(freedom, 1.0))


def _excess_noise(sums: FloatArray) -> FloatArray:
    """How much noisier a mean of squares is than that of normal sums: (kurtosis - 1)/2, or 1."""
    squares = sums**2
    second, fourth = squares.mean(axis=0), (squares**2).mean(axis=0)
    result: FloatArray = np.maximum(0.5 * (fourth / np.maximum(second**2, TINY) - 1.0), 1.0)
    return result


def _squares_by_length(sums: FloatArray, counts: NDArray[np.intp]) -> tuple[FloatArray, list[int]]:
    """Sums of squares over stretches, joined two by two; and how many stretches there are."""
    squares, sizes = [np.einsum("ij,ij->j", sums, sums)], [len(sums)]
    while np.any(counts > 1):
        # A chain that is one stretch already stays as it is.
        steps = np.where(counts > 1, 2, 1)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        index = [
            np.arange(start, start + count, step)
            for start, count, step in zip(starts, counts, steps, strict=True)
        ]
        sums, counts = np.add.reduceat(sums, np.concatenate(index)), counts // steps
        squares.append(np.einsum("ij,ij->j", sums, sums))
        sizes.append(len(sums))
    return np.array(squares), sizes


def _first_flat(curves: FloatArray, sizes: FloatArray, errors: float) -> NDArray[np.intp]:
    """For each column, the first length after which its curve does not rise any more."""
    allowed = 1.0 + FLAT + errors * np.sqrt(5.0 / sizes)
    result = np.full(curves.shape[1], len(curves) - 1)
    for index in range(len(curves) - 2, -1, -1):
        later = curves[index + 1 :] / allowed[index + 1 :, None]
        result[np.all(later <= curves[index], axis=0)] = index
    return result
