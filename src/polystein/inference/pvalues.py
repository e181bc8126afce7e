"""P-values: of one statistic, of the largest of several, and of several tests together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri, owens_t, stdtr

from polystein._lib.numerics import EPSILON, TINY
from polystein.types import Alternative, FloatArray


def tail_probability(statistic: float, df: float, alternative: Alternative) -> float:
    """P-value of a z- or (for finite df) a t-statistic."""
    upper = -abs(statistic) if alternative == "two-sided" else -statistic
    tail = float(ndtr(upper)) if math.isinf(df) else float(stdtr(df, upper))
    return min(1.0, 2.0 * tail) if alternative == "two-sided" else tail


def upper_normal(pvalue: float | FloatArray) -> FloatArray:
    """The z whose upper tail probability is the p-value; finite even for 0 and 1."""
    z: FloatArray = -ndtri(np.clip(pvalue, TINY, 1.0 - EPSILON))
    return z


def skewness(columns: FloatArray) -> FloatArray:
    """Third central moment of each column over the cube of its standard deviation; 0 if constant.

    Columns may be of any size: cubes neither overflow nor underflow.
    """
    centred = columns - columns.mean(axis=0)
    largest = np.maximum(centred.max(axis=0), -centred.min(axis=0))
    centred *= np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > TINY)
    return skewness_of_centred(centred)


def skewness_of_centred(centred: FloatArray) -> FloatArray:
    """The skewness of columns of mean 0 whose cubes neither overflow nor underflow."""
    squared = centred * centred
    squares = squared.mean(axis=0)
    cubes = np.einsum("ij,ij->j", squared, centred) / len(centred)
    result: FloatArray = np.zeros_like(squares)
    np.divide(cubes, squares**1.5, out=result, where=squares > 0.0)
    return result


def cautious_for_skewness(statistics: FloatArray, skewnesses: FloatArray, rows: int) -> FloatArray:
    """t-statistics of means of skewed rows, moved towards 0 where skewness makes them too large.

    Hall's monotone cubic transformation (1992, On the removal of skewness by transformation,
    JRSS B 54): with a = skewness / sqrt(rows),

        t + a (t^2 / 3 + 1/6) + a^2 t^3 / 27

    has the tails of Student's t or the normal to one order more than t itself. A skewness that
    is itself estimated from few rows must not make evidence: the result is never further from 0,
    and never on its other side.
    """
    a = skewnesses / math.sqrt(rows)
    moved = statistics + a * (statistics**2 / 3.0 + 1.0 / 6.0) + a**2 * statistics**3 / 27.0
    size = np.abs(statistics)
    result: FloatArray = np.sign(statistics) * np.clip(np.sign(statistics) * moved, 0.0, size)
    return result


def monte_carlo_pvalue(at_least_as_large: int, simulations: int) -> float:
    """(b + 1)/(B + 1), where b of B simulations are at least as large as the statistic.

    The draws themselves count as one simulation, so that the p-value is never 0.
    """
    return (at_least_as_large + 1) / (simulations + 1)


def tail_of_maximum(largest: float, correlation: FloatArray) -> float:
    """Upper bound on P(max_k Z_k > largest) for jointly normal Z of this correlation.

    The bound of Hunter (1976, An upper bound for the probability of a union) and
    Worsley (1982): along a spanning tree of the Z_k,

        P(max > z) <= P(Z_1 > z) + sum over edges (j, k) of P(Z_k > z, Z_j <= z),

    and each edge adds 2 T(z, sqrt((1 - r)/(1 + r))), with Owen's T and r its
    correlation. No edge adds more than P(Z_k > z), so that the bound is never above
    Bonferroni's; it is exact for two, and close where the correlations are high.
    """
    single = max(float(ndtr(-largest)), TINY)
    if largest <= 0.0:
        # Bonferroni's bound: for a p-value of 1/2 or more the edges gain little.
        return min(1.0, single * len(correlation))
    clipped = np.clip(correlation, -1.0, 1.0)
    slopes = np.sqrt((1.0 - clipped) / np.maximum(1.0 + clipped, TINY))
    additions = 2.0 * owens_t(largest, slopes)
    # An edge whose correlation is not a number adds as much as a new beginning.
    edges = np.where(np.isnan(additions), single, additions)
    return min(1.0, single + _weight_of_least_tree(edges))


def _weight_of_least_tree(edges: FloatArray) -> float:
    """The sum over the edges of a minimum spanning tree, by Prim's algorithm."""
    total, outside, distances = 0.0, list(range(1, len(edges))), edges[0]
    while outside:
        nearest = min(outside, key=distances.__getitem__)
        total += float(distances[nearest])
        outside.remove(nearest)
        distances = np.minimum(distances, edges[nearest])
    return total


