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
