"""Alternatives beyond the paper: each gives n draws in d dimensions and the scores of a target.

Unless it says otherwise the target is N(0, I), and one or two coordinates are wrong.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from polystein.experiments.paper.samplers import gaussian, gaussian_score
from polystein.types import FloatArray

Generator: TypeAlias = np.random.Generator
#: Draws and the target's scores at them, both of shape (n, d).
Pair: TypeAlias = tuple[FloatArray, FloatArray]

# How wrong the draws are. A cell's seed hangs on its strength: another strength is another cell.
SHIFT_OF_ONE = 0.25
CORRELATION_OF_PAIR = 0.35
MODES_FROM_CENTRE = 0.8
GAMMA_SHAPE = 8.0
SHIFT_OF_ALL = 0.05
DEGREES_OF_FREEDOM = 10.0
BANANA_CURVATURE = 0.15


def one_mean(rng: Generator, n: int, d: int, shift: float) -> Pair:
    """The first coordinate's mean is `shift`."""
    draws = gaussian(rng, n, d)
    draws[:, 0] += shift
    return draws, gaussian_score(draws)


def correlated_pair(rng: Generator, n: int, d: int, correlation: float) -> Pair:
    """The first two coordinates are correlated; each is standard normal."""
    draws = gaussian(rng, n, d)
    draws[:, 1] = correlation * draws[:, 0] + np.sqrt(1.0 - correlation**2) * draws[:, 1]
    return draws, gaussian_score(draws)


def two_modes(rng: Generator, n: int, d: int, distance: float) -> Pair:
    """The first coordinate is an even mixture of N(-m, 1 - m^2) and N(m, 1 - m^2).

    Its mean is 0, its variance 1 and its skewness 0, as the target's; m is `distance`.
    """
    draws = gaussian(rng, n, d)
    modes = distance * rng.choice([-1.0, 1.0], size=n)
    draws[:, 0] = modes + np.sqrt(1.0 - distance**2) * draws[:, 0]
    return draws, gaussian_score(draws)


def skewed(rng: Generator, n: int, d: int, shape: float) -> Pair:
    """The first coordinate is a Gamma(shape) variable, standardised; its skewness 2/sqrt(shape)."""
    draws = gaussian(rng, n, d)
    draws[:, 0] = (rng.gamma(shape, size=n) - shape) / np.sqrt(shape)
    return draws, gaussian_score(draws)


def all_means(rng: Generator, n: int, d: int, shift: float) -> Pair:
    """Every coordinate's mean is `shift`."""
    draws = gaussian(rng, n, d) + shift
    return draws, gaussian_score(draws)


def student_t_target(rng: Generator, n: int, d: int, freedom: float) -> Pair:
    """Draws of N(0, I); the target's coordinates are Student's t, scaled to variance 1."""
    draws = gaussian(rng, n, d)
    return draws, student_t_score(draws, freedom, np.sqrt((freedom - 2.0) / freedom))


def banana_target(rng: Generator, n: int, d: int, curvature: float) -> Pair:
    """Draws of the Gaussian with the mean and the covariance of a banana-shaped target.

    The target is the law of (z_1, z_2 + b (z_1^2 - 1), z_3, ..., z_d) with z standard normal
    and b the `curvature`: its mean is 0 and its covariance diag(1, 1 + 2 b^2, 1, ..., 1).
    """
    draws = gaussian(rng, n, d)
    draws[:, 1] *= np.sqrt(1.0 + 2.0 * curvature**2)
    straightened = draws[:, 1] - curvature * (draws[:, 0] ** 2 - 1.0)
    scores = gaussian_score(draws)
    scores[:, 0] += 2.0 * curvature * draws[:, 0] * straightened
    scores[:, 1] = -straightened
    return draws, scores


def student_t_score(draws: FloatArray, freedom: float, scale: float = 1.0) -> FloatArray:
    """Score of independent Student's t variables times `scale`."""
    score: FloatArray = -(freedom + 1.0) * draws / (freedom * scale**2 + draws**2)
    return score


class Alternative(NamedTuple):
    """One of the seven: what the tables call it, how it is drawn, and its strength."""

    label: str
    draw: Callable[[Generator, int, int, float], Pair]
    strength: float


ALTERNATIVES = {
    "one_mean": Alternative(f"one mean {SHIFT_OF_ONE:g}", one_mean, SHIFT_OF_ONE),
    "correlated_pair": Alternative(
        f"one pair correlated {CORRELATION_OF_PAIR:g}", correlated_pair, CORRELATION_OF_PAIR
    ),
    "two_modes": Alternative(
        f"two modes ±{MODES_FROM_CENTRE:g} in one coordinate", two_modes, MODES_FROM_CENTRE
    ),
    "skewed": Alternative(f"one coordinate Gamma({GAMMA_SHAPE:g})", skewed, GAMMA_SHAPE),
    "all_means": Alternative(f"all means {SHIFT_OF_ALL:g}", all_means, SHIFT_OF_ALL),
    "student_t_target": Alternative(
        f"Student-t({DEGREES_OF_FREEDOM:g}) target, Gaussian draws",
        student_t_target,
        DEGREES_OF_FREEDOM,
    ),
    "banana_target": Alternative(
        f"banana target ({BANANA_CURVATURE:g}), Gaussian draws", banana_target, BANANA_CURVATURE
    ),
}
