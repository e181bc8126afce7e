"""Hierarchical posteriors with scores, and long references."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from studies.effects.posteriors import Posterior, at_mode, eight_schools, regression
from studies.refine.shrinking import (
    exact_horseshoe,
    horseshoe,
    stochastic_volatility,
    varying_slopes,
)
from tests.statistical.samplers import State, Step, Target, hmc_step, run
from tests.statistical.samplers_laws import LAWS, Law

Array = NDArray[np.float64]

GROUPS = 12


def _grouped(seed: int, each: int) -> tuple[Array, Array, Array]:
    """Groups of observations as indicator columns, a predictor, and the groups' effects."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.eye(GROUPS), each, axis=0)
    return groups, rng.standard_normal(len(groups)), 0.6 * rng.standard_normal(GROUPS)


def _intercept_data() -> tuple[Array, Array, Array]:
    """Groups, predictor and values of the model with varying intercepts."""
    groups, predictor, effects = _grouped(1970, 4)
    noise = np.random.default_rng(1971).standard_normal(len(predictor))
    return groups, predictor, 1.0 + 0.5 * predictor + groups @ effects + noise


def varying_intercepts() -> Posterior:
    """Centred: mu, slope, log tau, log sigma and 12 intercepts, with four observations each."""
    groups, predictor, values = _intercept_data()

    def parts(x: Array) -> tuple[Array, Array, Array, Array]:
        tau, sigma = np.exp(x[:, 2:3]), np.exp(x[:, 3:4])
        left = (values - x[:, 1:2] * predictor - x[:, 4:] @ groups.T) / sigma
        return tau, sigma, left, (x[:, 4:] - x[:, :1]) / tau

    def log_density(x: Array) -> Array:
        tau, sigma, left, away = parts(x)
        prior = (x[:, :2] ** 2).sum(axis=1) / 50.0 + (tau**2 + sigma**2)[:, 0] / 8.0
        scales = -(GROUPS - 1) * x[:, 2] - (len(values) - 1) * x[:, 3]
        return -0.5 * ((left**2).sum(axis=1) + (away**2).sum(axis=1)) + scales - prior

    def score(x: Array) -> Array:
        tau, sigma, left, away = parts(x)
        of_mu = (away / tau).sum(axis=1) - x[:, 0] / 25.0
        of_slope = (left / sigma) @ predictor - x[:, 1] / 25.0
        of_tau = (away**2).sum(axis=1) - (GROUPS - 1) - tau[:, 0] ** 2 / 4.0
        of_sigma = (left**2).sum(axis=1) - (len(values) - 1) - sigma[:, 0] ** 2 / 4.0
        of_groups = (left / sigma) @ groups - away / tau
        return np.column_stack([of_mu, of_slope, of_tau, of_sigma, of_groups])

    # The mode is at tau = 0: the curvature there says nothing about the posterior.
    centre = np.concatenate([[1.0, 0.5, -0.6, 0.0], values @ groups / groups.sum(axis=0)])
    return Posterior(log_density, score, centre, np.diag([0.25, 0.15, 0.4, 0.12, *[0.4] * GROUPS]))


