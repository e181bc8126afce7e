"""Laws that can be drawn from exactly, with log-densities and scores."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]
Rng = np.random.Generator


class Law(NamedTuple):
    """How rows are drawn, and the log-density, up to a constant, with its score."""

    draw: Callable[[Rng, int], Array]
    log_density: Callable[[Array], Array]
    score: Callable[[Array], Array]


def correlated(d: int) -> Law:
    """N(0, S) with correlations of 0.7."""
    covariance = 0.7 + 0.3 * np.eye(d)
    factor, precision = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
    return Law(
        lambda rng, n: rng.standard_normal((n, d)) @ factor.T,
        lambda x: -0.5 * np.einsum("ij,jk,ik->i", x, precision, x),
        lambda x: -x @ precision,
    )


def funnel(d: int) -> Law:
    """A mild funnel: v is standard normal, the others N(0, e^v)."""

    def draw(rng: Rng, n: int) -> Array:
        v = rng.standard_normal(n)
        return np.column_stack([v, np.exp(0.5 * v)[:, None] * rng.standard_normal((n, d - 1))])

    def log_density(x: Array) -> Array:
        v, squares = x[:, 0], (x[:, 1:] ** 2).sum(axis=1)
        return -0.5 * v**2 - 0.5 * (d - 1) * v - 0.5 * np.exp(-v) * squares

    def score(x: Array) -> Array:
        v, squares = x[:, 0], (x[:, 1:] ** 2).sum(axis=1)
        of_v = -v - 0.5 * (d - 1) + 0.5 * np.exp(-v) * squares
        return np.column_stack([of_v, -np.exp(-v)[:, None] * x[:, 1:]])

    return Law(draw, log_density, score)


def student(d: int, freedom: float = 3.0) -> Law:
    """Independent coordinates with Student's t."""
    return Law(
        lambda rng, n: rng.standard_t(freedom, size=(n, d)),
        lambda x: -0.5 * (freedom + 1.0) * np.log1p(x**2 / freedom).sum(axis=1),
        lambda x: -(freedom + 1.0) * x / (freedom + x**2),
    )


def log_gamma(d: int, shape: float = 0.5) -> Law:
    """Logarithms of gamma variables."""
    return Law(
        lambda rng, n: np.log(rng.gamma(shape, size=(n, d))),
        lambda x: (shape * x - np.exp(x)).sum(axis=1),
        lambda x: shape - np.exp(x),
    )


def banana(d: int) -> Law:
    """Standard normal coordinates, but for the second: its mean is the square of the first."""

    def draw(rng: Rng, n: int) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 1] += x[:, 0] ** 2
        return x

    def flat(x: Array) -> Array:
        z = x.copy()
        z[:, 1] -= x[:, 0] ** 2
        return z

    def score(x: Array) -> Array:
        z = flat(x)
        found = -z
        found[:, 0] += 2.0 * x[:, 0] * z[:, 1]
        return found

    return Law(draw, lambda x: -0.5 * (flat(x) ** 2).sum(axis=1), score)


def mixture(d: int, weight: float = 0.5, apart: float = 8.0, drawn: float | None = None) -> Law:
    """Two standard normal groups along the first coordinate; draws may weigh them otherwise."""
    share = weight if drawn is None else drawn

    def draw(rng: Rng, n: int) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] += apart * (rng.random(n) < share)
        return x

    def log_odds(x: Array) -> Array:
        return apart * x[:, 0] - 0.5 * apart**2 + np.log(weight / (1.0 - weight))

    def score(x: Array) -> Array:
        found = -x
        found[:, 0] += apart * expit(log_odds(x))
        return found

    return Law(draw, lambda x: -0.5 * (x**2).sum(axis=1) + np.logaddexp(0.0, log_odds(x)), score)


def with_slab(d: int, weight: float = 0.01, wide: float = 10.0) -> Law:
    """A standard normal with a wide one around it, which the draws miss."""

    def log_odds(x: Array) -> Array:
        squares = (x**2).sum(axis=1)
        ratio = np.log(weight / (1.0 - weight)) - d * np.log(wide)
        return ratio + 0.5 * squares * (1.0 - wide**-2)

    return Law(
        lambda rng, n: rng.standard_normal((n, d)),
        lambda x: -0.5 * (x**2).sum(axis=1) + np.logaddexp(0.0, log_odds(x)),
        lambda x: -x * (1.0 - (1.0 - wide**-2) * expit(log_odds(x)))[:, None],
    )


LAWS: dict[str, Callable[[int], Law]] = {
    "correlated Gaussian": correlated,
    "mild funnel": funnel,
    "t3": student,
    "log-gamma": log_gamma,
    "banana": banana,
    "mixture": mixture,
}
