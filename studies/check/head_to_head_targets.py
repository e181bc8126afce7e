"""Targets in the plane that are not Gaussian, and draws that are a little off.

Each fault takes a generator and a number of rows, and gives two coordinates with the scores of the
target. `padded` adds coordinates that are right, N(0, 1) each.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from polystein.types import FloatArray
from studies.check.alternatives import Generator, Pair, student_t_score

Plane = Callable[[Generator, int], Pair]
Sampler = Callable[[Generator, int], FloatArray]
Keep = Callable[[FloatArray], np.ndarray]


def padded(fault: Plane, rng: Generator, n: int, d: int) -> Pair:
    """A fault of the plane in d dimensions."""
    draws, scores = fault(rng, n)
    others = rng.standard_normal((n, d - 2))
    return np.hstack([draws, others]), np.hstack([scores, -others])


def kept(sampler: Sampler, keep: Keep, rng: Generator, n: int) -> FloatArray:
    """n draws of a law, given that they are kept."""
    found: FloatArray = np.empty((0, 2))
    while len(found) < n:
        more = sampler(rng, n)
        found = np.concatenate([found, more[keep(more)]])
    return found[:n]


# Mixtures in the first coordinate; the second is N(0, 1)


class Mixture(NamedTuple):
    """Components N(mean, sd^2), with weights that sum to 1."""

    weights: FloatArray
    means: FloatArray
    sds: FloatArray

    def sample(self, rng: Generator, n: int) -> FloatArray:
        """Draws of the mixture, beside a standard normal coordinate."""
        which = rng.choice(len(self.weights), size=n, p=self.weights)
        first = self.means[which] + self.sds[which] * rng.standard_normal(n)
        return np.stack([first, rng.standard_normal(n)], axis=1)

    def score(self, draws: FloatArray) -> FloatArray:
        """The score of both coordinates."""
        away = (draws[:, :1] - self.means) / self.sds
        share = softmax(np.log(self.weights / self.sds) - 0.5 * away**2, axis=1)
        first = -np.sum(share * away / self.sds, axis=1)
        return np.stack([first, -draws[:, 1]], axis=1)

    def gaussian(self, rng: Generator, n: int) -> FloatArray:
        """Draws of a normal law with the mean and the variance of the mixture."""
        mean = float(self.weights @ self.means)
        variance = float(self.weights @ (self.sds**2 + self.means**2)) - mean**2
        return rng.standard_normal((n, 2)) * [np.sqrt(variance), 1.0] + [mean, 0.0]


def even(means: list[float], sd: float) -> Mixture:
    """Components of one weight and one standard deviation."""
    count = len(means)
    return Mixture(np.full(count, 1.0 / count), np.array(means), np.full(count, sd))


TWO = even([-1.5, 1.5], 0.8)
COMB = even([-4.0, -2.0, 0.0, 2.0, 4.0], 0.5)
FINE_COMB = even([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5], 0.12)


# A ring: the density is exp(-(r - R)^2/(2 w^2)) up to its constant

RADIUS, WIDTH = 3.0, 0.5


def ring(
    rng: Generator, n: int, *, radius: float = RADIUS, width: float = WIDTH, uneven: float = 0.0
) -> FloatArray:
    """Draws of a ring; the angle's density is 1 + `uneven` cos(angle) up to its constant."""
    proposed = radius + width * rng.standard_normal(4 * n + 100)
    likely = rng.random(len(proposed)) < proposed / (2.0 * radius)
    r = proposed[likely & (proposed < 2.0 * radius)][:n]
    assert len(r) == n
    angle = rng.uniform(-np.pi, np.pi, n)
    # Turned by half a circle where it is not accepted, an angle is as good as a fresh one.
    angle += np.pi * (2.0 * rng.random(n) > 1.0 + uneven * np.cos(angle))
    return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)


def ring_score(draws: FloatArray) -> FloatArray:
    """The score of the ring."""
    r = np.linalg.norm(draws, axis=1, keepdims=True)
    score: FloatArray = -(r - RADIUS) / WIDTH**2 * draws / r
    return score


def round_gaussian(rng: Generator, n: int) -> FloatArray:
    """Draws of a normal law with the covariance of the ring, nearly: E r^2/2 = (R^2 + 3 w^2)/2."""
    return np.sqrt((RADIUS**2 + 3.0 * WIDTH**2) / 2.0) * rng.standard_normal((n, 2))


