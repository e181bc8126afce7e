"""Correct chains of N(0, I) whose memory is not that of one exponential.

Every chain starts in its stationary law, so that each row is an exact draw of N(0, I) and only the
dependence between rows differs. What comes out has the shape (parallel, rows, d), as in `samplers`.
"""

import numpy as np
from scipy.linalg import expm

from tests.statistical.samplers import Array, Generator, autoregressive


def two_scale(
    rng: Generator, parallel: int, rows: int, dimension: int, *, share: float, memory: float = 0.98
) -> Array:
    """White noise with a weak slow component: `share` of the variance is AR(memory)."""
    white = rng.standard_normal((parallel, rows, dimension))
    slow = autoregressive(rng, parallel, rows, dimension, memory)
    return np.sqrt(1.0 - share) * white + np.sqrt(share) * slow


def own_memories(
    rng: Generator, parallel: int, rows: int, dimension: int, *, largest: float
) -> Array:
    """AR(1) with another memory in each coordinate, from 0 to `largest` in equal steps."""
    memories = np.linspace(0.0, largest, dimension)
    columns = [autoregressive(rng, parallel, rows, 1, memory) for memory in memories]
    return np.concatenate(columns, axis=2)


def slow_radius(
    rng: Generator, parallel: int, rows: int, dimension: int, *, memory: float
) -> Array:
    """White signs times the absolute values of AR(memory): means are fast, spreads are slow."""
    signs = rng.choice([-1.0, 1.0], size=(parallel, rows, dimension))
    return signs * np.abs(autoregressive(rng, parallel, rows, dimension, memory))


def sticky(
    rng: Generator, parallel: int, rows: int, dimension: int, *, rate: float, stay: int
) -> Array:
    """White noise that sticks: after a move, with probability `rate`, it stays for `stay` rows.

    When it sticks does not depend on where, so that each row is still an exact draw.
    """
    moves = moves_of_sticky(rng, parallel, rows, rate, stay)
    latest = np.maximum.accumulate(np.where(moves, np.arange(rows), 0), axis=1)
    fresh = rng.standard_normal((parallel, rows, dimension))
    return np.take_along_axis(fresh, latest[:, :, None], axis=1)


def moves_of_sticky(
    rng: Generator, parallel: int, rows: int, rate: float, stay: int
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Which rows are new ones.

    The number of rows still to stay is a Markov chain with the law P(k) = rate P(0) for
    k = 1, ..., stay, from which it starts.
    """
    law = np.array([1.0, *[rate] * stay]) / (1.0 + rate * stay)
    left = rng.choice(stay + 1, size=parallel, p=law)
    sticks = rng.random((rows, parallel)) < rate
    moves = np.empty((rows, parallel), dtype=bool)
    for row in range(rows):
        moves[row] = left == 0
        left = np.where(moves[row], np.where(sticks[row], stay, 0), left - 1)
    return moves.T


# Linear recursions: momentum and rotation


def vector_autoregressive(rng: Generator, parallel: int, rows: int, step: Array) -> Array:
    """z_t = A z_(t-1) + F e_t with F F' = I - A A', which leaves N(0, I) as it is."""
    size = len(step)
    values, vectors = np.linalg.eigh(np.eye(size) - step @ step.T)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = rng.standard_normal((rows, parallel, size))
    states = np.empty((rows, parallel, size))
    states[0] = noise[0]
    noise = noise @ factor.T
    for row in range(1, rows):
        states[row] = states[row - 1] @ step.T + noise[row]
    return states.transpose(1, 0, 2)


def positions(rng: Generator, parallel: int, rows: int, dimension: int, step: Array) -> Array:
    """The first component of such a recursion, one for each coordinate."""
    states = vector_autoregressive(rng, parallel * dimension, rows, step)
    return states[:, :, 0].reshape(parallel, dimension, rows).swapaxes(1, 2).copy()


def rotation(angle: float) -> Array:
    """The matrix that turns by this angle, in radians."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def rotating(
    rng: Generator, parallel: int, rows: int, dimension: int, *, memory: float, angle: float
) -> Array:
    """AR(memory) whose coordinates turn in pairs: autocorrelations memory^k cos(k angle)."""
    assert dimension % 2 == 0
    pairs = parallel * dimension // 2
    states = vector_autoregressive(rng, pairs, rows, memory * rotation(angle))
    halves = states.reshape(parallel, dimension // 2, rows, 2)
    return halves.transpose(0, 2, 1, 3).reshape(parallel, rows, dimension)


def generalised_hmc(
    rng: Generator, parallel: int, rows: int, dimension: int, *, angle: float, persistence: float
) -> Array:
    """Partly refreshed momentum, then the exact flow, which turns (x, p) by `angle`.

    The flow keeps the energy, so that every step is accepted. The chain is not reversible.
    """
    step = rotation(angle) @ np.diag([1.0, persistence])
    return positions(rng, parallel, rows, dimension, step)


def underdamped_langevin(
    rng: Generator, parallel: int, rows: int, dimension: int, *, size: float, friction: float
) -> Array:
    """dx = v dt, dv = -(x + friction v) dt + sqrt(2 friction) dW, solved exactly for `size`."""
    step = expm(size * np.array([[0.0, 1.0], [-1.0, -friction]]))
    return positions(rng, parallel, rows, dimension, step)
