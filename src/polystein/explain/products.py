"""Sums of products for many coordinates and pairs at once, from products that they share.

The features of a coordinate j are 1, s and s y_j, with a few columns of its own. The matrix of
their sums of products is made of

    sum v s_l s_m    for v = 1, y_j, y_j^2,

and that of a pair (j, k) needs v = y_k, y_k^2 and y_j y_k, too. For all coordinates and pairs these
are one matrix product. Designs one by one would take several times as many multiplications.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import Frame
from polystein.data.source import Block
from polystein.explain.designs import OWN_POWERS, CoordinateDesign, Design, PairDesign
from polystein.explain.gram import Folds
from polystein.types import FloatArray

#: Products of scores that are held at once, 8 MiB ...
MOST_PRODUCTS = 2**20
#: ... and rows that this must be enough for: sums over fewer at once are slow.
FEWEST_ROWS = 128

#: Columns of a coordinate or a pair beside the products with scores: powers and functions.
EXTRAS = 5


def share_products(design: Design) -> bool:
    """Whether the matrix of a design comes from products that others share."""
    fits = isinstance(design, PairDesign) or (
        isinstance(design, CoordinateDesign) and not design.shape
    )
    return fits and MOST_PRODUCTS // _triangle(design.cuts[1] - 1) >= FEWEST_ROWS


def _triangle(dimension: int) -> int:
    return dimension * (dimension + 1) // 2


class _Columns(NamedTuple):
    """Columns of some rows: multipliers v; extras times multipliers; extras of each design."""

    multipliers: FloatArray
    crossed: FloatArray
    extras: tuple[FloatArray, ...]


class ProductSums:
    """Fold by fold, what the matrices of coordinates and pairs are made of.

    As an accumulator of a pass; sums over different rows are added. `matrix` puts the matrix of a
    design together, that of `GramPass` to rounding.
    """

    def __init__(self, designs: Sequence[Design], frame: Frame, folds: Folds) -> None:
        self.designs, self.frame, self.folds = tuple(designs), frame, folds
        self._ones = [one for one in self.designs if isinstance(one, CoordinateDesign)]
        self._pairs = [one for one in self.designs if isinstance(one, PairDesign)]
        indices = {one.index for one in self._ones}
        indices |= {index for one in self._pairs for index in (one.first, one.second)}
        self._indices = sorted(indices)
        self.dimension = self.designs[0].cuts[1] - 1 if self.designs else 0
        ones, pairs = len(self._ones), len(self._pairs)
        multipliers = 1 + 2 * len(self._indices) + pairs
        crossed = EXTRAS * (2 * ones + 3 * pairs)
        self.scores = np.zeros((folds.count, multipliers, _triangle(self.dimension)))
        self.sums = np.zeros((folds.count, multipliers + crossed, 1 + self.dimension))
        self.own = np.zeros((folds.count, ones + pairs, EXTRAS, EXTRAS))

    def zero(self) -> ProductSums:
        """An accumulator of the same kind without rows."""
        return ProductSums(self.designs, self.frame, self.folds)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        draws, scores = self.frame.apply(block.draws, block.scores)
        most = MOST_PRODUCTS // _triangle(self.dimension)
        for fold, piece in self.folds.pieces(block):
            for low in range(piece.start, piece.stop, most):
                rows = slice(low, min(low + most, piece.stop))
                weights = None if block.weights is None else block.weights[rows]
                self._add(fold, draws[rows], scores[rows], weights)

    def _add(
        self, fold: int, draws: FloatArray, scores: FloatArray, weights: FloatArray | None
    ) -> None:
        """Add rows of one fold."""
        columns, with_one = self._columns(draws, scores), _with_one(scores)
        v = columns.multipliers
        left = np.concatenate([v, columns.crossed], axis=1)
        if weights is not None:
            left *= weights[:, None]
        self.scores[fold] += left[:, : v.shape[1]].T @ _score_products(scores)
        self.sums[fold] += left.T @ with_one
        at = 0
        for extras in columns.extras:
            weighted = extras if weights is None else extras * weights[:, None, None]
            # Of shape (designs, extras, rows): one small product for each design.
            found = weighted.transpose(2, 1, 0) @ extras.transpose(2, 0, 1)
            self.own[fold, at : at + len(found)] += found
            at += len(found)

    def _columns(self, draws: FloatArray, scores: FloatArray) -> _Columns:
        y = draws[:, self._indices]
        ones, pairs = [one.index for one in self._ones], self._pairs
        first, second = draws[:, [p.first for p in pairs]], draws[:, [p.second for p in pairs]]
        v = np.concatenate([np.ones((len(y), 1)), y, y * y, first * second], axis=1)
        own = _coordinate_extras(draws[:, ones], scores[:, ones])
        both = np.stack([first, second, first**2, second**2, first * second], axis=1)
        crossed = [own, own * draws[:, None, ones]]
        crossed += [both, both * first[:, None], both * second[:, None]]
        flat = [part.reshape(len(y), -1) for part in crossed]
        return _Columns(v, np.concatenate(flat, axis=1), (own, both))

    def merge(self, other: ProductSums) -> ProductSums:
        """Add another accumulator's rows."""
        self.scores += other.scores
        self.sums += other.sums
        self.own += other.own
        return self

    def matrices(self) -> Iterator[FloatArray]:
        """For each design, sums of products of features and functions, fold by fold."""
        ones, pairs = iter(range(len(self._ones))), iter(range(len(self._pairs)))
        for design in self.designs:
            if isinstance(design, CoordinateDesign):
                yield self._of_coordinate(design, next(ones))
            elif isinstance(design, PairDesign):
                yield self._of_pair(design, next(pairs))

    def _of_coordinate(self, design: CoordinateDesign, place: int) -> FloatArray:
        at, count = self._multiplier(design.index), len(self._ones)
        start = self.scores.shape[1] + place
        # Extras without and with the multiplier: five for each coordinate, coordinates innermost.
        crossed = [
            self.sums[:, start + part * EXTRAS * count :][:, : EXTRAS * count : count]
            for part in range(2)
        ]
        products = [[0, at], [at, at + len(self._indices)]]
        return self._assembled(products, (design.index,), crossed, self.own[:, place])

    def _of_pair(self, design: PairDesign, place: int) -> FloatArray:
        a, b = self._multiplier(design.first), self._multiplier(design.second)
        squares, both = len(self._indices), 1 + 2 * len(self._indices) + place
        count = len(self._pairs)
        start = self.scores.shape[1] + 2 * EXTRAS * len(self._ones) + place
        crossed = [
            self.sums[:, start + part * EXTRAS * count :][:, : EXTRAS * count : count]
            for part in range(3)
        ]
        products = [[0, a, b], [a, a + squares, both], [b, both, b + squares]]
        own = self.own[:, len(self._ones) + place]
        return self._assembled(products, (design.first, design.second), crossed, own)

    def _multiplier(self, index: int) -> int:
        """The place of y_j among the multipliers; that of its square is further on."""
        return 1 + self._indices.index(index)

    def _assembled(
        self,
        products: list[list[int]],
        indices: tuple[int, ...],
        crossed: list[FloatArray],
        own: FloatArray,
    ) -> FloatArray:
        """The matrix of 1, scores times each multiplier, and extras.

        ``products[a][b]`` is the place of the product of two multipliers, and ``crossed[a]`` has
        the sums of extras times a multiplier with (1, s).
        """
        d, count = self.dimension, len(products)
        features = 1 + count * d
        result = np.empty((self.folds.count, features + EXTRAS, features + EXTRAS))
        result[:, 0, 0] = self.sums[:, 0, 0]
        places = _places(d)
        for a in range(count):
            rows = slice(1 + a * d, 1 + (a + 1) * d)
            result[:, 0, rows] = self.sums[:, products[0][a], 1:]
            for b in range(count):
                columns = slice(1 + b * d, 1 + (b + 1) * d)
                result[:, rows, columns] = self.scores[:, products[a][b]][:, places]
            result[:, rows, features:] = crossed[a][:, :, 1:].transpose(0, 2, 1)
        result[:, 0, features:] = crossed[0][:, :, 0]
        result[:, features:, features:] = own
        result[:, 1:, 0] = result[:, 0, 1:]
        result[:, features:, 1:features] = result[:, 1:features, features:].transpose(0, 2, 1)
        # The feature of y_j is s_j y_j + 1, not s_j y_j.
        for a, index in enumerate(indices, start=1):
            place = 1 + a * d + index
            result[:, place] += result[:, 0]
            result[:, :, place] += result[:, :, 0]
        return result


