"""Posteriors that are harder than a GLMM: varying slopes, a horseshoe, stochastic volatility."""

import numpy as np
from numpy.typing import NDArray

from studies.effects.posteriors import Posterior, at_mode

Array = NDArray[np.float64]

GROUPS, EACH = 8, 5
PREDICTORS, OBSERVATIONS = 6, 40
DAYS = 20


def varying_slopes() -> Posterior:
    """Non-centred: means of intercepts and slopes, their log sds, log sigma, 8 of each."""
    rng = np.random.default_rng(1980)
    groups = np.repeat(np.eye(GROUPS), EACH, axis=0)
    predictor = rng.standard_normal(len(groups))
    truth = np.array([1.0, 0.5]) + rng.standard_normal((GROUPS, 2)) * [0.7, 0.3]
    values = (groups @ truth * np.column_stack([np.ones(len(groups)), predictor])).sum(axis=1)
    values = values + 0.8 * rng.standard_normal(len(values))
    ends = 5 + GROUPS

    def parts(x: Array) -> tuple[Array, Array, Array, Array]:
        own, sloping = x[:, 5:ends] @ groups.T, (x[:, ends:] @ groups.T) * predictor
        scales = np.exp(x[:, 2:5])
        fit = x[:, :1] + x[:, 1:2] * predictor + scales[:, :1] * own + scales[:, 1:2] * sloping
        return scales, own, sloping, (values - fit) / scales[:, 2:]

    def log_density(x: Array) -> Array:
        scales, _, _, left = parts(x)
        prior = (x[:, :2] ** 2).sum(axis=1) / 50.0 + 0.5 * (scales**2).sum(axis=1)
        logs = x[:, 2] + x[:, 3] + (1 - len(values)) * x[:, 4]
        return logs - prior - 0.5 * ((left**2).sum(axis=1) + (x[:, 5:] ** 2).sum(axis=1))

    def score(x: Array) -> Array:
        scales, own, sloping, left = parts(x)
        pull = left / scales[:, 2:]
        of_means = np.column_stack([pull.sum(axis=1), pull @ predictor]) - x[:, :2] / 25.0
        of_scales = 1.0 - scales**2
        of_scales[:, 0] += scales[:, 0] * (pull * own).sum(axis=1)
        of_scales[:, 1] += scales[:, 1] * (pull * sloping).sum(axis=1)
        of_scales[:, 2] += (left**2).sum(axis=1) - len(values)
        of_own = scales[:, :1] * (pull @ groups) - x[:, 5:ends]
        of_sloping = scales[:, 1:2] * ((pull * predictor) @ groups) - x[:, ends:]
        return np.column_stack([of_means, of_scales, of_own, of_sloping])

    return at_mode(log_density, score, ends + GROUPS)


def _regression_data() -> tuple[Array, Array]:
    """Predictors, and values of unit noise about two effects of six."""
    rng = np.random.default_rng(1981)
    design = rng.standard_normal((OBSERVATIONS, PREDICTORS))
    truth = np.array([1.0, -0.6, *[0.0] * (PREDICTORS - 2)])
    return design, design @ truth + rng.standard_normal(OBSERVATIONS)


def horseshoe() -> Posterior:
    """Non-centred: log tau, the logs of 6 local scales and 6 standardised effects."""
    design, values = _regression_data()
    first = 1 + PREDICTORS

    def parts(x: Array) -> tuple[Array, Array]:
        effects = np.exp(x[:, :1] + x[:, 1:first]) * x[:, first:]
        return effects, values - effects @ design.T

    def log_density(x: Array) -> Array:
        _, left = parts(x)
        prior = (x[:, :first] - np.logaddexp(0.0, 2.0 * x[:, :first])).sum(axis=1)
        return prior - 0.5 * ((left**2).sum(axis=1) + (x[:, first:] ** 2).sum(axis=1))

    def score(x: Array) -> Array:
        effects, left = parts(x)
        pull = left @ design
        of_scales = -np.tanh(x[:, :first])
        of_scales[:, 0] += (pull * effects).sum(axis=1)
        of_scales[:, 1:] += pull * effects
        return np.column_stack([of_scales, pull * np.exp(x[:, :1] + x[:, 1:first]) - x[:, first:]])

    return at_mode(log_density, score, first + PREDICTORS)


