"""The demonstration: one posterior, chains with and without the accept step, and two fits.

The target is the posterior of a small logistic regression: 20 patients, a dose and
a treatment, three coefficients with independent N(0, 1.5^2) priors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from polystein._lib.arguments import replicates_of
from polystein.data.sample import Sample
from polystein.errors import InputError
from polystein.methods.check.check import check
from polystein.results.result import GofResult
from polystein.types import Array, FloatArray, Progress

COEFFICIENTS = ("intercept", "dose", "treatment")

#: The two coefficients that the picture shows: the posterior correlates them most.
SHOWN = [0, 2]
NAMES_SHOWN = (COEFFICIENTS[0], COEFFICIENTS[2])

_PRIOR_SCALE = 1.5
_DESIGN = np.column_stack([np.ones(20), np.linspace(-1.5, 1.5, 20), np.tile([0.0, 1.0], 10)])
_OUTCOMES = np.array([0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1], dtype=float)
_PROPOSALS = 20_000
#: Chains, and their draws of warm-up.
_CHAINS, _WARM_UP = 4, 100
#: Squared step of the Langevin samplers in units of the posterior: without the accept step every
#: variance becomes 1 / (1 - 0.8 / 4) = 1.25 times too large on a normal target.
_STEP = 0.8
#: Standard normal points and rounds of the variational fit, which converges in about ten rounds.
_POINTS, _ROUNDS = 2000, 30

Sampler: TypeAlias = Callable[[np.random.Generator, int], FloatArray]


class Case(NamedTuple):
    """One sampler, the verdict on its draws, and the draws, (n, 3)."""

    name: str
    description: str
    result: GofResult
    draws: FloatArray


def run(draws: int = 2000, seed: int = 0, progress: Progress | None = None) -> list[Case]:
    """Test every sampler with `check`.

    Parameters
    ----------
    draws : int
        Draws that each sampler gives. Chains are of equal length, so that it may be three more.
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
        rows = sampler(np.random.default_rng(child), draws)
        scores = score(rows.reshape(-1, len(COEFFICIENTS))).reshape(rows.shape)
        # Draws of shape (chain, draw, 3) are chains, and those of fits are independent rows.
        result = check(Sample(rows, scores, names=COEFFICIENTS), iid=rows.ndim == 2)
        cases.append(Case(name, description, result, rows.reshape(-1, len(COEFFICIENTS))))
        if progress is not None:
            progress(len(cases), len(SAMPLERS))
    return cases


def log_likelihood(coefficients: FloatArray) -> FloatArray:
    """Log-likelihood at every row of coefficients."""
    linear = coefficients @ _DESIGN.T
    result: FloatArray = linear @ _OUTCOMES - np.logaddexp(0.0, linear).sum(axis=1)
    return result


def log_posterior(coefficients: FloatArray) -> FloatArray:
    """Log-density of the posterior, up to a constant, at every row of coefficients."""
    squares: FloatArray = (coefficients**2).sum(axis=1)
    return log_likelihood(coefficients) - 0.5 * squares / _PRIOR_SCALE**2


def score(coefficients: Array) -> Array:
    """Gradient of the log-posterior at every row of coefficients."""
    residuals = _OUTCOMES - _probabilities(coefficients)
    return residuals @ _DESIGN - coefficients / _PRIOR_SCALE**2


def mala(rng: np.random.Generator, n: int) -> FloatArray:
    """Chains of Langevin steps that are accepted or rejected by Metropolis and Hastings."""
    return _langevin(rng, n, accept=True)


def langevin(rng: np.random.Generator, n: int) -> FloatArray:
    """Chains of the same steps, all of which are taken."""
    return _langevin(rng, n, accept=False)


def _langevin(rng: np.random.Generator, n: int, *, accept: bool) -> FloatArray:
    """Chains of shape (chain, draw, 3) of x + h/2 C s(x) + sqrt(h) C^(1/2) z.

    C is the covariance of the Laplace approximation, from which the chains start.
    """
    mode, covariance = _laplace_approximation()
    factor = np.linalg.cholesky(covariance)
    length = -(-n // _CHAINS)
    point = mode + rng.standard_normal((_CHAINS, len(mode))) @ factor.T
    kept = np.empty((_CHAINS, length, len(mode)))
    for step in range(-_WARM_UP, length):
        noise = rng.standard_normal(point.shape)
        ahead = point + 0.5 * _STEP * score(point) @ covariance
        proposal = ahead + np.sqrt(_STEP) * noise @ factor.T
        back = point - proposal - 0.5 * _STEP * score(proposal) @ covariance
        reverse = np.linalg.solve(factor, back.T).T / np.sqrt(_STEP)
        log_ratio = log_posterior(proposal) - log_posterior(point)
        log_ratio += 0.5 * np.sum(noise**2 - reverse**2, axis=1)
        taken = np.log(rng.random(_CHAINS)) < log_ratio
        point = np.where(taken[:, None] | (not accept), proposal, point)
        if step >= 0:
            kept[:, step] = point
    return kept


def mean_field(rng: np.random.Generator, n: int) -> FloatArray:
    """Draws of the best normal law with independent coefficients, by variational inference.

    At the optimum the mean score is 0, and 1/variance is the mean curvature (Opper and
    Archambeau, 2009). Both are computed at fixed standard normal points.
    """
    points = np.random.default_rng(0).standard_normal((_POINTS, len(COEFFICIENTS)))
    mean, sd = _laplace_approximation()[0], np.ones(len(COEFFICIENTS))
    for _ in range(_ROUNDS):
        at = mean + sd * points
        probabilities = _probabilities(at)
        spread = (probabilities * (1.0 - probabilities)).mean(axis=0)
        precision = spread @ _DESIGN**2 + 1.0 / _PRIOR_SCALE**2
        mean, sd = mean + score(at).mean(axis=0) / precision / 2.0, 1.0 / np.sqrt(precision)
    return mean + sd * rng.standard_normal((n, len(COEFFICIENTS)))


def exact(rng: np.random.Generator, n: int) -> FloatArray:
    """Rejection sampling: propose from the prior, accept by likelihood over its maximum."""
    highest = log_likelihood(_maximum(0.0)[None, :])[0]
    kept: list[FloatArray] = []
    while sum(map(len, kept)) < n:
        proposals = rng.normal(0.0, _PRIOR_SCALE, size=(_PROPOSALS, len(COEFFICIENTS)))
        threshold = highest - rng.standard_exponential(_PROPOSALS)
        kept.append(proposals[log_likelihood(proposals) > threshold])
    return np.concatenate(kept)[:n]


def laplace_approximation(rng: np.random.Generator, n: int) -> FloatArray:
    """Draws from the Gaussian with the posterior's mode and curvature."""
    mode, covariance = _laplace_approximation()
    return rng.multivariate_normal(mode, covariance, size=n)


SAMPLERS: dict[str, tuple[str, Sampler]] = {
    "MALA": ("MCMC: Langevin steps with the accept step", mala),
    "Langevin": ("MCMC: the same steps without it", langevin),
    "mean-field": ("variational inference", mean_field),
    "Laplace": ("normal law at the mode", laplace_approximation),
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
