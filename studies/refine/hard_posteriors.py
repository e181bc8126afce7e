"""Posteriors that short runs settle in slowly, with right draws of each."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from studies.effects.posteriors import Posterior, at_mode
from studies.refine.posteriors import long_run

Array = NDArray[np.float64]
Rng = np.random.Generator

_SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
_SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
#: Means of four groups, and their errors.
_FEW = np.array([1.9, 0.4, 1.1, 0.1])


class Hard(NamedTuple):
    """A posterior, and right draws of it."""

    posterior: Posterior
    draw: Callable[[Rng, int], Array]


def centred(effects: Array, errors: Array, width: float) -> Hard:
    """Centred: mu, log tau and the groups' effects; mu and tau have priors of this width."""
    groups = len(effects)

    def log_density(x: Array) -> Array:
        mu, tau, theta = x[:, :1], np.exp(x[:, 1:2]), x[:, 2:]
        prior = 0.5 * ((mu / width) ** 2 + (tau / width) ** 2)[:, 0] + (groups - 1) * x[:, 1]
        away, left = (theta - mu) / tau, (effects - theta) / errors
        return -0.5 * ((away**2).sum(axis=1) + (left**2).sum(axis=1)) - prior

    def score(x: Array) -> Array:
        mu, tau, theta = x[:, :1], np.exp(x[:, 1:2]), x[:, 2:]
        away = (theta - mu) / tau
        of_mu = (away / tau).sum(axis=1) - mu[:, 0] / width**2
        of_tau = (away**2).sum(axis=1) - (groups - 1) - (tau[:, 0] / width) ** 2
        return np.column_stack([of_mu, of_tau, (effects - theta) / errors**2 - away / tau])

    def draw(rng: Rng, n: int) -> Array:
        """Exact: log tau from its marginal on a grid, all else is Gaussian given it."""
        grid = np.linspace(np.log(width) - 9.0, np.log(width) + 2.0, 4001)
        spread = errors**2 + np.exp(2.0 * grid)[:, None]
        weight = (1.0 / spread).sum(axis=1) + 1.0 / width**2
        mean = (effects / spread).sum(axis=1) / weight
        fit = (effects**2 / spread).sum(axis=1) - mean**2 * weight
        logs = -0.5 * (fit + np.log(spread).sum(axis=1) + np.log(weight))
        logs += grid - 0.5 * np.exp(2.0 * grid) / width**2
        place = rng.choice(
            len(grid), size=n, p=np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        )
        log_tau = grid[place] + (grid[1] - grid[0]) * rng.uniform(-0.5, 0.5, size=n)
        mu = mean[place] + rng.standard_normal(n) / np.sqrt(weight[place])
        precision = errors**-2.0 + np.exp(-2.0 * log_tau)[:, None]
        theta = (effects / errors**2 + (mu * np.exp(-2.0 * log_tau))[:, None]) / precision
        theta += rng.standard_normal((n, groups)) / np.sqrt(precision)
        return np.column_stack([mu, log_tau, theta])

    middle = np.concatenate([[effects.mean(), np.log(0.5 * width)], effects])
    scale = np.diag(np.concatenate([[0.5 * width, 0.7], errors]))
    return Hard(Posterior(log_density, score, middle, scale), draw)


def neck() -> Hard:
    """Two wide rooms with a narrow door between them: y | x is narrow where x is near 0."""

    def width(x: Array) -> tuple[Array, Array]:
        """The log of the sd of y, and its slope."""
        bell = 2.5 * np.exp(-2.0 * x**2)
        return -bell, 4.0 * x * bell

    def of_x(x: Array) -> Array:
        return -0.5 * ((x**2 - 4.0) / 2.0) ** 2

    def log_density(rows: Array) -> Array:
        x, y = rows[:, 0], rows[:, 1:]
        log_sd, _ = width(x)
        squares = (y**2).sum(axis=1) * np.exp(-2.0 * log_sd)
        return of_x(x) - y.shape[1] * log_sd - 0.5 * squares

    def score(rows: Array) -> Array:
        x, y = rows[:, 0], rows[:, 1:]
        log_sd, slope = width(x)
        squares = (y**2).sum(axis=1) * np.exp(-2.0 * log_sd)
        along = -0.5 * x * (x**2 - 4.0) + slope * (squares - y.shape[1])
        return np.column_stack([along, -y * np.exp(-2.0 * log_sd)[:, None]])

    def draw(rng: Rng, n: int) -> Array:
        grid = np.linspace(-4.0, 4.0, 8001)
        chances = np.exp(of_x(grid))
        x = rng.choice(grid, size=n, p=chances / chances.sum()) + rng.uniform(-5e-4, 5e-4, size=n)
        return np.column_stack([x, np.exp(width(x)[0])[:, None] * rng.standard_normal((n, 2))])

    return Hard(Posterior(log_density, score, np.array([2.0, 0.0, 0.0]), 0.5 * np.eye(3)), draw)


def student_regression() -> Hard:
    """A regression with Student-t noise: three slopes, log sigma, log of the degrees of freedom."""
    data = np.random.default_rng(1980)
    design = np.column_stack([np.ones(20), data.standard_normal((20, 2))])
    values = design @ [1.0, 0.5, -0.5] + data.standard_t(2.0, size=20)

    def parts(x: Array) -> tuple[Array, Array, Array]:
        nu = np.exp(x[:, 4:5])
        left = (values - x[:, :3] @ design.T) * np.exp(-x[:, 3:4])
        return nu, left, 1.0 + left**2 / nu

    def log_density(x: Array) -> Array:
        nu, _, wide = parts(x)
        each = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * x[:, 4:5] - x[:, 3:4]
        each = each - 0.5 * (nu + 1.0) * np.log(wide)
        # Small sigma and nu would fit three values exactly, in a mode of their own.
        prior = (x[:, :3] ** 2).sum(axis=1) / 50.0 + 0.5 * x[:, 3] ** 2 + 2.0 * (x[:, 4] - 1.5) ** 2
        return each.sum(axis=1) - prior

    def score(x: Array) -> Array:
        nu, left, wide = parts(x)
        pull = (nu + 1.0) * left / (nu * wide)
        of_slopes = (pull * np.exp(-x[:, 3:4])) @ design - x[:, :3] / 25.0
        of_sigma = (pull * left - 1.0).sum(axis=1) - x[:, 3]
        each = digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu) - 1.0 / nu - np.log(wide)
        of_nu = 0.5 * nu * (each + pull * left / nu)
        return np.column_stack([of_slopes, of_sigma, of_nu.sum(axis=1) - 4.0 * (x[:, 4] - 1.5)])

    target = at_mode(log_density, score, 5)
    return Hard(target, lambda rng, n: long_run(target, rng, n))


HARD: dict[str, Callable[[], Hard]] = {
    "eight schools, centred": lambda: centred(_SCHOOLS, _SCHOOL_ERRORS, 5.0),
    "four groups, centred": lambda: centred(_FEW, np.full(4, 0.5), 1.0),
    "two rooms with a narrow door": neck,
    "Student-t regression": student_regression,
}


@cache
def hard(name: str) -> Hard:
    return HARD[name]()
