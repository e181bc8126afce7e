"""Features at a finite set of locations, and the criterion of their power."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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


class PowerCriterion:
    """FSSD^2 / sqrt(sigma^2 + gamma) on the training rows, and its gradient.

    FSSD^2 = (n^2 ||mean tau||^2 - sum ||tau||^2) / (n (n - 1)) is the unbiased
    estimate, and sigma^2 = 4 (mean <tau, mean tau>^2 - ||mean tau||^4) the variance of
    sqrt(n) FSSD^2 under the alternative (Jitkrittum et al., 2017, Proposition 2).
    """

    def __init__(
        self, draws: FloatArray, scores: FloatArray, regulariser: float = REGULARISER
    ) -> None:
        self._draws, self._scores, self._regulariser = draws, scores, regulariser
        self._draw_squares = np.vecdot(draws, draws)
        self._score_draws = np.vecdot(scores, draws)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def __call__(
        self, squared_width: float, locations: FloatArray
    ) -> tuple[float, float, FloatArray]:
        """Value, derivative by w, and gradient by the locations."""
        images = _Images(self._draws, self._scores, self._draw_squares, locations, squared_width)
        power = self._power(images)
        return power.value, *self._gradient(images, power)

    def _power(self, images: _Images) -> _Power:
        n, share, kernel = len(self._draws), 1.0 / images.v.size, images.kernel
        mean = images.total(kernel) / n
        norm = share * float(np.vdot(mean, mean))
        diagonal = share * float(np.vdot(images.kernel_squares, images.lengths))
        fssd = (n**2 * norm - diagonal) / (n * (n - 1))
        alignment = images.against(mean)
        q = share * np.vecdot(kernel, alignment)
        variance = 4.0 * (float(np.mean(q**2)) - norm * norm) + self._regulariser
        finite(variance, "the variance of FSSD^2")
        return _Power(fssd / math.sqrt(variance), variance, mean, norm, q[:, None], alignment)

    def _gradient(self, images: _Images, power: _Power) -> tuple[float, FloatArray]:
        """The gradient, by going backwards through the sums.

        The derivative by K_nj u_nj is constant_j + by_q q_n mean_j - by_diagonal K_nj u_nj.
        """
        n, share, kernel, v, w = (
            len(self._draws), 1.0 / images.v.size, images.kernel, images.v, images.w
        )  # fmt: skip
        by_diagonal = 2.0 * share / (n * (n - 1) * math.sqrt(power.variance))
        by_q = -4.0 * share * power.value / (n * power.variance)
        weighted = power.q * kernel
        constant = by_diagonal * n * power.mean
        constant += by_q * (images.total(weighted) / n - 2.0 * power.norm * power.mean)
        # What the exponent of K_nj takes part in ...
        inner = kernel * (images.against(constant) + by_q * power.q * power.alignment)
        inner -= by_diagonal * images.kernel_squares * images.lengths
        # ... and what (x_n - v_j)/w in u_nj takes part in.
        outer = kernel.sum(axis=0)[:, None] * constant
        outer += by_q * weighted.sum(axis=0)[:, None] * power.mean
        outer -= by_diagonal * images.total(images.kernel_squares)
        # <u_nj, x_n - v_j>
        products = self._score_draws[:, None] - self._scores @ v.T - images.squares / w
        by_inverse = np.vdot(constant, images.displaced(kernel))
        by_inverse += by_q * np.vdot(power.mean, images.displaced(weighted))
        by_inverse -= by_diagonal * np.vdot(images.kernel_squares, products)
        by_width = (0.5 * np.vdot(inner, images.squares) + by_inverse) / w**2
        return float(by_width), (outer + images.displaced(inner)) / w


class _Power(NamedTuple):
    """The criterion, and intermediate values that its gradient needs."""

    value: float
    variance: float
    mean: FloatArray
    norm: float
    q: FloatArray
    alignment: FloatArray


class _Images:
    """Sums of u_nj = s_n - (x_n - v_j)/w, with which tau_nj = K_nj u_nj (d J)^(-1/2).

    As u_nj = y_n + v_j/w with y_n = s_n - x_n/w, every sum is a matrix product of an
    n x J array with an n x d one: the n x J x d array of images is never formed.
    """

    def __init__(
        self,
        draws: FloatArray,
        scores: FloatArray,
        draw_squares: FloatArray,
        locations: FloatArray,
        squared_width: float,
    ) -> None:
        self.v, self.w = locations, squared_width
        self._x, self._y = draws, scores - draws / squared_width
        self._location_squares = np.vecdot(locations, locations)
        distances = draw_squares[:, None] - 2.0 * (draws @ locations.T) + self._location_squares
        self.squares = np.maximum(distances, 0.0)
        self.kernel = np.exp(self.squares / (-2.0 * squared_width))
        self.kernel_squares = self.kernel**2

    @cached_property
    def lengths(self) -> FloatArray:
        """||u_nj||^2."""
        y, v, w = self._y, self.v, self.w
        result: FloatArray = np.vecdot(y, y)[:, None] + 2.0 * (y @ v.T) / w
        result += self._location_squares / w**2
        return result

    def against(self, vectors: FloatArray) -> FloatArray:
        """<vectors_j, u_nj>."""
        result: FloatArray = self._y @ vectors.T + np.vecdot(vectors, self.v) / self.w
        return result

    def total(self, weights: FloatArray) -> FloatArray:
        """Sum over n of weights_nj u_nj."""
        result: FloatArray = weights.T @ self._y + weights.sum(axis=0)[:, None] * self.v / self.w
        return result

    def displaced(self, weights: FloatArray) -> FloatArray:
        """Sum over n of weights_nj (x_n - v_j)."""
        result: FloatArray = weights.T @ self._x - weights.sum(axis=0)[:, None] * self.v
        return result
