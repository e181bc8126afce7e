"""The full-sample arm of `check`: block sums of Stein features, judged by sign flips.

No rows are spent on training. Under H0 every entry of Phi_i has mean 0, so that its
sums over distant blocks of rows are independent and nearly symmetric: flipping the
signs of whole blocks, alike for all features, shows what chance can do. With b_j the
sums of feature j over the blocks,

    t_j = sum_blocks b_j / sqrt(sum_blocks b_j^2),

and each family of features gives two statistics: the sum of t_j^2 (a little in many
places) and the largest t_j^2 (much in one).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from polystein.inference.autocorrelation import autocorrelation_times
from polystein.methods.check.arms import Arm, Part
from polystein.methods.check.block_sums import BlockSums
from polystein.protocols import FloatArray
from polystein.stein.basis import LinearAndBounded
from polystein.stein.moments import finite

BASIS = LinearAndBounded(5)
#: Flips beside the draws as they are: the p-value is a multiple of 1/(FLIPS + 1).
FLIPS = 499
#: Signs of fewer blocks than this have too few patterns to judge by.
FEWEST_BLOCKS = 8
#: The diagonal of order 1 is as skewed as a square: on fewer blocks than this it rejects too
#: often (0.11 instead of 0.05 on 32), and bounded functions see the spread alone.
FEWEST_FOR_SPREADS = 120

#: Each statistic's share of the level, before correlation gives some back. What shows in the
#: location of all coordinates at once shows in nothing else, hence its large share; the largest
#: of many spreads has twice the tail that flips give it (d = 128), hence its small one.
SHARES = {
    "score: sum": 0.45,
    "score: max": 0.03,
    "x: sum": 0.03,
    "x: max": 0.02,
    "G1-4: sum": 0.17,
    "G1-4: max": 0.12,
    "x pairs: sum": 0.03,
    "x pairs: max": 0.06,
    "G2 pairs: sum": 0.03,
    "G2 pairs: max": 0.06,
}
_TINY = float(np.finfo(float).tiny)
# Statistics that differ by no more than this, relatively, are equal but for rounding.
_STILL = 1e-9
_COLUMNS_AT_ONCE = 512


class Family(NamedTuple):
    """Features judged together: block sums in parts, of shape (blocks, features) each.

    Features are counted order by order, or by pairs of score and other coordinate.
    """

    name: str
    orders: tuple[str, ...]
    parts: Iterator[FloatArray]

    def place(self, position: int, dimension: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Order and coordinates of a feature."""
        first, second = divmod(position, dimension)
        if self.name.endswith("pairs"):
            return self.orders, (first, second)
        return (self.orders[first],), (second,)


def flip_signs(sums: BlockSums, rng: np.random.Generator) -> Arm | None:
    """Judge the block sums; None where there are too few blocks to judge by."""
    if sums.effective_count < FEWEST_BLOCKS:
        return None
    signs = np.ones((1 + FLIPS, sums.count))
    signs[1:] -= 2.0 * rng.integers(0, 2, size=(FLIPS, sums.count))
    parts: list[Part] = []
    tails: list[FloatArray] = []
    for family in _families(sums):
        total, largest, position = _statistics(family.parts, signs)
        if not largest.max() > 0.0:
            continue
        where = family.place(position, sums.source.layout.dimension)
        everywhere: tuple[tuple[str, ...], tuple[int, ...]] = (family.orders, ())
        for kind, tail, values, found in (
            # A sum that one feature makes up is about that feature.
            ("sum", gamma_tail, total, where if 2 * largest[0] > total[0] else everywhere),
            ("max", maximum_tail, largest, where),
        ):
            name = f"{family.name}: {kind}"
            # To be shown, the draws are compared with the flips alone; to be calibrated, they
            # must be treated as one of them.
            shown = float(tail(values[:1], values[1:])[0])
            parts.append(Part(name, shown, SHARES[name], *found))
            tails.append(tail(values, values))
    return _judged(parts, np.array(tails)) if parts else None


def _judged(parts: list[Part], tails: FloatArray) -> Arm:
    """Min-p on the same flips: the share of those that look as far out as the draws."""
    whole = sum(part.share for part in parts)
    parts = [part._replace(share=part.share / whole) for part in parts]
    least = np.min(tails / np.array([[part.share] for part in parts]), axis=0)
    pvalue = float(np.count_nonzero(least <= least[0] * (1.0 + _STILL))) / least.size
    return Arm("full", pvalue, tuple(parts))


