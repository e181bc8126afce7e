"""The squared length of an expectation, from batches of rows that may be autocorrelated."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from polystein.inference.longrun import (
    ENOUGH_CHAINS,
    EqualBatches,
    IndependentBatches,
    total_variance,
)
from polystein.types import FloatArray


class SquaredLength(NamedTuple):
    """An estimate of ||E g||^2, which may be negative, its standard error and its df."""

    value: float
    error: float
    df: float


def squared_length(
    mean: FloatArray, sums: FloatArray, batches: EqualBatches | IndependentBatches
) -> SquaredLength:
    """Estimate ||E g||^2 from the mean of g over rows, whose own length noise makes too large.

    With mu = E g and S the covariance of the mean, E ||mean||^2 = ||mu||^2 + tr S. The trace is
    subtracted. For single independent rows this is the U-statistic of the products g(x)'g(x').

    The variance of the estimate is 4 mu'S mu + 2 tr S^2. As the expectation of mean'S mean is
    mu'S mu + tr S^2, that is 4 mean'S mean - 2 tr S^2 on average, and never below 2 tr S^2.

    Parameters
    ----------
    mean : array of shape (K,)
        The mean of g over all rows.
    sums : array of shape (batches, K)
        Sums over batches of g - mean, each row's as its share in the mean.
    batches : EqualBatches or IndependentBatches
        What they are sums over.
    """
    # Deviations from a mean that they are part of are too small by this factor.
    blocks = batches.total
    if isinstance(batches, EqualBatches) and len(batches.lengths) >= ENOUGH_CHAINS:
        blocks = len(batches.lengths)  # whole chains are the batches then
    fewer = blocks / max(1, blocks - 1)
    trace = fewer * float(total_variance(sums, batches).variance.sum())
    along = total_variance((sums @ mean)[:, None], batches)
    around, square = 4.0 * fewer * float(along.variance[0]), 2.0 * trace**2 * _concentration(sums)
    error = math.sqrt(max(around - square, square))
    return SquaredLength(float(mean @ mean) - trace, error, float(along.df[0]))


def _concentration(sums: FloatArray) -> float:
    """tr S^2 over (tr S)^2 for the covariance S behind sums over batches: 1 for one direction.

    Products of distinct batches alone are summed. What is left of autocorrelation between batches
    changes both traces by about the same factor, which the ratio does not have.
    """
    scale = math.sqrt(float(np.vdot(sums, sums))) or 1.0
    unit = sums / scale
    narrow = unit if unit.shape[0] < unit.shape[1] else unit.T
    products = narrow @ narrow.T
    own = np.einsum("bk,bk->b", unit, unit)
    distinct = float(np.vdot(products, products) - own @ own)
    pairs = 1.0 - float(own @ own)
    least = 1.0 / sums.shape[1]  # by Cauchy's inequality
    return min(1.0, max(least, distinct / pairs)) if pairs > 0.0 else 1.0
