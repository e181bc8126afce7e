"""Weights finer than one an order, written out entry by entry, coordinate by coordinate.

``matrices[i - 1]`` is A_i, of shape (d, d), or (d,) for the diagonal structure. A factor is the
weight of one fine feature; a table has a row for each draw and a column for each fine feature.
``weights`` are importance weights that sum to one; without them every row weighs 1/n.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import NDArray

from . import stein

Array = NDArray[np.float64]
Solve = Callable[[Array, Array | None], Array]


def function(basis: str, x: float, i: int) -> tuple[float, float]:
    """phi_i(x) and phi_i'(x) at one number."""
    if basis == "monomial":
        return x**i, i * x ** (i - 1)
    coefficients = np.zeros(i + 1)
    coefficients[i] = 1.0 / math.sqrt(math.factorial(i))
    value = float(hermite_e.hermeval(x, coefficients))
    slope = float(hermite_e.hermeval(x, hermite_e.hermeder(coefficients)))
    if basis == "hermite":
        return value, slope
    envelope = math.exp(-(x**2) / 4)
    return value * envelope, (slope - 0.5 * x * value) * envelope


def entry(draw: Array, score: Array, basis: str, i: int, row: int, column: int) -> float:
    """Phi_i(x)[l, m] = s_l phi_i(x_m), and phi_i'(x_l) more where l = m, equation (4)."""
    value, slope = function(basis, float(draw[column]), i)
    return float(score[row]) * value + (slope if row == column else 0.0)


def entries_of(structure: str, dimension: int) -> list[tuple[int, int]]:
    """The places in A_i: all of them, or the diagonal."""
    every = [(row, column) for row in range(dimension) for column in range(dimension)]
    return every if structure == "full" else [(row, row) for row in range(dimension)]


def maximiser(
    draws: Array, scores: Array, basis: str, order: int, structure: str, weights: Array | None
) -> tuple[list[Array], Array]:
    """A_i* = mu_i / Z and b* = mu_b / Z, equation (6), for any basis."""
    n, d = draws.shape
    matrices = [np.zeros((d, d)) for _ in range(order)]
    vector = np.zeros(d)
    for draw, score, weight in zip(draws, scores, stein.row_weights(n, weights), strict=True):
        for i in range(1, order + 1):
            for row, column in entries_of(structure, d):
                matrices[i - 1][row, column] += weight * entry(draw, score, basis, i, row, column)
        vector += weight * score
    z = math.sqrt(sum(float(np.sum(m**2)) for m in matrices) + float(vector @ vector))
    return [matrix / z for matrix in matrices], vector / z


def entry_table(
    draws: Array,
    scores: Array,
    basis: str,
    structure: str,
    matrices: Sequence[Array],
    vector: Array,
) -> Array:
    """A_i[l, m] Phi_i(x)[l, m] for every order, row and column, then b_l s_l."""
    d = draws.shape[1]
    table = []
    for draw, score in zip(draws, scores, strict=True):
        cells = []
        for i, matrix in enumerate(matrices, start=1):
            for row, column in entries_of(structure, d):
                cells.append(matrix[row, column] * entry(draw, score, basis, i, row, column))
        cells += [vector[row] * score[row] for row in range(d)]
        table.append(cells)
    return np.array(table)


def coordinate_table(
    draws: Array,
    scores: Array,
    basis: str,
    structure: str,
    matrices: Sequence[Array],
    vector: Array,
) -> Array:
    """Sums of the entries of each row l of each order, then b_l s_l."""
    d = draws.shape[1]
    table = np.zeros((len(draws), (len(matrices) + 1) * d))
    for k, (draw, score) in enumerate(zip(draws, scores, strict=True)):
        for i, matrix in enumerate(matrices, start=1):
            for row, column in entries_of(structure, d):
                value = matrix[row, column] * entry(draw, score, basis, i, row, column)
                table[k, (i - 1) * d + row] += value
        for row in range(d):
            table[k, len(matrices) * d + row] = vector[row] * score[row]
    return table


def moments(table: Array, weights: Array | None) -> tuple[Array, Array, float]:
    """Mean, covariance (1/n) and effective number of rows 1 / sum w^2."""
    w = stein.row_weights(len(table), weights)
    size = table.shape[1]
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for weight, row in zip(w, table, strict=True):
        mean += weight * row
    for weight, row in zip(w, table, strict=True):
        covariance += weight * np.outer(row - mean, row - mean)
    return mean, covariance, 1.0 / sum(weight**2 for weight in w)


def unit(weights: Array, mean: Array) -> Array:
    """Unit norm, and weights' mean >= 0."""
    weights = weights / math.sqrt(sum(float(value) ** 2 for value in weights))
    return weights if float(weights @ mean) >= 0.0 else -weights


def soft_threshold(level: float) -> Solve:
    """sign(t) max(|t| - level sqrt(2 log K), 0) / sd with t = sqrt(n) mean / sd."""

    def solve(table: Array, weights: Array | None) -> Array:
        mean, covariance, rows = moments(table, weights)
        size = len(mean)
        spreads = [math.sqrt(covariance[j, j]) for j in range(size)]
        varying = [j for j in range(size) if spreads[j] > 1e-14 * abs(mean[j])]
        threshold = level * math.sqrt(2 * math.log(len(varying)))
        t = {j: math.sqrt(rows) * mean[j] / spreads[j] for j in varying}
        solution = np.zeros(size)
        for j in varying:
            solution[j] = math.copysign(max(abs(t[j]) - threshold, 0.0) / spreads[j], t[j])
        if not solution.any():
            solution[max(varying, key=lambda j: abs(t[j]))] = 1.0
        return unit(solution, mean)

    return solve


def ridged(ridge: float) -> Solve:
    """D^-1/2 (C + ridge I)^-1 D^-1/2 mu of Proposition 4.3."""

    def solve(table: Array, weights: Array | None) -> Array:
        mean, covariance, _ = moments(table, weights)
        return unit(stein.inverse_times(covariance, mean, ridge), mean)

    return solve


def hierarchical(
    table: Array, dimension: int, solve: Solve, weights: Array | None
) -> tuple[Array, Array, list[float]]:
    """alpha_i beta_l by turns from beta = 1, and SNR^2 after every turn that was kept."""
    orders = table.shape[1] // dimension

    def by_order(beta: Array) -> Array:
        columns = [
            sum(beta[row] * table[:, i * dimension + row] for row in range(dimension))
            for i in range(orders)
        ]
        return np.array(columns).T

    def by_coordinate(alpha: Array) -> Array:
        columns = [
            sum(alpha[i] * table[:, i * dimension + row] for i in range(orders))
            for row in range(dimension)
        ]
        return np.array(columns).T

    def quotient(alpha: Array, beta: Array) -> float:
        mean, covariance, _ = moments(by_order(beta), weights)
        return float(alpha @ mean) ** 2 / float(alpha @ covariance @ alpha)

    beta = np.ones(dimension)
    alpha = solve(by_order(beta), weights)
    history = [quotient(alpha, beta)]
    for _ in range(10):
        beta_next = solve(by_coordinate(alpha), weights)
        alpha_next = solve(by_order(beta_next), weights)
        value = quotient(alpha_next, beta_next)
        if value > history[-1]:
            alpha, beta = alpha_next, beta_next
            history.append(value)
            if value > 1.001 * history[-2]:
                continue
        break
    return alpha, beta / np.linalg.norm(beta), history
