"""Statistics of `check` that no invertible linear map of the coordinates changes.

A map x -> A x takes the scores to A^-T s, and so

- s' M^-1 s, with M the sum over rows of s s', stays as it is (Hotelling's statistic);
- Phi = s x' + I, centred, becomes A^-T Phi A', whose trace and the trace of whose square are
  those of Phi.

In strongly correlated coordinates every single score is dominated by the stiff directions. These
statistics see the loose directions as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY, finite
from polystein.inference.quadratic_forms import Factor, Whole
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import (
    BASIS,
    FEWEST_BATCHES,
    FEWEST_FOR_TRACES,
    centred_spreads,
    order_of,
)
from polystein.methods.check.shares import HOTELLING, Shares
from polystein.types import FloatArray

#: Directions in which scores vary by less than this, relative to the most, are taken for rounding.
_ROUNDING = 1e-13
#: Products of pairs that are worked on at once.
_NUMBERS_AT_ONCE = 2**20
#: A factor has few columns if there are this many times as many batches.
_FEW_COLUMNS = 2


class Form(NamedTuple):
    """A quadratic form of batch sums, by products K of shape (batches, batches).

    ``coordinates`` is how many it takes together. ``direction`` gives the direction that stands
    out, in standard deviations of the coordinates.
    """

    name: str
    words: str
    orders: tuple[str, ...]
    products: Whole | Factor
    share: float
    coordinates: int
    direction: Callable[[], FloatArray]
    fewest_batches: int = FEWEST_BATCHES


def forms(sums: BatchSums, left_out: NDArray[np.bool_], shares: Shares) -> Iterator[Form]:
    """The forms that these sums allow, without coordinates that are left out."""
    kept = np.flatnonzero(~left_out)
    if kept.size < 2:
        return
    if shares.has_metric:
        yield _hotelling(sums, kept, shares)
    if not sums.judges_pairs:
        return
    whole = next(sums.pairs(order_of(BASIS, "x")))
    if whole.shape[1] == left_out.size:
        yield _trace_of_square(sums, whole, kept, shares)


def _hotelling(sums: BatchSums, kept: NDArray[np.intp], shares: Shares) -> Form:
    """Sums of scores in the metric of their second moments."""
    scores = sums.diagonal[:, 0][:, kept]
    root = inverse_root(sums.score_products[np.ix_(kept, kept)])
    standard = scores @ root

    def direction() -> FloatArray:
        return _spread(root @ standard.sum(axis=0), kept, sums)

    few = _FEW_COLUMNS * kept.size <= len(standard)
    products = Factor(standard) if few else Whole(standard @ standard.T)
    name, words, (share, _) = HOTELLING, "location, directions", shares.of(HOTELLING)
    return Form(name, words, ("score",), products, share, kept.size, direction)


def inverse_root(moments: FloatArray) -> FloatArray:
    """A matrix B with B B' the inverse of these second moments, where they are not 0."""
    spread = np.sqrt(np.diagonal(moments))
    finite(float(spread.max()), "the square of a score")
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > TINY)
    values, vectors = np.linalg.eigh(moments * inverse[:, None] * inverse)
    varies = values > _ROUNDING * max(float(values[-1]), TINY)
    result: FloatArray = (inverse[:, None] * vectors[:, varies]) / np.sqrt(values[varies])
    return result


def _trace_of_square(
    sums: BatchSums, whole: FloatArray, kept: NDArray[np.intp], shares: Shares
) -> Form:
    """tr(Phi_a Phi_b) of the matrices of order 1."""
    own, scores = centred_spreads(sums, kept), sums.diagonal[:, 0][:, kept]
    means = sums.distant_means[:, kept]
    whole = whole if kept.size == whole.shape[1] else whole[:, kept[:, None], kept]
    largest = max(float(np.abs(own).max()), float(whole.max()), -float(whole.min()))
    # Products neither overflow nor underflow in units of the largest sum.
    unit = 1.0 / max(finite(largest, "a batch sum"), TINY)
    own_products = (own * unit) @ (own * unit).T
    products = own_products + _transposed_products(whole, unit * scores, means, unit)

    def direction() -> FloatArray:
        # The diagonal of ``whole`` is 0.
        total = whole.sum(axis=0, dtype=np.float64) + np.diag(own.sum(axis=0))
        values, vectors = np.linalg.eig(total.T)
        return _spread(np.real(vectors[:, np.argmax(np.abs(values))]), kept, sums)

    name, words, fewest = "trace of square", "spread, directions", FEWEST_FOR_TRACES
    share, _ = shares.of(name)
    return Form(name, words, ("x",), Whole(products), share, kept.size, direction, fewest)


def _transposed_products(
    whole: FloatArray, scores: FloatArray, means: FloatArray, unit: float
) -> FloatArray:
    """Sum over l != m of Phi_a[l, m] Phi_b[m, l] in this unit, some pairs l < m at a time.

    Sums of s_l x_m become those of s_l (x_m - means_m); the scores are in this unit.
    """
    batches, dimension = len(whole), whole.shape[1]
    flat = whole.reshape(batches, -1)
    first, second = np.triu_indices(dimension, 1)
    at_once = max(1, _NUMBERS_AT_ONCE // batches)
    products = np.zeros((batches, batches))

    def entries(left: NDArray[np.intp], right: NDArray[np.intp]) -> FloatArray:
        result: FloatArray = flat.take(dimension * left + right, axis=1) * unit
        result -= scores.take(left, axis=1) * means.take(right, axis=1)
        return result

    for low in range(0, first.size, at_once):
        some = first[low : low + at_once], second[low : low + at_once]
        products += entries(*some) @ entries(*some[::-1]).T
    # Pairs l > m are those of the other factor.
    return products + products.T


def _spread(direction: FloatArray, kept: NDArray[np.intp], sums: BatchSums) -> FloatArray:
    """The direction with 0 for coordinates that are left out."""
    result = np.zeros(sums.diagonal.shape[2])
    result[kept] = direction
    return result
