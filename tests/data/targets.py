"""Thirty targets with exact draws and their scores, for a guard that must say nothing."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit

from tests.rows import Array

Generator = np.random.Generator


class Target(NamedTuple):
    """Draws of n rows, and the score at them."""

    draw: Callable[[Generator, int], Array]
    score: Callable[[Array], Array]


def gaussian(mean: Array, covariance: Array) -> Target:
    precision = np.linalg.inv(covariance)
    return Target(
        lambda rng, n: rng.multivariate_normal(mean, covariance, size=n),
        lambda x: -(x - mean) @ precision,
    )


def independent(draw: Callable[..., Array], score: Callable[[Array], Array], d: int) -> Target:
    return Target(lambda rng, n: draw(rng, (n, d)), score)


def equicorrelated(d: int, rho: float) -> Array:
    return (1.0 - rho) * np.eye(d) + rho


def mixture(d: int, gap: float) -> Target:
    """Two normal laws of equal weight at +-gap in the first coordinate."""

    def draw(rng: Generator, n: int) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] += gap * rng.choice([-1.0, 1.0], size=n)
        return x

    def score(x: Array) -> Array:
        s = -x.copy()
        s[:, 0] += gap * np.tanh(gap * x[:, 0])
        return s

    return Target(draw, score)


def banana(curve: float) -> Target:
    def draw(rng: Generator, n: int) -> Array:
        z = rng.standard_normal((n, 2))
        return np.column_stack([z[:, 0], z[:, 1] + curve * z[:, 0] ** 2])

    def score(x: Array) -> Array:
        rest = x[:, 1] - curve * x[:, 0] ** 2
        return np.column_stack([-x[:, 0] + 2.0 * curve * x[:, 0] * rest, -rest])

    return Target(draw, score)


def funnel(d: int) -> Target:
    """v ~ N(0, 1) and x_i given v ~ N(0, exp(v))."""

    def draw(rng: Generator, n: int) -> Array:
        v = rng.standard_normal((n, 1))
        return np.hstack([v, np.exp(v / 2.0) * rng.standard_normal((n, d - 1))])

    def score(x: Array) -> Array:
        v, rest = x[:, :1], x[:, 1:]
        scaled = rest * np.exp(-v)
        return np.hstack(
            [-v - 0.5 * (d - 1) + 0.5 * np.sum(rest * scaled, axis=1, keepdims=True), -scaled]
        )

    return Target(draw, score)


def log_gamma(shape: float, d: int) -> Target:
    """The logarithm of Gamma(shape) draws, with the Jacobian in the density."""
    return independent(
        lambda rng, size: np.log(rng.gamma(shape, size=size)), lambda x: shape - np.exp(x), d
    )


def logit_beta(a: float, b: float, d: int) -> Target:
    def draw(rng: Generator, size: tuple[int, int]) -> Array:
        u = rng.beta(a, b, size=size)
        return np.asarray(np.log(u) - np.log1p(-u))

    return independent(draw, lambda x: a - (a + b) * expit(x), d)


def student(df: float, d: int) -> Target:
    return independent(
        lambda rng, size: rng.standard_t(df, size=size), lambda x: -(df + 1) * x / (df + x**2), d
    )


def shifted(target: Target, shift: float, scale: float) -> Target:
    return Target(
        lambda rng, n: shift + scale * target.draw(rng, n),
        lambda x: target.score((x - shift) / scale) / scale,
    )


def skew_normal(slant: float, d: int) -> Target:
    def score(x: Array) -> Array:
        y = slant * x
        ratio = np.exp(stats.norm.logpdf(y) - stats.norm.logcdf(y))
        return np.asarray(-x + slant * ratio)

    return independent(
        lambda rng, size: stats.skewnorm(slant).rvs(size=size, random_state=rng), score, d
    )


LAPLACE = independent(lambda rng, size: rng.laplace(size=size), lambda x: -np.sign(x), 3)
LOGISTIC = independent(lambda rng, size: rng.logistic(size=size), lambda x: -np.tanh(x / 2.0), 4)
GUMBEL = independent(lambda rng, size: rng.gumbel(size=size), lambda x: np.exp(-x) - 1.0, 3)
QUARTIC = independent(
    lambda rng, size: rng.gamma(0.25, size=size) ** 0.25 * rng.choice([-1.0, 1.0], size=size),
    lambda x: -4.0 * x**3,
    2,
)

TARGETS: dict[str, Target] = {
    "normal, d=1": gaussian(np.zeros(1), np.eye(1)),
    "normal, d=2": gaussian(np.zeros(2), np.eye(2)),
    "normal, d=16": gaussian(np.zeros(16), np.eye(16)),
    "normal, d=100": gaussian(np.zeros(100), np.eye(100)),
    "normal far from 0": gaussian(np.full(4, 1000.0), np.eye(4)),
    "normal, positive by its place": gaussian(np.full(3, 5.0), np.eye(3)),
    "normal in many units": gaussian(np.zeros(5), np.diag(10.0 ** np.arange(-4.0, 6.0, 2.0) ** 1)),
    "normal, correlated .5": gaussian(np.zeros(6), equicorrelated(6, 0.5)),
    "normal, correlated .99": gaussian(np.zeros(10), equicorrelated(10, 0.99)),
    "normal, correlated -.9": gaussian(np.zeros(2), np.array([[1.0, -0.9], [-0.9, 1.0]])),
    "normal, autoregressive": gaussian(
        np.zeros(20), 0.95 ** np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
    ),
    "Student-t(10)": student(10.0, 5),
    "Student-t(5)": student(5.0, 16),
    "Student-t(3)": student(3.0, 3),
    "Cauchy": student(1.0, 2),
    "Laplace": LAPLACE,
    "logistic": LOGISTIC,
    "Gumbel": GUMBEL,
    "Gumbel, positive by its place": shifted(GUMBEL, 5.0, 1.0),
    "quartic": QUARTIC,
    "two modes, near": mixture(3, 1.0),
    "two modes, far": mixture(2, 3.0),
    "banana": banana(0.5),
    "banana, strong": banana(2.0),
    "funnel": funnel(5),
    "log Exp(1)": log_gamma(1.0, 4),
    "log Gamma(.3)": log_gamma(0.3, 2),
    "log Gamma(30), positive by its place": log_gamma(30.0, 3),
    "logit Beta(2, 5)": logit_beta(2.0, 5.0, 3),
    "skew normal(4), shifted": shifted(skew_normal(4.0, 3), 2.0, 3.0),
}
