"""Quadratic forms of batch sums, judged by flipping the signs of whole batches.

With K_ab some product of the sums over batches a and b, such as b_a' M^-1 b_b, a pattern of
signs e has the value

    T(e) = sum over batches a != b of e_a e_b K_ab.

No feature is divided by a spread of its own, so that T is unchanged by linear maps of the features
that leave K unchanged. On chains the products of neighbouring batches are left out with the
diagonal: rows are autocorrelated, and only products of distant batches have mean 0. What
correlation is left makes T(1) vary more than T of flips. The standard deviation of T over flips
grows with the length of batches until they are longer than the autocorrelation, as V_L of
`polystein.inference.memory` does, and is extrapolated in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs
from scipy.special import gammaincc, ndtr

from polystein._lib.numerics import TINY
from polystein.inference.memory import (
    MOST_INDEPENDENT,
    Joining,
    Memory,
    extrapolated,
    within_chains,
)
from polystein.inference.signflips import flip_precision
from polystein.types import FloatArray


def joined_products(products: FloatArray, joining: Joining) -> FloatArray:
    """K of longer batches, by K of the original ones.

    K is symmetric: its columns are joined as the rows of its transpose.
    """
    return joining.joined(joining.joined(products).T)


def apart(products: FloatArray, chains: NDArray[np.intp] | None) -> FloatArray:
    """K without its diagonal, and without neighbouring batches of a chain if there are chains."""
    kept = np.array(products, dtype=np.float64)
    np.fill_diagonal(kept, 0.0)
    if chains is not None:
        first = np.flatnonzero(chains[1:] == chains[:-1])
        kept[first, first + 1] = kept[first + 1, first] = 0.0
    return kept


class Cumulants(NamedTuple):
    """Second and third cumulant of T over random signs, 2 tr K^2 and 8 tr K^3; the first is 0."""

    variance: float
    third: float


class Whole(NamedTuple):
    """K, product by product."""

    products: FloatArray

    def traces(self, levels: Sequence[Joining]) -> Iterator[tuple[float, float]]:
        """tr W and tr W^2 of `spread_curve` for every joining."""
        joined = self.products
        for level in levels:
            joined = level.shorter.summed(level.shorter.summed(joined).T)
            # On either side of the products; they are symmetric.
            yield _trace_and_square(within_chains(within_chains(joined, level).T, level), level)

    def kept(self, joining: Joining, chains: NDArray[np.intp] | None) -> KeptProducts:
        """The products of longer batches that count."""
        return KeptProducts(apart(joined_products(self.products, joining), chains))


class Factor(NamedTuple):
    """K = F F', by its factor F of few columns, which makes `check` 3 to 10 % faster."""

    columns: FloatArray

    @property
    def products(self) -> FloatArray:
        """K, product by product."""
        return self.columns @ self.columns.T

    def traces(self, levels: Sequence[Joining]) -> Iterator[tuple[float, float]]:
        """The same traces: W = D D' and D' D have the same."""
        joined = self.columns
        for level in levels:
            joined = level.shorter.summed(joined)
            deviations = within_chains(joined, level)
            yield _trace_and_square(deviations.T @ deviations, level)

    def kept(
        self, joining: Joining, chains: NDArray[np.intp] | None
    ) -> KeptProducts | BandedProducts:
        """The products of longer batches that count, by the factor where that is exact."""
        banded = BandedProducts(joining.joined(self.columns), chains)
        # Enough of F F' must be left without the band, and not rounding errors alone.
        if banded.cumulants.variance > (1e-3 * float(banded.own.sum())) ** 2:
            return banded
        return Whole(self.products).kept(joining, chains)


class KeptProducts:
    """K without the products that do not count, in units of its largest entry.

    Many products are flipped in single precision, which has a small range, like the sums of
    `FlippedStatistics`.
    """

    def __init__(self, kept: FloatArray) -> None:
        unit = max(float(kept.max()), -float(kept.min()), TINY)
        self._kept = (kept / unit).astype(flip_precision(kept), copy=False)

    @cached_property
    def cumulants(self) -> Cumulants:
        """The cumulants of T."""
        kept = self._kept
        # K is symmetric, and a product with a transpose takes less time.
        third = np.einsum("ab,ab->a", kept @ kept.T, kept).sum(dtype=np.float64)
        variance = np.einsum("ab,ab->a", kept, kept).sum(dtype=np.float64)
        return Cumulants(2.0 * float(variance), 8.0 * float(third))

    def flipped(self, signs: FloatArray) -> FloatArray:
        """T of each pattern of signs: twice the sum over pairs a < b."""
        own = np.ascontiguousarray(signs, dtype=self._kept.dtype)
        (multiply,) = get_blas_funcs(["trmm"], [self._kept])
        half = multiply(2.0, np.triu(self._kept, 1).T, own.T, lower=1)
        values: FloatArray = np.einsum("pb,pb->p", half.T, own).astype(np.float64)
        return values


