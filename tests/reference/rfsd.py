"""The L1 IMQ random-feature Stein discrepancy of Huggins and Mackey (2018), sum by sum."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from scipy.stats import multivariate_t

Array = NDArray[np.float64]
GAMMA, DEGREES_OF_FREEDOM = 0.25, 0.5


def exponent(dimension: int, df: float = DEGREES_OF_FREEDOM) -> float:
    """beta' = -d/(2 xi_min), where xi_min = xi d/(d + df)."""
    alpha = GAMMA / 3
    xi = 4 * alpha / (2 + alpha)
    xi_min = dimension / (dimension + df) * xi
    return -dimension / (2 * xi_min)


def published_scale(draws: Array, medians: float = 4.0) -> float:
    """c' = lambda_max c/2 with c some median distances and lambda_max = 1 - alpha/2."""
    n = len(draws)
    distances = [np.linalg.norm(draws[j] - draws[k]) for j in range(n) for k in range(j)]
    return (1 - GAMMA / 3 / 2) * medians * float(np.median(distances)) / 2


def operator(
    draw: Array, score: Array, z: Array, c: float, i: int, df: float = DEGREES_OF_FREEDOM
) -> float:
    """s_i Phi + dPhi/dx_i at one draw, for Phi = (1 + ||x - z||^2/c^2)^beta'."""
    beta = exponent(len(draw), df)
    base = 1 + sum((draw - z) ** 2) / c**2
    slope = beta * base ** (beta - 1) * 2 * (draw[i] - z[i]) / c**2
    return float(score[i] * base**beta + slope)


def location_density(draws: Array, c: float, df: float) -> Any:
    """nu, the t density about the mean of the draws with scale c / sqrt(df)."""
    shape = c**2 / df * np.eye(draws.shape[1])
    return multivariate_t(loc=draws.mean(axis=0), shape=shape, df=df)


def squared_discrepancy(
    draws: Array,
    scores: Array,
    locations: Array,
    c: float,
    multipliers: Array | None = None,
    df: float = DEGREES_OF_FREEDOM,
) -> float:
    """Sum over i of (1/M sum_m |mean_n W_n (T_i Phi)(x_n, z_m)| / nu(z_m))^2."""
    n, dimension = draws.shape
    w = np.ones(n) if multipliers is None else multipliers
    nu = location_density(draws, c, df)
    total = 0.0
    for i in range(dimension):
        inside = 0.0
        for z in locations:
            mean = sum(w[j] * operator(draws[j], scores[j], z, c, i, df) for j in range(n)) / n
            inside += abs(mean) / nu.pdf(z) / len(locations)
        total += inside**2
    return total


def published_features(
    draws: Array, scores: Array, locations: Array, c: float, df: float
) -> list[list[list[float]]]:
    """(T_i Phi)(x_n, z_m) / (M nu(z_m)), by n, m and i."""
    nu = location_density(draws, c, df)
    return [
        [
            [
                operator(draw, score, z, c, i, df) / nu.pdf(z) / len(locations)
                for i in range(len(draw))
            ]
            for z in locations
        ]
        for draw, score in zip(draws, scores, strict=True)
    ]


def published_statistics(
    draws: Array, scores: Array, locations: Array, c: float, df: float, normals: Array
) -> tuple[float, list[float]]:
    """n times the squared discrepancy, and the same of sqrt(n) mean ~ N(0, S) for given normals.

    S_ab = 1/n sum_n f_a f_b without a mean taken off; where S_aa is at most 1e-20 of the
    largest, the component is 0.
    """
    (n, dimension), count = draws.shape, len(locations)
    tensor = published_features(draws, scores, locations, c, df)
    rows = [[value for at in row for value in at] for row in tensor]
    size = dimension * count
    second = [[sum(row[a] * row[b] for row in rows) / n for b in range(size)] for a in range(size)]
    largest = max(second[a][a] for a in range(size))
    kept = [a for a in range(size) if second[a][a] > 1e-20 * largest]
    root = np.real(sqrtm([[second[a][b] for b in kept] for a in kept]))

    def statistic(values: list[float]) -> float:
        total = 0.0
        for i in range(dimension):
            total += sum(abs(values[m * dimension + i]) for m in range(count)) ** 2
        return total

    observed = [sum(row[a] for row in rows) / n * np.sqrt(n) for a in range(size)]
    simulated = []
    for normal in normals:
        values = [0.0] * size
        for place, a in enumerate(kept):
            values[a] = sum(normal[b] * root[k, place] for k, b in enumerate(kept))
        simulated.append(statistic(values))
    return statistic(observed), simulated
