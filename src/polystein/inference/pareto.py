"""Tails: whether the test column has a variance, and whether one draw outweighs the others."""

from __future__ import annotations

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.data.coordinates import Coordinates
from polystein.data.passes import every_row, read_blocks
from polystein.protocols import FloatArray, Source

# A generalised Pareto tail of index k has a finite variance for k < 1/2.
LARGEST_INDEX = 0.5
# The largest square's part in the sum of squares below which no one need look closer.
SUSPICIOUS_SHARE = 0.1
# One draw's part in a coordinate's variance above which the others look alike beside it.
MOST_OF_A_VARIANCE = 0.5
_FEWEST_EXCEEDANCES = 10


def pareto_index(values: FloatArray) -> tuple[float, float]:
    """Index k of a generalised Pareto law fitted to the largest values, and its error.

    The fit is the quasi-Bayesian one of Zhang and Stephens (2009), A new and
    efficient estimation method for the generalized Pareto distribution,
    Technometrics 51, to the largest min(n/5, 3 sqrt(n)) of the values. The index is
    -inf where there are too few of them for a fit; the standard error is
    (1 + k)/sqrt(m) for m exceedances.
    """
    count = int(min(0.2 * values.size, 3.0 * np.sqrt(values.size)))
    if count < _FEWEST_EXCEEDANCES:
        return -np.inf, 0.0
    ordered = np.partition(values, values.size - count - 1)[values.size - count - 1 :]
    ordered.sort()
    # A chain that stays repeats its values, at the threshold too.
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


def largest_share(source: Source, coordinates: Coordinates) -> tuple[float, int]:
    """The largest share of one row in a coordinate's sum of squares, and the coordinate.

    The coordinates must be those that standardise all rows.
    """
    largest, total = np.zeros(source.layout.dimension), 0.0
    for block in read_blocks(source, every_row(source)):
        squares = to_numpy(coordinates.apply(block.draws, block.scores)[0]) ** 2
        weights = np.ones(block.rows) if block.weights is None else block.weights
        np.maximum(largest, np.max(weights[:, None] * squares, axis=0), out=largest)
        total += float(weights.sum())
    coordinate = int(np.argmax(largest))
    return float(largest[coordinate]) / total, coordinate
