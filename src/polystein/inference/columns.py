"""Mean and covariance of columns of numbers, block by block."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import finite, kish_size, ones, summed_products
from polystein.types import FloatArray

# Columns whose spread is below this part of their mean may be constant but for rounding.
_NEARLY_CONSTANT = 1e-10
# A scatter of at least this part of the sum of squares loses two bits as their difference.
_LEAST_SCATTER = 0.25


class MeanAndCovariance(NamedTuple):
    """Mean of some columns, their covariance (1/n), and the effective number of rows.

    If there are too many columns for a matrix, ``covariance`` holds only the variances: its
    shape is (K, K) or (K,).
    """

    mean: FloatArray
    covariance: FloatArray
    rows: float

    @property
    def variance(self) -> FloatArray:
        """The variance of each column."""
        return self.covariance if self.covariance.ndim == 1 else self.covariance.diagonal()

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of each column."""
        result: FloatArray = np.sqrt(self.variance)
        return result


class ColumnMoments:
    """Weighted mean and covariance of columns, by pairwise updates.

    Keeps the total weight W, the mean m = sum w g / W and the matrix
    S = sum w (g - m)(g - m)', of which only the diagonal is kept if `joint` is False.
    These merge without cancellation.
    """

    def __init__(self, columns: int, *, joint: bool = True) -> None:
        self.weight = self.weight_squares = 0.0
        self.mean = np.zeros(columns)
        self.scatter = np.zeros((columns, columns) if joint else columns)
        self._joint = joint

    def update(self, columns: FloatArray, weights: FloatArray | None) -> Self:
        """Add rows, of weight 1 where `weights` is None."""
        weight, squares, shares = _shares(len(columns), weights)
        if weight == 0.0:
            return self
        return self.add(weight, squares, *self._of_rows(columns, weights, shares, weight))

    def update_side_by_side(
        self, parts: Iterable[FloatArray], rows: int, weights: FloatArray | None
    ) -> Self:
        """Add rows whose columns come in several arrays, one array after the other.

        Only the variances can be kept.
        """
        weight, squares, shares = _shares(rows, weights)
        if weight == 0.0:
            return self
        found = [self._of_rows(columns, weights, shares, weight) for columns in parts]
        mean, scatter = map(np.concatenate, zip(*found, strict=True))
        return self.add(weight, squares, mean, scatter)

    def _of_rows(
        self,
        columns: FloatArray,
        weights: FloatArray | None,
        shares: FloatArray,
        weight: float,
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of some rows, of which each has its share in the mean."""
        mean = summed_products(shares, columns)
        if not self._joint:
            with np.errstate(over="ignore", invalid="ignore"):  # deviations may be in range
                means_of_squares = summed_products(shares, columns * columns)
                variance = means_of_squares - mean * mean
            if (variance > _LEAST_SCATTER * means_of_squares).all():
                # Hardly anything cancels: deviations from the mean would give the same.
                return mean, weight * variance
        deviations = columns - mean
        scatter = self._scatter(deviations, weights)
        variances = scatter.diagonal() if self._joint else scatter
        if (variances <= weight * (_NEARLY_CONSTANT * mean) ** 2).any():
            # A long sum rounds. The mean of the deviations is what the mean is off by.
            remainder = summed_products(shares, deviations)
            mean += remainder
            deviations -= remainder
            scatter = self._scatter(deviations, weights)
        return mean, scatter

    def _scatter(self, deviations: FloatArray, weights: FloatArray | None) -> FloatArray:
        weighted = deviations if weights is None else weights[:, None] * deviations
        if self._joint:
            return summed_products(deviations, weighted)
        sums: FloatArray = np.einsum("ij,ij->j", deviations, weighted)
        return sums

    def merge(self, other: ColumnMoments) -> Self:
        """Add another accumulator's rows."""
        return self.add(other.weight, other.weight_squares, other.mean, other.scatter)

    def add(
        self, weight: float, weight_squares: float, mean: FloatArray, scatter: FloatArray
    ) -> Self:
        """Add rows given by their total weight, mean and scatter."""
        if weight == 0.0:
            return self
        if self.weight == 0.0:
            self.mean, self.scatter = mean, scatter
        else:
            total = self.weight + weight
            with np.errstate(over="ignore", invalid="ignore"):
                difference = mean - self.mean
                between = difference[:, None] * difference if self._joint else difference**2
                self.scatter = self.scatter + scatter + (self.weight * weight / total) * between
            self.mean = self.mean + (weight / total) * difference
        # Its largest number is a variance.
        finite(float(self.scatter.max()), "the variance of a column")
        self.weight += weight
        self.weight_squares += weight_squares
        return self

    def zero(self) -> ColumnMoments:
        """An accumulator of the same kind without rows."""
        return ColumnMoments(self.mean.size, joint=self._joint)

    def finalise(self) -> MeanAndCovariance:
        """Mean and covariance over all rows so far."""
        effective = kish_size(self.weight, self.weight_squares)
        return MeanAndCovariance(self.mean, self.scatter / self.weight, effective)


def _shares(rows: int, weights: FloatArray | None) -> tuple[float, float, FloatArray]:
    """Total weight of some rows, sum of the squared weights, and each row's share in a mean."""
    if weights is None:
        return float(rows), float(rows), _equal_shares(rows)
    weight = float(weights.sum())
    shares = weights / weight if weight > 0.0 else weights
    return weight, float(weights @ weights), shares


@lru_cache(maxsize=4)
def _equal_shares(rows: int) -> FloatArray:
    """1/n for each of n rows; blocks of a pass are mostly of one size."""
    return np.full(rows, 1.0 / rows)


def segment_sums(columns: FloatArray, low: NDArray[np.intp], high: NDArray[np.intp]) -> FloatArray:
    """Sums over the rows ``low:high``, for each of several pairs in their order."""
    if low.size <= 8:
        # For few pairs products with ones are several times as fast as sums of rows.
        all_ones = ones(len(columns))
        bounds = zip(low.tolist(), high.tolist(), strict=True)
        return np.array(
            [summed_products(all_ones[start:stop], columns[start:stop]) for start, stop in bounds]
        )
    if np.array_equal(low[1:], high[:-1]) and high[-1] == len(columns):
        result: FloatArray = np.add.reduceat(columns, low)
        return result
    # Every second sum is over a gap; the last one goes to the end of the rows unless it is cut.
    cuts = np.stack([low, high], axis=1).ravel()
    cuts = cuts[:-1] if cuts[-1] == len(columns) else cuts
    between: FloatArray = np.add.reduceat(columns, cuts)[::2]
    return between