# A banana: (z_1, z_2 + b (z_1^2 - 1))


def banana(rng: Generator, n: int, *, curvature: float) -> FloatArray:
    """Draws of a banana."""
    z = rng.standard_normal((n, 2))
    z[:, 1] += curvature * (z[:, 0] ** 2 - 1.0)
    return z


def banana_score(draws: FloatArray, curvature: float) -> FloatArray:
    """The score of a banana."""
    straight = draws[:, 1] - curvature * (draws[:, 0] ** 2 - 1.0)
    return np.stack([-draws[:, 0] + 2.0 * curvature * draws[:, 0] * straight, -straight], axis=1)


def gaussian_banana(rng: Generator, n: int, *, curvature: float) -> FloatArray:
    """Draws of a normal law with the mean and the covariance of a banana."""
    return rng.standard_normal((n, 2)) * [1.0, np.sqrt(1.0 + 2.0 * curvature**2)]


# Independent coordinates: logistic, Student's t, logarithms of Gamma(2); and two more targets


def logistic(rng: Generator, n: int) -> FloatArray:
    """Draws of the logistic law."""
    return rng.logistic(size=(n, 2))


def logistic_score(draws: FloatArray) -> FloatArray:
    """The score of the logistic law."""
    score: FloatArray = 1.0 - 2.0 * expit(draws)
    return score


def student(rng: Generator, n: int) -> FloatArray:
    """Draws of Student's t with 5 degrees of freedom."""
    return rng.standard_t(5.0, (n, 2))


def log_gamma(rng: Generator, n: int) -> FloatArray:
    """Logarithms of draws of Gamma(2)."""
    return np.log(rng.standard_gamma(2.0, (n, 2)))


def log_gamma_score(draws: FloatArray) -> FloatArray:
    """The score of log Gamma(2)."""
    return 2.0 - np.exp(draws)


def funnel(rng: Generator, n: int, *, strength: float) -> FloatArray:
    """(v, exp(a v/2) z), with v and z standard normal; the target has a = 1."""
    v, z = rng.standard_normal((2, n))
    return np.stack([v, np.exp(0.5 * strength * v) * z], axis=1)


def funnel_score(draws: FloatArray) -> FloatArray:
    """The score of the funnel."""
    v, y = draws.T
    pull = np.exp(-v) * y
    return np.stack([-v + 0.5 * (y * pull - 1.0), -pull], axis=1)


CROSS = 0.9


def cross(rng: Generator, n: int, *, weight: float = 0.5) -> FloatArray:
    """Two normal laws of correlations 0.9 and -0.9, the first of this weight."""
    z = rng.standard_normal((n, 2))
    sign = np.where(rng.random(n) < weight, 1.0, -1.0)
    z[:, 1] = sign * CROSS * z[:, 0] + np.sqrt(1.0 - CROSS**2) * z[:, 1]
    return z


def cross_score(draws: FloatArray) -> FloatArray:
    """The score of the cross of even weights."""
    squares = np.sum(draws**2, axis=1)
    product = draws[:, 0] * draws[:, 1]
    along, across = (
        -(draws - sign * CROSS * draws[:, ::-1]) / (1.0 - CROSS**2) for sign in (1.0, -1.0)
    )
    logs = [-0.5 * (squares - 2.0 * sign * CROSS * product) for sign in (1.0, -1.0)]
    share = expit((logs[0] - logs[1]) / (1.0 - CROSS**2))[:, None]
    score: FloatArray = share * along + (1.0 - share) * across
    return score


# Regions that draws do not visit


def outside(centre: tuple[float, float], radius: float) -> Keep:
    """Rows that do not lie in a circle."""
    return lambda x: np.sum((x - centre) ** 2, axis=1) > radius**2


def beyond_strip(low: float, high: float) -> Keep:
    """Rows whose first coordinate does not lie in a strip."""
    return lambda x: (x[:, 0] < low) | (x[:, 0] > high)


def no_farther(bound: float) -> Keep:
    """Rows whose coordinates are no farther from 0 than the bound."""
    return lambda x: np.abs(x).max(axis=1) <= bound


def away_from_angle(half: float) -> Keep:
    """Rows whose angle to the first axis is larger than this."""
    return lambda x: np.abs(np.arctan2(x[:, 1], x[:, 0])) > half


def rounded_rows(sampler: Sampler, step: float, rng: Generator, n: int) -> FloatArray:
    """Draws whose first coordinate is rounded."""
    draws = sampler(rng, n)
    draws[:, 0] = step * np.round(draws[:, 0] / step)
    return draws