def exact_horseshoe(rng: np.random.Generator, n: int) -> Array:
    """Draws of 1,000 Gibbs chains (Makalic and Schmidt 2016), 10 sweeps apart after 500.

    Squares of half-Cauchy scales are inverse gamma given auxiliary ones, and effects are Gaussian.
    """
    design, values = _regression_data()
    chains, p = 1000, PREDICTORS
    gram, pulled = design.T @ design, design.T @ values
    local, whole = np.ones((chains, p)), np.ones((chains, 1))
    each, kept = -(-n // chains), []
    for sweep in range(500 + 10 * each):
        precision = gram + np.eye(p) / (local * whole)[:, :, None]
        factor = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, np.broadcast_to(pulled[:, None], (chains, p, 1)))
        noise = rng.standard_normal((chains, p, 1))
        effects = (mean + np.linalg.solve(np.swapaxes(factor, 1, 2), noise))[:, :, 0]
        beside = (1.0 + 1.0 / local) / rng.exponential(size=(chains, p))
        local = (1.0 / beside + effects**2 / (2.0 * whole)) / rng.exponential(size=(chains, p))
        above = (1.0 + 1.0 / whole) / rng.exponential(size=(chains, 1))
        rate = 1.0 / above + 0.5 * (effects**2 / local).sum(axis=1, keepdims=True)
        whole = rate / rng.gamma(0.5 * (p + 1), size=(chains, 1))
        if sweep >= 500 and (sweep + 1) % 10 == 0:
            scaled = effects / np.sqrt(local * whole)
            kept.append(np.column_stack([0.5 * np.log(whole), 0.5 * np.log(local), scaled]))
    return np.concatenate(kept)[:n]


def stochastic_volatility() -> Posterior:
    """Mean, atanh of the persistence, log sd of the log-volatility, and 20 standardised steps."""
    rng, steps = np.random.default_rng(1982), np.zeros(DAYS)
    for day in range(1, DAYS):
        steps[day] = 0.9 * steps[day - 1] + 0.5 * rng.standard_normal()
    squares = np.exp(steps) * rng.standard_normal(DAYS) ** 2

    def parts(x: Array) -> tuple[Array, Array, Array]:
        persistence, scale = np.tanh(x[:, 1]), np.exp(x[:, 2])
        away = np.zeros((len(x), DAYS + 1))  # of the log-volatility from its mean; 0 before day 1
        for day in range(DAYS):
            away[:, day + 1] = persistence * away[:, day] + scale * x[:, 3 + day]
        return persistence, scale, away

    def log_density(x: Array) -> Array:
        _, scale, away = parts(x)
        level = x[:, :1] + away[:, 1:]
        prior = 0.5 * x[:, 0] ** 2 + 2.0 * (x[:, 1] - 1.0) ** 2 + 2.0 * scale**2 - x[:, 2]
        data = 0.5 * (level + squares * np.exp(-level)).sum(axis=1)
        return -prior - data - 0.5 * (x[:, 3:] ** 2).sum(axis=1)

    def score(x: Array) -> Array:
        persistence, scale, away = parts(x)
        pull = 0.5 * (squares * np.exp(-x[:, :1] - away[:, 1:]) - 1.0)
        later = pull.copy()  # the same, of this day and of all that it leads to
        for day in range(DAYS - 2, -1, -1):
            later[:, day] += persistence * later[:, day + 1]
        of_mean = pull.sum(axis=1) - x[:, 0]
        of_persistence = (1.0 - persistence**2) * (later * away[:, :-1]).sum(axis=1)
        of_scale = scale * (later * x[:, 3:]).sum(axis=1) + 1.0 - 4.0 * scale**2
        of_steps = scale[:, None] * later - x[:, 3:]
        return np.column_stack(
            [of_mean, of_persistence - 4.0 * (x[:, 1] - 1.0), of_scale, of_steps]
        )

    return at_mode(log_density, score, 3 + DAYS)
