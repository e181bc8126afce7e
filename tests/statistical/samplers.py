"""Markov chains with a known fate: right ones, and ones with a fault that is known.

States have the shape (parallel, d): all chains of all replicates take a step together. What
comes out has the shape (parallel, rows, d).
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
Generator = np.random.Generator


class Target(Protocol):
    """A density known up to its constant."""

    @property
    def scale(self) -> Array:
        """A factor L of its covariance L L', roughly; steps are L times a standard step."""

    @property
    def centre(self) -> Array:
        """Its mean, roughly."""

    def log_density(self, draws: Array) -> Array:
        """One number a row."""

    def score(self, draws: Array) -> Array:
        """Gradient of the log density, one row a row."""


class Gaussian(NamedTuple):
    """N(0, L L')."""

    scale: Array
    precision: Array

    @property
    def centre(self) -> Array:
        return np.zeros(len(self.scale))

    def log_density(self, draws: Array) -> Array:
        return 0.5 * np.vecdot(draws, self.score(draws))

    def score(self, draws: Array) -> Array:
        return -draws @ self.precision


class LogisticRegression(NamedTuple):
    """Posterior of the coefficients under independent N(0, spread^2) priors."""

    design: Array
    labels: Array
    spread: float
    scale: Array
    centre: Array

    def log_density(self, draws: Array) -> Array:
        logits = draws @ self.design.T
        likelihood = logits @ self.labels - np.logaddexp(0.0, logits).sum(axis=1)
        return likelihood - 0.5 * np.vecdot(draws, draws) / self.spread**2

    def score(self, draws: Array) -> Array:
        residuals = self.labels - logistic(draws @ self.design.T)
        return residuals @ self.design - draws / self.spread**2


def logistic(logits: Array) -> Array:
    """1/(1 + exp(-logit))."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def correlated_gaussian(dimension: int = 5, correlation: float = 0.7) -> Gaussian:
    """Covariance c_j c_k correlation^|j - k| with standard deviations c from 0.5 to 2."""
    index = np.arange(dimension)
    spreads = np.linspace(0.5, 2.0, dimension)
    covariance = correlation ** np.abs(index[:, None] - index) * np.outer(spreads, spreads)
    return Gaussian(np.linalg.cholesky(covariance), np.linalg.inv(covariance))


def logistic_regression(rows: int = 100, dimension: int = 5) -> LogisticRegression:
    """An intercept and standard normal covariates; Newton's method finds mode and curvature."""
    rng = np.random.default_rng(1958)
    design = np.column_stack([np.ones(rows), rng.standard_normal((rows, dimension - 1))])
    truth = np.linspace(-1.0, 1.0, dimension)
    labels = (rng.random(rows) < logistic(design @ truth)).astype(float)
    target = LogisticRegression(design, labels, 2.5, np.eye(dimension), np.zeros(dimension))
    mode, precision = np.zeros(dimension), np.eye(dimension)
    for _ in range(50):
        probabilities = logistic(design @ mode)
        curvature = (design.T * (probabilities * (1.0 - probabilities))) @ design
        precision = curvature + np.eye(dimension) / target.spread**2
        mode = mode + np.linalg.solve(precision, target.score(mode[None])[0])
    return target._replace(scale=np.linalg.cholesky(np.linalg.inv(precision)), centre=mode)


# Right ones. Each turns states, and their log densities and scores, into the next.


class State(NamedTuple):
    """Where the chains are."""

    draws: Array
    log_density: Array
    score: Array


Step = Callable[[Generator, Target, State], State]


def state_at(target: Target, draws: Array) -> State:
    return State(draws, target.log_density(draws), target.score(draws))


def chosen(rng: Generator, old: State, new: State, log_ratio: Array) -> State:
    """Metropolis: the new state with probability exp(log_ratio), else the old one."""
    accept = np.log(rng.random(log_ratio.shape)) < log_ratio
    return State(
        np.where(accept[:, None], new.draws, old.draws),
        np.where(accept, new.log_density, old.log_density),
        np.where(accept[:, None], new.score, old.score),
    )


def metropolis_step(size: float) -> Step:
    """Random-walk Metropolis with steps `size` times L."""

    def step(rng: Generator, target: Target, old: State) -> State:
        move = size * rng.standard_normal(old.draws.shape) @ target.scale.T
        new = state_at(target, old.draws + move)
        return chosen(rng, old, new, new.log_density - old.log_density)

    return step


