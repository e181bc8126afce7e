"""The largest of several correlated z-statistics, and how far out it is."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import ndtr, owens_t

from polystein.protocols import FloatArray


def tail_of_maximum(largest: float, correlation: FloatArray) -> float:
    """Upper bound on P(max_k Z_k > largest) for jointly normal Z of this correlation.

    The bound of Hunter (1976, An upper bound for the probability of a union) and
    Worsley (1982): along a spanning tree of the Z_k,

        P(max > z) <= P(Z_1 > z) + sum over edges (j, k) of P(Z_k > z, Z_j <= z),

    and each edge adds 2 T(z, sqrt((1 - r)/(1 + r))), with Owen's T and r its
    correlation. No edge adds more than P(Z_k > z), so that the bound is never above
    Bonferroni's; it is exact for two, and close where the correlations are high.
    """
    single = max(float(ndtr(-largest)), float(np.finfo(float).tiny))
    if largest <= 0.0:
        # Above 1/2 the edges say little; one of the Z_k is certainly as likely as that.
        return min(1.0, single * len(correlation))
    clipped = np.clip(correlation, -1.0, 1.0)
    slopes = np.sqrt((1.0 - clipped) / np.maximum(1.0 + clipped, np.finfo(float).tiny))
    additions = 2.0 * owens_t(largest, slopes)
    # A tree hangs only on how its edges compare; one of weight 0 would be no edge at all.
    tree = minimum_spanning_tree(np.triu(1.0 + additions / single, 1)).nonzero()
    missing = len(correlation) - 1 - int(tree[0].size)  # edges whose correlation is not a number
    bound: float = (1 + missing) * single + float(additions[tree].sum())
    return min(1.0, bound)


def correlations(covariance: FloatArray) -> FloatArray:
    """Correlation matrix; what does not vary is correlated with nothing."""
    spread = np.sqrt(np.diagonal(covariance))
    product = spread[:, None] * spread
    result: FloatArray = np.eye(spread.size)
    np.divide(covariance, product, out=result, where=product > 0.0)
    return result
