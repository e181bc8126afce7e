"""Three posteriors with strong correlations, exact draws of them, and faults that samplers make.

Draws of the regressions come from Hamiltonian Monte Carlo in coordinates that a Gaussian
approximation whitens: a thousand chains side by side, one draw of each. They start in that
approximation, and take `SWEEPS` steps. Those of the hierarchical model are exact: its scale comes
from a fine grid, and all else is Gaussian given the scale.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from polystein.types import FloatArray
from studies.check.alternatives import Generator, Pair

DATA_SEED = 20_281
SWEEPS, LEAPS, STEP = 15, 5, 0.35
NARROWER, SHIFT, INFLATION = 0.95, 0.2, 1.05
Density = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class Posterior(NamedTuple):
    """Log density and score at each of several points, the number of coordinates, exact draws."""

    density: Density
    dimension: int
    sample: Callable[[Generator, int], FloatArray] | None = None


def logistic_regression() -> Posterior:
    """Five predictors, correlated 0.95, and an intercept; 100 outcomes and N(0, 2.5^2) priors."""
    rng = np.random.default_rng(DATA_SEED)
    shared = rng.standard_normal((100, 1))
    predictors = np.sqrt(0.95) * shared + np.sqrt(0.05) * rng.standard_normal((100, 5))
    design = np.hstack([np.ones((100, 1)), predictors])
    outcomes = (rng.random(100) < expit(design @ np.array([-0.5, 1, 0, 0.5, 0, -0.5]))) * 1.0

    def density(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        logits = points @ design.T
        log = outcomes @ logits.T - np.logaddexp(0.0, logits).sum(axis=1)
        log -= np.sum(points**2, axis=1) / (2 * 2.5**2)
        return log, (outcomes - expit(logits)) @ design - points / 2.5**2

    return Posterior(density, 6)


def far_intercept() -> Posterior:
    """A regression on years around 2000, not centred: intercept, slope and log sd."""
    rng = np.random.default_rng(DATA_SEED + 1)
    years = np.arange(1990.0, 2020.0) / 10.0
    outcomes = 3.0 + 0.8 * (years - 200.5) + 0.5 * rng.standard_normal(years.size)

    def density(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        intercept, slope, log_sd = points.T
        residuals = outcomes - intercept[:, None] - slope[:, None] * years
        precision = np.exp(-2.0 * log_sd)
        squares = np.sum(residuals**2, axis=1)
        log = -years.size * log_sd - 0.5 * precision * squares - 0.5 * log_sd**2
        gradient = [
            precision * residuals.sum(axis=1),
            precision * (residuals @ years),
            precision * squares - years.size - log_sd,
        ]
        return log, np.stack(gradient, axis=1)

    return Posterior(density, 3)


def hierarchical() -> Posterior:
    """Eight schools, not centred: mu, log tau and eight standardised effects."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def density(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        mu, log_tau, z = points[:, :1], points[:, 1:2], points[:, 2:]
        tau = np.exp(log_tau)
        residuals = (effects - mu - tau * z) / errors**2
        log = -0.5 * np.sum(residuals**2 * errors**2 + z**2, axis=1)
        # Half-normal(10) for tau, with its Jacobian, and N(0, 10^2) for mu.
        log += (-0.5 * mu**2 / 100.0 - 0.5 * tau**2 / 100.0 + log_tau)[:, 0]
        gradient = [
            residuals.sum(axis=1, keepdims=True) - mu / 100.0,
            tau * np.sum(residuals * z, axis=1, keepdims=True) - tau**2 / 100.0 + 1.0,
            tau * residuals - z,
        ]
        return log, np.hstack(gradient)

    return Posterior(density, 10, lambda rng, n: _schools(rng, n, effects, errors))


def _schools(rng: Generator, n: int, effects: FloatArray, errors: FloatArray) -> FloatArray:
    """Exact draws: log tau by its marginal law on a grid, then mu, then the effects."""
    grid = np.linspace(-14.0, 5.0, 40_001)
    variances = errors**2 + np.exp(2.0 * grid)[:, None]
    precision = 0.01 + np.sum(1.0 / variances, axis=1)
    centre = np.sum(effects / variances, axis=1) / precision
    log = -0.5 * np.sum(np.log(variances) + effects**2 / variances, axis=1)
    log += 0.5 * precision * centre**2 - 0.5 * np.log(precision)
    log += grid - 0.5 * np.exp(2.0 * grid) / 100.0
    law = np.cumsum(np.exp(log - log.max()))
    log_tau = np.interp(rng.random(n), law / law[-1], grid)
    place = [np.interp(log_tau, grid, values) for values in (centre, precision)]
    mu = place[0] + rng.standard_normal(n) / np.sqrt(place[1])
    tau = np.exp(log_tau)[:, None]
    own = 1.0 + (tau / errors) ** 2
    z = tau * (effects - mu[:, None]) / errors**2 / own
    z += rng.standard_normal((n, effects.size)) / np.sqrt(own)
    return np.column_stack([mu, log_tau, z])


POSTERIORS: dict[str, Callable[[], Posterior]] = {
    "logistic regression, predictors correlated 0.95": logistic_regression,
    "regression with an intercept far from the data": far_intercept,
    "hierarchical model, not centred": hierarchical,
}


class Approximation(NamedTuple):
    """Mean and a square root of the covariance, x = mean + root z."""

    mean: FloatArray
    root: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """The covariance."""
        return self.root @ self.root.T


