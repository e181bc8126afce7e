"""The tail of a column: a generalised Pareto fit, and whether a variance exists."""

from __future__ import annotations

import numpy as np

from polystein.types import FloatArray

# A generalised Pareto tail of index k has a finite variance for k < 1/2.
LARGEST_INDEX = 0.5
# If the largest square is at most this part of the sum of squares, no tail is fitted.
SUSPICIOUS_PART = 0.1
# The fit has two parameters; with fewer exceedances its error is as large as the index.
_FEWEST_EXCEEDANCES = 10


def heavy_tail_index(column: FloatArray) -> float | None:
    """The Pareto index of a column whose variance may be infinite, None for any other.

    The index has to exceed 1/2 by one standard error: a polynomial of a few hundred
    Gaussian draws looks heavy too.
    """
    squares = column**2
    if float(squares.max()) <= SUSPICIOUS_PART * float(squares.sum()):
        return None
    index, error = pareto_index(np.abs(column))
    return index if index - error > LARGEST_INDEX else None


def pareto_index(values: FloatArray) -> tuple[float, float]:
    """Index k of a generalised Pareto law fitted to the largest values, and its error.

    The fit is the quasi-Bayesian one of Zhang and Stephens (2009), A new and
    efficient estimation method for the generalized Pareto distribution,
    Technometrics 51, to the largest min(n/5, 3 sqrt(n)) of the values. The index is
    -inf if there are too few of them for a fit; the standard error is
    (1 + k)/sqrt(m) for m exceedances.
    """
    count = int(min(0.2 * values.size, 3.0 * np.sqrt(values.size)))
    if count < _FEWEST_EXCEEDANCES:
        return -np.inf, 0.0
    ordered = np.partition(values, values.size - count - 1)[values.size - count - 1 :]
    ordered.sort()
    # A chain that does not move repeats values, possibly the threshold.
    exceedances = ordered[ordered > ordered[0]] - ordered[0]
    if exceedances.size < _FEWEST_EXCEEDANCES:
        return -np.inf, 0.0
    index = _fitted_index(exceedances)
    return index, (1.0 + max(0.0, index)) / float(np.sqrt(exceedances.size))


def _fitted_index(exceedances: FloatArray) -> float:
    """Posterior mean over a grid of b, with k(b) its profile maximum likelihood."""
    size = exceedances.size
    points = 30 + int(np.sqrt(size))
    quartile = exceedances[int(size / 4.0 + 0.5) - 1]
    grid = 1.0 - np.sqrt(points / (np.arange(1.0, points + 1.0) - 0.5))
    grid = grid / (3.0 * max(quartile, np.finfo(float).tiny)) + 1.0 / exceedances[-1]
    indices = np.mean(np.log1p(-grid[:, None] * exceedances), axis=1)
    likelihood = size * (np.log(-grid / indices) - indices - 1.0)
    with np.errstate(over="ignore"):
        weights = 1.0 / np.sum(np.exp(likelihood - likelihood[:, None]), axis=1)
    weights = np.where(weights > 10.0 * np.finfo(float).eps, weights, 0.0)
    centre = float(np.sum(grid * weights) / weights.sum())
    return float(np.mean(np.log1p(-centre * exceedances)))
