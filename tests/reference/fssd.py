"""FSSD of Jitkrittum et al. (2017), written out sum by sum."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def tau(draw: Array, score: Array, locations: Array, squared_width: float) -> Array:
    """tau(x): s(x) k(x, v_j) + grad_x k(x, v_j), coordinates within locations, / sqrt(d J)."""
    entries = []
    for v in locations:
        kernel = math.exp(-sum((draw - v) ** 2) / (2 * squared_width))
        for i in range(len(draw)):
            slope = -(draw[i] - v[i]) / squared_width * kernel
            entries.append((score[i] * kernel + slope) / math.sqrt(locations.size))
    return np.array(entries)


def taus(draws: Array, scores: Array, locations: Array, squared_width: float) -> Array:
    rows = zip(draws, scores, strict=True)
    return np.array([tau(draw, score, locations, squared_width) for draw, score in rows])


def unbiased_square(features: Array) -> float:
    """FSSD^2: the mean of tau(x_j)'tau(x_k) over pairs j < k."""
    n = len(features)
    products = [features[j] @ features[k] for j in range(n) for k in range(j)]
    return 2 / (n * (n - 1)) * math.fsum(products)


def power_criterion(features: Array, regulariser: float) -> float:
    """FSSD^2 / sqrt(4 mu' Cov(tau) mu + gamma)."""
    mean = features.mean(axis=0)
    covariance = np.cov(features.T, bias=True)
    return unbiased_square(features) / math.sqrt(4 * mean @ covariance @ mean + regulariser)


def pvalue(features: Array, normals: Array) -> float:
    """Share of sum_i omega_i (Z_i^2 - 1) at least as large as n FSSD^2, one row of Z each."""
    eigenvalues = np.linalg.eigvalsh(np.cov(features.T))
    statistic = len(features) * unbiased_square(features)
    larger = 0
    for z in normals:
        simulated = sum(omega * (value**2 - 1) for omega, value in zip(eigenvalues, z, strict=True))
        larger += int(simulated >= statistic)
    return (larger + 1) / (len(normals) + 1)
