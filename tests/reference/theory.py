"""Oracles of `polystein.theory`: quadrature for populations, loops over distinct rows for draws.

A tensor Gauss-Hermite rule with m nodes an axis is exact for polynomials of degree 2m - 1 in each
coordinate, so that the rule is the sampler: its nodes are draws and its weights their weights.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from tests.reference import stein

Array = NDArray[np.float64]


def gaussian_rule(dimension: int, delta: float, variance: float, order: int) -> tuple[Array, Array]:
    """Nodes (m^d, d) and weights (m^d,) of N(delta 1, variance I), exact for xi xi' of `order`."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(order + 2)
    axis = delta + math.sqrt(variance) * nodes
    mass = weights / weights.sum()
    points = np.array(list(itertools.product(axis, repeat=dimension)))
    products = np.array([math.prod(row) for row in itertools.product(mass, repeat=dimension)])
    return points, products / products.sum()


def zetas(draws: Array, scores: Array, order: int, weights: Array) -> tuple[float, float]:
    """zeta_1 and zeta_2 of Theorem 3.5 when the sampler is the weighted rows."""
    rows = [stein.xi(draw, score, order) for draw, score in zip(draws, scores, strict=True)]
    mean = sum(w * row for w, row in zip(weights, rows, strict=True))
    signal = float(mean @ mean)
    zeta1, zeta2 = 0.0, 0.0
    for w, row in zip(weights, rows, strict=True):
        zeta1 += w * (float(row @ mean) - signal) ** 2
        for v, other in zip(weights, rows, strict=True):
            zeta2 += w * v * (float(row @ other) - signal) ** 2
    return zeta1, zeta2


def features(draws: Array, scores: Array, order: int, weights: Array) -> tuple[Array, Array]:
    """Mean and covariance of Psi (Proposition 4.3) when the sampler is the weighted rows."""
    matrices, vector = stein.maximiser(draws, scores, order, weights=weights)
    table = stein.features(draws, scores, matrices, vector)
    mean = np.zeros(order + 1)
    for w, row in zip(weights, table, strict=True):
        mean += w * row
    covariance = np.zeros((order + 1, order + 1))
    for w, row in zip(weights, table, strict=True):
        covariance += w * np.outer(row - mean, row - mean)
    return mean, covariance


def distinct_means(draws: Array, scores: Array, order: int) -> tuple[float, float, float, float]:
    """Means of k_jk, k_jk^2, k_jk k_ji and k_jk k_im over distinct rows j, k, i, m."""
    n = len(draws)
    rows = [stein.xi(draws[j], scores[j], order) for j in range(n)]
    gram = [[float(rows[j] @ rows[k]) for k in range(n)] for j in range(n)]
    pairs = list(itertools.permutations(range(n), 2))
    triples = list(itertools.permutations(range(n), 3))
    quadruples = list(itertools.permutations(range(n), 4))
    return (
        math.fsum(gram[j][k] for j, k in pairs) / len(pairs),
        math.fsum(gram[j][k] ** 2 for j, k in pairs) / len(pairs),
        math.fsum(gram[j][k] * gram[j][i] for j, k, i in triples) / len(triples),
        math.fsum(gram[j][k] * gram[i][m] for j, k, i, m in quadruples) / len(quadruples),
    )


def o_psd(draws: Array, scores: Array, order: int, weights: Array) -> float:
    """mu' Sigma^-1 mu of Proposition 4.2, over all entries of xi, when q is the weighted rows.

    Phi_1 is symmetric for a Gaussian target, and Sigma then singular: equal entries of xi share
    their coefficient, and the pseudo-inverse of the correlations leaves the quotient as it is.
    """
    rows = [stein.xi(draw, score, order) for draw, score in zip(draws, scores, strict=True)]
    mean = sum(w * row for w, row in zip(weights, rows, strict=True))
    covariance = np.zeros((len(mean), len(mean)))
    for w, row in zip(weights, rows, strict=True):
        covariance += w * np.outer(row - mean, row - mean)
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    inverse = np.linalg.pinv(correlation, rcond=1e-11, hermitian=True)
    return float((mean / scale) @ inverse @ (mean / scale))


def moment_conditions(
    draws: Array, mean: Array, covariance: Array, order: int
) -> tuple[Array, list[Array]]:
    """Theorem 3.3, left side less right side: of the mean, and of every (l, j) for i = 1..Q."""
    n, d = draws.shape
    first = np.zeros(d)
    for draw in draws:
        first += (draw - mean) / n
    products = [np.zeros((d, d)) for _ in range(order)]
    for i in range(1, order + 1):
        for row in range(d):
            for j in range(d):
                left = math.fsum((draw[row] - mean[row]) * draw[j] ** i for draw in draws) / n
                right = i * covariance[row, j] * math.fsum(draw[j] ** (i - 1) for draw in draws) / n
                products[i - 1][row, j] = left - right
    return first, products


def gaussian_stein_moments(
    draws: Array, mean: Array, covariance: Array, order: int
) -> tuple[list[Array], Array]:
    """[mu_i]_lj = -(Sigma^-1 M^(i))_lj + i 1(l = j) E[X_j^(i-1)] and mu_b, as in Appendix A."""
    n, d = draws.shape
    precision = np.linalg.inv(covariance)
    matrices = []
    for i in range(1, order + 1):
        m = np.zeros((d, d))
        for draw in draws:
            m += np.outer(draw - mean, draw**i) / n
        powers = [math.fsum(draw[j] ** (i - 1) for draw in draws) / n for j in range(d)]
        matrices.append(-precision @ m + i * np.diag(powers))
    vector = np.zeros(d)
    for draw in draws:
        vector -= precision @ (draw - mean) / n
    return matrices, vector