def fault(sampler: Sampler, score: Callable[[FloatArray], FloatArray]) -> Plane:
    """Draws of a sampler with the scores of a target."""

    def pair(rng: Generator, n: int) -> Pair:
        draws = sampler(rng, n)
        return draws, score(draws)

    return pair


def faults() -> dict[str, Plane]:
    """All of them, by what the table calls them."""
    bent = partial(banana, curvature=1.0)
    of_bent = partial(banana_score, curvature=1.0)
    t_score = partial(student_t_score, freedom=5.0)
    right_arm: Keep = lambda x: x[:, 0] < 1.2  # noqa: E731
    lower: Keep = lambda x: np.all(x < 1.6, axis=1)  # noqa: E731
    wider_comb = COMB._replace(sds=np.full(5, 0.7))
    toothless = COMB._replace(weights=np.array([0.25, 0.25, 0.0, 0.25, 0.25]))
    uneven = TWO._replace(weights=np.array([0.3, 0.7]))
    blunt = FINE_COMB._replace(sds=np.full(7, 0.2))
    samples: dict[str, tuple[Sampler, Callable[[FloatArray], FloatArray]]] = {
        "mixture of two: weights 0.3, 0.7": (uneven.sample, TWO.score),
        "mixture of two: sds 0.65 for 0.8": (
            TWO._replace(sds=np.full(2, 0.65)).sample,
            TWO.score,
        ),
        "mixture of two: one normal law": (TWO.gaussian, TWO.score),
        "comb of five: sds 0.7 for 0.5": (wider_comb.sample, COMB.score),
        "comb of five: teeth moved by 0.1": (
            COMB._replace(means=COMB.means + 0.1).sample,
            COMB.score,
        ),
        "comb of five: middle tooth missing": (toothless.sample, COMB.score),
        "comb of five: one normal law": (COMB.gaussian, COMB.score),
        "fine comb of seven: sds 0.2 for 0.12": (blunt.sample, FINE_COMB.score),
        "fine comb of seven: one normal law": (FINE_COMB.gaussian, FINE_COMB.score),
        "ring: gap of 1 radian": (partial(kept, ring, away_from_angle(0.5)), ring_score),
        "ring: radius 3.1 for 3": (partial(ring, radius=3.1), ring_score),
        "ring: width 0.7 for 0.5": (partial(ring, width=0.7), ring_score),
        "ring: angles uneven by 0.7": (partial(ring, uneven=0.7), ring_score),
        "ring: one normal law": (round_gaussian, ring_score),
        "banana 1: curvature 0.8": (partial(banana, curvature=0.8), of_bent),
        "banana 0.3: one normal law": (
            partial(gaussian_banana, curvature=0.3),
            partial(banana_score, curvature=0.3),
        ),
        "banana 1: one arm cut at 1.2": (partial(kept, bent, right_arm), of_bent),
        "banana 1: hole of radius 0.5": (
            partial(kept, bent, outside((0.0, -1.0), 0.5)),
            of_bent,
        ),
        "logistic: hole of radius 0.7 in the middle": (
            partial(kept, logistic, outside((0.0, 0.0), 0.7)),
            logistic_score,
        ),
        "logistic: hole of radius 0.7 at (1.5, 0)": (
            partial(kept, logistic, outside((1.5, 0.0), 0.7)),
            logistic_score,
        ),
        "logistic: gap from 0.8 to 1.3": (
            partial(kept, logistic, beyond_strip(0.8, 1.3)),
            logistic_score,
        ),
        "logistic: rounded to 1": (partial(rounded_rows, logistic, 1.0), logistic_score),
        "mixture of two: rounded to 0.5": (partial(rounded_rows, TWO.sample, 0.5), TWO.score),
        "logistic: cut at ±4": (partial(kept, logistic, no_farther(4.0)), logistic_score),
        "t(5): cut at ±3": (partial(kept, student, no_farther(3.0)), t_score),
        "log Gamma(2): cut at 1.6": (partial(kept, log_gamma, lower), log_gamma_score),
        "funnel: strength 0.4 for 1": (partial(funnel, strength=0.4), funnel_score),
        "cross: weights 0.8, 0.2": (partial(cross, weight=0.8), cross_score),
    }
    return {label: fault(sampler, score) for label, (sampler, score) in samples.items()}


FAULTS = faults()
