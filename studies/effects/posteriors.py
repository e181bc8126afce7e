"""Small posteriors with their scores, approximations of them, and reference draws."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests.statistical.samplers import hmc_step, logistic, run

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

BASE_DRAWS = 512


class Posterior(NamedTuple):
    """A log density with its score, and the Gaussian at its mode."""

    log_density: Function
    score: Function
    centre: Array
    scale: Array


def at_mode(log_density: Function, score: Function, dimension: int) -> Posterior:
    """Find the mode, and the curvature by differences of scores."""
    found = minimize(
        lambda x: -float(log_density(x[None])[0]),
        np.zeros(dimension),
        jac=lambda x: -score(x[None])[0],
        method="BFGS",
        options={"gtol": 1e-8},
    )
    mode, step = found.x, 1e-4
    moves = step * np.eye(dimension)
    hessian = (score(mode + moves) - score(mode - moves)) / (2.0 * step)
    covariance = np.linalg.inv(-0.5 * (hessian + hessian.T))
    return Posterior(log_density, score, mode, np.linalg.cholesky(covariance))


def correlated_predictors(rng: np.random.Generator, rows: int, count: int) -> Array:
    """An intercept and predictors with correlations of 0.9."""
    common = rng.standard_normal((rows, 1))
    noise = rng.standard_normal((rows, count - 1))
    return np.column_stack([np.ones(rows), np.sqrt(0.9) * common + np.sqrt(0.1) * noise])


def regression_data(rows: int, dimension: int) -> tuple[Array, Array]:
    """Predictors and labels of a logistic regression."""
    rng = np.random.default_rng(1960)
    design = correlated_predictors(rng, rows, dimension)
    truth = np.linspace(-0.5, 0.5, dimension)
    return design, (rng.random(rows) < logistic(design @ truth)).astype(float)


def regression(rows: int, dimension: int = 8) -> Posterior:
    """A logistic regression with correlated predictors and N(0, 2.5^2) priors."""
    design, labels = regression_data(rows, dimension)

    def log_density(x: Array) -> Array:
        logits = x @ design.T
        return logits @ labels - np.logaddexp(0.0, logits).sum(axis=1) - (x * x).sum(axis=1) / 12.5

    def score(x: Array) -> Array:
        return (labels - logistic(x @ design.T)) @ design - x / 6.25

    return at_mode(log_density, score, dimension)


def linear(rows: int = 100, dimension: int = 5) -> Posterior:
    """A linear regression with correlated predictors; the last coordinate is log sigma."""
    rng = np.random.default_rng(1961)
    design = correlated_predictors(rng, rows, dimension)
    values = design @ np.linspace(-1.0, 1.0, dimension) + rng.standard_normal(rows)

    def parts(x: Array) -> tuple[Array, Array, Array]:
        left = values - x[:, :-1] @ design.T
        return left, np.exp(-2.0 * x[:, -1]), (left * left).sum(axis=1)

    def log_density(x: Array) -> Array:
        _, precision, squares = parts(x)
        return -rows * x[:, -1] - 0.5 * precision * squares - (x * x).sum(axis=1) / 50.0

    def score(x: Array) -> Array:
        left, precision, squares = parts(x)
        of_scale = -rows + precision * squares
        return np.column_stack([precision[:, None] * (left @ design), of_scale]) - x / 25.0

    return at_mode(log_density, score, dimension + 1)


def eight_schools() -> Posterior:
    """Non-centred: mu, log tau and eight standardised effects; tau is half-normal(5)."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def log_density(x: Array) -> Array:
        tau, eta = np.exp(x[:, 1]), x[:, 2:]
        left = (effects - x[:, :1] - tau[:, None] * eta) / errors
        prior = x[:, 0] ** 2 / 50.0 + (eta * eta).sum(axis=1) / 2.0 + tau**2 / 50.0 - x[:, 1]
        return -0.5 * (left * left).sum(axis=1) - prior

    def score(x: Array) -> Array:
        tau, eta = np.exp(x[:, 1]), x[:, 2:]
        pull = (effects - x[:, :1] - tau[:, None] * eta) / errors**2
        of_mu = pull.sum(axis=1) - x[:, 0] / 25.0
        of_tau = tau * (pull * eta).sum(axis=1) - tau**2 / 25.0 + 1.0
        return np.column_stack([of_mu, of_tau, tau[:, None] * pull - eta])

    return at_mode(log_density, score, 10)


POSTERIORS: dict[str, Callable[[], Posterior]] = {
    "(a) logistic regression, 500 observations": lambda: regression(500),
    "(b) linear regression, sigma unknown": linear,
    "(c) eight schools, non-centred": eight_schools,
    "(d) logistic regression, 100 observations": lambda: regression(100),
}


@cache
def posterior(name: str) -> Posterior:
    return POSTERIORS[name]()


def right_draws(name: str, rng: np.random.Generator, n: int) -> Array:
    """Draws of 1,000 chains after 150 trajectories, three trajectories apart."""
    step = hmc_step(0.35, 6)
    draws = run(rng, posterior(name), step, 1000, -(-n // 1000), thin=3, burn=150)
    return draws.reshape(-1, draws.shape[-1])[:n]


@cache
def reference(name: str) -> Array:
    """Mean and sd of a long run: 1,000 chains, 40 draws of each."""
    flat = right_draws(name, np.random.default_rng(1962), 40_000)
    return np.stack([flat.mean(axis=0), flat.std(axis=0)])


def laplace(target: Posterior) -> tuple[Array, Array]:
    """Mean and factor of the covariance of the Gaussian at the mode."""
    return target.centre, target.scale


def mean_field(target: Posterior) -> tuple[Array, Array]:
    """The Gaussian with independent coordinates that maximises the ELBO over fixed base draws."""
    d = len(target.centre)
    base = np.random.default_rng(1963).standard_normal((BASE_DRAWS // 2, d))
    base = np.concatenate([base, -base])

    def loss(values: Array) -> tuple[float, Array]:
        mean, spread = values[:d], np.exp(values[d:])
        draws = mean + spread * base
        scores = target.score(draws)
        elbo = float(target.log_density(draws).mean()) + float(values[d:].sum())
        slope = np.concatenate([scores.mean(axis=0), (scores * base * spread).mean(axis=0) + 1.0])
        return -elbo, -slope

    start = np.concatenate([target.centre, np.log(np.diagonal(target.scale))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return found.x[:d], np.diag(np.exp(found.x[d:]))


APPROXIMATIONS = {"mean-field": mean_field, "Laplace": laplace}
