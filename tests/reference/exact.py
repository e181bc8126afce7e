"""Stein moments and Z^2 in exact rational arithmetic, to judge claims about rounding.

Every float is a rational number, so nothing is rounded until the caller asks for a float.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = list[Fraction]
Matrix = list[Vector]


def fractions(values: Array) -> Matrix:
    """Return the rows of a float array as the rationals they are."""
    return [[Fraction(float(value)) for value in row] for row in values]


def phi(draw: Vector, score: Vector, i: int) -> Matrix:
    """[Phi_i(x)]_lj = s_l x_j^i + i 1(l = j) x_j^(i-1), equation (4) entry by entry."""
    d = len(draw)
    matrix = [[score[row] * draw[column] ** i for column in range(d)] for row in range(d)]
    for j in range(d):
        matrix[j][j] += i * draw[j] ** (i - 1)
    return matrix


def xi(draw: Vector, score: Vector, order: int, structure: str = "full") -> Vector:
    """xi(x) = (vec Phi_1, ..., vec Phi_Q, s) of Section 3.4; vec stacks columns."""
    if structure not in ("full", "diagonal"):
        raise ValueError(f"`structure` must be 'full' or 'diagonal'; got {structure!r}")
    d = len(draw)
    entries: Vector = []
    for i in range(1, order + 1):
        matrix = phi(draw, score, i)
        for j in range(d):
            kept = range(d) if structure == "full" else [j]
            entries.extend(matrix[row][j] for row in kept)
    return entries + score


def mean_xi(draws: Array, scores: Array, order: int, structure: str = "full") -> Vector:
    """Stein moments (vec mu_1, ..., vec mu_Q, mu_b) of Proposition 3.2 in the order of xi."""
    rows = [
        xi(draw, score, order, structure)
        for draw, score in zip(fractions(draws), fractions(scores), strict=True)
    ]
    return [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]


def stein_moments(
    draws: Array, scores: Array, order: int, structure: str = "full"
) -> tuple[list[NDArray[np.object_]], NDArray[np.object_]]:
    """mu_i and mu_b of Proposition 3.2 as arrays of Fraction, shaped as in ``stein``."""
    d = draws.shape[1]
    shape = (d, d) if structure == "full" else (d,)
    size = math.prod(shape)
    mean = np.array(mean_xi(draws, scores, order, structure), dtype=object)
    matrices = [mean[i * size : (i + 1) * size].reshape(shape, order="F") for i in range(order)]
    return matrices, mean[order * size :]


def z_squared(draws: Array, scores: Array, order: int, structure: str = "full") -> Fraction:
    """Z^2 = sum_k ||mu_k||_F^2 + ||mu_b||^2, equation (7) squared."""
    return sum((entry**2 for entry in mean_xi(draws, scores, order, structure)), Fraction(0))


def u_statistic(draws: Array, scores: Array, order: int, structure: str = "full") -> Fraction:
    """U-statistic of equation (12) as (n^2 Z^2 - sum_j ||xi_j||^2) / (n (n - 1))."""
    n = len(draws)
    diagonal = sum(
        (
            entry**2
            for draw, score in zip(fractions(draws), fractions(scores), strict=True)
            for entry in xi(draw, score, order, structure)
        ),
        Fraction(0),
    )
    return (n**2 * z_squared(draws, scores, order, structure) - diagonal) / (n * (n - 1))


def root(value: Fraction) -> float:
    """Square root to full float64 precision, by an integer root of at least 128 bits."""
    shift = max(0, 128 + value.denominator.bit_length() - value.numerator.bit_length())
    scaled = (value.numerator << (2 * shift)) // value.denominator
    return float(Fraction(math.isqrt(scaled), 1 << shift))
