"""Draws whose faults lie in magnitudes, in fine structure or in the signs of several coordinates.

Each function takes a generator, a number of rows and the dimension, and gives draws with the scores
of a target. Unless it says otherwise the target is N(0, I). Margins of the first two groups of ties
are right, and so are the correlations, which are 0.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import norm

from polystein.experiments.paper.samplers import gaussian, gaussian_score
from polystein.types import FloatArray
from studies.check.alternatives import Generator, Pair, student_t_score

Draw = Callable[[Generator, int, int], Pair]
#: Of Student's t, as a target or as what draws share.
FREEDOM = 5.0
#: The median of |x| for a standard normal x.
MEDIAN_MAGNITUDE = float(norm.ppf(0.75))


def standard(draws: FloatArray) -> Pair:
    """Draws with the scores of N(0, I)."""
    return draws, gaussian_score(draws)


def signs(rng: Generator, *shape: int) -> FloatArray:
    """Independent signs."""
    return rng.choice([-1.0, 1.0], size=shape)


# Ties of magnitudes


def same_magnitudes(rng: Generator, n: int, d: int) -> Pair:
    """All coordinates have one magnitude, and signs of their own; for d = 2, x_1 = ±x_0."""
    return standard(np.abs(rng.standard_normal((n, 1))) * signs(rng, n, d))


def common_scale(rng: Generator, n: int, d: int, *, tied: int | None = None) -> Pair:
    """The first `tied` coordinates, or all, are multivariate t; the target has independent ones."""
    scales = rng.chisquare(FREEDOM, (n, d)) / FREEDOM
    scales[:, :tied] = scales[:, :1]
    draws = rng.standard_normal((n, d)) / np.sqrt(scales)
    return draws, student_t_score(draws, FREEDOM)


def with_magnitudes(rng: Generator, uniform: FloatArray, d: int) -> Pair:
    """The first two coordinates have |x_j| at these levels of their law, and signs of their own."""
    draws = gaussian(rng, len(uniform), d)
    magnitudes = norm.ppf(0.5 + 0.5 * np.clip(uniform, 1e-12, 1.0 - 1e-12))
    draws[:, :2] = magnitudes * signs(rng, len(uniform), 2)
    return standard(draws)


def gaussian_magnitudes(rng: Generator, n: int, d: int, *, correlation: float) -> Pair:
    """A Gaussian copula ties the magnitudes of two coordinates."""
    z = rng.standard_normal((n, 2))
    z[:, 1] = correlation * z[:, 0] + np.sqrt(1.0 - correlation**2) * z[:, 1]
    return with_magnitudes(rng, norm.cdf(z), d)


def clayton_magnitudes(rng: Generator, n: int, d: int, *, strength: float) -> Pair:
    """Clayton's copula ties the magnitudes of two coordinates, the small ones most."""
    shared = rng.gamma(1.0 / strength, size=(n, 1))
    uniform = (1.0 + rng.standard_exponential((n, 2)) / shared) ** (-1.0 / strength)
    return with_magnitudes(rng, uniform, d)


def opposite_magnitudes(rng: Generator, n: int, d: int) -> Pair:
    """A cross: the larger the one of two coordinates, the smaller the other."""
    uniform = rng.random((n, 1))
    return with_magnitudes(rng, np.hstack([uniform, 1.0 - uniform]), d)


