"""The tail of a column: a generalised Pareto fit, and whether a variance exists."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from polystein._lib.numerics import TINY
from polystein.types import FloatArray

# A generalised Pareto tail of index k has a finite variance for k < 1/2.
LARGEST_INDEX = 0.5
# If the largest square is at most this part of the sum of squares, no tail is fitted.
SUSPICIOUS_PART = 0.1
# The fit has two parameters; with fewer exceedances its error is as large as the index.
_FEWEST_EXCEEDANCES = 10
# ArviZ fits five ratios or more, and weighs its prior of k, with mean 1/2, as ten of them.
_FEWEST_RATIOS, _PRIOR_RATIOS = 5, 10


def heavy_tail_index(column: FloatArray) -> float | None:
    """The Pareto index of a column whose variance may be infinite, None for any other.

    The index has to exceed 1/2 by one standard error: a polynomial of a few hundred
    Gaussian draws looks heavy too.
    """
    return LargestValues(column.size).add(column).heavy_tail_index()


class LargestValues:
    """The largest absolute values of a column that comes in parts: all that a tail is fitted to.

    ``rows`` is how many values there will be; about 6 sqrt(rows) of them are kept at a time. Zeros,
    which rows without importance weight leave, are not counted: they would lower the threshold
    beyond which a value belongs to the tail.
    """

    def __init__(self, rows: int) -> None:
        self._rows, self._squares, self._other_than_zero = rows, 0.0, 0
        # One more is the threshold.
        self._count = exceedance_count(rows) + 1
        self._kept: list[FloatArray] = []
        self._held, self._least = 0, -np.inf

    def zero(self) -> LargestValues:
        """The same for as many values, of which none has come."""
        return LargestValues(self._rows)

    def add(self, column: FloatArray) -> LargestValues:
        """Take further values."""
        # Unlike `@` this does not warn of overflow: beside an infinite sum no value stands out.
        self._squares += float(np.vdot(column, column))
        self._other_than_zero += int(np.count_nonzero(column))
        values = np.abs(column)
        self._keep(values if self._least < 0.0 else values[values > self._least])
        return self

    def merge(self, other: LargestValues) -> LargestValues:
        """Take the values of another part of the column."""
        self._squares += other._squares
        self._other_than_zero += other._other_than_zero
        for values in other._kept:
            self._keep(values)
        return self

    def _keep(self, values: FloatArray) -> None:
        self._kept.append(values)
        self._held += values.size
        if self._held > 2 * self._count and len(self._kept) > 1:
            self._shrink()

    def _shrink(self) -> None:
        """Drop what cannot be among the largest any more."""
        values = np.concatenate(self._kept)
        values = values[np.argpartition(values, values.size - self._count)[-self._count :]]
        self._kept, self._held, self._least = [values], values.size, float(values.min())

    def heavy_tail_index(self) -> float | None:
        """The Pareto index if it is too large, None otherwise."""
        values = self._kept[0] if len(self._kept) == 1 else np.concatenate(self._kept)
        largest = float(values.max())
        # A product of floats is infinite where it overflows; a power would be an error.
        if largest * largest <= SUSPICIOUS_PART * self._squares:
            return None
        index, error = _tail_fit(values, exceedance_count(self._other_than_zero))
        return index if index - error > LARGEST_INDEX else None


def exceedance_count(rows: int) -> int:
    """How many of the largest values a tail is fitted to."""
    return int(min(0.2 * rows, 3.0 * math.sqrt(rows)))


def pareto_index(values: FloatArray) -> tuple[float, float]:
    """Index k of a generalised Pareto law fitted to the largest values, and its error.

    The fit is the quasi-Bayesian one of Zhang and Stephens (2009), A new and
    efficient estimation method for the generalized Pareto distribution,
    Technometrics 51, to the largest min(n/5, 3 sqrt(n)) of the values. The index is
    -inf if there are too few of them for a fit; the standard error is
    (1 + k)/sqrt(m) for m exceedances.
    """
    return _tail_fit(values, exceedance_count(values.size))


def psis_index(log_ratios: FloatArray) -> float:
    """Pareto k-hat of importance ratios, given by their logarithms, as ArviZ computes it.

    The law of `pareto_index` is fitted to the largest ceil(min(n/5, 3 sqrt(n))) ratios, and the
    index is drawn towards 1/2 as if by ten further ratios (Vehtari, Simpson, Gelman, Yao and
    Gabry, 2024, Pareto smoothed importance sampling, JMLR 25(72)). Above 0.7 importance sampling
    fails: the density that the draws come from is far from the target. The index is inf if there
    are too few ratios for a fit, or if one of them is infinite or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal(4000)
    >>> bool(psis_index(-0.05 * x**2) < 0.0), bool(psis_index(0.45 * x**2) > 0.7)
    (True, True)
    """
    size = log_ratios.size
    if size < _FEWEST_RATIOS or not math.isfinite(log_ratios.max()):
        return math.inf
    shifted = log_ratios - log_ratios.max()
    place = size - math.ceil(min(size / 5.0, 3.0 * math.sqrt(size))) - 1
    threshold = max(float(np.partition(shifted, place)[place]), math.log(TINY))
    tail = np.sort(shifted[shifted > threshold])
    if tail.size < _FEWEST_RATIOS:
        return math.inf
    with np.errstate(divide="ignore", invalid="ignore"):  # ratios may differ by rounding alone
        index = _fitted_index(np.exp(tail) - math.exp(threshold))
    if math.isnan(index):
        return math.inf
    return (tail.size * index + _PRIOR_RATIOS * LARGEST_INDEX) / (tail.size + _PRIOR_RATIOS)


def _tail_fit(values: FloatArray, count: int) -> tuple[float, float]:
    """Index and error by the largest `count` of the values."""
    if count < _FEWEST_EXCEEDANCES:
        return -np.inf, 0.0
    ordered = np.partition(values, values.size - count - 1)[values.size - count - 1 :]
    ordered.sort()
    # A chain that does not move repeats values, possibly the threshold.
    exceedances = ordered[ordered > ordered[0]] - ordered[0]
    if exceedances.size < _FEWEST_EXCEEDANCES:
        return -np.inf, 0.0
    index = _fitted_index(exceedances)
    return index, (1.0 + max(0.0, index)) / math.sqrt(exceedances.size)


@lru_cache(maxsize=16)
def _grid(points: int) -> FloatArray:
    """The grid of b before it is scaled to the exceedances."""
    grid: FloatArray = 1.0 - np.sqrt(points / (np.arange(1.0, points + 1.0) - 0.5))
    return grid


def _fitted_index(exceedances: FloatArray) -> float:
    """Posterior mean over a grid of b, with k(b) its profile maximum likelihood."""
    size = exceedances.size
    points = 30 + math.isqrt(size)
    quartile = exceedances[int(size / 4.0 + 0.5) - 1]
    grid = _grid(points) / (3.0 * max(quartile, TINY)) + 1.0 / exceedances[-1]
    indices = np.log(1.0 - grid[:, None] * exceedances).sum(axis=1) / size
    likelihood = size * (np.log(-grid / indices) - indices - 1.0)
    weights = np.exp(likelihood - likelihood.max())
    centre = float(grid @ weights / weights.sum())
    return float(np.log1p(-centre * exceedances).sum()) / size
