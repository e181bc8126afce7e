"""A quick look at all coordinates and pairs, which decides what gets the dear computation.

For a Gaussian target the scores are linear, and a few averages of products tell its covariance.
Here that serves to choose. What is chosen is measured without this assumption, and p-values allow
for everything that was looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import finite
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block
from polystein.explain.estimates import FirstLook, Rows
from polystein.inference.columns import ColumnMoments
from polystein.types import FloatArray

#: Pairs and coordinates that get a closer look where not all do.
MOST_PAIRS = 20
MOST_COORDINATES = 20
MOST_SHAPES = 4
#: Multiplications that closer looks at the spread, and at the shape, of all coordinates may take:
#: some five seconds of one core, and less than one.
SPREAD_MULTIPLICATIONS = 4e10
SHAPE_MULTIPLICATIONS = 2e9
# Correlations are kept this far from 1.
_LARGEST = 0.9999
# The target's variance is taken to be at least this part of the draws'.
_LEAST_VARIANCE = 1e-3


class Chosen(NamedTuple):
    """Coordinates for a closer look at their spread and at their shape, and pairs."""

    spreads: tuple[int, ...]
    shapes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]


def chosen(rows: Rows, look: FirstLook, *, every_spread: bool = False) -> Chosen:
    """What gets a closer look: everything if it is cheap, else what stands out."""
    d, n = rows.source.layout.dimension, rows.source.layout.total
    draws, target = covariances(look.products)
    everything = tuple(range(d))
    spreads = everything
    if not every_spread and 0.5 * n * d * (2 * d + 7) ** 2 > SPREAD_MULTIPLICATIONS:
        spreads = _largest(_standing_out(look, draws, target), MOST_COORDINATES)
    shapes = everything
    if n * d * (4 * d + 6) ** 2 > SHAPE_MULTIPLICATIONS:
        shapes = _largest(_shape_look(rows, look.frame), MOST_SHAPES)
    return Chosen(spreads, shapes, _pairs(draws, target))


@np.errstate(over="ignore", invalid="ignore")
def covariances(products: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The draws' covariance, and what the target's is if the target is Gaussian.

    With s = -P (y - mu), least squares of y on s give -P^-1 for a slope; the mean of
    s (y - m)' + I is I - P C for draws with mean m and covariance C. Minus the product of P^-1 with
    that is the difference of the covariances.
    """
    d = (len(products) - 1) // 2
    centred = products - np.outer(products[0], products[0])
    s, y = slice(1, 1 + d), slice(1 + d, None)
    draws, scores, cross = centred[y, y], centred[s, s], centred[s, y]
    damped = scores + 1e-9 * np.trace(scores) / d * np.eye(d)
    slope = -np.linalg.solve(damped, cross).T
    gap = -slope @ (cross + np.eye(d))
    target: FloatArray = draws - 0.5 * (gap + gap.T)
    finite(float(np.sum(np.abs(target))), "the covariance of the target")
    return draws, target


def _correlation(covariance: FloatArray, least: FloatArray) -> FloatArray:
    """Correlations, with variances of at least so much: an estimate may be negative."""
    spread = np.sqrt(np.maximum(np.diagonal(covariance), least))
    result: FloatArray = np.clip(covariance / np.outer(spread, spread), -_LARGEST, _LARGEST)
    return result


def _pairs(draws: FloatArray, target: FloatArray) -> tuple[tuple[int, int], ...]:
    """The pairs whose correlations differ most, on Fisher's scale."""
    least = _LEAST_VARIANCE * np.diagonal(draws)
    before, after = _correlation(draws, least), _correlation(target, least)
    gap = np.abs(np.arctanh(before) - np.arctanh(after))
    rows, columns = np.triu_indices(len(draws), 1)
    # Coordinates that are the same but for a linear map have no correlation to be told.
    apart = np.abs(before[rows, columns]) < _LARGEST
    rows, columns = rows[apart], columns[apart]
    order = np.argsort(-gap[rows, columns], kind="stable")[:MOST_PAIRS]
    return tuple(sorted((int(rows[place]), int(columns[place])) for place in order))


def _standing_out(look: FirstLook, draws: FloatArray, target: FloatArray) -> FloatArray:
    """How far mean or sd of each coordinate seem to be off, in units of their noise."""
    own = np.diagonal(draws)
    ratio = np.maximum(np.diagonal(target) / own, _LEAST_VARIANCE)
    shift = np.abs(look.means.plain - look.means.corrected) / np.sqrt(own)
    result: FloatArray = np.maximum(shift, np.abs(np.log(ratio)) / np.sqrt(2.0))
    return result


def _largest(values: FloatArray, count: int) -> tuple[int, ...]:
    return tuple(sorted(np.argsort(-values, kind="stable")[:count].tolist()))


class ShapeLook:
    """Means and variances of s_j y_j^k + k y_j^(k-1) for k = 2 and 3, of all coordinates."""

    def __init__(self, dimension: int, frame: Frame) -> None:
        self.frame, self.moments = frame, ColumnMoments(2 * dimension, joint=False)

    def zero(self) -> ShapeLook:
        """An accumulator of the same kind without rows."""
        return ShapeLook(self.moments.mean.size // 2, self.frame)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        draws, scores = self.frame.apply(block.draws, block.scores)
        square = draws * draws
        second, third = scores * square + 2.0 * draws, (scores * draws + 3.0) * square
        self.moments.update(np.concatenate([second, third], axis=1), block.weights)

    def merge(self, other: ShapeLook) -> ShapeLook:
        """Add another accumulator's rows."""
        self.moments.merge(other.moments)
        return self


def _shape_look(rows: Rows, frame: Frame) -> FloatArray:
    """How far each coordinate's features of orders 2 and 3 are from their mean 0."""
    look = ShapeLook(rows.source.layout.dimension, frame)
    run_pass(rows.source, every_row(rows.source), look)
    found = look.moments.finalise()
    out = np.abs(found.mean) / np.maximum(found.spread, np.finfo(float).tiny)
    result: FloatArray = out.reshape(2, -1).max(axis=0)
    return result
