"""Pooled comparisons of counts and their power, written out literally."""

from itertools import product
from math import comb, sqrt

from scipy.stats import norm

#: Published rejections, published replicates, measured rejections, measured replicates.
Cell = tuple[int, int, int, int]


def literal_fisher(a: int, n: int, b: int, m: int) -> float:
    """Sum of the hypergeometric probabilities that do not exceed the observed one."""
    total = a + b

    def probability(x: int) -> float:
        return comb(n, x) * comb(m, total - x) / comb(n + m, total)

    possible = range(max(0, total - m), min(n, total) + 1)
    observed = probability(a)
    return sum(probability(x) for x in possible if probability(x) <= observed * (1.0 + 1e-9))


def literal_cmh(cells: list[Cell]) -> float:
    """P-value of the Cochran-Mantel-Haenszel test.

    Given its margins the measured count of a cell is hypergeometric; mean and variance are summed
    over its values.
    """
    excess, variance = 0.0, 0.0
    for a, n, b, m in cells:
        total = a + b
        values = range(max(0, total - n), min(m, total) + 1)
        mass = [comb(m, x) * comb(n, total - x) / comb(n + m, total) for x in values]
        mean = sum(x * p for x, p in zip(values, mass, strict=True))
        excess += b - mean
        variance += sum((x - mean) ** 2 * p for x, p in zip(values, mass, strict=True))
    return float(2.0 * norm.sf(abs(excess) / sqrt(variance)))


def literal_common_difference(cells: list[Cell]) -> float:
    """Mantel and Haenszel's difference of rates, weighted by n m / (n + m)."""
    top = sum(n * m / (n + m) * (b / m - a / n) for a, n, b, m in cells)
    return top / sum(n * m / (n + m) for _, n, _, m in cells)


def literal_power(first_rate: float, second_rate: float, n: int, m: int) -> float:
    """Probability that Fisher's test at 0.05 rejects, over all pairs of counts."""

    def binomial(x: int, of: int, rate: float) -> float:
        return float(comb(of, x) * rate**x * (1.0 - rate) ** (of - x))

    return sum(
        binomial(a, n, first_rate) * binomial(b, m, second_rate)
        for a, b in product(range(n + 1), range(m + 1))
        if literal_fisher(a, n, b, m) <= 0.05
    )
