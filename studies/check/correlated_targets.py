"""Correlated targets, and draws that are wrong along one of their axes or along all.

Every draw is x = V diag(sqrt(e)) z, with V the axes of the target's covariance, the widest first,
and e its eigenvalues. A fault is one of z, whose right law is N(0, I).
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from polystein.types import FloatArray
from studies.check.alternatives import Generator, Pair, skewed, two_modes
from tests.statistical.samplers import unadjusted_langevin

#: The axes of a target of a given condition are those of a random matrix of this seed.
AXES_SEED = 20_280
SHIFT, WIDER, NARROWER = 0.2, 1.2, 0.95
FREEDOM = 30.0
CHAINS, STEP = 4, 0.4
MODE_WEIGHT = 0.1


class Axes(NamedTuple):
    """Eigenvectors of a covariance, one a column, and its eigenvalues, the largest first."""

    vectors: FloatArray
    values: FloatArray

    def seen(self, standard: FloatArray, scores: FloatArray) -> Pair:
        """Draws and scores that are given along the axes, in coordinates."""
        spread = np.sqrt(self.values)
        return (standard * spread) @ self.vectors.T, (scores / spread) @ self.vectors.T


@cache
def conditioned(condition: float, dimension: int) -> Axes:
    """Random axes, with eigenvalues from 1 down to 1/condition in equal ratios."""
    rng = np.random.default_rng(AXES_SEED)
    vectors, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    return Axes(vectors, np.geomspace(1.0, 1.0 / condition, dimension))


@cache
def equicorrelated(correlation: float, dimension: int) -> Axes:
    """Unit variances, and the same correlation of all pairs.

    All axes but the first have the same variance. They are Helmert's contrasts, because those of a
    numerical decomposition differ from one machine to another.
    """
    if correlation == 0.0:
        return _axes_of(np.eye(dimension))
    vectors = np.vstack([np.full(dimension, dimension**-0.5), helmert(dimension)]).T
    values = np.full(dimension, 1.0 - correlation)
    values[0] += dimension * correlation
    return Axes(vectors, values)


@cache
def autoregressive(correlation: float, dimension: int) -> Axes:
    """Unit variances, and correlations that fall with the distance of two coordinates."""
    places = np.arange(dimension)
    return _axes_of(correlation ** np.abs(places[:, None] - places))


def _axes_of(covariance: FloatArray) -> Axes:
    values, vectors = np.linalg.eigh(covariance)
    return Axes(vectors[:, ::-1], values[::-1])


# Faults, along the axes


def right(rng: Generator, n: int, d: int) -> Pair:
    """No fault."""
    z = rng.standard_normal((n, d))
    return z, -z


def mean_of(axis: int) -> Callable[[Generator, int, int], Pair]:
    """The mean is off by `SHIFT` standard deviations along an axis."""

    def fault(rng: Generator, n: int, d: int) -> Pair:
        z = rng.standard_normal((n, d))
        z[:, axis] += SHIFT
        return z, -z

    return fault


def wider(axis: int) -> Callable[[Generator, int, int], Pair]:
    """The standard deviation along an axis is `WIDER` times the right one."""

    def fault(rng: Generator, n: int, d: int) -> Pair:
        z = rng.standard_normal((n, d))
        z[:, axis] *= WIDER
        return z, -z

    return fault


def scaled(variance: float) -> Callable[[Generator, int, int], Pair]:
    """All variances are this much too large."""

    def fault(rng: Generator, n: int, d: int) -> Pair:
        z = rng.standard_normal((n, d)) * np.sqrt(variance)
        return z, -z

    return fault


def student_t_target(rng: Generator, n: int, d: int) -> Pair:
    """The target is a multivariate Student's t with the covariance of the draws."""
    z = rng.standard_normal((n, d))
    size = FREEDOM - 2.0 + np.sum(z**2, axis=1, keepdims=True)
    return z, -(FREEDOM + d) * z / size


def modes_along(rng: Generator, n: int, d: int) -> Pair:
    """Two modes along the first axis."""
    return two_modes(rng, n, d, 0.8)


def skewed_along(rng: Generator, n: int, d: int) -> Pair:
    """A Gamma(8) variable along the first axis."""
    return skewed(rng, n, d, 8.0)


def missing_mode(distance: float) -> Callable[[Generator, int, int], Pair]:
    """Draws of N(0, I); the target has a second mode of `MODE_WEIGHT` along the first axis."""
    prior = np.log(MODE_WEIGHT / (1.0 - MODE_WEIGHT))

    def fault(rng: Generator, n: int, d: int) -> Pair:
        z = rng.standard_normal((n, d))
        scores = -z
        odds = prior + distance * z[:, 0] - 0.5 * distance**2
        scores[:, 0] += distance / (1.0 + np.exp(-odds))
        return z, scores

    return fault


def langevin_chains(rng: Generator, n: int, d: int) -> Pair:
    """Four chains of unadjusted Langevin steps, preconditioned: all variances are 1/(1 - h/4)."""
    z = unadjusted_langevin(rng, CHAINS, n // CHAINS, d, STEP)
    return z, -z


# Targets that are not Gaussian, and draws of them


def log_exponential(rng: Generator, n: int, d: int) -> Pair:
    """Logarithms of draws of Exp(1): the score 1 - exp(x) has a skewness of -2."""
    draws = np.log(rng.standard_exponential((n, d)))
    return draws, 1.0 - np.exp(draws)


def multivariate_t(rng: Generator, n: int, d: int) -> Pair:
    """Draws of a multivariate Student's t with 3 degrees of freedom, which is the target."""
    z = rng.standard_normal((n, d)) * np.sqrt(3.0 / rng.chisquare(3.0, (n, 1)))
    return z, -(3.0 + d) * z / (3.0 + np.sum(z**2, axis=1, keepdims=True))


def funnel(rng: Generator, n: int, d: int) -> Pair:
    """Draws of (v, exp(v/2) z), with v and z standard normal."""
    v, z = rng.standard_normal((n, 1)), rng.standard_normal((n, d - 1))
    first = -v + 0.5 * np.sum(z**2 - 1.0, axis=1, keepdims=True)
    return np.hstack([v, np.exp(v / 2) * z]), np.hstack([first, -np.exp(-v / 2) * z])


def banana(rng: Generator, n: int, d: int) -> Pair:
    """Draws of (z_1, z_2 + z_1^2 - 1, z_3, ...), with z standard normal."""
    z = rng.standard_normal((n, d))
    draws, scores = z.copy(), -z
    draws[:, 1] += z[:, 0] ** 2 - 1.0
    scores[:, 0] += 2.0 * z[:, 0] * z[:, 1]
    return draws, scores
