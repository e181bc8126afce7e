"""Correct chains that stay long at one point, or whose scale is slow and hidden.

Every chain starts in its stationary law, so that each row is an exact draw of the target. What
comes out has the shape (parallel, rows, d), as in `samplers`.
"""

from collections.abc import Callable

import numpy as np

from tests.statistical.samplers import Array, Generator, autoregressive


def hidden_scale(
    rng: Generator, parallel: int, rows: int, dimension: int, *, freedom: int, memory: float
) -> Array:
    """Independent Student's t coordinates: white noise over a slow scale that nobody sees.

    The scale of a coordinate is a chi-squared variable, the sum of squares of AR(memory) chains.
    """
    noise = rng.standard_normal((parallel, rows, dimension))
    hidden = autoregressive(rng, parallel * dimension, rows, freedom, memory)
    squares = (hidden**2).mean(axis=2).reshape(parallel, dimension, rows).swapaxes(1, 2)
    scaled: Array = noise / np.sqrt(squares)
    return scaled


def pseudo_marginal(
    rng: Generator, parallel: int, rows: int, dimension: int, *, noise: float, size: float
) -> Array:
    """Random-walk Metropolis of N(0, I) whose density is known up to a log-normal factor.

    The logarithm of the factor is N(-s^2/2, s^2) where it is estimated, with s the `noise`, and
    N(s^2/2, s^2) where the chain is.
    """
    place = rng.standard_normal((parallel, dimension))
    factor = 0.5 * noise**2 + noise * rng.standard_normal(parallel)
    kept = np.empty((parallel, rows, dimension))
    for row in range(rows):
        kept[:, row] = place
        new = place + size * rng.standard_normal(place.shape)
        found = -0.5 * noise**2 + noise * rng.standard_normal(parallel)
        ratio = 0.5 * (np.vecdot(place, place) - np.vecdot(new, new)) + found - factor
        taken = np.log(rng.random(parallel)) < ratio
        place = np.where(taken[:, None], new, place)
        factor = np.where(taken, found, factor)
    return kept


def independence_sampler(
    rng: Generator, parallel: int, rows: int, dimension: int, *, spread: float
) -> Array:
    """Metropolis of N(0, I) with proposals of N(0, spread^2 I) that do not look where it is."""
    place = rng.standard_normal((parallel, dimension))
    curvature = 0.5 * (1.0 - spread**-2)
    kept = np.empty((parallel, rows, dimension))
    for row in range(rows):
        kept[:, row] = place
        new = spread * rng.standard_normal(place.shape)
        ratio = curvature * (np.vecdot(place, place) - np.vecdot(new, new))
        taken = np.log(rng.random(parallel)) < ratio
        place = np.where(taken[:, None], new, place)
    return kept


def random_walk(
    rng: Generator,
    start: Array,
    log_density: Callable[[Array], Array],
    rows: int,
    *,
    size: float,
) -> Array:
    """Random-walk Metropolis from these places, (parallel, d), with normal steps."""
    place, log = start, log_density(start)
    kept = np.empty((len(start), rows, start.shape[1]))
    for row in range(rows):
        kept[:, row] = place
        new = place + size * rng.standard_normal(place.shape)
        new_log = log_density(new)
        taken = np.log(rng.random(len(place))) < new_log - log
        place, log = np.where(taken[:, None], new, place), np.where(taken, new_log, log)
    return kept


def student_t_walk(
    rng: Generator, parallel: int, rows: int, dimension: int, *, freedom: float, size: float
) -> Array:
    """Random-walk Metropolis of independent Student's t variables."""
    start = rng.standard_t(freedom, (parallel, dimension))

    def log_density(x: Array) -> Array:
        logs: Array = -0.5 * (freedom + 1.0) * np.log1p(x**2 / freedom).sum(axis=1)
        return logs

    return random_walk(rng, start, log_density, rows, size=size)