class BandedProducts:
    """K = F F' less a band N: batches with themselves, and with their neighbours in a chain."""

    def __init__(self, factor: FloatArray, chains: NDArray[np.intp] | None) -> None:
        self._factor = factor
        #: The products of batches with themselves.
        self.own = np.einsum("bj,bj->b", factor, factor)
        self._next = np.zeros(len(factor) - 1)
        if chains is not None:
            together = chains[1:] == chains[:-1]
            self._next = np.einsum("bj,bj->b", factor[1:], factor[:-1]) * together

    @cached_property
    def cumulants(self) -> Cumulants:
        """The cumulants of T, by traces of matrices of few rows.

        With G = F'F, tr K^2 = tr G^2 - tr N^2 and
        tr K^3 = tr G^3 - 3 tr F'N F G + 3 |N F|^2 - tr N^3.
        """
        factor, own, beside = self._factor, self.own, self._next
        inner, banded = factor.T @ factor, own[:, None] * factor
        banded[:-1] += beside[:, None] * factor[1:]
        banded[1:] += beside[:, None] * factor[:-1]
        squares = own @ own + 2.0 * (beside @ beside)
        cubes = own @ own**2 + 3.0 * (beside**2 @ (own[1:] + own[:-1]))
        crossed = np.vdot(factor.T @ banded, inner)
        third = np.vdot(inner @ inner, inner) - 3.0 * (crossed - np.vdot(banded, banded)) - cubes
        return Cumulants(2.0 * float(np.vdot(inner, inner) - squares), 8.0 * float(third))

    def flipped(self, signs: FloatArray) -> FloatArray:
        """T of each pattern of signs, |F'e|^2 - e'N e."""
        flipped = signs @ self._factor
        neighbours = (signs[:, 1:] * signs[:, :-1]) @ self._next
        norms = np.einsum("pj,pj->p", flipped, flipped)
        values: FloatArray = norms - self.own.sum() - 2.0 * neighbours
        return values


def form_tail(values: FloatArray, law: Cumulants) -> FloatArray:
    """Upper tail of T under the gamma law, shifted, that has these cumulants.

    A law that is hardly skewed to the right is taken for normal.
    """
    if not law.variance > TINY:
        return np.ones_like(values)
    z = values / law.variance**0.5
    skewness = law.third / law.variance**1.5
    if skewness < 1e-3:
        normal: FloatArray = ndtr(-z)
        return normal
    shape = 4.0 / skewness**2
    tail: FloatArray = gammaincc(shape, np.maximum(shape + z * shape**0.5, 0.0))
    return tail


def form_memory(traces: Iterable[tuple[float, float]], levels: Sequence[Joining]) -> Memory:
    """The shortest batches at which the spread of T over flips reaches its plateau.

    ``traces`` are those of `Whole` or of `Factor`.
    """
    if len(levels) < 2:
        return Memory(0, 1.0, 0.0)
    curve, errors = spread_curve(traces, levels)
    if not curve[0] > TINY:
        return Memory(0, 1.0, 0.0)
    means = curve / curve[0]
    return extrapolated(means, means * errors, levels, 0, conservative=True)


def spread_curve(
    traces: Iterable[tuple[float, float]], levels: Sequence[Joining]
) -> tuple[FloatArray, FloatArray]:
    """sqrt(tr V_L^2) for every joining, and its relative standard error.

    V_L is the covariance matrix of sums over L rows within chains, over L, seen in the form K.
    With W the products of deviations from the chains' means, over what independent rows would
    have, and f degrees of freedom, tr V_L^2 is estimated without bias by

        f^2 / ((f + 2)(f - 1)) (tr W^2 - (tr W)^2 / f)

    (Bai and Saranadasa, 1996, Effect of high dimension, Statistica Sinica 6).
    """
    curve, errors = np.zeros(len(levels)), np.zeros(len(levels))
    for number, (level, (trace, square)) in enumerate(zip(levels, traces, strict=True)):
        freedom = max(2, level.freedom)
        excess = freedom**2 / ((freedom + 2.0) * (freedom - 1.0))
        unbiased = max(excess * (square - trace**2 / freedom), 0.0)
        curve[number] = unbiased**0.5
        independent = min(max(trace**2 / max(unbiased, TINY), 1.0), float(MOST_INDEPENDENT))
        errors[number] = (1.0 / freedom**2 + 2.0 / (freedom * independent)) ** 0.5
    return curve, errors


def _trace_and_square(within: FloatArray, level: Joining) -> tuple[float, float]:
    trace, square = float(np.trace(within)), float(np.vdot(within, within))
    return trace / level.expected, square / level.expected**2
