"""Kernel Stein tests, written out pair by pair: no blocks, no products of matrices."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Kernel(NamedTuple):
    """A kernel k(x, y), its gradients in x and in y, and the trace of its cross-derivatives."""

    value: Callable[[Array, Array], float]
    gradient_x: Callable[[Array, Array], Array]
    gradient_y: Callable[[Array, Array], Array]
    trace: Callable[[Array, Array], float]


def imq(c: float = 1.0, beta: float = -0.5) -> Kernel:
    """k = (c^2 + ||x - y||^2)^beta."""

    def base(x: Array, y: Array) -> float:
        return float(c**2 + np.sum((x - y) ** 2))

    def trace(x: Array, y: Array) -> float:
        total = 0.0
        for difference in x - y:
            total += -2 * beta * base(x, y) ** (beta - 1)
            total += -4 * beta * (beta - 1) * difference**2 * base(x, y) ** (beta - 2)
        return total

    return Kernel(
        value=lambda x, y: base(x, y) ** beta,
        gradient_x=lambda x, y: 2 * beta * base(x, y) ** (beta - 1) * (x - y),
        gradient_y=lambda x, y: 2 * beta * base(x, y) ** (beta - 1) * (y - x),
        trace=trace,
    )


def gaussian(bandwidth: float) -> Kernel:
    """k = exp(-||x - y||^2/(2 bandwidth^2))."""

    def value(x: Array, y: Array) -> float:
        return math.exp(-float(np.sum((x - y) ** 2)) / (2 * bandwidth**2))

    def trace(x: Array, y: Array) -> float:
        total = 0.0
        for difference in x - y:
            total += value(x, y) * (1 / bandwidth**2 - difference**2 / bandwidth**4)
        return total

    return Kernel(
        value=value,
        gradient_x=lambda x, y: -value(x, y) * (x - y) / bandwidth**2,
        gradient_y=lambda x, y: value(x, y) * (x - y) / bandwidth**2,
        trace=trace,
    )


def stein_kernel(kernel: Kernel, x: Array, y: Array, score_x: Array, score_y: Array) -> float:
    """h = s(x)'s(y) k + s(x)' grad_y k + s(y)' grad_x k + tr grad_x grad_y k."""
    return float(
        score_x @ score_y * kernel.value(x, y)
        + score_x @ kernel.gradient_y(x, y)
        + score_y @ kernel.gradient_x(x, y)
        + kernel.trace(x, y)
    )


def stein_matrix(kernel: Kernel, draws: Array, scores: Array) -> Array:
    n = len(draws)
    matrix = np.zeros((n, n))
    for j in range(n):
        for k in range(n):
            matrix[j, k] = stein_kernel(kernel, draws[j], draws[k], scores[j], scores[k])
    return matrix


def median_distance(draws: Array) -> float:
    """Median over the pairs of different rows."""
    n = len(draws)
    distances = sorted(
        math.dist(draws[j].tolist(), draws[k].tolist()) for j in range(n) for k in range(j)
    )
    middle = len(distances) // 2
    if len(distances) % 2:
        return distances[middle]
    return (distances[middle - 1] + distances[middle]) / 2


def v_statistic(matrix: Array, factors: Array) -> float:
    """sum over j, k of F_j F_k h(x_j, x_k); factors 1/n give KSD^2."""
    n = len(matrix)
    return math.fsum(
        float(factors[j] * factors[k] * matrix[j, k]) for j in range(n) for k in range(n)
    )


def u_statistic(matrix: Array, weights: Array) -> float:
    """The weighted mean over pairs of different rows."""
    n = len(matrix)
    terms, norm = [], []
    for j in range(n):
        for k in range(n):
            if j != k:
                terms.append(float(weights[j] * weights[k] * matrix[j, k]))
                norm.append(float(weights[j] * weights[k]))
    return math.fsum(terms) / math.fsum(norm)


def off_diagonal_form(matrix: Array, factors: Array) -> float:
    """sum over j != k of F_j F_k h(x_j, x_k)."""
    return v_statistic(matrix - np.diag(np.diagonal(matrix)), factors)


def pvalue(observed: float, replicates: list[float]) -> float:
    """(b + 1)/(B + 1), b = #{replicate >= observed}."""
    larger = sum(replicate >= observed for replicate in replicates)
    return (larger + 1) / (len(replicates) + 1)


def ksdagg_rejects(
    observed: Array, quantile_replicates: Array, level_replicates: Array, alpha: float
) -> bool:
    """Algorithm of Schrab, Guedj and Gretton (2022), with 60 steps of bisection.

    Rows are bandwidths, all of weight 1/L; columns of `quantile_replicates` are the B1,
    those of `level_replicates` the B2 replicates.
    """
    count = len(observed)
    pooled = np.sort(np.concatenate([observed[:, None], quantile_replicates], axis=1), axis=1)
    size = pooled.shape[1]

    def quantiles(u: float) -> Array:
        rank = max(1, math.ceil(size * (1 - u / count)))
        return pooled[:, rank - 1]

    low, high = 0.0, float(count)
    for _ in range(60):
        u = (low + high) / 2
        share = np.mean(np.any(level_replicates > quantiles(u)[:, None], axis=0))
        low, high = (u, high) if share <= alpha else (low, u)
    return bool(np.any(observed > quantiles(low)))


def nystrom(matrix: Array, landmarks: NDArray[np.intp], factors: Array) -> float:
    """beta' H_mm^- beta with beta = sum_j F_j h(., x_j) at the landmarks."""
    beta = np.array([math.fsum(factors * matrix[landmark]) for landmark in landmarks])
    inverse = np.linalg.pinv(matrix[np.ix_(landmarks, landmarks)], hermitian=True)
    return float(beta @ inverse @ beta)


def whole_matrix_test(draws: Array, scores: Array, n_bootstrap: int, seed: int) -> float:
    """IMQ KSD test as it is usually written: the n x n matrix at once, replicates in a loop."""
    n, dimension = draws.shape
    norms = np.sum(draws**2, axis=1)
    distances = norms[:, None] + norms[None, :] - 2 * draws @ draws.T
    base = 1 + distances
    own = np.sum(scores * draws, axis=1)
    inner = scores @ draws.T
    drift = inner + inner.T - own[:, None] - own[None, :]
    matrix = (
        scores @ scores.T * base**-0.5
        - base**-1.5 * drift
        + dimension * base**-1.5
        - 3 * distances * base**-2.5
    )
    observed = matrix.sum() / n
    rng = np.random.default_rng(seed)
    replicates = []
    for _ in range(n_bootstrap):
        signs = rng.choice([-1.0, 1.0], size=n)
        replicates.append(float(signs @ matrix @ signs / n))
    return pvalue(float(observed), replicates)
