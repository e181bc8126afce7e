"""Stein features, moments and discrepancies, one function per formula of the paper.

Everything is a loop over rows. ``draws`` and ``scores`` have shape (n, d); ``structure`` is
"full" (A_i is d x d) or "diagonal" (A_i is the d-vector of a diagonal matrix, Section 3.2).
``weights`` are importance weights that sum to one; without them every row weighs 1/n.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def phi(draw: Array, score: Array, i: int) -> Array:
    """Phi_i(x) = s(x) (x^i)' + i diag(x^(i-1)), equation (4), shape (d, d)."""
    return np.asarray(np.outer(score, draw**i) + i * np.diag(draw ** (i - 1)))


def block(draw: Array, score: Array, i: int, structure: str = "full") -> Array:
    """Phi_i(x), or only its diagonal when A_i is restricted to be diagonal (Section 3.2)."""
    if structure == "full":
        return phi(draw, score, i)
    if structure == "diagonal":
        return np.diag(phi(draw, score, i)).copy()
    raise ValueError(f"`structure` must be 'full' or 'diagonal'; got {structure!r}")


def xi(draw: Array, score: Array, order: int, structure: str = "full") -> Array:
    """xi(x) = (vec Phi_1, ..., vec Phi_Q, s) of Section 3.4; vec stacks columns."""
    parts = [block(draw, score, i, structure).ravel(order="F") for i in range(1, order + 1)]
    return np.concatenate([*parts, score])


def row_weights(n: int, weights: Array | None) -> list[float]:
    """Return the weight of every row: 1/n, or the given ones, which must sum to one."""
    if weights is None:
        return [1.0 / n] * n
    if len(weights) != n or abs(math.fsum(weights) - 1.0) > 1e-12:
        raise ValueError(f"`weights` must be {n} numbers that sum to 1; got {weights!r}")
    return [float(weight) for weight in weights]


def stein_moments(
    draws: Array,
    scores: Array,
    order: int,
    structure: str = "full",
    weights: Array | None = None,
) -> tuple[list[Array], Array]:
    """mu_i = E[Phi_i(x)] and mu_b = E[s(x)] of Proposition 3.2, as means over rows."""
    n, d = draws.shape
    shape = (d, d) if structure == "full" else (d,)
    matrices = [np.zeros(shape) for _ in range(order)]
    vector = np.zeros(d)
    for draw, score, weight in zip(draws, scores, row_weights(n, weights), strict=True):
        for i in range(1, order + 1):
            matrices[i - 1] += weight * block(draw, score, i, structure)
        vector += weight * score
    return matrices, vector


def psd_v(
    draws: Array,
    scores: Array,
    order: int,
    structure: str = "full",
    weights: Array | None = None,
) -> float:
    """Z = sqrt(sum_k ||mu_k||_F^2 + ||mu_b||^2), equation (7)."""
    matrices, vector = stein_moments(draws, scores, order, structure, weights)
    total = 0.0
    for matrix in matrices:
        total += float(np.sum(matrix**2))
    return math.sqrt(total + float(np.sum(vector**2)))


def psd_u(
    draws: Array,
    scores: Array,
    order: int,
    structure: str = "full",
    weights: Array | None = None,
) -> float:
    """U-statistic of equation (12): the mean of xi_j' xi_k over pairs j != k.

    With weights it is sum_{j != k} w_j w_k xi_j' xi_k / sum_{j != k} w_j w_k, that is
    (||sum_j w_j xi_j||^2 - sum_j w_j^2 ||xi_j||^2) / (1 - sum_j w_j^2).
    """
    n = len(draws)
    w = row_weights(n, weights)
    rows = [xi(draws[j], scores[j], order, structure) for j in range(n)]
    total, mass = 0.0, 0.0
    for j in range(n):
        for k in range(n):
            if j != k:
                total += w[j] * w[k] * float(rows[j] @ rows[k])
                mass += w[j] * w[k]
    return total / mass


def maximiser(
    draws: Array,
    scores: Array,
    order: int,
    structure: str = "full",
    weights: Array | None = None,
) -> tuple[list[Array], Array]:
    """A_i* = mu_i / Z and b* = mu_b / Z, equation (6)."""
    matrices, vector = stein_moments(draws, scores, order, structure, weights)
    z = psd_v(draws, scores, order, structure, weights)
    if z == 0.0:
        raise ValueError("the maximiser is undefined: every Stein moment of `draws` is zero")
    return [matrix / z for matrix in matrices], vector / z


def features(
    draws: Array,
    scores: Array,
    matrices: Sequence[Array],
    vector: Array,
    structure: str = "full",
) -> Array:
    """G of Algorithm 3: G[k, i] = <A_i, Phi_i(x_k)>_F and G[k, Q+1] = b' s(x_k)."""
    order = len(matrices)
    table = np.zeros((len(draws), order + 1))
    for k in range(len(draws)):
        for i in range(1, order + 1):
            table[k, i - 1] = np.sum(matrices[i - 1] * block(draws[k], scores[k], i, structure))
        table[k, order] = vector @ scores[k]
    return table


def mean_and_covariance(rows: Array) -> tuple[Array, Array]:
    """Mean and biased (1/n) covariance of the rows, as in Algorithm 2."""
    n, columns = rows.shape
    mean = np.zeros(columns)
    for row in rows:
        mean += row / n
    covariance = np.zeros((columns, columns))
    for row in rows:
        covariance += np.outer(row - mean, row - mean) / n
    return mean, covariance


def inverse_times(covariance: Array, mean: Array, ridge: float = 0.0) -> Array:
    """Sigma^-1 mu = D^-1/2 C^-1 D^-1/2 mu, C = D^-1/2 Sigma D^-1/2 + ridge I, D = diag Sigma.

    The correlation scale is exact algebra when ridge = 0; it keeps features of very
    different sizes from looking singular. A singular C is refused, not pseudo-inverted.
    """
    scale = np.sqrt(np.diag(covariance))
    if not np.all(scale > 0):
        raise ValueError(f"every feature must vary; the standard deviations are {scale}")
    correlation = covariance / np.outer(scale, scale) + ridge * np.eye(len(mean))
    if np.linalg.matrix_rank(correlation, hermitian=True) < len(mean):
        raise ValueError("the covariance of the features is singular")
    return np.asarray(np.linalg.solve(correlation, mean / scale) / scale)


def o_psd(
    draws: Array,
    scores: Array,
    order: int,
    structure: str = "full",
    covariance: Array | None = None,
) -> float:
    """mu' Sigma^-1 mu of Proposition 4.2.

    Sigma is the biased covariance of the rows xi(x_j), or the one that is given.
    """
    rows = [xi(draw, score, order, structure) for draw, score in zip(draws, scores, strict=True)]
    mean, biased = mean_and_covariance(np.array(rows))
    sigma = biased if covariance is None else covariance
    return float(mean @ inverse_times(sigma, mean))


def lambda_psd(draws: Array, scores: Array, order: int, structure: str = "full") -> float:
    """Proposition 4.3: lambda' mu_Psi / sqrt(lambda' Sigma_Psi lambda) at Sigma_Psi^-1 mu_Psi.

    In-sample: one set of rows gives the maximiser, mu_Psi and the biased Sigma_Psi.
    """
    matrices, vector = maximiser(draws, scores, order, structure)
    psi = features(draws, scores, matrices, vector, structure)
    mean, covariance = mean_and_covariance(psi)
    weights = inverse_times(covariance, mean)
    return float(weights @ mean) / math.sqrt(float(weights @ covariance @ weights))
