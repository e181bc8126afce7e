"""Batch means: the variance of a mean from the means of long batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from polystein._lib.arguments import integer_or_auto
from polystein._lib.numerics import TINY, kish_size
from polystein.errors import InputError
from polystein.inference.autocorrelation import autocovariances, initial_monotone_sums
from polystein.inference.columns import ColumnMoments
from polystein.inference.variance import (
    ChainAccumulator,
    ColumnAccumulator,
    Influence,
    LongRun,
    effective_size,
    require_effective_rows,
)
from polystein.types import FloatArray

#: Columns of at most this many rows are kept as they are.
MOST_ROWS_KEPT = 2**18
#: Of more rows, sums over at most this many short batches are kept.
MOST_SHORT_BATCHES = 2**16


@dataclass(frozen=True)
class BatchMeans:
    """Means of long batches, for chains that need not be reversible.

    Each chain is divided into batches of at least ten autocorrelation times (rows that
    do not fill a batch are left out at its beginning), and the variance is that of
    the batches' means. The reference is Student's t with one degree of freedom
    less than there are batches.

    Columns are kept until the end where there are at most 262,144 rows. Of more rows only sums
    over short batches are kept, at most 65,536 of them, which are joined to long ones: the space
    they need does not grow with the rows.

    Parameters
    ----------
    length : int or "auto"
        Rows in a batch; "auto" takes ten autocorrelation times of the slowest
        column, but leaves at least eight batches.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.BatchMeans(length=50)
    BatchMeans(length=50)
    """

    length: int | str = "auto"

    least_ess = 100.0
    respects_time = True
    # Means of shorter batches are correlated with their neighbours, which makes the error too
    # small ...
    _autocorrelation_times = 10.0
    # ... and fewer batches leave too few degrees of freedom.
    _fewest_batches = 8

    def __post_init__(self) -> None:
        integer_or_auto(self.length, "length", least=1)

    def accumulator(self, lengths: Sequence[int], columns: int) -> ColumnAccumulator:
        """Columns are kept whole, chain by chain, or as sums over short batches of many rows."""
        if sum(lengths) <= MOST_ROWS_KEPT:
            return ChainAccumulator(self)
        auto = isinstance(self.length, str)
        short = -(-sum(lengths) // MOST_SHORT_BATCHES) if auto else int(self.length)
        return ShortBatches(self, lengths, columns, short)

    def long_run(self, influence: Influence) -> LongRun:
        """Variance of the mean from the spread of the batches' means."""
        return self.of_short_batches(influence, 1, influence.total)

    def of_short_batches(self, influence: Influence, short: int, total: int) -> LongRun:
        """The same from means over batches of ``short`` rows each, of ``total`` rows in all."""
        together = self._joined(influence, short)
        length = together * short
        batches = np.concatenate([_batched(chain, together) for chain in influence.chains])
        count = batches.shape[0]
        if count < 2:
            raise InputError(
                f"`length` must leave at least 2 batches of the test rows; {length} leaves {count}"
            )
        deviations = batches - batches.mean(axis=0)
        covariance = deviations.T @ deviations / (count - 1) * length / total
        ess = np.minimum(
            effective_size(influence.marginal, np.diagonal(covariance)), influence.kish
        )
        df = np.full(ess.shape, min(count, influence.kish) - 1.0)
        return LongRun(influence.mean, covariance, df, ess)

    def _joined(self, influence: Influence, short: int) -> int:
        """How many short batches are joined to a long one."""
        if isinstance(self.length, int | np.integer):
            return int(self.length) // short
        variance, _ = initial_monotone_sums(autocovariances(influence.chains))
        marginal = np.maximum(influence.marginal, TINY)
        # The long-run variance of a row is that of a short batch's mean times its rows.
        time = max(1.0, short * float(np.max(variance / marginal)))
        wanted = math.ceil(self._autocorrelation_times * time / short)
        shortest = min(int(chain.shape[0]) for chain in influence.chains)
        batches_a_chain = math.ceil(self._fewest_batches / len(influence.chains))
        return max(1, min(wanted, shortest // batches_a_chain))


class ShortBatches:
    """Sums of columns over short batches, in place of the columns themselves.

    Batches begin at multiples of their length. Those that the test rows do not fill, at both ends
    of their chain, count for the mean and not for its variance.
    """

    def __init__(self, rule: BatchMeans, lengths: Sequence[int], columns: int, rows: int) -> None:
        self._rule, self._lengths, self._length = rule, tuple(lengths), rows
        self._first = np.cumsum([0, *(-(-length // rows) for length in lengths)])
        self._sums = np.zeros((int(self._first[-1]), columns))
        self._weights, self._rows = np.zeros(len(self._sums)), np.zeros(len(self._sums), np.intp)
        self._moments = ColumnMoments(columns, joint=False)
        self._count, self._weighted = 0, False

    def zero(self) -> ShortBatches:
        """An accumulator of the same kind without rows."""
        return ShortBatches(self._rule, self._lengths, self._sums.shape[1], self._length)

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        """Take the columns of one block, which begins at row ``start`` of a chain."""
        own = np.ones(len(columns)) if weights is None else weights
        weighted = columns if weights is None else columns * weights[:, None]
        batch = np.arange(start, start + len(columns)) // self._length
        begins = np.flatnonzero(np.diff(batch, prepend=-1))
        place = self._first[chain] + batch[begins]
        self._sums[place] += np.add.reduceat(weighted, begins)
        self._weights[place] += np.add.reduceat(own, begins)
        self._rows[place] += np.diff(begins, append=len(columns))
        self._moments.update(columns, weights)
        self._count += len(columns)
        self._weighted |= weights is not None

    def merge(self, other: ShortBatches) -> ShortBatches:
        """Add another accumulator's rows."""
        self._sums += other._sums
        self._weights += other._weights
        self._rows += other._rows
        self._moments.merge(other._moments)
        self._count += other._count
        self._weighted |= other._weighted
        return self

    def finalise(self) -> LongRun:
        """Mean, covariance of the mean, degrees of freedom, effective size."""
        found = self._moments.finalise()
        kish = float(self._count)
        if self._weighted:
            kish = kish_size(self._moments.weight, self._moments.weight_squares)
            require_effective_rows(kish)
        influence = Influence(self._centred(found.mean), found.mean, found.variance, kish)
        return self._rule.of_short_batches(influence, self._length, self._count)

    def _centred(self, mean: FloatArray) -> list[FloatArray]:
        """Means over the full batches of each chain, times their weights over the mean weight."""
        scale = self._count / self._moments.weight / self._length
        centred = scale * (self._sums - self._weights[:, None] * mean)
        full = self._rows == self._length
        chains = [centred[low:high][full[low:high]] for low, high in pairwise(self._first.tolist())]
        return [chain for chain in chains if len(chain)]


def _batched(chain: FloatArray, length: int) -> FloatArray:
    """Means of consecutive batches; rows that do not fill one are left out at the start."""
    count = chain.shape[0] // length
    kept = chain[chain.shape[0] - count * length :]
    means: FloatArray = kept.reshape(count, length, chain.shape[1]).mean(axis=1)
    return means