def exact_intercepts(rng: np.random.Generator, n: int) -> Array:
    """Exact draws of the varying intercepts: given both scales, all else is Gaussian.

    The scales are drawn from their marginal law on a fine grid, uniformly within its cells.
    """
    groups, predictor, values = _intercept_data()
    design = np.column_stack([np.ones(len(values)), predictor])
    log_tau, log_sigma = np.linspace(-6.0, 2.0, 161), np.linspace(-0.6, 0.8, 71)
    among, along = groups @ groups.T, 25.0 * design @ design.T
    logs = np.empty((len(log_tau), len(log_sigma)))
    for row, first in enumerate(log_tau):
        for column, second in enumerate(log_sigma):
            scales = np.exp(2.0 * first), np.exp(2.0 * second)
            covariance = scales[1] * np.eye(len(values)) + scales[0] * among + along
            fit = values @ np.linalg.solve(covariance, values) + np.linalg.slogdet(covariance)[1]
            logs[row, column] = -0.5 * fit - sum(scales) / 8.0 + first + second
    chances = np.exp(logs - logs.max()).ravel()
    place = rng.choice(chances.size, size=n, p=chances / chances.sum())
    half = 0.5 * np.array([log_tau[1] - log_tau[0], log_sigma[1] - log_sigma[0]])
    grid = np.column_stack([log_tau[place // len(log_sigma)], log_sigma[place % len(log_sigma)]])
    scales = grid + half * rng.uniform(-1.0, 1.0, size=(n, 2))
    effects = np.column_stack([np.zeros(len(values)), predictor, groups])
    draws = np.empty((n, 4 + GROUPS))
    for row, (first, second) in enumerate(scales):
        precision = effects.T @ effects * np.exp(-2.0 * second)
        precision[:2, :2] += np.eye(2) / 25.0
        tie = np.column_stack([-np.ones(GROUPS), np.zeros(GROUPS), np.eye(GROUPS)])
        precision += tie.T @ tie * np.exp(-2.0 * first)
        factor = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, effects.T @ values * np.exp(-2.0 * second))
        own = mean + np.linalg.solve(factor.T, rng.standard_normal(2 + GROUPS))
        draws[row] = [*own[:2], first, second, *own[2:]]
    return draws


def counts(dispersed: bool) -> Posterior:
    """Non-centred counts: mu, slope, log tau, 12 standardised effects; log phi if dispersed."""
    groups, predictor, effects = _grouped(1972 + dispersed, 3)
    mean = np.exp(0.5 + 0.4 * predictor + groups @ effects)
    rng = np.random.default_rng(1974)
    observed = rng.poisson(mean * (rng.gamma(2.0, 0.5, size=len(mean)) if dispersed else 1.0))
    first = 4 if dispersed else 3

    def parts(x: Array) -> tuple[Array, Array]:
        tau = np.exp(x[:, 2:3])
        return tau, x[:, :1] + x[:, 1:2] * predictor + tau * (x[:, first:] @ groups.T)

    def log_density(x: Array) -> Array:
        tau, logits = parts(x)
        z = x[:, first:]
        prior = (x[:, :2] ** 2).sum(axis=1) / 50.0 + tau[:, 0] ** 2 / 2.0 - x[:, 2]
        found = -prior - 0.5 * (z**2).sum(axis=1)
        if not dispersed:
            return found + (observed * logits - np.exp(logits)).sum(axis=1)
        phi = np.exp(x[:, 3:4])
        terms = gammaln(observed + phi) - gammaln(phi) + phi * x[:, 3:4] + observed * logits
        terms -= (observed + phi) * np.logaddexp(x[:, 3:4], logits)
        return found + terms.sum(axis=1) - (x[:, 3] - 0.5) ** 2 / 2.0

    def score(x: Array) -> Array:
        tau, logits = parts(x)
        z = x[:, first:]
        pull = observed - np.exp(logits)
        columns = []
        if dispersed:
            phi = np.exp(x[:, 3:4])
            share = 1.0 / (1.0 + np.exp(x[:, 3:4] - logits))  # mean / (mean + phi)
            pull = observed - (observed + phi) * share
            slope = digamma(observed + phi) - digamma(phi) + x[:, 3:4] + 1.0
            slope = slope - np.logaddexp(x[:, 3:4], logits)
            slope = phi * slope - (observed + phi) * (1.0 - share)
            columns = [slope.sum(axis=1) - (x[:, 3] - 0.5)]
        of_tau = (tau * pull * (z @ groups.T)).sum(axis=1) - tau[:, 0] ** 2 + 1.0
        of_mu = pull.sum(axis=1) - x[:, 0] / 25.0
        of_slope = pull @ predictor - x[:, 1] / 25.0
        return np.column_stack([of_mu, of_slope, of_tau, *columns, tau * (pull @ groups) - z])

    return at_mode(log_density, score, first + GROUPS)


#: Its mode is at tau = 0, where no Gaussian can be put.
CENTRED = "varying intercepts, centred"
HORSESHOE = "horseshoe"
LOGISTIC = "logistic regression"
POSTERIORS: dict[str, Callable[[], Posterior]] = {
    "eight schools": eight_schools,
    CENTRED: varying_intercepts,
    "Poisson GLMM": lambda: counts(dispersed=False),
    "negative binomial GLMM": lambda: counts(dispersed=True),
    "varying slopes": varying_slopes,
    HORSESHOE: horseshoe,
    "stochastic volatility": stochastic_volatility,
}


@cache
def posterior(name: str) -> Posterior:
    return POSTERIORS[name]()


@cache
def reference(name: str) -> Array:
    """Mean and sd of right draws: exact ones, or of 1,000 long chains."""
    flat = right_draws(name, np.random.default_rng(1975), 60_000)
    return np.stack([flat.mean(axis=0), flat.std(axis=0)])


def jittered(largest: float, leaps: int) -> Step:
    """Trajectories with a step size of its own for each row, log-uniform over a factor of 100.

    Steps of one size meet the periods of some rows, which then hardly move, and rows that begin far
    out move by small steps alone.
    """

    def step(rng: np.random.Generator, target: Target, old: State) -> State:
        size = largest * 100.0 ** -rng.random((len(old.draws), 1))
        return hmc_step(size, leaps)(rng, target, old)  # type: ignore[arg-type]

    return step


def right_draws(name: str, rng: np.random.Generator, n: int) -> Array:
    """Exact draws, or those of a long run."""
    if name == CENTRED:
        return exact_intercepts(rng, min(n, 20_000))
    if name == HORSESHOE:
        return exact_horseshoe(rng, n)
    return long_run(posterior(name), rng, n)


def long_run(target: Posterior, rng: np.random.Generator, n: int) -> Array:
    """Draws of 1,000 chains after 200 trajectories, 10 trajectories apart.

    The mass is from a first run of 200 trajectories.
    """
    step = jittered(0.5, 16)
    with np.errstate(all="ignore"):  # trajectories that leave are rejected
        first = run(rng, target, step, 1000, 1, thin=1, burn=200)[:, 0]
        target = target._replace(
            centre=first.mean(axis=0), scale=np.linalg.cholesky(np.cov(first, rowvar=False))
        )
        found = run(rng, target, step, 1000, -(-n // 1000), thin=10, burn=200)
    # One row of every chain after the other, so that neighbours are independent.
    return found.swapaxes(0, 1).reshape(-1, found.shape[-1])[:n]


@cache
def logistic(d: int) -> Law:
    """A logistic regression of 100 observations; draws are some of those of a long run."""
    target = regression(100, d)
    known = long_run(target, np.random.default_rng(1982), 40_000)
    return Law(
        lambda rng, n: known[rng.choice(len(known), size=n, replace=False)],
        target.log_density,
        target.score,
    )


def law_of(name: str, d: int) -> Law:
    """A law that can be drawn from, by its name."""
    return logistic(d) if name == LOGISTIC else LAWS[name](d)
