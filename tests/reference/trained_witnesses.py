"""The trained witnesses of `check`, row by row. Rows are in standardised coordinates."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tests.reference.check import Array, diagonal_entries, matrix


def mean_and_covariance(table: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean of the rows, and covariance with the same weights."""
    total = math.fsum(weights)
    mean = np.zeros(table.shape[1])
    for row, weight in zip(table, weights, strict=True):
        mean += weight / total * row
    covariance = np.zeros((table.shape[1], table.shape[1]))
    for row, weight in zip(table, weights, strict=True):
        covariance += weight / total * np.outer(row - mean, row - mean)
    return mean, covariance


def thresholded(mean: Array, variance: Array, rows: float, level: float) -> Array:
    """sign(t) max(|t| - level sqrt(2 log K), 0)/sd of unit norm; the largest |t| if all are 0."""
    k = len(mean)
    t = [math.sqrt(rows) * float(mean[j]) / math.sqrt(variance[j]) for j in range(k)]
    excess = [max(abs(value) - level * math.sqrt(2.0 * math.log(k)), 0.0) for value in t]
    if not any(excess):
        excess[max(range(k), key=lambda j: abs(t[j]))] = 1.0
    weights = np.array([math.copysign(excess[j], t[j]) / math.sqrt(variance[j]) for j in range(k)])
    return weights / np.linalg.norm(weights)


def entry_weights(draws: Array, scores: Array, weights: Array, order: int, time: float) -> Array:
    """Dense score and sparse stack: weights of the entries, one member a column."""
    d = draws.shape[1]
    table = np.array([diagonal_entries(x, s, order) for x, s in zip(draws, scores, strict=True)])
    mean, covariance = mean_and_covariance(table, weights)
    variance = np.diag(covariance)
    effective = math.fsum(weights) ** 2 / math.fsum(w**2 for w in weights) / time
    result = np.zeros((table.shape[1], 2))
    result[:d, 0] = thresholded(mean[:d], variance[:d], effective, 0.0)
    result[:, 1] = thresholded(mean, variance, effective, 1.0)
    return result


def full_witness(
    draws: Array, scores: Array, weights: Array, order: int
) -> tuple[list[Array], Array]:
    """A_i = mu_i/Z and b = mu_b/Z with full matrices, eq. 6."""
    total, d = math.fsum(weights), draws.shape[1]
    matrices, vector = [np.zeros((d, d)) for _ in range(order)], np.zeros(d)
    for x, s, weight in zip(draws, scores, weights, strict=True):
        for i in range(1, order + 1):
            matrices[i - 1] += weight / total * matrix(x, s, i)
        vector += weight / total * s
    z = math.sqrt(math.fsum(float(np.sum(a**2)) for a in [*matrices, vector]))
    return [a / z for a in matrices], vector / z


def order_features(draws: Array, scores: Array, witness: tuple[list[Array], Array]) -> Array:
    """<A_i, Phi_i(x)> for every order and b's last, one draw a row."""
    matrices, vector = witness
    return np.array(
        [
            [*(float(np.sum(a * matrix(x, s, i))) for i, a in enumerate(matrices, 1)), vector @ s]
            for x, s in zip(draws, scores, strict=True)
        ]
    )


def fold_of(lengths: Sequence[int], count: int) -> list[int]:
    """The fold of every row, of stretches one after the other: the k-th quarter of each."""
    result = []
    for length in lengths:
        for t in range(length):
            result.append(max(k for k in range(count) if k * length // count <= t))
    return result


def fold_of_whole(lengths: Sequence[int], count: int) -> list[int]:
    """The same where a fold has stretches of its own: the k-th quarter of them."""
    result = []
    for number, length in enumerate(lengths):
        fold = max(k for k in range(count) if k * len(lengths) // count <= number)
        result += [fold] * length
    return result


def cross_fitted(
    draws: Array, scores: Array, weights: Array, order: int, fold: Sequence[int]
) -> tuple[Array, Array]:
    """Mean and covariance of features of which each row's come from a witness of other folds."""
    table = np.zeros((len(draws), order + 1))
    for k in sorted(set(fold)):
        others = [j for j in range(len(draws)) if fold[j] != k]
        witness = full_witness(draws[others], scores[others], weights[others], order)
        own = [j for j in range(len(draws)) if fold[j] == k]
        table[own] = order_features(draws[own], scores[own], witness)
    return mean_and_covariance(table, weights)


def nonnegative_weights(mean: Array, covariance: Array, ridge: float) -> Array:
    """The w >= 0 of least w'(C + ridge I)w/2 - w'm by its KKT conditions, over all supports.

    On the correlation scale: C = D^-1/2 Sigma D^-1/2 and m = D^-1/2 mu; D^-1/2 w has unit norm.
    Ones where no support has a positive solution.
    """
    k, spread = len(mean), np.sqrt(np.diag(covariance))
    c = covariance / np.outer(spread, spread) + ridge * np.eye(k)
    m = mean / spread
    solution = np.ones(k)
    for size in range(1, k + 1):
        for support in map(list, itertools.combinations(range(k), size)):
            w = np.zeros(k)
            w[support] = np.linalg.solve(c[np.ix_(support, support)], m[support])
            if np.all(w[support] > 0.0) and np.all(np.delete(m - c @ w, support) <= 0.0):
                solution = w
    return np.asarray(solution / spread / np.linalg.norm(solution / spread))
