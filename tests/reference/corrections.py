"""Corrected moments, their influence functions and long-run variances, line by line and slowly."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RIDGE = 1e-9
SQUARE_PART = 1e-5


def coordinate_features(y: Array, s: Array, j: int, shape: bool = False) -> Array:
    """1, s_l, s_l y_j + [l = j], s_j y_j^k + k y_j^(k-1) for k = 2, 3, 4; then s_l y_j^2, ^3."""
    rows = []
    for x, score in zip(y, s, strict=True):
        row = [1.0, *score]
        row += [score[m] * x[j] + (1.0 if m == j else 0.0) for m in range(len(x))]
        row += [score[j] * x[j] ** k + k * x[j] ** (k - 1) for k in (2, 3, 4)]
        if shape:
            row += [score[m] * x[j] ** k for k in (2, 3) for m in range(len(x)) if m != j]
        rows.append(row)
    return np.array(rows)


def pair_features(y: Array, s: Array, j: int, k: int) -> Array:
    """1, s_l, s_l y_j + [l = j], s_l y_k + [l = k]."""
    rows = []
    for x, score in zip(y, s, strict=True):
        row = [1.0, *score]
        for one in (j, k):
            row += [score[m] * x[one] + (1.0 if m == one else 0.0) for m in range(len(x))]
        rows.append(row)
    return np.array(rows)


def joint_features(y: Array, s: Array) -> Array:
    """1, s_l, s_l y_m + [l = m], s_l y_l^k + k y_l^(k-1) for k = 2, 3, 4."""
    rows = []
    d = y.shape[1]
    for x, score in zip(y, s, strict=True):
        row = [1.0, *score]
        row += [score[m] * x[k] + (1.0 if m == k else 0.0) for m in range(d) for k in range(d)]
        for power in (2, 3, 4):
            row += [score[m] * x[m] ** power + power * x[m] ** (power - 1) for m in range(d)]
        rows.append(row)
    return np.array(rows)


def damped(features: Array, w: Array) -> Array:
    """F'WF over the total weight, with the ridge times the variance of each feature.

    A part of the mean square is added to the variance.
    """
    gram = features.T @ (w[:, None] * features) / w.sum()
    for k in range(1, len(gram)):
        square, mean = gram[k, k], gram[0, k]
        gram[k, k] += RIDGE * (square - mean**2 + SQUARE_PART * square)
    return gram


def intercept(features: Array, f: Array, w: Array) -> float:
    """The constant of the weighted least-squares fit."""
    return float(np.linalg.solve(damped(features, w), features.T @ (w * f) / w.sum())[0])


def influence(features: Array, f: Array, w: Array) -> Array:
    """w_i/W e0' G^-1 F_i r_i / (1 - h_i)."""
    gram = damped(features, w)
    beta = np.linalg.solve(gram, features.T @ (w * f) / w.sum())
    inverse = np.linalg.inv(gram)
    result = []
    for row, value, weight in zip(features, f, w, strict=True):
        pull = inverse[0] @ row
        leverage = weight / w.sum() * (row @ inverse @ row)
        result.append(weight / w.sum() * pull * (value - row @ beta) / max(1.0 - leverage, 0.05))
    return np.array(result)


def holm(pvalues: list[float], weights: list[float]) -> list[float]:
    """Adjusted p-values: the smallest level at which weighted Holm rejects each."""
    order = sorted(range(len(pvalues)), key=lambda i: pvalues[i] / weights[i])
    adjusted, left, largest = [0.0] * len(pvalues), 1.0, 0.0
    for i in order:
        largest = max(largest, pvalues[i] / weights[i] * max(left, weights[i]))
        adjusted[i] = min(1.0, largest)
        left -= weights[i]
    return adjusted


def skewness(y: Array) -> float:
    return float(np.mean(((y - y.mean()) / y.std()) ** 3))


def kurtosis(y: Array) -> float:
    return float(np.mean(((y - y.mean()) / y.std()) ** 4))


def fisher_z(a: Array, b: Array) -> float:
    return math.atanh(float(np.corrcoef(a, b)[0, 1]))


def wider_features(y: Array, s: Array, about: list[int], pairs: bool) -> Array:
    """Powers 1 to 7 of some coordinates, then single others and ordered pairs, one by one."""
    n, d = y.shape
    columns = [s[:, a] * y[:, a] ** k + k * y[:, a] ** (k - 1) for k in range(1, 8) for a in about]
    if pairs:
        others = [j for j in range(d) if j not in about]
        columns += [s[:, j] * y[:, j] + 1 for j in others]
        columns += [s[:, j] * y[:, j] ** 2 + 2 * y[:, j] for j in others]
        both = [(j, k) for j in range(d) for k in range(d) if j != k and {j, k} & set(about)]
        columns += [s[:, j] * y[:, k] for j, k in both]
        columns += [s[:, j] * (y[:, k] ** 2 - 1) for j, k in both]
        columns += [(s[:, j] * y[:, j] + 1) * y[:, k] for j, k in both]
        columns += [(s[:, j] * y[:, j] + 1) * (y[:, k] ** 2 - 1) for j, k in both]
    return np.column_stack(columns).reshape(n, -1)
