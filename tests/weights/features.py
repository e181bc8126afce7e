"""Features to weigh, their moments, and what weights of them achieve."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.inference.columns import MeanAndCovariance
from tests.reference import algorithms, stein

Array = NDArray[np.float64]


def table(seed: int, n: int = 200, size: int = 4) -> Array:
    """Correlated features of different scales with means of either sign."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-1, 1, size)
    return rng.normal(rng.normal(0.0, 0.3, size), 1.0, (n, size)) @ mixing


def stein_features(sampler: str, seed: int, order: int = 3) -> Array:
    """Features of a sampler against a Gaussian target, as Algorithm 3 sees them."""
    rng = np.random.default_rng(seed)
    draws: Array
    if sampler == "laplace":
        draws = rng.laplace(scale=0.5**0.5, size=(400, 8))
    elif sampler == "student":
        draws = rng.standard_t(5, size=(400, 8))
    else:
        draws = rng.standard_normal((400, 8))
    matrices, vector = stein.maximiser(draws[:200], -draws[:200], order)
    return stein.features(draws[200:], -draws[200:], matrices, vector)


def moments_of(features: Array) -> MeanAndCovariance:
    mean, covariance = stein.mean_and_covariance(features)
    return MeanAndCovariance(mean, covariance, len(features))


def solved(rule: Any, moments: MeanAndCovariance, seed: int = 0) -> Array:
    weights = rule.solve(moments, np.random.default_rng(seed))
    assert isinstance(weights, np.ndarray)
    return weights


def objective(weights: Array, moments: MeanAndCovariance) -> float:
    return algorithms.rayleigh(weights, moments.mean, moments.covariance)