def board_of_magnitudes(rng: Generator, n: int, d: int, *, fields: int) -> Pair:
    """Magnitudes lie on the black fields of a board of `fields` times `fields` fields."""
    column = rng.integers(fields, size=n)
    row = 2 * rng.integers(fields // 2, size=n) + column % 2
    uniform = (np.stack([column, row], axis=1) + rng.random((n, 2))) / fields
    return with_magnitudes(rng, uniform, d)


def closed_curve(rng: Generator, n: int, d: int) -> Pair:
    """A circle: two coordinates are cosine and sine of one angle, made normal each by itself."""
    draws = gaussian(rng, n, d)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    level = 0.5 + np.arcsin(circle) / np.pi
    draws[:, :2] = norm.ppf(np.clip(level, 1e-12, 1.0 - 1e-12))
    return standard(draws)


# Fine structure of one coordinate or of several


def ripple(x: FloatArray, size: float, frequency: float) -> FloatArray:
    """x + a sin(w x)."""
    moved: FloatArray = x + size * np.sin(frequency * x)
    return moved


def rippled(
    rng: Generator, n: int, d: int, *, size: float, frequency: float, coordinates: int | None = 1
) -> Pair:
    """The first coordinates, or all, have a ripple."""
    draws = gaussian(rng, n, d)
    draws[:, :coordinates] = ripple(draws[:, :coordinates], size, frequency)
    return standard(draws)


def rippled_along(rng: Generator, n: int, d: int, *, size: float, frequency: float) -> Pair:
    """A ripple along the diagonal of the first two coordinates."""
    draws = gaussian(rng, n, d)
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    pair = draws[:, :2] @ turn
    pair[:, 0] = ripple(pair[:, 0], size, frequency)
    draws[:, :2] = pair @ turn
    return standard(draws)


def sawtooth(rng: Generator, n: int, d: int, *, size: float, frequency: float) -> Pair:
    """The first coordinate plus a sawtooth of itself."""
    draws = gaussian(rng, n, d)
    phase = frequency * draws[:, 0] / (2.0 * np.pi)
    draws[:, 0] += 2.0 * size * (phase - np.floor(phase) - 0.5)
    return standard(draws)


def waved(x: Callable[[int], FloatArray], rng: Generator, n: int, frequency: float) -> FloatArray:
    """n draws of the density (1 + 0.9 cos(w x)) p(x), from draws `x` of p, by rejection."""
    proposed = x(4 * n + 100)
    kept = proposed[1.9 * rng.random(len(proposed)) < 1.0 + 0.9 * np.cos(frequency * proposed)]
    assert len(kept) >= n
    return kept[:n]


def cosine(rng: Generator, n: int, d: int, *, frequency: float) -> Pair:
    """The density of the first coordinate is (1 + 0.9 cos(w x)) times the normal one."""
    draws = gaussian(rng, n, d)
    draws[:, 0] = waved(rng.standard_normal, rng, n, frequency)
    return standard(draws)


def cosine_of_t(rng: Generator, n: int, d: int, *, frequency: float) -> Pair:
    """The same for a target of independent Student's t variables."""
    draws = rng.standard_t(FREEDOM, (n, d))
    draws[:, 0] = waved(partial(rng.standard_t, FREEDOM), rng, n, frequency)
    return draws, student_t_score(draws, FREEDOM)


def rounded(rng: Generator, n: int, d: int, *, step: float, coordinates: int | None = 1) -> Pair:
    """The first coordinates, or all, are rounded to multiples of `step`."""
    draws = gaussian(rng, n, d)
    draws[:, :coordinates] = step * np.round(draws[:, :coordinates] / step)
    return standard(draws)


def jittered(rng: Generator, n: int, d: int, *, step: float, noise: float) -> Pair:
    """The first coordinate is rounded to multiples of `step`, and a little noise is added."""
    draws, _ = rounded(rng, n, d, step=step)
    draws[:, 0] += noise * rng.standard_normal(n)
    return standard(draws)


# Ties of three signs and more


def tied_sign(rng: Generator, n: int, d: int, *, others: int, share: float = 1.0) -> Pair:
    """The sign of the last coordinate is the product of the first ones', in a share of the rows."""
    draws = gaussian(rng, n, d)
    product = np.prod(np.sign(draws[:, :others]), axis=1)
    tied = rng.random(n) < share
    last = draws[:, others]
    draws[:, others] = np.where(tied, np.abs(last) * product, last)
    return standard(draws)


def tied_far_out(rng: Generator, n: int, d: int, *, least: float) -> Pair:
    """Three signs are tied where all three magnitudes are at least this large."""
    draws = gaussian(rng, n, d)
    far = np.all(np.abs(draws[:, :3]) >= least, axis=1)
    product = np.sign(draws[:, 0] * draws[:, 1])
    draws[:, 2] = np.where(far, np.abs(draws[:, 2]) * product, draws[:, 2])
    return standard(draws)


def smooth_triple(rng: Generator, n: int, d: int, *, steepness: float) -> Pair:
    """The density is 1 + tanh(a x_0) tanh(a x_1) tanh(a x_2) times the normal one.

    Rows that are not accepted have the sign of x_2 turned, which is as good as a fresh row.
    """
    draws = gaussian(rng, n, d)
    tie = np.prod(np.tanh(steepness * draws[:, :3]), axis=1)
    draws[:, 2] *= np.where(2.0 * rng.random(n) < 1.0 + tie, 1.0, -1.0)
    return standard(draws)


def sign_of_magnitudes(rng: Generator, n: int, d: int) -> Pair:
    """The sign of x_2 says whether |x_0| and |x_1| lie on the same side of their medians."""
    draws = gaussian(rng, n, d)
    side = np.prod(np.abs(draws[:, :2]) - MEDIAN_MAGNITUDE, axis=1)
    draws[:, 2] = np.abs(draws[:, 2]) * np.sign(side)
    return standard(draws)
