"""The demonstration: one posterior, a correct sampler and three wrong ones.

The target is the posterior of a small logistic regression: 20 patients, a dose and
a treatment, three coefficients with independent N(0, 1.5^2) priors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from polystein._lib.arguments import replicates_of
from polystein.errors import InputError
from polystein.methods.gof import lambda_psd_test
from polystein.results.result import GofResult
from polystein.types import Array, FloatArray, Progress

ORDER = 3
COEFFICIENTS = ("intercept", "dose", "treatment")

_PRIOR_SCALE = 1.5
_DESIGN = np.column_stack([np.ones(20), np.linspace(-1.5, 1.5, 20), np.tile([0.0, 1.0], 10)])
_OUTCOMES = np.array([0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1], dtype=float)
_PROPOSALS = 20_000

Sampler: TypeAlias = Callable[[np.random.Generator, int], FloatArray]


class Case(NamedTuple):
    """One sampler and the verdict on its draws."""

    name: str
    description: str
    result: GofResult


def run(draws: int = 2000, seed: int = 0, progress: Progress | None = None) -> list[Case]:
    """Test every sampler with `lambda_psd_test`.

    Parameters
    ----------
    draws : int
        Draws that each sampler gives.
    seed : int
        Reproduces draws and verdicts; every sampler has a stream of its own.
    progress : callable, optional
        Called as ``progress(done, total)`` after each sampler.
    """
    replicates_of(draws, "draws")
    if seed < 0:
        raise InputError(f"`seed` must be a non-negative integer; got {seed}")
    cases = []
    children = np.random.SeedSequence(seed).spawn(len(SAMPLERS))
    for child, (name, (description, sampler)) in zip(children, SAMPLERS.items(), strict=True):
        rng = np.random.default_rng(child)
        result = lambda_psd_test(sampler(rng, draws), score, order=ORDER, standardise=True, rng=rng)
        cases.append(Case(name, description, result))
        if progress is not None:
            progress(len(cases), len(SAMPLERS))
    return cases


def log_likelihood(coefficients: FloatArray) -> FloatArray:
    """Log-likelihood at every row of coefficients."""
    linear = coefficients @ _DESIGN.T
    result: FloatArray = linear @ _OUTCOMES - np.logaddexp(0.0, linear).sum(axis=1)
    return result


def score(coefficients: Array) -> Array:
    """Gradient of the log-posterior at every row of coefficients."""
    residuals = _OUTCOMES - _probabilities(coefficients)
    return residuals @ _DESIGN - coefficients / _PRIOR_SCALE**2


def exact(rng: np.random.Generator, n: int) -> FloatArray:
    """Rejection sampling: propose from the prior, accept by likelihood over its maximum."""
    highest = log_likelihood(_maximum(0.0)[None, :])[0]
    kept: list[FloatArray] = []
    while sum(map(len, kept)) < n:
        proposals = rng.normal(0.0, _PRIOR_SCALE, size=(_PROPOSALS, len(COEFFICIENTS)))
        threshold = highest - rng.standard_exponential(_PROPOSALS)
        kept.append(proposals[log_likelihood(proposals) > threshold])
    return np.concatenate(kept)[:n]


def shifted(rng: np.random.Generator, n: int) -> FloatArray:
    """Exact draws, moved by 0.15 standard deviations, as if warm-up had been too short."""
    _, covariance = _laplace_approximation()
    return exact(rng, n) + 0.15 * np.sqrt(np.diagonal(covariance))


def mean_field(rng: np.random.Generator, n: int) -> FloatArray:
    """Exact draws of each coefficient on its own: margins right, correlations lost."""
    return rng.permuted(exact(rng, n), axis=0)


def laplace_approximation(rng: np.random.Generator, n: int) -> FloatArray:
    """Draws from the Gaussian with the posterior's mode and curvature."""
    mode, covariance = _laplace_approximation()
    return rng.multivariate_normal(mode, covariance, size=n)


SAMPLERS: dict[str, tuple[str, Sampler]] = {
    "exact": ("rejection sampling", exact),
    "shifted": ("off by 0.15 sd", shifted),
    "mean-field": ("correlations lost", mean_field),
    "Laplace": ("Gaussian at mode", laplace_approximation),
}


def _probabilities(coefficients: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-(coefficients @ _DESIGN.T)))


def _laplace_approximation() -> tuple[FloatArray, FloatArray]:
    precision = 1.0 / _PRIOR_SCALE**2
    mode = _maximum(precision)
    covariance: FloatArray = np.linalg.inv(_curvature(mode, precision)).astype(np.float64)
    return mode, covariance


def _maximum(precision: float) -> FloatArray:
    """Newton's method on log-likelihood - precision ||b||^2 / 2, concave and smooth."""
    point = np.zeros(len(COEFFICIENTS))
    for _ in range(50):
        slope = (_OUTCOMES - _probabilities(point)) @ _DESIGN - precision * point
        point = point + np.linalg.solve(_curvature(point, precision), slope)
    return point


def _curvature(point: FloatArray, precision: float) -> FloatArray:
    probabilities = _probabilities(point)
    weighted = _DESIGN * (probabilities * (1.0 - probabilities))[:, None]
    result: FloatArray = _DESIGN.T @ weighted + precision * np.eye(len(COEFFICIENTS))
    return result
