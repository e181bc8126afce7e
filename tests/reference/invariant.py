"""Quadratic forms of batch sums that no linear map changes, product by product.

``products`` is K with one row and one column for each batch. ``sizes`` and ``chains`` are those of
`reference.memory`, and groups are the batches that are joined.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, pearson3

from . import memory
from .memory import Groups, Memory, Rules

Array = NDArray[np.float64]


def hotelling(scores: Array, moments: Array) -> Array:
    """s_a' M^-1 s_b for the sums of scores over batches a and b."""
    inverse = np.linalg.inv(moments)
    return np.array([[float(a @ b) for b in scores @ inverse] for a in scores])


def distant_means(draws: Array, sizes: Sequence[float], groups: Groups) -> Array:
    """For each batch the mean of the draws outside its group."""
    result = np.zeros_like(draws)
    for group in groups:
        others = [k for k in range(len(draws)) if k not in group]
        mean = sum(draws[k] for k in others) / math.fsum(sizes[k] for k in others)
        for k in group:
            result[k] = mean
    return result


def centred(matrices: Array, scores: Array, means: Array) -> Array:
    """Sums of s (x - m)' + I, by those of s x' + I and of s."""
    return np.array([p - np.outer(s, m) for p, s, m in zip(matrices, scores, means, strict=True)])


def trace_of_square(matrices: Array) -> Array:
    """tr(Phi_a Phi_b) for the sums of Phi over batches a and b."""
    return np.array([[float(np.trace(a @ b)) for b in matrices] for a in matrices])


def joined(products: Array, groups: Groups) -> Array:
    """Sums over the batches of one group and those of another."""
    return np.array(
        [[float(products[np.ix_(first, second)].sum()) for second in groups] for first in groups]
    )


def counts(first: int, second: int, chains: Sequence[int] | None) -> bool:
    """Whether the product of two batches counts: not their own, nor that of neighbours."""
    if first == second:
        return False
    neighbours = chains is not None and chains[first] == chains[second]
    return not (neighbours and abs(first - second) == 1)


def without_neighbours(products: Array, chains: Sequence[int] | None) -> Array:
    """K with 0 for products that do not count."""
    result = np.zeros_like(products)
    for a in range(len(products)):
        for b in range(len(products)):
            if counts(a, b, chains):
                result[a, b] = products[a, b]
    return result


def value(kept: Array, signs: Array) -> float:
    """T(e)."""
    return float(signs @ kept @ signs)


def tail(values: Array, kept: Array) -> Array:
    """P(T > value), with Pearson's law of type III for T, of mean 0."""
    cube = kept @ kept @ kept
    variance, third = 2.0 * float(np.sum(kept**2)), 8.0 * float(np.trace(cube))
    skewness = third / variance**1.5
    z = values / math.sqrt(variance)
    return np.asarray(norm.sf(z) if skewness < 1e-3 else pearson3.sf(z, skewness))


class Spread(NamedTuple):
    """sqrt(tr V_L^2), and its relative standard error."""

    size: float
    error: float


def spread(
    products: Array, sizes: Sequence[float], chains: Sequence[int], groups: Groups, most: int
) -> Spread:
    """By deviations of the groups' sums from what the mean of their chain gives them."""
    count = len(products)
    deviations, expected = [], []
    for batches in memory.batches_by_chain(chains):
        size = math.fsum(sizes[k] for k in batches)
        for group in groups:
            if group[0] in batches:
                rows = math.fsum(sizes[k] for k in group)
                # The deviation is this combination of the batches' sums.
                own = [
                    float(k in group) - (rows / size if k in batches else 0.0) for k in range(count)
                ]
                deviations.append(np.array(own))
                expected.append(rows * (1.0 - rows / size))
    within = np.array(deviations) @ products @ np.array(deviations).T / math.fsum(expected)
    f = max(2, len(groups) - len(set(chains)))
    trace, square = float(np.trace(within)), float(np.trace(within @ within))
    unbiased = f**2 / ((f + 2) * (f - 1)) * (square - trace**2 / f)
    if unbiased <= 0.0:
        return Spread(0.0, math.sqrt(1.0 / f**2 + 2.0 / (f * most)))
    independent = min(max(trace**2 / unbiased, 1.0), most)
    return Spread(math.sqrt(unbiased), math.sqrt(1.0 / f**2 + 2.0 / (f * independent)))


def form_memory(
    products: Array,
    sizes: Sequence[float],
    chains: Sequence[int],
    joinings: Sequence[Groups],
    rules: Rules,
) -> Memory:
    """The first level that the spread is flat after."""
    if len(joinings) < 2:
        return Memory(0, 1.0, 0.0)
    found = [spread(products, sizes, chains, groups, rules.most_independent) for groups in joinings]
    if found[0].size == 0.0:
        return Memory(0, 1.0, 0.0)
    mean = [own.size / found[0].size for own in found]
    error = [ratio * own.error for ratio, own in zip(mean, found, strict=True)]
    return memory.extrapolated(mean, error, joinings, sizes, rules, 0, careful=True)