@cache
def target(label: str) -> Posterior:
    """A posterior, made once."""
    return POSTERIORS[label]()


@cache
def mode(label: str) -> Approximation:
    """The mode and the curvature there, by Newton's method on differences of scores."""
    density, dimension, _ = target(label)
    point = np.zeros(dimension)
    for _ in range(200):
        score, curvature = density(point[None])[1][0], _curvature(density, point)
        values, vectors = np.linalg.eigh(curvature)
        step = vectors @ ((vectors.T @ score) / np.maximum(np.abs(values), 1e-8))
        while density((point + step)[None])[0] < density(point[None])[0] - 1e-12:
            step /= 2.0
        point = point + step
    values, vectors = np.linalg.eigh(_curvature(density, point))
    return Approximation(point, vectors / np.sqrt(np.maximum(np.abs(values), 1e-8)))


def _curvature(density: Density, point: FloatArray) -> FloatArray:
    """Minus the matrix of second derivatives."""
    moves = 1e-5 * np.eye(point.size) * np.maximum(1.0, np.abs(point) * 1e-2)
    slopes = [
        (density((point - move)[None])[1][0] - density((point + move)[None])[1][0])
        / (2.0 * move.sum())
        for move in moves
    ]
    return 0.5 * (np.array(slopes) + np.array(slopes).T)


@cache
def moments(label: str) -> Approximation:
    """Mean and covariance of 5,000 exact draws."""
    rng, sample = np.random.default_rng(DATA_SEED), target(label).sample
    if sample is not None:
        draws = sample(rng, 5_000)
    else:
        draws, _ = _walked(rng, label, 5_000, mode(label), 4 * SWEEPS)
    values, vectors = np.linalg.eigh(np.cov(draws.T))
    return Approximation(draws.mean(axis=0), (vectors * np.sqrt(values))[:, ::-1])


def exact(rng: Generator, label: str, n: int) -> Pair:
    """Independent draws of the posterior, and their scores."""
    density, _, sample = target(label)
    if sample is not None:
        draws = sample(rng, n)
        return draws, density(draws)[1]
    return _walked(rng, label, n, moments(label), SWEEPS)


def _walked(rng: Generator, label: str, n: int, start: Approximation, sweeps: int) -> Pair:
    """Hamiltonian steps of n chains in coordinates in which the start is N(0, I)."""
    density, dimension, _ = target(label)

    def seen(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        log, scores = density(start.mean + z @ start.root.T)
        return log, scores @ start.root

    z = rng.standard_normal((n, dimension))
    log, scores = seen(z)
    for _ in range(sweeps):
        size = STEP * rng.uniform(0.7, 1.3)
        momentum = rng.standard_normal((n, dimension))
        new, new_log, new_scores, speed = z, log, scores, momentum
        for _ in range(LEAPS):
            speed = speed + 0.5 * size * new_scores
            new = new + size * speed
            new_log, new_scores = seen(new)
            speed = speed + 0.5 * size * new_scores
        energy = new_log - log - 0.5 * np.sum(speed**2 - momentum**2, axis=1)
        taken = np.log(rng.random(n)) < np.where(np.isfinite(energy), energy, -np.inf)
        z, log = np.where(taken[:, None], new, z), np.where(taken, new_log, log)
        scores = np.where(taken[:, None], new_scores, scores)
    draws = start.mean + z @ start.root.T
    return draws, density(draws)[1]


# Faults


def mean_field(rng: Generator, label: str, n: int) -> Pair:
    """The independent Gaussian that mean-field variational inference finds for a Gaussian target.

    Its precisions are the diagonal of the target's.
    """
    found = moments(label)
    spread = 1.0 / np.sqrt(np.diagonal(np.linalg.inv(found.covariance)))
    draws = found.mean + spread * rng.standard_normal((n, found.mean.size))
    return draws, target(label).density(draws)[1]


def narrower(rng: Generator, label: str, n: int) -> Pair:
    """All standard deviations times `NARROWER`."""
    draws, mean = exact(rng, label, n)[0], moments(label).mean
    draws = mean + NARROWER * (draws - mean)
    return draws, target(label).density(draws)[1]


def shifted(rng: Generator, label: str, n: int) -> Pair:
    """The mean off by `SHIFT` standard deviations along the first principal axis."""
    draws = exact(rng, label, n)[0] + SHIFT * moments(label).root[:, 0]
    return draws, target(label).density(draws)[1]


def langevin(rng: Generator, label: str, n: int) -> Pair:
    """Unadjusted Langevin steps, preconditioned, whose size gives a Gaussian `INFLATION` times
    its variance: 1/(1 - h/4) = `INFLATION`."""
    density, found = target(label).density, moments(label)
    size = 4.0 * (1.0 - 1.0 / INFLATION)
    draws, scores = exact(rng, label, n)
    for _ in range(60):
        noise = rng.standard_normal(draws.shape) @ found.root.T
        draws = draws + 0.5 * size * scores @ found.covariance + np.sqrt(size) * noise
        scores = density(draws)[1]
    return draws, scores


FAULTS: dict[str, Callable[[Generator, str, int], Pair]] = {
    "exact draws": exact,
    "mean-field approximation": mean_field,
    "all sd × 0.95": narrower,
    "mean 0.2, first axis": shifted,
    "unadjusted Langevin, variances + 5 %": langevin,
}
