"""Wild bootstrap of Section 3.4 with the n x n kernel matrix written out."""

import math

import numpy as np
from numpy.typing import NDArray

from . import stein

Array = NDArray[np.float64]


def kernel_matrix(draws: Array, scores: Array, order: int, structure: str = "full") -> Array:
    """k(x_j, x_k) = xi(x_j)' xi(x_k), equation (11)."""
    n = len(draws)
    rows = [stein.xi(draws[j], scores[j], order, structure) for j in range(n)]
    kernel = np.zeros((n, n))
    for j in range(n):
        for k in range(n):
            kernel[j, k] = rows[j] @ rows[k]
    return kernel


def statistic(kernel: Array, multipliers: Array, estimator: str) -> float:
    """n V or n U of the kernel e_j e_k k(x_j, x_k); multipliers of one give the statistic.

    n V = (1/n) sum_{j,k} (equation 11); n U = (1/(n-1)) sum_{j != k} (equation 12).
    The sums are correctly rounded (fsum), so that replicates tie exactly when they should.
    """
    if estimator not in ("u", "v"):
        raise ValueError(f"`estimator` must be 'u' or 'v'; got {estimator!r}")
    n = len(kernel)
    terms = []
    for j in range(n):
        for k in range(n):
            if j != k or estimator == "v":
                terms.append(float(multipliers[j] * multipliers[k] * kernel[j, k]))
    return math.fsum(terms) / (n if estimator == "v" else n - 1)


def wild_bootstrap(
    draws: Array,
    scores: Array,
    order: int,
    multipliers: Array,
    estimator: str = "u",
    structure: str = "full",
) -> tuple[float, Array, float]:
    """Return the statistic, its B replicates and p = (b + 1)/(B + 1), b = #{replicate >= it}.

    ``multipliers`` is (B, n) of +-1, one row per replicate.
    """
    if not np.all(np.abs(multipliers) == 1):
        raise ValueError("`multipliers` must be +1 or -1 in every entry")
    kernel = kernel_matrix(draws, scores, order, structure)
    observed = statistic(kernel, np.ones(len(draws)), estimator)
    replicates = np.array([statistic(kernel, row, estimator) for row in multipliers])
    exceedances = 0
    for replicate in replicates:
        exceedances += int(replicate >= observed)
    return observed, replicates, (exceedances + 1) / (len(replicates) + 1)
