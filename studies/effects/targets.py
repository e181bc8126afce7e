"""Targets in twenty dimensions, and draws of them: independent, or chains that remember by 0.9."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma, norm

from tests.statistical.samplers import (
    Generator,
    LogisticRegression,
    State,
    autoregressive,
    chosen,
    logistic_regression,
    state_at,
)

Array = NDArray[np.float64]

DIMENSION = 20
MEMORY = 0.9
CHAINS, LENGTH, ROWS = 4, 1000, 1000
#: Steps after which a chain with memory 0.5 has forgotten where it began.
STEPS = 50
REFERENCE_DRAWS = 20_000
GAMMA_SHAPE = 8.0


class Planted(NamedTuple):
    """A target with a sampler, and where its coordinates are."""

    score: Callable[[Array], Array]
    draw: Callable[[Generator, bool], Array]
    mean: Array
    sd: Array


def white(rng: Generator, chains: bool) -> Array:
    """Draws of N(0, I)."""
    if chains:
        return autoregressive(rng, CHAINS, LENGTH, DIMENSION, MEMORY)
    return rng.standard_normal((ROWS, DIMENSION))


def gaussian(covariance: Array, of_draws: Array | None = None) -> Planted:
    """A Gaussian target, and draws of it or of another covariance."""
    factor = np.linalg.cholesky(covariance if of_draws is None else of_draws)
    precision = np.linalg.inv(covariance)
    return Planted(
        lambda x: -x @ precision,
        lambda rng, chains: white(rng, chains) @ factor.T,
        np.zeros(DIMENSION),
        np.sqrt(np.diagonal(covariance)),
    )


def autoregressive_covariance(memory: float = 0.95) -> Array:
    """Correlations memory^|j - k|."""
    index = np.arange(DIMENSION)
    return memory ** np.abs(index[:, None] - index)


@cache
def regression() -> LogisticRegression:
    """A logistic regression with 500 observations."""
    return logistic_regression(500, DIMENSION)


def tilted_step(rng: Generator, old: State, memory: float) -> State:
    """An autoregressive proposal about the Gaussian at the mode, accepted for the posterior."""
    target = regression()
    noise = rng.standard_normal(old.draws.shape) @ target.scale.T
    moved = target.centre + memory * (old.draws - target.centre)
    new = state_at(target, moved + np.sqrt(1.0 - memory**2) * noise)

    def gap(state: State) -> Array:
        whitened = np.linalg.solve(target.scale, (state.draws - target.centre).T)
        return state.log_density + 0.5 * np.einsum("ij,ij->j", whitened, whitened)

    return chosen(rng, old, new, gap(new) - gap(old))


def independent_draws(rng: Generator, count: int) -> Array:
    """The last states of many short chains of the posterior."""
    target = regression()
    noise = rng.standard_normal((count, DIMENSION))
    state = state_at(target, target.centre + noise @ target.scale.T)
    for _ in range(STEPS):
        state = tilted_step(rng, state, 0.5)
    return state.draws


def regression_draws(rng: Generator, chains: bool) -> Array:
    """Independent draws of the posterior, or chains from such draws on."""
    if not chains:
        return independent_draws(rng, ROWS)
    state = state_at(regression(), independent_draws(rng, CHAINS))
    kept = []
    for _ in range(LENGTH):
        state = tilted_step(rng, state, MEMORY)
        kept.append(state.draws)
    return np.stack(kept, axis=1)


@cache
def reference() -> Array:
    """Draws that tell where the posterior is."""
    return independent_draws(np.random.default_rng(1959), REFERENCE_DRAWS)


def posterior() -> Planted:
    draws = reference()
    return Planted(regression().score, regression_draws, draws.mean(axis=0), draws.std(axis=0))


def to_gamma(z: Array) -> Array:
    """Standard normal values as those of a standardised Gamma law, in the same order."""
    return (gamma.ppf(norm.cdf(z), GAMMA_SHAPE) - GAMMA_SHAPE) / np.sqrt(GAMMA_SHAPE)
