"""Algorithms 1, 2 and 3 of the paper, line by line, and the closed form of Proposition 4.3."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from . import stein

Array = NDArray[np.float64]
Rows = Sequence[int] | NDArray[np.int64]
Solve = Callable[[Array], Array]


def z_statistic(u: Array) -> tuple[float, float]:
    """z = sqrt(n) mean(u) / s_u with s_u^2 over n - 1, and its two-sided p-value."""
    n = len(u)
    mean = math.fsum(u) / n
    variance = math.fsum((value - mean) ** 2 for value in u) / (n - 1)
    if variance == 0.0:
        raise ValueError("the z-statistic is undefined: u has zero variance on the test rows")
    z = math.sqrt(n) * mean / math.sqrt(variance)
    return z, math.erfc(abs(z) / math.sqrt(2.0))


def psd_z_test(
    draws: Array,
    scores: Array,
    order: int,
    train_rows: Rows,
    test_rows: Rows,
    structure: str = "full",
) -> tuple[float, float]:
    """Algorithm 1: maximiser on the training rows, z-test of u on the test rows."""
    matrices, vector = stein.maximiser(draws[train_rows], scores[train_rows], order, structure)
    u = []
    for j in test_rows:
        value = float(vector @ scores[j])
        for i in range(1, order + 1):
            term = matrices[i - 1] * stein.block(draws[j], scores[j], i, structure)
            value += float(np.sum(term))
        u.append(value)
    return z_statistic(np.array(u))


def rayleigh(weights: Array, mean: Array, covariance: Array) -> float:
    """(mu' lambda)^2 / (lambda' Sigma lambda), the objective of Algorithm 2."""
    variance = float(weights @ covariance @ weights)
    if variance <= 0.0:
        raise ValueError(f"a combination of features has variance {variance}, not above zero")
    return float(mean @ weights) ** 2 / variance


def cross_entropy(
    features: Array,
    rng: np.random.Generator,
    iterations: int = 100,
    candidates: int = 1000,
    elites: int = 10,
    tolerance: float = 1e-3,
    patience: int = 3,
    relative: bool = False,
    least_spread: float = 0.0,
    least_weight: float = 0.0,
) -> tuple[Array, float]:
    """Algorithm 2 (BG-CEM): the best weights found, and sign(mu' lambda).

    Where the pseudo-code leaves a choice: sd is the root mean square deviation over the elites
    (divisor K); ties rank by index; a candidate whose every z_k is 0 cannot be normalised,
    scores minus infinity and is never elite; where no candidate can be elite, p, mu and sigma
    stay, and the round counts as one without improvement. The last three arguments are not in
    the paper. Their defaults do nothing.
    """
    mean, covariance = stein.mean_and_covariance(features)
    size = len(mean)
    probability, centre, spread = np.full(size, 0.5), np.zeros(size), np.ones(size)
    best_score, best = -math.inf, None
    stalled = 0
    for _ in range(iterations):
        previous = best_score
        population, objective = [], []
        for _ in range(candidates):
            active = rng.random(size) < probability
            candidate = active * rng.normal(centre, spread)
            score = -math.inf
            if np.any(candidate != 0.0):
                candidate = candidate / np.linalg.norm(candidate)
                score = rayleigh(candidate, mean, covariance)
            population.append(candidate)
            objective.append(score)
            if score > best_score:
                best_score, best = score, candidate
        able = [m for m in range(candidates) if objective[m] > -math.inf]
        ranking = sorted(able, key=lambda m: objective[m], reverse=True)
        elite = np.array([population[m] for m in ranking[:elites]])
        stalled = stalled + 1 if improvement(best_score, previous, relative) < tolerance else 0
        if stalled >= patience:
            break
        if len(elite) == 0:
            continue
        for k in range(size):
            probability[k] = np.mean(np.abs(elite[:, k]) > least_weight)
            centre[k] = np.mean(elite[:, k])
            spread[k] = max(np.std(elite[:, k]), least_spread)
    if best is None:
        raise ValueError("no candidate had an active feature")
    return best, 1.0 if float(mean @ best) >= 0.0 else -1.0


def improvement(best: float, previous: float, relative: bool) -> float:
    """How much better the best score has become, as such or relative to the previous one."""
    if best == -math.inf:
        return -math.inf
    if previous == -math.inf:
        return math.inf
    if not relative or best == previous:
        return best - previous
    return math.inf if previous == 0.0 else (best - previous) / previous


def cross_entropy_solver(rng: np.random.Generator) -> Solve:
    """Return features -> sign * lambda of Algorithm 2 with the paper's settings."""

    def solve(features: Array) -> Array:
        weights, sign = cross_entropy(features, rng)
        return sign * weights

    return solve


def closed_form(features: Array, ridge: float) -> Array:
    """lambda proportional to Sigma^-1 mu (Proposition 4.3) on the correlation scale.

    C = D^-1/2 Sigma D^-1/2 + ridge I and lambda = D^-1/2 C^-1 D^-1/2 mu, scaled to unit
    norm with lambda' mu >= 0.
    """
    mean, covariance = stein.mean_and_covariance(features)
    weights = stein.inverse_times(covariance, mean, ridge)
    norm = float(np.linalg.norm(weights))
    if norm == 0.0:
        raise ValueError("the weights are undefined: every feature has mean zero")
    weights = weights / norm
    return weights if float(weights @ mean) >= 0.0 else -weights


def lambda_psd_z_test(
    draws: Array,
    scores: Array,
    order: int,
    witness_rows: Rows,
    weights_rows: Rows,
    test_rows: Rows,
    solve: Solve,
    structure: str = "full",
) -> tuple[float, float]:
    """Algorithm 3: witness on D_1, lambda = solve(G) on D_2, z-test of u on D_te."""
    matrices, vector = stein.maximiser(draws[witness_rows], scores[witness_rows], order, structure)
    table = stein.features(draws[weights_rows], scores[weights_rows], matrices, vector, structure)
    weights = solve(table)
    tested = stein.features(draws[test_rows], scores[test_rows], matrices, vector, structure)
    u = []
    for row in tested:
        value = 0.0
        for i in range(order + 1):
            value += float(weights[i]) * float(row[i])
        u.append(value)
    return z_statistic(np.array(u))
