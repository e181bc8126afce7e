"""One Hamiltonian step, sign flips and paired effects, written out row by row."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def hamiltonian_proposal(
    log_density: Callable[[Array], float],
    score: Callable[[Array], Array],
    x: Array,
    momentum: Array,
    factor: Array,
    step: float,
    steps: int,
) -> tuple[Array, float]:
    """The end of a trajectory of one row, and how much energy it loses.

    In z = L^-1 x the momentum has the covariance I: dz = p dt, dp = L' score dt.
    """
    z, p = np.linalg.solve(factor, x), momentum.copy()
    before = -log_density(x) + 0.5 * float(p @ p)
    for _ in range(steps):
        p = p + 0.5 * step * factor.T @ score(factor @ z)
        z = z + step * p
        p = p + 0.5 * step * factor.T @ score(factor @ z)
    after = -log_density(factor @ z) + 0.5 * float(p @ p)
    return factor @ z, after - before


def all_sign_flips(differences: Array, shares: Array) -> float:
    """The exact p-value over every pattern of signs of few rows."""
    rows, columns = differences.shape

    def extremeness(signs: Array) -> float:
        least = math.inf
        for column in range(columns):
            values = signs * differences[:, column]
            norm = math.sqrt(float((values**2).sum()))
            t = abs(float(values.sum())) / norm if norm > 0.0 else 0.0
            least = min(least, math.log(0.5 * math.erfc(t / math.sqrt(2.0)) / shares[column]))
        return least

    patterns = [
        np.array([1.0 if (number >> row) & 1 else -1.0 for row in range(rows)])
        for number in range(2**rows)
    ]
    own = extremeness(np.ones(rows))
    return sum(extremeness(signs) <= own + 1e-9 for signs in patterns) / len(patterns)


def paired_sizes(weights: Array, before: Array, after: Array) -> tuple[float, float]:
    """Difference of means in sds after, and log ratio of sds, of weighted rows with late times."""

    def mean_and_sd(rows: Array) -> tuple[float, float]:
        mean = sum(float(w * x.mean()) for w, x in zip(weights, rows, strict=True))
        square = sum(
            float(w * ((x - mean) ** 2).mean()) for w, x in zip(weights, rows, strict=True)
        )
        return mean, math.sqrt(square)

    (first, spread), (late, late_spread) = mean_and_sd(before), mean_and_sd(after.T)
    return (first - late) / late_spread, math.log(spread / late_spread)


def paired_errors(before: Array, after: Array) -> tuple[float, float]:
    """Standard errors by the infinitesimal jackknife: each row's weight is raised a little."""
    n, little = len(before), 1e-6
    even = np.full(n, 1.0 / n)
    sizes = np.array(paired_sizes(even, before, after))
    influence = []
    for row in range(n):
        raised = (1.0 - little) * even
        raised[row] += little
        influence.append((np.array(paired_sizes(raised, before, after)) - sizes) / little)
    mean, log_sd = np.sqrt((np.array(influence) ** 2).sum(axis=0) / (n * (n - 1)))
    return float(mean), float(log_sd)
