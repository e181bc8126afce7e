"""Sums over batches of rows, judged by flipping the signs of whole batches.

Under the null hypothesis sums over distant batches are independent and nearly symmetric about
0. Flipping the signs of whole batches, the same for all features, shows how large statistics
become by chance. With b_j the sums of feature j over the batches,

    t_j = sum over batches of b_j / sqrt(sum over batches of b_j^2),

and a family of features gives two statistics: the sum of t_j^2 (a little in many places) and
the largest t_j^2 (much in one).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, gammaincc

from polystein._lib.numerics import EPSILON, TINY, finite
from polystein.inference.pvalues import cautious_for_skewness, skewness_of_centred
from polystein.types import FloatArray

#: The upper tail of values of a statistic, under the law of its flips.
Law: TypeAlias = Callable[[FloatArray], FloatArray]
# Statistics whose relative difference is at most this are equal up to rounding.
STILL = 1e-9
# With this many batches no pattern of signs comes twice among a few hundred flips.
_FEWEST_IN_SINGLE = 32
# More sums than this are flipped in single precision, which takes half the time.
_MANY_SUMS = 2**15
# Squares this far from the ends of the range of a number leave room for products with each other.
_ORDINARY = 1e-10
# Columns whose flips are summed at once: their products fit into a core's cache.
_COLUMNS_AT_ONCE = 512


def random_signs(
    patterns: int, batches: int, rng: np.random.Generator, *, unflipped_first: bool = False
) -> FloatArray:
    """Signs of shape (patterns, batches), each +1 or -1 with equal chances.

    The first pattern can be all +1, for the draws as they are.
    """
    signs = np.ones((patterns, batches))
    flipped = signs[1:] if unflipped_first else signs
    bits = rng.integers(0, 2, size=flipped.shape, dtype=np.int8)
    flipped -= 2 * bits
    return signs


class FlippedStatistics:
    """Sum and maximum of t^2 over the features of a family, for each of several patterns of signs.

    Features are added group by group. Many sums are flipped in single precision, the draws as they
    are like every flip: what rounding does to one it does to all, and ranks among flips stay fair.
    Few batches are flipped in double precision, for patterns of signs repeat there and must tie.
    """

    def __init__(self, patterns: int) -> None:
        self.total, self.largest = np.zeros(patterns), np.zeros(patterns)
        #: Which feature has the largest t^2 under the first pattern.
        self.position = 0
        self._patterns = patterns

    def add(
        self,
        sums: FloatArray,
        signs: FloatArray,
        *,
        places: NDArray[np.intp],
        unflipped: float | None = None,
    ) -> None:
        """Add features with sums of shape (batches, features), each at its place in the family.

        If the first pattern is that of the draws as they are, its t are cautious for skewness, and
        its t^2 are multiplied by the factor ``unflipped``.
        """
        precision = flip_precision(sums)
        signs = signs.astype(precision, copy=False)
        space = np.empty((min(_COLUMNS_AT_ONCE, sums.shape[1]), self._patterns), precision)
        for low in range(0, sums.shape[1], _COLUMNS_AT_ONCE):
            columns = sums[:, low : low + _COLUMNS_AT_ONCE]
            # Sums are scaled before they are rounded: single precision has a small range.
            exact = columns.astype(np.promote_types(columns.dtype, precision), copy=False)
            unit = unit_columns(exact).astype(precision, copy=False)
            # t of every feature for every pattern of signs
            t = np.matmul(unit.T, signs.T, out=space[: columns.shape[1]])
            if unflipped is not None:
                # Flips are symmetric. The draws as they are need not be: where skewed sums make t
                # too large, it is moved towards 0.
                own = cautious_for_skewness(
                    unit.sum(axis=0), skewness_beyond_chance(unit), len(unit)
                )
                t[:, 0] = own * math.sqrt(unflipped)
            squares = np.multiply(t, t, out=t)
            highest = squares.max(axis=0)
            if highest[0] > self.largest[0]:
                self.position = int(places[low + squares[:, 0].argmax()])
            self.total += squares.sum(axis=0)
            np.maximum(self.largest, highest, out=self.largest)


def flip_precision(sums: FloatArray) -> np.dtype[Any]:
    """The precision in which sums of shape (batches, features) are flipped."""
    many = sums.dtype == np.float32 or sums.size > _MANY_SUMS
    return np.dtype(np.float32 if many and len(sums) >= _FEWEST_IN_SINGLE else np.float64)


def skewness_beyond_chance(unit: FloatArray) -> FloatArray:
    """The skewness of unit columns beyond two standard errors, sqrt(6/batches) each.

    Tests of sums that are hardly skewed keep their power.
    """
    total, chance = unit.sum(axis=0), 2.0 * math.sqrt(6.0 / len(unit))
    found = skewness_of_centred(unit - total / len(unit))
    beyond: FloatArray = np.sign(found) * np.maximum(np.abs(found) - chance, 0.0)
    return beyond


def unit_columns(part: FloatArray) -> FloatArray:
    """Batch sums divided by the root of their sum of squares; a column of zeros stays 0."""
    tame = tamed(part)
    norms = np.sqrt(np.einsum("bj,bj->j", tame, tame))
    unit: FloatArray = tame * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    return unit


def tamed(part: FloatArray) -> FloatArray:
    """Batch sums whose squares neither overflow nor underflow.

    Mostly they are as they came. If not, each column is divided by its largest entry.
    """
    tiny = np.finfo(part.dtype).tiny
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("bj,bj->j", part, part)
    ordinary = (squares > tiny / _ORDINARY) & (squares < _ORDINARY / tiny)
    if ordinary.all() or not part[:, ~ordinary].any():
        return part
    largest = np.maximum(part.max(axis=0), -part.min(axis=0))
    finite(float(largest.max()), "a batch sum")
    scale = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > tiny)
    result: FloatArray = part * scale
    return result


def gamma_law(products: FloatArray) -> Law:
    """The gamma law of the mean and the variance of sums of t^2 over all patterns of signs.

    With U the unit columns of all features and e the signs, a sum is e' U U' e. The ``products``
    are P = U U', the mean is tr P, and the variance is 2 (|P|^2 - sum over batches of P_bb^2). The
    law decides how flips are ordered across statistics, and not their calibration. A smooth tail
    separates values that would tie as ranks among a few hundred flips.
    """
    own = np.diagonal(products)
    mean = float(own.sum())
    variance = 2.0 * float(np.sum(products**2) - np.sum(own**2))
    if not variance > (STILL * mean) ** 2:
        return np.ones_like  # a statistic that no flip changes
    shape, rate = mean**2 / variance, mean / variance
    return lambda values: gammaincc(shape, values * rate)


def maximum_law(reference: FloatArray) -> Law:
    """The law of the largest t^2, as if of m independent squared normals.

    The largest of m independent ones has the tail 1 - (1 - T)^m, with T the tail of one,
    and -m log(1 - T) is exponential with mean 1, from which the reference gives m.
    """
    count = 1.0 / max(-float(np.log1p(-_square_tail(reference)).mean()), TINY)
    return lambda values: -np.expm1(count * np.log1p(-_square_tail(values)))


def _square_tail(values: FloatArray) -> FloatArray:
    """Upper tail of a squared standard normal; below 1, even at 0."""
    tail: FloatArray = np.minimum(erfc(np.sqrt(0.5 * values)), 1.0 - EPSILON)
    return tail


def at_least_as_extreme(
    statistics: Sequence[tuple[FloatArray, Law]], level_shares: Sequence[float]
) -> int:
    """How many patterns are at least as extreme as the first, which counts itself.

    A statistic is given by its values, one for the draws (the first) and one for each flip, and
    by their law. A pattern is as extreme as the smallest of its tails, each divided by its
    statistic's share of the level. Only the tails of the largest values are computed: what is
    smaller has a larger tail.
    """
    shared = list(zip(statistics, level_shares, strict=True))
    least = min(float(law(values[:1])[0]) / share for (values, law), share in shared)
    bound = least * (1.0 + STILL)
    extreme = np.zeros(statistics[0][0].size, dtype=np.bool_)
    for (values, law), share in shared:
        extreme[_extreme_places(values, law, share, bound)] = True
    return int(np.count_nonzero(extreme))


def _extreme_places(values: FloatArray, law: Law, share: float, bound: float) -> NDArray[np.intp]:
    """Where the tail over the share is at most the bound."""
    # Tails of the 32 largest values are mostly enough.
    high = max(0, values.size - 32)
    places = np.argpartition(values, high)[high:]
    tails = law(values[places]) / share
    # Tails are rounded: one that is hardly larger than the bound may belong to a tie.
    if high == 0 or tails.max() > bound * (1.0 + STILL):
        return places[tails <= bound]
    # All of these are extreme: others are, too, down to a value that bisection finds.
    ordered, low = np.sort(values), 0
    while low < high:
        middle = (low + high) // 2
        if float(law(ordered[middle : middle + 1])[0]) / share <= bound:
            high = middle
        else:
            low = middle + 1
    return np.flatnonzero(values >= ordered[high])


def is_decided(extreme: int, patterns: int, levels: Sequence[float]) -> bool:
    """Whether more flips would hardly move the p-value across any of these levels.

    The p-value is ``extreme / patterns``. It is decided if it is three standard errors away from
    every level (Besag and Clifford, 1991, Sequential Monte Carlo p-values, Biometrika 78, stop
    by the count of extreme flips in the same spirit).
    """
    pvalue = extreme / patterns
    error = math.sqrt(pvalue * (1.0 - pvalue) / patterns)
    return all(abs(pvalue - level) > 3.0 * error for level in levels)
