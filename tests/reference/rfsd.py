"""The L1 IMQ random-feature Stein discrepancy of Huggins and Mackey (2018), sum by sum."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_t

Array = NDArray[np.float64]
GAMMA, DEGREES_OF_FREEDOM = 0.25, 0.5


def exponent(dimension: int) -> float:
    """beta' = -d/(2 xi_min), where xi_min = xi d/(d + df)."""
    alpha = GAMMA / 3
    xi = 4 * alpha / (2 + alpha)
    xi_min = dimension / (dimension + DEGREES_OF_FREEDOM) * xi
    return -dimension / (2 * xi_min)


def published_scale(draws: Array) -> float:
    """c' = lambda_max c/2 with c four median distances and lambda_max = 1 - alpha/2."""
    n = len(draws)
    distances = [np.linalg.norm(draws[j] - draws[k]) for j in range(n) for k in range(j)]
    return (1 - GAMMA / 3 / 2) * 4 * float(np.median(distances)) / 2


def operator(draw: Array, score: Array, z: Array, c: float, i: int) -> float:
    """s_i Phi + dPhi/dx_i at one draw, for Phi = (1 + ||x - z||^2/c^2)^beta'."""
    beta = exponent(len(draw))
    base = 1 + sum((draw - z) ** 2) / c**2
    slope = beta * base ** (beta - 1) * 2 * (draw[i] - z[i]) / c**2
    return float(score[i] * base**beta + slope)


def squared_discrepancy(
    draws: Array, scores: Array, locations: Array, c: float, multipliers: Array | None = None
) -> float:
    """Sum over i of (1/M sum_m |mean_n W_n (T_i Phi)(x_n, z_m)| / nu(z_m))^2."""
    n, dimension = draws.shape
    w = np.ones(n) if multipliers is None else multipliers
    nu = multivariate_t(
        loc=draws.mean(axis=0),
        shape=c**2 / DEGREES_OF_FREEDOM * np.eye(dimension),
        df=DEGREES_OF_FREEDOM,
    )
    total = 0.0
    for i in range(dimension):
        inside = 0.0
        for z in locations:
            mean = sum(w[j] * operator(draws[j], scores[j], z, c, i) for j in range(n)) / n
            inside += abs(mean) / nu.pdf(z) / len(locations)
        total += inside**2
    return total