def correlations(covariance: FloatArray) -> FloatArray:
    """Correlation matrix; a column that does not vary has correlation 0 with the others."""
    spread = np.sqrt(np.diagonal(covariance))
    product = spread[:, None] * spread
    result: FloatArray = np.eye(spread.size)
    np.divide(covariance, product, out=result, where=product > 0.0)
    return result


def exchangeable_pvalue(pvalues: FloatArray) -> float:
    """One p-value from exchangeable p-values, such as those of random splits.

    p = min over k of 2/k (p_1 + ... + p_k), at most 1 (Gasparin, Wang and Ramdas, 2025,
    Combining exchangeable p-values, PNAS 122).
    """
    averages = 2.0 * np.cumsum(pvalues) / np.arange(1, pvalues.size + 1)
    return min(1.0, float(averages.min()))


def spent_levels(alpha: float, times: Sequence[int]) -> FloatArray:
    """The part of the level that each look may spend: alpha (t_k - t_{k-1}) / t_K.

    The spending function is linear in the rows (Lan and DeMets, 1983, Discrete sequential
    boundaries for clinical trials, Biometrika 70). If each look gives a false alarm with at most
    its own part, all looks together do with at most alpha, however they depend on each other.
    """
    levels: FloatArray = alpha * np.diff(times, prepend=0) / times[-1]
    return levels


def combined_pvalue(pvalues: Sequence[float], rows: Sequence[int]) -> float:
    """One p-value of looks at separate rows: the tail of sum sqrt(n_j) z_j / sqrt(sum n_j).

    z_j is the normal quantile of the look's own p-value, and the weights were fixed before any
    row was seen (Lehmacher and Wassmer, 1999, Adaptive sample size calculations in group
    sequential trials, Biometrics 55). A bias that is too small for every single look adds up.
    """
    sizes = np.sqrt(np.asarray(rows, dtype=float))
    z = float(sizes @ upper_normal(np.asarray(pvalues))) / math.sqrt(float(np.sum(rows)))
    return float(ndtr(-z))


def holm(pvalues: Sequence[float]) -> FloatArray:
    """Return Holm's adjusted p-values: max over i <= k of (m - i + 1) p_(i), at most 1.

    Rejecting what is at most alpha keeps the probability of any false rejection at most alpha,
    whatever the dependence.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(pvalues, dtype=float)
    order = np.argsort(values, kind="stable")
    factors = values.size - np.arange(values.size)
    adjusted: FloatArray = np.empty(values.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted


def benjamini_hochberg(pvalues: Sequence[float]) -> FloatArray:
    """Return Benjamini and Hochberg's adjusted p-values: min over i >= k of m p_(i) / i, at most 1.

    Rejecting what is at most alpha keeps the expected share of false rejections among all at most
    alpha, for independent p-values and some that depend on each other positively.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).round(6).tolist()
    [0.04, 0.053333, 0.053333, 0.5]
    """
    values = np.asarray(pvalues, dtype=float)
    order = np.argsort(-values, kind="stable")
    factors = values.size / np.arange(values.size, 0, -1)
    adjusted: FloatArray = np.empty(values.size)
    adjusted[order] = np.minimum(np.minimum.accumulate(factors * values[order]), 1.0)
    return adjusted