def _with_one(scores: FloatArray) -> FloatArray:
    result = np.empty((len(scores), 1 + scores.shape[1]))
    result[:, 0] = 1.0
    result[:, 1:] = scores
    return result


def _score_products(scores: FloatArray) -> FloatArray:
    """The products s_l s_m for l <= m."""
    d, at = scores.shape[1], 0
    result = np.empty((len(scores), _triangle(d)))
    for first in range(d):
        out = result[:, at : at + d - first]
        np.multiply(scores[:, first : first + 1], scores[:, first:], out=out)
        at += d - first
    return result


def _places(dimension: int) -> NDArray[np.intp]:
    """Where s_l s_m is among the products."""
    result = np.empty((dimension, dimension), dtype=np.intp)
    upper = np.triu_indices(dimension)
    result[upper] = result.T[upper] = np.arange(_triangle(dimension))
    return result


def _coordinate_extras(y: FloatArray, s: FloatArray) -> FloatArray:
    """For each coordinate s y^k + k y^(k-1) for k = 2, 3, 4, then y and y^2."""
    powers = [np.ones_like(y), y]
    for _ in range(max(OWN_POWERS) - 1):
        powers.append(powers[-1] * y)
    own = [s * powers[k] + k * powers[k - 1] for k in OWN_POWERS]
    return np.stack([*own, powers[1], powers[2]], axis=1)
