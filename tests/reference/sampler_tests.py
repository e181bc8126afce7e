"""Literal transcriptions of what `polystein.testing` computes."""

import math

from scipy import stats


def stein_features(
    x: list[float],
    s: list[float],
    centre: list[float],
    scale: list[float],
    inverse: list[list[float]],
) -> dict:
    """All features of one row of at most six coordinates, as s g + g', one after the other."""
    d = len(x)
    z = [(x[j] - centre[j]) / scale[j] for j in range(d)]
    t = [s[j] * scale[j] for j in range(d)]
    found = {}
    for j in range(d):
        found["mean", j] = t[j] * 1.0 + 0.0
        found["sd", j] = sum(inverse[j][k] * z[j] * t[k] for k in range(d)) + inverse[j][j]
        found["sine", j] = t[j] * math.sin(2.0 * z[j]) + 2.0 * math.cos(2.0 * z[j])
        found["cosine", j] = t[j] * math.cos(2.0 * z[j]) - 2.0 * math.sin(2.0 * z[j])
        for k in range(d):
            if k != j:
                found["product", j, k] = t[j] * z[k]
    return found


def pvalue_of_mean(values: list[float]) -> float:
    """The larger p-value of Student's t and of Hall's transformation of it."""
    m = len(values)
    mean = sum(values) / m
    second = sum((one - mean) ** 2 for one in values) / m
    third = sum((one - mean) ** 3 for one in values) / m
    t = mean / math.sqrt(second * m / (m - 1) / m)
    skewness = third / second**1.5
    hall = (
        t
        + skewness * t**2 / (3.0 * math.sqrt(m))
        + skewness**2 * t**3 / (27.0 * m)
        + skewness / (6.0 * math.sqrt(m))
    )
    return max(2.0 * stats.t.sf(abs(t), m - 1), 2.0 * stats.t.sf(abs(hall), m - 1))
