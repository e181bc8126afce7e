"""Lugsail batch means of test rows, row by row and batch by batch.

``columns`` and ``weights`` hold the test rows of each chain. Each chain is cut into ``halves``
parts, of which two neighbours make a batch; whole chains that are batches have one part.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class LongRun(NamedTuple):
    """Mean, covariance of the mean, degrees of freedom, and effective number of rows."""

    mean: Array
    covariance: Array
    freedom: float
    ess: Array


def parts_of(
    columns: Sequence[Array], weights: Sequence[Array], halves: Sequence[int]
) -> tuple[list[Array], list[float]]:
    """Weighted sum and weight of each part; row t of n is in part floor(t halves / n)."""
    sums, sizes = [], []
    for own, weight, count in zip(columns, weights, halves, strict=True):
        for part in range(count):
            rows = [t for t in range(len(own)) if t * count // len(own) == part]
            sums.append(sum((weight[t] * own[t] for t in rows), np.zeros(own.shape[1])))
            sizes.append(math.fsum(weight[t] for t in rows))
    return sums, sizes


def covariance_of(
    sums: Sequence[Array], sizes: Sequence[float], mean: Array
) -> tuple[Array, float]:
    """a/(a - 1) sum_k (b_k - w_k mean)(b_k - w_k mean)'/w^2 with a = w^2 / sum_k w_k^2."""
    total = math.fsum(sizes)
    count = total**2 / math.fsum(size**2 for size in sizes)
    result = np.zeros((mean.size, mean.size))
    for own, size in zip(sums, sizes, strict=True):
        result += np.outer(own - size * mean, own - size * mean) / total**2
    return result * count / (count - 1.0), count


def long_run(
    columns: Sequence[Array], weights: Sequence[Array], halves: Sequence[int], *, halved: bool
) -> LongRun:
    """2 V_a - V_2a on the diagonal, at least V_a, with the correlations of V_a."""
    sums, sizes = parts_of(columns, weights, halves)
    total, d = math.fsum(sizes), columns[0].shape[1]
    mean = sum(sums, np.zeros(d)) / total
    batches, lengths = sums, sizes
    if halved:
        batches = [sums[k] + sums[k + 1] for k in range(0, len(sums), 2)]
        lengths = [sizes[k] + sizes[k + 1] for k in range(0, len(sizes), 2)]
    covariance, count = covariance_of(batches, lengths, mean)
    if halved:
        short, _ = covariance_of(sums, sizes, mean)
        scale = [
            math.sqrt(
                max(2.0 * covariance[j, j] - short[j, j], covariance[j, j]) / covariance[j, j]
            )
            for j in range(d)
        ]
        covariance = np.array(
            [[covariance[j, k] * scale[j] * scale[k] for k in range(d)] for j in range(d)]
        )
    rows = [
        (u, w)
        for own, weight in zip(columns, weights, strict=True)
        for u, w in zip(own, weight, strict=True)
    ]
    kish = total**2 / math.fsum(w**2 for _, w in rows)
    marginal = sum(w * (u - mean) ** 2 for u, w in rows) / total
    ess = np.array([min(marginal[j] / covariance[j, j], kish) for j in range(d)])
    return LongRun(mean, covariance, max(1.0, (count - 1.0) / (2.0 if halved else 1.0)), ess)
