"""Sums over batches of rows, judged by flipping the signs of whole batches.

Under the null hypothesis sums over distant batches are independent and nearly symmetric about
0. Flipping the signs of whole batches, the same for all features, shows how large statistics
become by chance. With b_j the sums of feature j over the batches,

    t_j = sum over batches of b_j / sqrt(sum over batches of b_j^2),

and a family of features gives two statistics: the sum of t_j^2 (a little in many places) and
the largest t_j^2 (much in one).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, gammaincc

from polystein._lib.numerics import EPSILON, TINY, finite
from polystein.types import FloatArray

# Statistics whose relative difference is at most this are equal up to rounding.
STILL = 1e-9
# So are columns in single precision whose spread is below this part of their largest entry.
_STILL_IN_SINGLE = 1e-4
# With so many batches no pattern of signs comes twice among a few hundred flips.
_FEWEST_IN_SINGLE = 32
# Columns whose flips are summed at once: their products stay in a core's cache.
_COLUMNS_AT_ONCE = 512


class FlippedStatistics(NamedTuple):
    """Statistics of a family for the draws as they are (first) and for every flip."""

    total: FloatArray
    largest: FloatArray
    #: Which feature has the largest t^2 in the draws as they are.
    position: int


def random_signs(flips: int, batches: int, rng: np.random.Generator) -> FloatArray:
    """Signs of shape (1 + flips, batches); the first row is all +1, for the draws as they are."""
    signs = np.ones((1 + flips, batches))
    signs[1:] -= 2.0 * rng.integers(0, 2, size=(flips, batches))
    return signs


def flipped_statistics(parts: Iterable[FloatArray], signs: FloatArray) -> FlippedStatistics:
    """Sum and maximum of t^2 over a family, whose batch sums come in parts.

    Sums in single precision are flipped in single precision, the draws as they are like every
    flip: what rounding does to one it does to all, and ranks among flips stay fair. Few batches
    are flipped in double precision, for patterns of signs repeat there and must tie.
    """
    few = signs.shape[1] < _FEWEST_IN_SINGLE
    total, largest = np.zeros(signs.shape[0]), np.zeros(signs.shape[0])
    memory = np.empty((_COLUMNS_AT_ONCE, signs.shape[0]))
    position, offset = 0, 0
    for part in parts:
        precision = np.dtype(np.float64) if few else part.dtype
        if memory.dtype != precision:
            memory, signs = memory.astype(precision), signs.astype(precision)
        for columns in in_chunks(part):
            # Only a chunk is scaled at a time: it stays in cache until its flips are summed.
            unit = unit_columns(columns.astype(precision, copy=False))
            squares = np.matmul(unit.T, signs.T, out=memory[: unit.shape[1]])
            np.multiply(squares, squares, out=squares)
            highest = squares.max(axis=0)
            if highest[0] > largest[0]:
                position = offset + int(np.argmax(squares[:, 0]))
            total += squares.sum(axis=0)
            np.maximum(largest, highest, out=largest)
            offset += columns.shape[1]
    return FlippedStatistics(total, largest, position)


def in_chunks(part: FloatArray) -> Iterator[FloatArray]:
    """Some of the columns at a time, as many as stay in a core's cache."""
    for low in range(0, part.shape[1], _COLUMNS_AT_ONCE):
        yield part[:, low : low + _COLUMNS_AT_ONCE]


def unit_columns(part: FloatArray) -> FloatArray:
    """Batch sums divided by the root of their sum of squares; a column of zeros stays 0."""
    unit = tamed(part)
    norms = np.sqrt(np.einsum("bj,bj->j", unit, unit))
    unit *= np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    return unit


def tamed(part: FloatArray) -> FloatArray:
    """A copy scaled by each column's largest entry: squares neither overflow nor underflow."""
    largest = np.maximum(part.max(axis=0), -part.min(axis=0))
    finite(float(largest.max()), "a batch sum")
    scale = np.divide(
        1.0, largest, out=np.zeros_like(largest), where=largest > np.finfo(part.dtype).tiny
    )
    result: FloatArray = part * scale
    return result


def neighbour_correlations(
    part: FloatArray, neighbours: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Centred batch sums, and for each feature the correlation of neighbouring ones."""
    centred = tamed(part)
    centred -= centred.mean(axis=0)
    squares = np.einsum("bj,bj->j", centred, centred)
    after = centred[1:] if neighbours.all() else centred[1:] * neighbours[:, None]
    products = np.einsum("bj,bj->j", after, centred[:-1])
    # A column that varies only by rounding counts as uncorrelated.
    moving = squares > (STILL if part.dtype == np.float64 else _STILL_IN_SINGLE) ** 2
    return centred, np.divide(products, squares, out=np.zeros_like(squares), where=moving)


def gamma_tail(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Upper tail of sums of t^2 under the gamma law of the reference's mean and variance.

    The fit decides how flips are ordered across statistics, and not their calibration. A
    smooth tail separates values that would tie as ranks among a few hundred flips.
    """
    mean, variance = float(reference.mean()), float(reference.var())
    if not variance > (STILL * mean) ** 2:
        return np.ones_like(values)  # a statistic that no flip changes
    tail: FloatArray = gammaincc(mean**2 / variance, values * (mean / variance))
    return tail


def maximum_tail(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Upper tail of the largest t^2, as if of m independent squared normals.

    The largest of m independent ones has the tail 1 - (1 - T)^m, with T the tail of one,
    and -m log(1 - T) is exponential with mean 1, from which the reference gives m.
    """
    count = 1.0 / max(float(np.mean(-np.log1p(-_square_tail(reference)))), TINY)
    tail: FloatArray = -np.expm1(count * np.log1p(-_square_tail(values)))
    return tail


def _square_tail(values: FloatArray) -> FloatArray:
    """Upper tail of a squared standard normal; below 1, even at 0."""
    tail: FloatArray = np.minimum(erfc(np.sqrt(0.5 * values)), 1.0 - EPSILON)
    return tail


def calibrated_minimum(tails: FloatArray, level_shares: FloatArray) -> float:
    """P-value of the smallest of several tails, each divided by its share of the level.

    ``tails`` has one row for each statistic, and one column for the draws (the first) and for
    each flip. The p-value is the share of columns that are at least as extreme as the first.
    """
    least = np.min(tails / level_shares[:, None], axis=0)
    return int(np.count_nonzero(least <= least[0] * (1.0 + STILL))) / int(least.size)
