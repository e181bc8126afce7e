"""Lugsail batch means: a long-run variance by few long batches.

With b_k the sum of a column over batch k, of a batches in all, the variance of the mean is
estimated by V_a = a/(a - 1) sum_k (b_k - mean)^2 / n^2. It is too small if batches are not much
longer than the autocorrelation. Their halves give less still, by as much again, so that

    2 V_a - V_2a    (but at least V_a)

has no such bias (Vats and Flegal, 2022, Lugsail lag windows, Biometrika 109).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import TINY, kish_size
from polystein._lib.segments import Cuts
from polystein.inference.columns import segment_sums
from polystein.inference.variance import LongRun, effective_size, require_effective_rows
from polystein.types import FloatArray


class ChainHalves(NamedTuple):
    """Test rows ``start:stop`` of a chain, in halves of batches numbered from ``first`` on.

    Two neighbouring halves make a batch, unless batches are whole (`LugsailBatches`).
    """

    start: int
    stop: int
    halves: int
    first: int


class LugsailBatches:
    """Accumulates sums of columns over the halves of batches, of chains by their number.

    ``halved`` is False if batches are independent of each other, as those of different chains
    are: then their own variance needs no correction.
    """

    def __init__(self, chains: Mapping[int, ChainHalves], columns: int, *, halved: bool) -> None:
        self._chains, self._halved = chains, halved
        self._cuts = _halves(chains)
        count = max(chain.first + chain.halves for chain in chains.values())
        self._sums, self._weights = np.zeros((count, columns)), np.zeros(count)
        # Sum of the squared columns and of the squared weights.
        self._squares, self._squared_weights = np.zeros(columns), 0.0

    def zero(self) -> LugsailBatches:
        """An accumulator of the same kind without rows."""
        return LugsailBatches(self._chains, self._sums.shape[1], halved=self._halved)

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        """Take the columns of one block, which begins at row ``start`` of a chain."""
        self.update_runs(columns, weights, [(chain, start, 0, len(columns))])

    def update_runs(
        self,
        columns: FloatArray,
        weights: FloatArray | None,
        runs: Sequence[tuple[int, int, int, int]],
    ) -> None:
        """Take the columns of a block of rows of several chains, as in `Cuts.segments`."""
        own = np.ones(len(columns)) if weights is None else weights
        weighted = columns if weights is None else columns * weights[:, None]
        low, high, half = self._cuts.segments(runs)
        # Short chains share a half.
        np.add.at(self._sums, half, segment_sums(weighted, low, high))
        np.add.at(self._weights, half, segment_sums(own, low, high))
        self._squares += np.einsum("ij,ij->j", weighted, columns)
        self._squared_weights += float(own @ own)

    def merge(self, other: LugsailBatches) -> LugsailBatches:
        """Add another accumulator's rows."""
        self._sums += other._sums
        self._weights += other._weights
        self._squares += other._squares
        self._squared_weights += other._squared_weights
        return self

    def finalise(self) -> LongRun:
        """Mean, covariance of the mean, degrees of freedom, effective size.

        The reference is Student's t with half as many degrees of freedom as the variance of
        the batches has: the difference of two variances is more uncertain than either.
        """
        total = float(self._weights.sum())
        mean = self._sums.sum(axis=0) / total
        kish = kish_size(total, self._squared_weights)
        require_effective_rows(kish)
        whole = 2 if self._halved else 1
        covariance, count = self._covariance(mean, whole)
        variance = np.diagonal(covariance)
        if self._halved:
            lugsail = 2.0 * variance - np.diagonal(self._covariance(mean, 1)[0])
            scale = np.sqrt(np.maximum(lugsail, variance) / np.maximum(variance, TINY))
            covariance = covariance * np.outer(scale, scale)
        marginal = np.maximum(self._squares / total - mean**2, 0.0)
        ess = np.minimum(effective_size(marginal, np.diagonal(covariance)), kish)
        df = np.full(mean.size, max(1.0, (count - 1.0) / whole))
        return LongRun(mean, covariance, df, ess)

    def _covariance(self, mean: FloatArray, together: int) -> tuple[FloatArray, float]:
        """Covariance of the mean by sums over ``together`` halves each, and their number."""
        sums = self._sums.reshape(-1, together, mean.size).sum(axis=1)
        weights = self._weights.reshape(-1, together).sum(axis=1)
        count = kish_size(float(weights.sum()), float(weights @ weights))
        deviations = sums - weights[:, None] * mean
        covariance = deviations.T @ deviations / weights.sum() ** 2
        return covariance * count / max(count - 1.0, TINY), count


def _halves(chains: Mapping[int, ChainHalves]) -> Cuts:
    """The halves of every chain: row i of n is in half i * halves // n."""
    numbers = sorted(chains)
    table = np.array([chains[number] for number in numbers], dtype=np.intp)
    start, stop, halves, first = np.repeat(table, table[:, 2], axis=0).T
    part = np.arange(halves.size) - np.repeat(np.cumsum(table[:, 2]) - table[:, 2], table[:, 2])
    # The smallest row i with i * halves >= part * n.
    low = start + -(-part * (stop - start) // halves)
    high = start + -(-(part + 1) * (stop - start) // halves)
    chain = np.repeat(np.array(numbers, dtype=np.intp), table[:, 2])
    return Cuts(chain, low, high, first + part)
