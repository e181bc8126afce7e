"""Random multipliers of the wild bootstrap, for independent rows and for chains."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from polystein.types import FloatArray


class Multipliers(Protocol):
    """A stream of multipliers for rows in time order.

    Streams of the same seed are equal, however the rows are cut into blocks, because
    numbers are drawn row by row.
    """

    def draw(self, chain: int, rows: int) -> FloatArray:
        """Multipliers, of shape (count, rows), of the next rows of a chain."""


class Signs:
    """Independent random signs (Rademacher), one random bit each."""

    def __init__(self, count: int, seed: int) -> None:
        self._count, self._rng = count, np.random.default_rng(seed)

    def draw(self, chain: int, rows: int) -> FloatArray:
        """Unpack random 64-bit words into signs."""
        words = self._rng.bit_generator.random_raw((rows, (self._count + 63) // 64))
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=self._count)
        return np.subtract(bits.T, 0.5, dtype=np.float64) * 2.0


class Autoregressive:
    """Gaussian AR(1) multipliers, independent across chains.

    W_t = a W_(t-1) + sqrt(1 - a^2) e_t with a = exp(-1/length) and a stationary
    start (Leucht and Neumann, 2013, Dependent wild bootstrap for degenerate U- and
    V-statistics, Journal of Multivariate Analysis 117): neighbouring rows keep
    their signs relative to each other, and so their dependence.
    """

    def __init__(self, count: int, seed: int, length: float) -> None:
        self._count, self._rng = count, np.random.default_rng(seed)
        self._correlation = math.exp(-1.0 / length)
        self._chain, self._last = -1, np.empty((1, count))

    def draw(self, chain: int, rows: int) -> FloatArray:
        """Continue the chain's multipliers, or start those of a new chain."""
        if chain != self._chain:
            self._chain = chain
            self._last = self._rng.standard_normal((1, self._count))
        # Imported here: scipy.signal takes longer to load than the rest of the package.
        from scipy.signal import lfilter

        fresh = self._rng.standard_normal((rows, self._count))
        scale = math.sqrt(1.0 - self._correlation**2)
        values, _ = lfilter(
            [scale], [1.0, -self._correlation], fresh, axis=0, zi=self._correlation * self._last
        )
        result: FloatArray = values
        self._last = result[-1:]
        return result.T


def multipliers(count: int, seed: int, length: float | None) -> Multipliers:
    """Random signs for independent rows (`length` is None), AR(1) multipliers for chains."""
    return Signs(count, seed) if length is None else Autoregressive(count, seed, length)


def plug_in_length(correlation: float, rows: int) -> float:
    """The length with the smallest mean squared error for AR(1) rows of this lag-one correlation.

    (n alpha)^(1/3) for a long-run variance with exponential weights, with the plug-in
    alpha = 4 r^2 / (1 - r^2)^2 of Andrews (1991, Heteroskedasticity and autocorrelation
    consistent covariance matrix estimation, Econometrica 59).
    """
    alpha = 4.0 * correlation**2 / (1.0 - correlation**2) ** 2
    return max(1.0, math.cbrt(alpha * rows))