def memory(sums: BlockSums) -> float:
    """Autocorrelation time, in blocks, of the feature whose neighbouring blocks agree most.

    Blocks are cut by how long scores and spreads remember; a product of two coordinates
    may remember for longer. A lag-one correlation of independent blocks is about
    N(0, 1/blocks): while the largest of all features' is no larger than chance makes
    it, the answer is 1.
    """
    highest, features, slowest = 0.0, 0, np.zeros(sums.count)
    for family in _families(sums):
        for part in family.parts:
            centred, correlation = _lag_one(part, sums.neighbours)
            if correlation.max() > highest:
                highest = float(correlation.max())
                slowest = centred[:, np.argmax(correlation)]
            features += part.shape[1]
    if highest * math.sqrt(sums.count) <= math.sqrt(2.0 * math.log(features)) + 2.0:
        return 1.0
    return float(autocorrelation_times([slowest[:, None]])[0])


def _lag_one(part: FloatArray, neighbours: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Centred block sums, and for each feature the correlation of neighbouring ones."""
    centred = _tamed(part)
    centred -= centred.mean(axis=0)
    squares = np.einsum("bj,bj->j", centred, centred)
    products = np.einsum("bj,bj->j", centred[1:], centred[:-1])
    for border in np.flatnonzero(~neighbours):
        products -= centred[border] * centred[border + 1]
    # What varies by no more than rounding remembers nothing.
    moving = squares > _STILL**2
    return centred, np.divide(products, squares, out=np.zeros_like(squares), where=moving)


def _families(sums: BlockSums) -> Iterator[Family]:
    """Each family of features with its block sums."""
    diagonal, blocks = sums.diagonal, sums.count
    names = sums.basis.names
    yield Family("score", ("score",), iter([diagonal[:, 0]]))
    if sums.effective_count >= FEWEST_FOR_SPREADS:
        yield Family("x", ("x",), iter([diagonal[:, 1]]))
    yield Family("G1-4", names[1:], iter([diagonal[:, 2:].reshape(blocks, -1)]))
    if diagonal.shape[2] > 1:
        for name in ("x", "G2"):
            pairs = sums.pairs(1 + names.index(name))
            yield Family(f"{name} pairs", (name,), (part.reshape(blocks, -1) for part in pairs))


def _statistics(
    parts: Iterator[FloatArray], signs: FloatArray
) -> tuple[FloatArray, FloatArray, int]:
    """Sum and largest of t^2 over a family for every flip, and where it is largest unflipped."""
    total, largest = np.zeros(signs.shape[0]), np.zeros(signs.shape[0])
    place, offset = 0, 0
    for part in parts:
        part = _unit_columns(part)
        for low in range(0, part.shape[1], _COLUMNS_AT_ONCE):
            columns = slice(low, low + _COLUMNS_AT_ONCE)
            squares = (signs @ part[:, columns]) ** 2
            highest = squares.max(axis=1)
            if highest[0] > largest[0]:
                place = offset + low + int(np.argmax(squares[0]))
            total += squares.sum(axis=1)
            np.maximum(largest, highest, out=largest)
        offset += part.shape[1]
    return total, largest, place


def _unit_columns(part: FloatArray) -> FloatArray:
    """Block sums over the root of their sum of squares; what is always 0 stays 0."""
    unit = _tamed(part)
    norms = np.sqrt(np.einsum("bj,bj->j", unit, unit))
    unit *= np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    return unit


def _tamed(part: FloatArray) -> FloatArray:
    """A copy over each column's largest: squares neither overflow nor vanish."""
    largest = np.maximum(part.max(axis=0), -part.min(axis=0))
    finite(float(largest.max()), "a block sum")
    scale = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > _TINY)
    tamed: FloatArray = part * scale
    return tamed


def gamma_tail(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Upper tail of sums of t^2 under the gamma law of the reference's mean and variance.

    Only how flips are ordered across statistics hangs on a fit, not their calibration;
    a smooth tail tells apart what ranks among a few hundred flips would tie.
    """
    mean, variance = float(reference.mean()), float(reference.var())
    if not variance > (_STILL * mean) ** 2:
        return np.ones_like(values)  # what no flip moves says nothing
    tail: FloatArray = gammaincc(mean**2 / variance, values * (mean / variance))
    return tail


def maximum_tail(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Upper tail of the largest t^2 as that of so many independent squared normals.

    Of m independent ones the largest has the tail 1 - (1 - T)^m, with T the tail of one,
    and -m log(1 - T) is exponential with mean 1, which gives m from the reference.
    """
    count = 1.0 / max(float(np.mean(-np.log1p(-_square_tail(reference)))), _TINY)
    tail: FloatArray = -np.expm1(count * np.log1p(-_square_tail(values)))
    return tail


def _square_tail(values: FloatArray) -> FloatArray:
    """Upper tail of a squared standard normal; below 1, even at 0."""
    tail: FloatArray = np.minimum(gammaincc(0.5, 0.5 * values), 1.0 - np.finfo(float).eps)
    return tail
