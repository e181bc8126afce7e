"""Random multipliers of the wild bootstrap, for independent rows and for chains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, Protocol

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.data.passes import every_row, read_blocks
from polystein.errors import InputError
from polystein.protocols import FloatArray, Source
from polystein.stein.moments import ColumnMoments


class Multipliers(Protocol):
    """A stream of multipliers for rows in time order.

    Two of one seed are the same, however the rows are cut into blocks: numbers are
    drawn row after row.
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
        self._memory = math.exp(-1.0 / length)
        self._chain, self._last = -1, np.empty((1, count))

    def draw(self, chain: int, rows: int) -> FloatArray:
        """Continue the chain's multipliers, or start those of a new chain."""
        if chain != self._chain:
            self._chain = chain
            self._last = self._rng.standard_normal((1, self._count))
        # Imported here: scipy.signal takes longer to load than the rest of the package.
        from scipy.signal import lfilter

        fresh = self._rng.standard_normal((rows, self._count))
        scale = math.sqrt(1.0 - self._memory**2)
        values, _ = lfilter(
            [scale], [1.0, -self._memory], fresh, axis=0, zi=self._memory * self._last
        )
        result: FloatArray = values
        self._last = result[-1:]
        return result.T


def multipliers(count: int, seed: int, length: float | None) -> Multipliers:
    """Signs where rows are independent (`length` is None), else AR(1) multipliers."""
    return Signs(count, seed) if length is None else Autoregressive(count, seed, length)


def dependence_length(source: Source, length: float | Literal["auto"] | None) -> float | None:
    """The multipliers' length: None for independent rows, a number for chains.

    "auto" is the length with the smallest mean squared error for a long-run
    variance with exponential weights, (n alpha)^(1/3) with the AR(1) plug-in
    alpha = 4 r^2 / (1 - r^2)^2 of Andrews (1991, Heteroskedasticity and
    autocorrelation consistent covariance matrix estimation, Econometrica 59), where
    r is the largest lag-one autocorrelation among s_j and s_j x_j.
    """
    if not source.layout.time_ordered:
        if not _automatic(length):
            raise InputError(
                "`length` must be None or 'auto' for independent rows, (n, d); pass chains as "
                f"(chain, draw, d). Got {length!r}"
            )
        return None
    if _automatic(length):
        correlation = lag_one_autocorrelation(source)
        alpha = 4.0 * correlation**2 / (1.0 - correlation**2) ** 2
        return max(1.0, math.cbrt(alpha * source.layout.total))
    if (
        not isinstance(length, int | float | np.integer | np.floating)
        or isinstance(length, bool)
        or not 0.0 < length < math.inf
    ):
        raise InputError(f"`length` must be a positive number or 'auto'; got {length!r}")
    return float(length)


def _automatic(length: object) -> bool:
    return length is None or (isinstance(length, str) and length == "auto")


def lag_one_autocorrelation(source: Source) -> float:
    """Largest lag-one autocorrelation of the columns s_j and s_j x_j, in [0, 0.999]."""

    def blocks() -> Iterator[tuple[int, FloatArray]]:
        for block in read_blocks(source, every_row(source)):
            draws, scores = to_numpy(block.draws), to_numpy(block.scores)
            yield block.chain, np.concatenate([scores, scores * draws], axis=1)

    moments = ColumnMoments(2 * source.layout.dimension, joint=False)
    for _, columns in blocks():
        moments.update(columns, None)
    lagged = np.zeros_like(moments.mean)
    before, last = -1, lagged
    for chain, columns in blocks():
        centred = columns - moments.mean
        lagged += np.einsum("ij,ij->j", centred[1:], centred[:-1])
        # The product across the cut between two blocks of the same chain.
        lagged += centred[0] * last if chain == before else 0.0
        before, last = chain, centred[-1]
    varies = moments.scatter > 0.0
    return min(0.999, float(np.max(lagged[varies] / moments.scatter[varies], initial=0.0)))
