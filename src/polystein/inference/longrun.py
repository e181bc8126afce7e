"""The variance of sums over all rows, from the sums over stretches of them.

Plain arrays: sums of columns over equal stretches come in, variances of the sums over all rows and
their degrees of freedom go out. How long chains remember is measured by `memory`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from polystein._lib.numerics import TINY
from polystein.inference.memory import Joining, Memory, joinings, speeds, variance_curves
from polystein.types import FloatArray

#: Stretches of all chains together, before any are joined.
MOST_STRETCHES = 256
#: Stretches of independent rows: so many squares tell a variance to two per cent.
MOST_INDEPENDENT = 4096
#: Each chain has so many at the least, as far as its rows allow it.
FEWEST_STRETCHES = 32
#: A stretch has at least so many rows, where its chain has.
FEWEST_ROWS = 4
#: With so many chains their sums are independent stretches themselves.
ENOUGH_CHAINS = 32
#: Columns that remember differently are told apart by so many lengths of batches at the least.
FEWEST_LEVELS = 4
#: Lugsail batch means find the variance of columns whose memory is a smaller part of a batch.
LONGEST_MEMORY = 0.4
#: All chains together are so many times as long as the memory, about twice the effective draws.
FEWEST_MEMORIES = 150.0
#: Chains disagree if their sums differ so much by chance in at most this part of all columns: so
#: few that chains that do agree hardly ever lose by it.
DISAGREE_BY_CHANCE = 1e-4
#: No variance is raised by more: chains that stand still have none within them.
MOST_EXCESS = 1e6


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
    most = max(1, min(max(MOST_STRETCHES // chains, FEWEST_STRETCHES), rows // FEWEST_ROWS))
    return 1 << (most.bit_length() - 1)


class LongRunVariance(NamedTuple):
    """The variance of the sum of each column over all rows, and its degrees of freedom.

    ``excess`` is by what factor the sums of chains vary more than rows within chains explain, and 1
    where that may be chance.
    """

    variance: FloatArray
    df: FloatArray
    excess: FloatArray


def independent_variance(sums: FloatArray) -> LongRunVariance:
    """Variance of the total of columns with mean 0, from sums over independent stretches.

    The degrees of freedom of a sum of squares are 2 over its relative variance, which the fourth
    powers tell: a variance that rests on a few large values is uncertain.
    """
    squares = sums**2
    variance = squares.sum(axis=0)
    relative = np.einsum("ij,ij->j", squares, squares) / np.maximum(variance**2, TINY)
    freedom = np.maximum(2.0 / np.maximum(relative, TINY), 1.0)
    return LongRunVariance(variance, freedom, np.ones_like(variance))


def lugsail_variance(sums: FloatArray, stretches: Stretches) -> LongRunVariance:
    """Variance of the total of columns with mean 0, whose sums over stretches are given.

    Stretches are joined until they are longer than the columns' memory, and what memory is left
    between them is allowed for by lugsail batch means, see `memory`. Columns that remember longer
    than most are pooled on their own. Many chains are independent stretches themselves. Chains
    that are short beside their memory, or that disagree, are so, too, however few they are: see
    `_between_chains`.

    Parameters
    ----------
    sums : array of shape (stretches, columns)
        Sums over stretches in time order, chain after chain.
    stretches : Stretches
        What they are sums over.
    """
    chains = stretches.chains
    by_chain = np.add.reduceat(sums, np.flatnonzero(np.diff(chains, prepend=-1)))
    if len(by_chain) >= ENOUGH_CHAINS:
        return _of_squares(by_chain)
    levels = joinings(stretches.rows, chains)
    curves = variance_curves(sums, levels)
    variance, freedom, excess = np.empty((3, sums.shape[1]))
    for columns, memory in speeds(curves, levels):
        found = _of_squares(levels[memory.level].joined(sums[:, columns]))
        variance[columns] = found.variance / memory.deflation
        # The sum of squares has the relative variance 2/count. The pooled allowance for memory
        # is a ratio of such sums, and adds 3/count over the number of columns.
        freedom[columns] = found.df / (1.0 + 1.5 / np.count_nonzero(columns))
        within = curves[memory.level, columns] * stretches.rows.sum() / memory.deflation
        excess[columns] = _excess(
            by_chain[:, columns], levels[memory.level], within, freedom[columns]
        )
        apart = columns & (_too_short(memory, levels) | (excess > 1.0))
        between = _between_chains(by_chain[:, apart])
        variance[apart] = np.maximum(variance[apart], between.variance)
        freedom[apart] = np.minimum(freedom[apart], between.df)
    return LongRunVariance(variance, np.maximum(freedom, 1.0), excess)


def longest_memory(sums: FloatArray, stretches: Stretches) -> float:
    """How many rows the slowest of all columns remembers; infinite where that cannot be known.

    Chains that are short beside their memory do not tell it, and chains that disagree remember
    where they began.
    """
    levels = joinings(stretches.rows, stretches.chains)
    if len(levels) < FEWEST_LEVELS or np.any(lugsail_variance(sums, stretches).excess > 1.0):
        return math.inf
    found = [memory for _, memory in speeds(variance_curves(sums, levels), levels)]
    known = all(
        one.rows <= LONGEST_MEMORY * float(np.mean(levels[one.level].rows)) for one in found
    )
    return max(one.rows for one in found) if known else math.inf


def _too_short(memory: Memory, levels: Sequence[Joining]) -> bool:
    """Whether the chains are too short for batches to tell what they remember."""
    rows = levels[memory.level].rows
    longest = min(LONGEST_MEMORY * float(np.mean(rows)), float(np.sum(rows)) / FEWEST_MEMORIES)
    return len(levels) < FEWEST_LEVELS or memory.rows > longest


def _excess(
    by_chain: FloatArray, level: Joining, within: FloatArray, freedom: FloatArray
) -> FloatArray:
    """How much more the sums of chains vary than rows within them explain; 1 where an F test does.

    Where sums of chains have the variances V n_c/n, so do their squared deviations over n_c/n.
    """
    if len(by_chain) < 2:
        return np.ones_like(within)
    shares = (level.chain_rows / level.chain_rows.sum())[:, None]
    deviations = by_chain - shares * by_chain.sum(axis=0)
    between = np.sum(deviations**2 / shares, axis=0) / (len(by_chain) - 1)
    freedom = np.clip(freedom, 1.0, max(1.0, level.freedom))
    most = fdtri(len(by_chain) - 1, freedom, 1.0 - DISAGREE_BY_CHANCE)
    floor = np.maximum(within, np.maximum(between / MOST_EXCESS, TINY))
    result: FloatArray = np.where(between > most * within, np.maximum(between / floor, 1.0), 1.0)
    return result


def _between_chains(sums: FloatArray) -> LongRunVariance:
    """Variance of the total by the chains' sums, which are independent whatever chains remember.

    Few chains have few degrees of freedom, so that next to nothing is significant. One chain says
    nothing about its own variance: the one degree of freedom is a stand-in for none.
    """
    count = len(sums)
    deviations = sums - sums.mean(axis=0)
    variance = count / max(1, count - 1) * np.einsum("ij,ij->j", deviations, deviations)
    freedom = np.full(sums.shape[1], max(1.0, count - 1.0))
    return LongRunVariance(variance, freedom, np.ones_like(variance))


def _of_squares(sums: FloatArray) -> LongRunVariance:
    """Variance of the total by squared sums; few large ones tell it less well than normal ones."""
    squares = sums**2
    second = squares.mean(axis=0)
    kurtosis = np.mean((squares / np.maximum(second, TINY)) ** 2, axis=0)
    # (kurtosis - 1)/2 is the variance of a mean of squares over that of normal sums.
    excess = np.maximum(0.5 * (kurtosis - 1.0), 1.0)
    freedom = np.maximum((len(sums) - 1.0) / excess, 1.0)
    return LongRunVariance(squares.sum(axis=0), freedom, np.ones_like(second))