def mala_step(size: float) -> Step:
    """Metropolis-adjusted Langevin, preconditioned by L L'."""

    def drift(target: Target, state: State) -> Array:
        return 0.5 * size**2 * state.score @ target.scale @ target.scale.T

    def step(rng: Generator, target: Target, old: State) -> State:
        noise = rng.standard_normal(old.draws.shape)
        new = state_at(target, old.draws + drift(target, old) + size * noise @ target.scale.T)
        back = (old.draws - new.draws - drift(target, new)) / size
        back = np.linalg.solve(target.scale, back.T).T
        forth = 0.5 * (np.vecdot(noise, noise) - np.vecdot(back, back))
        return chosen(rng, old, new, new.log_density - old.log_density + forth)

    return step


def hmc_step(size: float, leaps: int) -> Step:
    """Hamiltonian Monte Carlo with the mass matrix (L L')^-1, written in whitened momenta."""

    def step(rng: Generator, target: Target, old: State) -> State:
        momentum = rng.standard_normal(old.draws.shape)
        energy = old.log_density - 0.5 * np.vecdot(momentum, momentum)
        draws, score = old.draws, old.score
        for _ in range(leaps):
            momentum = momentum + 0.5 * size * score @ target.scale
            draws = draws + size * momentum @ target.scale.T
            score = target.score(draws)
            momentum = momentum + 0.5 * size * score @ target.scale
        new = State(draws, target.log_density(draws), score)
        return chosen(rng, old, new, new.log_density - 0.5 * np.vecdot(momentum, momentum) - energy)

    return step


def run(
    rng: Generator, target: Target, step: Step, parallel: int, rows: int, *, thin: int, burn: int
) -> Array:
    """Start around the centre, drop `burn` steps, then keep every `thin`-th."""
    start = target.centre + rng.standard_normal((parallel, len(target.centre))) @ target.scale.T
    state = state_at(target, start)
    kept = np.empty((parallel, rows, len(target.centre)))
    for _ in range(burn):
        state = step(rng, target, state)
    for row in range(rows):
        for _ in range(thin):
            state = step(rng, target, state)
        kept[:, row] = state.draws
    return kept


def autoregressive(
    rng: Generator, parallel: int, rows: int, dimension: int, memory: float
) -> Array:
    """Stationary AR(1) chains of N(0, I): x_t = memory x_(t-1) + sqrt(1 - memory^2) e_t."""
    noise = rng.standard_normal((parallel, rows, dimension))
    first = noise[:, :1]
    noise = np.sqrt(1.0 - memory**2) * noise[:, 1:]
    rest, _ = lfilter([1.0], [1.0, -memory], noise, axis=1, zi=memory * first)
    return np.concatenate([first, rest], axis=1)


# Faulty ones


def unadjusted_langevin(
    rng: Generator, parallel: int, rows: int, dimension: int, size: float
) -> Array:
    """x - (h/2) x + sqrt(h) e on N(0, I): an AR(1) chain of variance 1/(1 - h/4)."""
    memory = 1.0 - 0.5 * size
    return autoregressive(rng, parallel, rows, dimension, memory) / np.sqrt(1.0 - 0.25 * size)


def stochastic_gradient_langevin(
    rng: Generator,
    target: LogisticRegression,
    parallel: int,
    rows: int,
    *,
    size: float,
    batch: int,
    burn: int,
) -> Array:
    """Langevin steps whose score comes from `batch` data rows, never corrected."""
    draws = np.broadcast_to(target.centre, (parallel, len(target.centre))).copy()
    kept = np.empty((parallel, rows, len(target.centre)))
    data = len(target.labels)
    for row in range(-burn, rows):
        picked = rng.integers(data, size=(parallel, batch))
        design = target.design[picked]
        residuals = target.labels[picked] - logistic(np.vecdot(design, draws[:, None]))
        score = data / batch * np.vecdot(residuals[:, None], np.swapaxes(design, 1, 2))
        score = score - draws / target.spread**2
        noise = rng.standard_normal(draws.shape)
        draws = draws + 0.5 * size * score + np.sqrt(size) * noise
        if row >= 0:
            kept[:, row] = draws
    return kept


def two_modes_score(distance: float) -> Callable[[Array], Array]:
    """Score of the even mixture of N(0, I) and N(distance e_1, I)."""

    def score(draws: Array) -> Array:
        result = -draws
        there = logistic(distance * draws[:, 0] - 0.5 * distance**2)
        result[:, 0] += distance * there
        return result

    return score


def log_gamma_score(shape: float) -> Callable[[Array], Array]:
    """Score of independent logarithms of Gamma(shape) variables."""
    return lambda draws: shape - np.exp(draws)


def laplace_of_log_gamma(
    rng: Generator, parallel: int, rows: int, dimension: int, shape: float
) -> Array:
    """The normal law at the mode of log Gamma(shape), with the curvature there."""
    return np.log(shape) + rng.standard_normal((parallel, rows, dimension)) / np.sqrt(shape)
