"""The variance of sums over all rows, from the sums over batches of them.

Plain arrays: sums of columns over equal batches come in, variances of the sums over all rows and
their degrees of freedom go out. The length of the autocorrelation is estimated by `memory`.
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

#: From this many chains on, the sums over whole chains are enough independent batches.
ENOUGH_CHAINS = 32
#: Columns with different autocorrelation are told apart by at least this many lengths of batches.
FEWEST_LEVELS = 4
#: Lugsail batch means estimate the variance if the autocorrelation is at most this part of a batch.
LONGEST_MEMORY = 0.4


class EqualBatches:
    """Equal batches of every chain, a power of two of them in each."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = tuple(lengths)
        self.counts = tuple(_batches_of(rows, len(self.lengths)) for rows in self.lengths)
        self._first = np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def total(self) -> int:
        """Number of batches."""
        return int(self._first[-1])

    @property
    def rows(self) -> FloatArray:
        """How many rows each batch has, to rounding."""
        sizes = [length / count for length, count in zip(self.lengths, self.counts, strict=True)]
        return np.repeat(sizes, self.counts)

    @property
    def chains(self) -> NDArray[np.intp]:
        """The chain of each batch."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def of_rows(self, chain: int, start: int, rows: int) -> NDArray[np.intp]:
        """The batch that each of consecutive rows of a chain belongs to."""
        position = np.arange(start, start + rows)
        own = position * self.counts[chain] // self.lengths[chain]
        result: NDArray[np.intp] = self._first[chain] + own
        return result


class IndependentBatches:
    """Batches of independent rows, whatever chains they are in: single rows if these are few."""

    def __init__(self, lengths: Sequence[int], most: int = 4096) -> None:
        self.lengths = tuple(lengths)
        self._first = np.concatenate([[0], np.cumsum(self.lengths)])
        # 4096 squares give a variance to two per cent, 256 to nine.
        self.total = min(int(self._first[-1]), most)

    def of_rows(self, chain: int, start: int, rows: int) -> NDArray[np.intp]:
        """The batch that each of consecutive rows of a chain belongs to."""
        position = np.arange(start, start + rows) + self._first[chain]
        result: NDArray[np.intp] = position * self.total // int(self._first[-1])
        return result


def _batches_of(rows: int, chains: int) -> int:
    """256 batches of all chains together, but at least 32 a chain, of at least four rows each."""
    most = max(1, min(max(256 // chains, 32), rows // 4))
    return 1 << (most.bit_length() - 1)


class LongRunVariance(NamedTuple):
    """The variance of the sum of each column over all rows, and its degrees of freedom.

    ``excess`` is the variance between chains over that which rows within chains explain, and 1
    where the difference may be due to chance.
    """

    variance: FloatArray
    df: FloatArray
    excess: FloatArray


def independent_variance(sums: FloatArray) -> LongRunVariance:
    """Variance of the total of columns with mean 0, from sums over independent batches.

    The degrees of freedom of a sum of squares are 2 over its relative variance, which is estimated
    by fourth powers: a variance that rests on a few large values is uncertain.
    """
    squares = sums**2
    variance = squares.sum(axis=0)
    relative = np.einsum("ij,ij->j", squares, squares) / np.maximum(variance**2, TINY)
    freedom = np.maximum(2.0 / np.maximum(relative, TINY), 1.0)
    return LongRunVariance(variance, freedom, np.ones_like(variance))


def lugsail_variance(sums: FloatArray, batches: EqualBatches) -> LongRunVariance:
    """Variance of the total of columns with mean 0, whose sums over batches are given.

    Batches are joined until they are longer than the columns' autocorrelation, and what
    correlation is left between them is allowed for by lugsail batch means, see `memory`. Columns
    that are slower than most are pooled on their own. Of many chains, each is one independent
    batch. So is each of few chains that are short beside their autocorrelation, or that disagree
    (`_between_chains`).

    Parameters
    ----------
    sums : array of shape (batches, columns)
        Sums over batches in time order, chain after chain.
    batches : EqualBatches
        What they are sums over.
    """
    chains = batches.chains
    by_chain = np.add.reduceat(sums, np.flatnonzero(np.diff(chains, prepend=-1)))
    if len(by_chain) >= ENOUGH_CHAINS:
        return _of_squares(by_chain)
    levels = joinings(batches.rows, chains)
    curves = variance_curves(sums, levels)
    variance, freedom, excess = np.empty((3, sums.shape[1]))
    for columns, memory in speeds(curves, levels):
        found = _of_squares(levels[memory.level].joined(sums[:, columns]))
        variance[columns] = found.variance / memory.deflation
        # The sum of squares has the relative variance 2/count. The pooled deflation is a ratio of
        # such sums, and adds 3/count over the number of columns.
        freedom[columns] = found.df / (1.0 + 1.5 / np.count_nonzero(columns))
        within = curves[memory.level, columns] * batches.rows.sum() / memory.deflation
        excess[columns] = _excess(
            by_chain[:, columns], levels[memory.level], within, freedom[columns]
        )
        apart = columns & (_too_short(memory, levels) | (excess > 1.0))
        between = _between_chains(by_chain[:, apart])
        variance[apart] = np.maximum(variance[apart], between.variance)
        freedom[apart] = np.minimum(freedom[apart], between.df)
    return LongRunVariance(variance, np.maximum(freedom, 1.0), excess)


def total_variance(sums: FloatArray, batches: EqualBatches | IndependentBatches) -> LongRunVariance:
    """Variance of the total of columns with mean 0, of chains or of independent rows."""
    if isinstance(batches, IndependentBatches):
        return independent_variance(sums)
    return lugsail_variance(sums, batches)


def longest_memory(sums: FloatArray, batches: EqualBatches) -> float:
    """Rows that the autocorrelation of the slowest column extends over; infinite if unknown.

    It is unknown for chains that are short beside it, and for chains that disagree.
    """
    levels = joinings(batches.rows, batches.chains)
    if len(levels) < FEWEST_LEVELS or np.any(lugsail_variance(sums, batches).excess > 1.0):
        return math.inf
    found = [memory for _, memory in speeds(variance_curves(sums, levels), levels)]
    known = all(
        one.rows <= LONGEST_MEMORY * float(np.mean(levels[one.level].rows)) for one in found
    )
    return max(one.rows for one in found) if known else math.inf


def _too_short(memory: Memory, levels: Sequence[Joining]) -> bool:
    """Whether the chains are too short for batches to estimate their autocorrelation.

    All chains together must be 150 times as long as the autocorrelation, which makes about 75
    effective draws.
    """
    rows = levels[memory.level].rows
    longest = min(LONGEST_MEMORY * float(np.mean(rows)), float(np.sum(rows)) / 150.0)
    return len(levels) < FEWEST_LEVELS or memory.rows > longest


def _excess(
    by_chain: FloatArray, level: Joining, within: FloatArray, freedom: FloatArray
) -> FloatArray:
    """Variance between chains over that within them; 1 unless an F test finds them different.

    Where sums of chains have the variances V n_c/n, their squared deviations over n_c/n estimate V.
    The level is 1e-4, so that chains that agree hardly ever lose by it. Chains that stand still
    have no variance within them: the ratio is at most 1e6.
    """
    if len(by_chain) < 2:
        return np.ones_like(within)
    shares = (level.chain_rows / level.chain_rows.sum())[:, None]
    deviations = by_chain - shares * by_chain.sum(axis=0)
    between = np.sum(deviations**2 / shares, axis=0) / (len(by_chain) - 1)
    freedom = np.clip(freedom, 1.0, max(1.0, level.freedom))
    most = fdtri(len(by_chain) - 1, freedom, 1.0 - 1e-4)
    floor = np.maximum(within, np.maximum(between / 1e6, TINY))
    result: FloatArray = np.where(between > most * within, np.maximum(between / floor, 1.0), 1.0)
    return result


def _between_chains(sums: FloatArray) -> LongRunVariance:
    """Variance of the total by the sums of the chains, which are independent of each other.

    Few chains have few degrees of freedom, so that hardly anything is significant. A single chain
    tells nothing about its own variance: its one degree of freedom stands for none.
    """
    count = len(sums)
    deviations = sums - sums.mean(axis=0)
    variance = count / max(1, count - 1) * np.einsum("ij,ij->j", deviations, deviations)
    freedom = np.full(sums.shape[1], max(1.0, count - 1.0))
    return LongRunVariance(variance, freedom, np.ones_like(variance))


def _of_squares(sums: FloatArray) -> LongRunVariance:
    """Variance of the total by squared sums; heavy tails lower the degrees of freedom."""
    squares = sums**2
    second = squares.mean(axis=0)
    kurtosis = np.mean((squares / np.maximum(second, TINY)) ** 2, axis=0)
    # (kurtosis - 1)/2 is the variance of a mean of squares over that of normal sums.
    excess = np.maximum(0.5 * (kurtosis - 1.0), 1.0)
    freedom = np.maximum((len(sums) - 1.0) / excess, 1.0)
    return LongRunVariance(squares.sum(axis=0), freedom, np.ones_like(second))
