"""k-hat of Pareto smoothed importance sampling, transcribed value by value.

Vehtari, Simpson, Gelman, Yao and Gabry (2024), with the fit of Zhang and Stephens (2009).
"""

import math
from collections.abc import Iterable


def k_hat(log_ratios: Iterable[float]) -> float:
    """The index of the largest ratios, drawn towards 1/2 by a prior worth ten of them."""
    values = sorted(float(value) for value in log_ratios)
    n, largest = len(values), values[-1]
    count = math.ceil(min(n / 5, 3 * math.sqrt(n)))
    threshold = max(values[n - count - 1] - largest, math.log(2.2250738585072014e-308))
    tail = [
        math.exp(value - largest) - math.exp(threshold)
        for value in values
        if value - largest > threshold
    ]
    m = len(tail)
    points = 30 + int(math.sqrt(m))
    quartile = tail[int(m / 4 + 0.5) - 1]
    grid = [
        (1 - math.sqrt(points / (j - 0.5))) / (3 * quartile) + 1 / tail[-1]
        for j in range(1, points + 1)
    ]

    def index(b: float) -> float:
        return sum(math.log1p(-b * x) for x in tail) / m

    likelihoods = [m * (math.log(-b / index(b)) - index(b) - 1) for b in grid]
    weights = [1 / sum(math.exp(other - own) for other in likelihoods) for own in likelihoods]
    b = sum(weight * point for weight, point in zip(weights, grid, strict=True)) / sum(weights)
    return (m * index(b) + 10 * 0.5) / (m + 10)
