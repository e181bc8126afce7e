"""Quadratic forms of batch sums, judged by flipping the signs of whole batches.

With K_ab some product of the sums over batches a and b, such as b_a' M^-1 b_b, a pattern of
signs e has the value

    T(e) = sum over batches a != b of e_a e_b K_ab.

No feature is divided by a spread of its own, so that T is unchanged by linear maps of the features
that leave K unchanged. On chains the products of neighbouring batches are left out with the
diagonal: rows remember those before them, and only distant batches have products of mean 0. What
memory is left makes T(1) vary more than T of flips. The standard deviation of T over flips grows
with the length of batches until they are longer than the memory, as V_L of
`polystein.inference.memory` does, and is extrapolated in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr

from polystein._lib.numerics import TINY
from polystein.inference.memory import (
    MOST_INDEPENDENT,
    Joining,
    Memory,
    extrapolated,
    within_chains,
)
from polystein.types import FloatArray

#: A law that is hardly skewed is taken for normal.
_LEAST_SKEWNESS = 1e-3


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


def largest_entry(kept: FloatArray) -> float:
    """The size of the largest entry of K; never 0."""
    return max(float(kept.max()), -float(kept.min()), TINY)


def flipped_forms(kept: FloatArray, signs: FloatArray) -> FloatArray:
    """T of each pattern of signs, in the precision of K."""
    own = signs.astype(kept.dtype, copy=False)
    values: FloatArray = np.einsum("pb,pb->p", own @ kept, own).astype(np.float64)
    return values


def flipped_norms(
    factor: FloatArray, chains: NDArray[np.intp] | None, signs: FloatArray
) -> FloatArray:
    """T of each pattern of signs for K = F F', by its factor F of few columns.

    |F'e|^2 counts batches with themselves, and with their neighbours in a chain: both are taken
    off if there are chains, else the former.
    """
    flipped = signs @ factor
    own = float(np.einsum("bj,bj->", factor, factor))
    values: FloatArray = np.einsum("pj,pj->p", flipped, flipped) - own
    if chains is not None:
        together = chains[1:] == chains[:-1]
        neighbours = np.einsum("bj,bj->b", factor[1:], factor[:-1]) * together
        values -= 2.0 * ((signs[:, 1:] * signs[:, :-1]) @ neighbours)
    return values


class Cumulants(NamedTuple):
    """Second and third cumulant of T over random signs, 2 tr K^2 and 8 tr K^3; the first is 0."""

    variance: float
    third: float


def cumulants(kept: FloatArray) -> Cumulants:
    """The cumulants of a K without diagonal."""
    # K is symmetric, and a product with a transpose takes less time.
    third = np.einsum("ab,ab->a", kept @ kept.T, kept).sum(dtype=np.float64)
    variance = np.einsum("ab,ab->a", kept, kept).sum(dtype=np.float64)
    return Cumulants(2.0 * float(variance), 8.0 * float(third))


def form_tail(values: FloatArray, law: Cumulants) -> FloatArray:
    """Upper tail of T under the gamma law, shifted, that has these cumulants.

    A law that is not skewed to the right is taken for normal.
    """
    if not law.variance > TINY:
        return np.ones_like(values)
    z = values / law.variance**0.5
    skewness = law.third / law.variance**1.5
    if skewness < _LEAST_SKEWNESS:
        normal: FloatArray = ndtr(-z)
        return normal
    shape = 4.0 / skewness**2
    tail: FloatArray = gammaincc(shape, np.maximum(shape + z * shape**0.5, 0.0))
    return tail


def form_memory(
    products: FloatArray, levels: Sequence[Joining], factor: FloatArray | None = None
) -> Memory:
    """The shortest batches that the spread of T over flips stops growing at.

    A factor F of few columns with K = F F' takes less time than K, if there is one.
    """
    if len(levels) < 2:
        return Memory(0, 1.0, 0.0)
    curve, errors = spread_curve(products, levels, factor)
    if not curve[0] > TINY:
        return Memory(0, 1.0, 0.0)
    means = curve / curve[0]
    return extrapolated(means, means * errors, levels, 0, careful=True)


def spread_curve(
    products: FloatArray, levels: Sequence[Joining], factor: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """sqrt(tr V_L^2) for every joining, and its relative standard error.

    V_L is the covariance matrix of sums over L rows within chains, over L, seen in the form K.
    With W the products of deviations from the chains' means, over what independent rows would
    have, and f degrees of freedom, tr V_L^2 is estimated without bias by

        f^2 / ((f + 2)(f - 1)) (tr W^2 - (tr W)^2 / f)

    (Bai and Saranadasa, 1996, Effect of high dimension, Statistica Sinica 6).
    """
    curve, errors = np.zeros(len(levels)), np.zeros(len(levels))
    traces = _traces(products, levels) if factor is None else _traces_of_factor(factor, levels)
    for number, (level, (trace, square)) in enumerate(zip(levels, traces, strict=True)):
        freedom = max(2, level.freedom)
        excess = freedom**2 / ((freedom + 2.0) * (freedom - 1.0))
        unbiased = max(excess * (square - trace**2 / freedom), 0.0)
        curve[number] = unbiased**0.5
        independent = min(max(trace**2 / max(unbiased, TINY), 1.0), float(MOST_INDEPENDENT))
        errors[number] = (1.0 / freedom**2 + 2.0 / (freedom * independent)) ** 0.5
    return curve, errors


def _traces(products: FloatArray, levels: Sequence[Joining]) -> Iterator[tuple[float, float]]:
    """tr W and tr W^2 for every joining."""
    joined = products
    for level in levels:
        joined = level.shorter.summed(level.shorter.summed(joined).T)
        yield _trace_and_square(_within_chains(joined, level), level)


def _traces_of_factor(
    factor: FloatArray, levels: Sequence[Joining]
) -> Iterator[tuple[float, float]]:
    """The same for K = F F': W = D D' and D' D have the same traces."""
    joined = factor
    for level in levels:
        joined = level.shorter.summed(joined)
        deviations = within_chains(joined, level)
        yield _trace_and_square(deviations.T @ deviations, level)


def _trace_and_square(within: FloatArray, level: Joining) -> tuple[float, float]:
    trace, square = float(np.trace(within)), float(np.vdot(within, within))
    return trace / level.expected, square / level.expected**2


def _within_chains(joined: FloatArray, level: Joining) -> FloatArray:
    """Products of deviations from the chains' means.

    A batch's share of the sum over its chain is taken off, on either side of the products.
    """
    members, shares = level.members, level.share_matrix
    within: FloatArray = joined - shares @ (members.T @ joined)
    within -= (within @ members) @ shares.T
    return within
