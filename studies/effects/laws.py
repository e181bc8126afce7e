"""Targets with exact draws and scores at any rows, and draws that are wrong in known ways."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.effects.posteriors import posterior, right_draws

Array = NDArray[np.float64]
Generator = np.random.Generator

DIMENSION = 4


class Law(NamedTuple):
    """The score of a target, and exact draws of it."""

    score: Callable[[Array], Array]
    draw: Callable[[Generator, int], Array]


def gaussian(memory: float) -> Law:
    """Correlations memory^|j - k|."""
    index = np.arange(DIMENSION)
    covariance = memory ** np.abs(np.subtract.outer(index, index))
    precision, factor = np.linalg.inv(covariance), np.linalg.cholesky(covariance)
    return Law(
        lambda x: -x @ precision,
        lambda rng, n: rng.standard_normal((n, DIMENSION)) @ factor.T,
    )


def student(freedom: float) -> Law:
    return Law(
        lambda x: -(freedom + 1.0) * x / (freedom + x**2),
        lambda rng, n: rng.standard_t(freedom, (n, DIMENSION)),
    )


def log_gamma(shape: float) -> Law:
    return Law(
        lambda x: shape - np.exp(x),
        lambda rng, n: np.log(rng.standard_gamma(shape, (n, DIMENSION))),
    )


def two_modes(distance: float, share: float) -> Law:
    """Normal laws at 0 and at a distance in every coordinate, the latter with this share."""

    def score(x: Array) -> Array:
        odds = np.log(share / (1.0 - share)) + distance * x - 0.5 * distance**2
        return distance / (1.0 + np.exp(-odds)) - x

    def draw(rng: Generator, n: int) -> Array:
        second = rng.random((n, DIMENSION)) < share
        return rng.standard_normal((n, DIMENSION)) + distance * second

    return Law(score, draw)


def banana(bend: float) -> Law:
    """The second coordinate bends with the square of the first."""

    def score(x: Array) -> Array:
        left, found = x[:, 1] - bend * (x[:, 0] ** 2 - 1.0), -x
        found[:, 1] = -left
        found[:, 0] += 2.0 * bend * left * x[:, 0]
        return found

    def draw(rng: Generator, n: int) -> Array:
        found = rng.standard_normal((n, DIMENSION))
        found[:, 1] += bend * (found[:, 0] ** 2 - 1.0)
        return found

    return Law(score, draw)


def funnel(spread: float) -> Law:
    """The logarithm of the others' sd is half of the first, which has this sd."""

    def score(x: Array) -> Array:
        first, others = x[:, :1], x[:, 1:]
        squares = (others**2).sum(axis=1, keepdims=True) * np.exp(-first)
        of_first = -first / spread**2 + 0.5 * squares - 0.5 * (DIMENSION - 1)
        return np.hstack([of_first, -others * np.exp(-first)])

    def draw(rng: Generator, n: int) -> Array:
        found = rng.standard_normal((n, DIMENSION))
        found[:, 0] *= spread
        found[:, 1:] *= np.exp(0.5 * found[:, :1])
        return found

    return Law(score, draw)


def by_inversion(score: Callable[[Array], Array]) -> Law:
    """Independent coordinates, drawn by the quantiles of a density on a fine grid."""
    grid = np.linspace(-6.0, 6.0, 24_001)
    slope = score(grid)
    steps = 0.5 * (slope[1:] + slope[:-1]) * np.diff(grid)
    log_density = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.cumsum(np.exp(log_density - log_density.max()))
    return Law(
        score,
        lambda rng, n: np.interp(rng.random((n, DIMENSION)), chances / chances[-1], grid),
    )


def quartic() -> Law:
    """The law log p = -x^2 / 2 - 0.075 x^4 + 0.5 sin 1.5 x in every coordinate."""
    return by_inversion(lambda x: -x - 0.3 * x**3 + 0.75 * np.cos(1.5 * x))


def of_posterior(name: str) -> Law:
    return Law(posterior(name).score, lambda rng, n: right_draws(name, rng, n))


#: Posteriors that have approximations, too, by their names there.
REGRESSIONS = {
    "logistic regression, 500": "(a) logistic regression, 500 observations",
    "logistic regression, 100": "(d) logistic regression, 100 observations",
    "linear regression, sigma unknown": "(b) linear regression, sigma unknown",
}
LAWS: dict[str, Callable[[], Law]] = {
    **{name: lambda own=own: of_posterior(own) for name, own in REGRESSIONS.items()},  # type: ignore[misc]
    "N(0, I)": lambda: gaussian(0.0),
    "AR .95": lambda: gaussian(0.95),
    "t(3)": lambda: student(3.0),
    "t(5)": lambda: student(5.0),
    "t(10)": lambda: student(10.0),
    "log Gamma(5)": lambda: log_gamma(5.0),
    "log Gamma(0.5)": lambda: log_gamma(0.5),
    "Laplace": lambda: Law(lambda x: -np.sign(x), lambda rng, n: rng.laplace(size=(n, DIMENSION))),
    "logistic law": lambda: Law(
        lambda x: -np.tanh(0.5 * x), lambda rng, n: rng.logistic(size=(n, DIMENSION))
    ),
    "mixture, 4 sd apart": lambda: two_modes(4.0, 0.5),
    "mixture, 2.5 sd apart, .3": lambda: two_modes(2.5, 0.3),
    "banana, mild": lambda: banana(0.5),
    "banana": lambda: banana(1.5),
    "funnel, mild": lambda: funnel(1.0),
    "funnel": lambda: funnel(2.0),
    "quartic": quartic,
    "wave": lambda: by_inversion(lambda x: -x + 1.5 * np.cos(3.0 * x)),
}

#: How much wider than the target the Gaussian draws are, and how far they are off, in sd.
KINDS = {
    "exact moments": (1.0, 0.0),
    "sd x 0.25": (0.25, 0.0),
    "sd x 0.5": (0.5, 0.0),
    "sd x 0.8": (0.8, 0.0),
    "sd x 1.3": (1.3, 0.0),
    "mean + 0.3 sd": (1.0, 0.3),
}


def wrong_gaussian(kind: str, right: Array) -> tuple[Array, Array]:
    """Mean and factor of a Gaussian that is wrong in a known way beside right draws."""
    scale, shift = KINDS[kind]
    mean, covariance = right.mean(axis=0), np.cov(right, rowvar=False)
    mean = mean + shift * np.sqrt(np.diagonal(covariance)) * (np.arange(right.shape[1]) == 0)
    return mean, scale * np.linalg.cholesky(covariance)
