"""The second-order polynomial Stein discrepancy of Srinivasan et al. (2024), term by term."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def monomials(dimension: int, order: int, basis: str) -> list[tuple[int, ...]]:
    """Exponents of the monomials of degree 1 to `order`."""
    every = [a for a in product(range(order + 1), repeat=dimension) if 1 <= sum(a) <= order]
    if basis == "full":
        return every
    return [a for a in every if max(a) == sum(a)]


def power(draw: Array, exponents: list[int]) -> float:
    """x^a, and 0 where an exponent is negative: there its factor is 0."""
    if min(exponents) < 0:
        return 0.0
    return float(np.prod([x**a for x, a in zip(draw, exponents, strict=True)]))


def image(draw: Array, score: Array, exponents: tuple[int, ...]) -> float:
    """Laplacian of x^a plus <s, grad x^a>."""
    total = 0.0
    for i, a in enumerate(exponents):
        once, twice = list(exponents), list(exponents)
        once[i] -= 1
        twice[i] -= 2
        total += a * (a - 1) * power(draw, twice) + score[i] * a * power(draw, once)
    return total


def columns(draws: Array, scores: Array, order: int, basis: str) -> Array:
    """One row a draw, one column a monomial."""
    every = monomials(draws.shape[1], order, basis)
    rows = zip(draws, scores, strict=True)
    return np.array([[image(x, s, exponents) for exponents in every] for x, s in rows])


def squared_discrepancy(features: Array, weights: Array) -> float:
    """||sum_j w_j L P(x_j)||^2."""
    mean = np.zeros(features.shape[1])
    for row, weight in zip(features, weights, strict=True):
        mean += weight * row
    return float(sum(mean**2))
