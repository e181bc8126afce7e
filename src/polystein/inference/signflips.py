"""Sums over batches of rows, judged by flipping the signs of whole batches.

Under the null hypothesis sums over distant batches are independent and nearly symmetric about
0. Flipping the signs of whole batches, alike for all features, shows what chance can do. With
b_j the sums of feature j over the batches,

    t_j = sum over batches of b_j / sqrt(sum over batches of b_j^2),

and a family of features gives two statistics: the sum of t_j^2 (a little in many places) and
the largest t_j^2 (much in one).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from polystein._lib.numerics import EPSILON, TINY, finite
from polystein.types import FloatArray

# Statistics that differ by no more than this, relatively, are equal but for rounding.
STILL = 1e-9
# Columns whose flips are summed at once: their products stay in a core's cache.
_COLUMNS_AT_ONCE = 512


class FlippedStatistics(NamedTuple):
    """Statistics of a family for the draws as they are (first) and for every flip."""

    total: FloatArray
    largest: FloatArray
    #: Which feature has the largest t^2 in the draws as they are.
    position: int


def random_signs(flips: int, batches: int, rng: np.random.Generator) -> FloatArray:
    """Signs of shape (1 + flips, batches); all are + in the first row, the draws as they are."""
    signs = np.ones((1 + flips, batches))
    signs[1:] -= 2.0 * rng.integers(0, 2, size=(flips, batches))
    return signs


def flipped_statistics(parts: Iterable[FloatArray], signs: FloatArray) -> FlippedStatistics:
    """Sum and largest of t^2 over a family, whose batch sums come in parts."""
    total, largest = np.zeros(signs.shape[0]), np.zeros(signs.shape[0])
    position, offset = 0, 0
    for part in parts:
        unit = unit_columns(part)
        for low in range(0, unit.shape[1], _COLUMNS_AT_ONCE):
            columns = slice(low, low + _COLUMNS_AT_ONCE)
            squares = (signs @ unit[:, columns]) ** 2
            highest = squares.max(axis=1)
            if highest[0] > largest[0]:
                position = offset + low + int(np.argmax(squares[0]))
            total += squares.sum(axis=1)
            np.maximum(largest, highest, out=largest)
        offset += unit.shape[1]
    return FlippedStatistics(total, largest, position)


def unit_columns(part: FloatArray) -> FloatArray:
    """Batch sums over the root of their sum of squares; what is always 0 stays 0."""
    unit = tamed(part)
    norms = np.sqrt(np.einsum("bj,bj->j", unit, unit))
    unit *= np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    return unit


def tamed(part: FloatArray) -> FloatArray:
    """A copy over each column's largest: squares neither overflow nor vanish."""
    largest = np.maximum(part.max(axis=0), -part.min(axis=0))
    finite(float(largest.max()), "a batch sum")
    scale = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > TINY)
    result: FloatArray = part * scale
    return result


def neighbour_correlations(
    part: FloatArray, neighbours: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Centred batch sums, and for each feature the correlation of neighbouring ones."""
    centred = tamed(part)
    centred -= centred.mean(axis=0)
    squares = np.einsum("bj,bj->j", centred, centred)
    products = np.einsum("bj,bj->j", centred[1:], centred[:-1])
    for border in np.flatnonzero(~neighbours):
        products -= centred[border] * centred[border + 1]
    # What varies by no more than rounding remembers nothing.
    moving = squares > STILL**2
    return centred, np.divide(products, squares, out=np.zeros_like(squares), where=moving)


def gamma_tail(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Upper tail of sums of t^2 under the gamma law of the reference's mean and variance.

    Only the order of flips across statistics depends on the fit, and not their calibration:
    a smooth tail tells apart what ranks among a few hundred flips would tie.
    """
    mean, variance = float(reference.mean()), float(reference.var())
    if not variance > (STILL * mean) ** 2:
        return np.ones_like(values)  # what no flip moves says nothing
    tail: FloatArray = gammaincc(mean**2 / variance, values * (mean / variance))
    return tail


def maximum_tail(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Upper tail of the largest t^2 as that of so many independent squared normals.

    Of m independent ones the largest has the tail 1 - (1 - T)^m, with T the tail of one,
    and -m log(1 - T) is exponential with mean 1, which gives m from the reference.
    """
    count = 1.0 / max(float(np.mean(-np.log1p(-_square_tail(reference)))), TINY)
    tail: FloatArray = -np.expm1(count * np.log1p(-_square_tail(values)))
    return tail


def _square_tail(values: FloatArray) -> FloatArray:
    """Upper tail of a squared standard normal; below 1, even at 0."""
    tail: FloatArray = np.minimum(gammaincc(0.5, 0.5 * values), 1.0 - EPSILON)
    return tail


def calibrated_minimum(tails: FloatArray, level_shares: FloatArray) -> float:
    """P-value of the smallest of several tails, each over its share of the level.

    Both have one row a statistic, and a column for the draws (the first) and each flip. The
    p-value is the part of the columns that look as far out as the first.
    """
    least = np.min(tails / level_shares[:, None], axis=0)
    return int(np.count_nonzero(least <= least[0] * (1.0 + STILL))) / int(least.size)
