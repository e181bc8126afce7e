"""The variance of the mean of the test columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polystein.moments import ColumnMoments
from polystein.protocols import Accumulator, FloatArray, Layout, LongRun


@dataclass(frozen=True)
class IID:
    """Independent rows: the sample variance of Algorithms 1 and 3.

    With importance weights, normalised to sum to 1, the variance of the mean is
    sum w^2 (u - mean)^2 / (1 - sum w^2), which for equal weights is s_u^2 / n.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.IID()
    IID()
    """

    #: Fewer effective rows than this and the normal reference is not to be trusted.
    least_ess = 30.0

    def accumulator(self, layout: Layout, columns: int) -> Accumulator:
        """Running mean and covariance, in small memory."""
        return _IIDAccumulator(columns)


class _IIDAccumulator:
    def __init__(self, columns: int) -> None:
        self._mean = ColumnMoments(columns)
        # The same sums under squared weights, which unweighted rows do not need.
        self._squared: ColumnMoments | None = None

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        self._mean.update(columns, weights)
        if weights is not None:
            if self._squared is None:
                self._squared = ColumnMoments(columns.shape[1])
            self._squared.update(columns, weights**2)

    def finalise(self) -> LongRun:
        total, mean = self._mean.weight, self._mean.mean
        squared = self._mean if self._squared is None else self._squared
        # Scatter under squared weights around the mean under the weights themselves.
        offset = squared.mean - mean
        scatter = squared.scatter + squared.weight * np.outer(offset, offset)
        shares = squared.weight / total**2
        covariance = scatter / total**2 / (1.0 - shares)
        columns = mean.shape[0]
        return LongRun(mean, covariance, np.full(columns, np.inf), np.full(columns, 1.0 / shares))
