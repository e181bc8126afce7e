"""Squared lengths of Stein means as U-statistics, pair of rows by pair of rows."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def features(x: Array, s: Array, order: int) -> list[float]:
    """s and, for i = 1, ..., order, the entries s_l x_m^i + [l = m] i x_m^(i-1)."""
    found = list(s)
    for i in range(1, order + 1):
        for row in range(len(x)):
            for column in range(len(x)):
                slope = i * x[column] ** (i - 1) if row == column else 0.0
                found.append(s[row] * x[column] ** i + slope)
    return found


def u_statistic(rows: Array) -> float:
    """The mean of g(x)'g(y) over all pairs of distinct rows."""
    n = len(rows)
    pairs = [float(rows[a] @ rows[b]) for a in range(n) for b in range(n) if a != b]
    return sum(pairs) / (n * (n - 1))


def concentration(sums: Array) -> float:
    """Squared products of distinct batches over products of their squared lengths."""
    count = range(len(sums))
    above = sum(float(sums[a] @ sums[b]) ** 2 for a in count for b in count if a != b)
    below = sum(
        float(sums[a] @ sums[a]) * float(sums[b] @ sums[b]) for a in count for b in count if a != b
    )
    return min(1.0, max(above / below, 1.0 / sums.shape[1]))
