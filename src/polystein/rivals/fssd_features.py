"""Features at a finite set of locations, and the criterion of their power."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from polystein._lib.numerics import finite
from polystein.types import FloatArray

# gamma in FSSD^2 / sqrt(sigma^2 + gamma), as in the experiments FSSD-opt was published with.
REGULARISER = 1e-2


@dataclass(frozen=True, eq=False)
class FiniteSet:
    """Locations v_j and squared width w: all that tau depends on."""

    locations: FloatArray
    squared_width: float

    def features(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """tau of every row, of shape (rows, J d)."""
        differences = draws[:, None, :] - self.locations
        squares = np.vecdot(differences, differences)
        kernel = np.exp(squares / (-2.0 * self.squared_width))
        images = scores[:, None, :] - differences / self.squared_width
        images *= kernel[:, :, None] / math.sqrt(self.locations.size)
        return images.reshape(len(draws), -1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def power_criterion(
    draws: FloatArray, scores: FloatArray, squared_width: float, locations: FloatArray
) -> tuple[float, float, FloatArray]:
    """FSSD^2 / sqrt(sigma^2 + gamma) on these rows, its derivative by w, and by the locations.

    FSSD^2 = (n^2 ||mean tau||^2 - sum ||tau||^2) / (n (n - 1)) is the unbiased
    estimate, and sigma^2 = 4 (mean <tau, mean tau>^2 - ||mean tau||^4) the variance of
    sqrt(n) FSSD^2 under the alternative (Jitkrittum et al., 2017, Proposition 2).

    Sums of u_nj = s_n - (x_n - v_j)/w, with which tau_nj = K_nj u_nj (d J)^(-1/2). As
    u_nj = y_n + v_j/w with y_n = s_n - x_n/w, every sum is a matrix product of an n x J
    array with an n x d one: the n x J x d array of all u_nj is never formed.
    """
    n, v, w, share = len(draws), locations, squared_width, 1.0 / locations.size
    y = scores - draws / w
    v_squares = np.vecdot(v, v)
    distances = np.vecdot(draws, draws)[:, None] - 2.0 * (draws @ v.T) + v_squares
    squares = np.maximum(distances, 0.0)
    kernel = np.exp(squares / (-2.0 * w))
    kernel_squares = kernel**2
    # ||u_nj||^2
    lengths = np.vecdot(y, y)[:, None] + 2.0 * (y @ v.T) / w + v_squares / w**2

    def against(vectors: FloatArray) -> FloatArray:
        """<vectors_j, u_nj>."""
        result: FloatArray = y @ vectors.T + np.vecdot(vectors, v) / w
        return result

    def total(weights: FloatArray) -> FloatArray:
        """Sum over n of weights_nj u_nj."""
        result: FloatArray = weights.T @ y + weights.sum(axis=0)[:, None] * v / w
        return result

    def displaced(weights: FloatArray) -> FloatArray:
        """Sum over n of weights_nj (x_n - v_j)."""
        result: FloatArray = weights.T @ draws - weights.sum(axis=0)[:, None] * v
        return result

    mean = total(kernel) / n
    norm = share * float(np.vdot(mean, mean))
    diagonal = share * float(np.vdot(kernel_squares, lengths))
    fssd = (n**2 * norm - diagonal) / (n * (n - 1))
    alignment = against(mean)
    q = share * np.vecdot(kernel, alignment)[:, None]
    variance = 4.0 * (float(np.mean(q**2)) - norm * norm) + REGULARISER
    finite(variance, "the variance of FSSD^2")
    value = fssd / math.sqrt(variance)

    # The gradient, by going backwards through the sums: the derivative by K_nj u_nj is
    # constant_j + by_q q_n mean_j - by_diagonal K_nj u_nj.
    by_diagonal = 2.0 * share / (n * (n - 1) * math.sqrt(variance))
    by_q = -4.0 * share * value / (n * variance)
    weighted = q * kernel
    constant = by_diagonal * n * mean
    constant += by_q * (total(weighted) / n - 2.0 * norm * mean)
    # What the exponent of K_nj takes part in ...
    inner = kernel * (against(constant) + by_q * q * alignment)
    inner -= by_diagonal * kernel_squares * lengths
    # ... and what (x_n - v_j)/w in u_nj takes part in.
    outer = kernel.sum(axis=0)[:, None] * constant
    outer += by_q * weighted.sum(axis=0)[:, None] * mean
    outer -= by_diagonal * total(kernel_squares)
    # <u_nj, x_n - v_j>
    products = np.vecdot(scores, draws)[:, None] - scores @ v.T - squares / w
    by_inverse = np.vdot(constant, displaced(kernel))
    by_inverse += by_q * np.vdot(mean, displaced(weighted))
    by_inverse -= by_diagonal * np.vdot(kernel_squares, products)
    by_width = float((0.5 * np.vdot(inner, squares) + by_inverse) / w**2)
    return value, by_width, (outer + displaced(inner)) / w
