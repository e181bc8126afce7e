"""Pairs of rows in square tiles: the n x n Stein kernel matrix is never held whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import require_progress
from polystein._lib.numerics import finite
from polystein.data.guard.rows import require_shared_weight
from polystein.data.passes import every_row, gathered
from polystein.data.source import Source
from polystein.errors import DegenerateError
from polystein.inference.multipliers import multipliers
from polystein.rivals.kernels import RadialKernel
from polystein.rivals.rows import require_rows
from polystein.types import FloatArray, Progress

# A tile of 128 x 128 numbers takes 128 kB: the few that are worked on at once stay in
# a core's second-level cache, and still fill a matrix product.
TILE_SIDE = 128


class SteinRows(NamedTuple):
    """Rows with what their pairs need: x, s(x), ||x||^2 and s(x)'x."""

    draws: FloatArray
    scores: FloatArray
    squares: FloatArray
    products: FloatArray

    def take(self, index: slice | NDArray[np.intp]) -> SteinRows:
        """Some of the rows."""
        return SteinRows(*(part[index] for part in self))


class Pairs(NamedTuple):
    """What a radial Stein kernel needs from two sets of rows, (rows, rows) each."""

    squared_distances: FloatArray
    #: (s(y) - s(x))'(x - y) - d, the factor of 2 f'.
    drift: FloatArray
    #: s(x)'s(y)
    scores: FloatArray


def stein_rows(draws: FloatArray, scores: FloatArray, centre: FloatArray) -> SteinRows:
    """Rows about a common centre, without which ||x||^2 + ||y||^2 - 2 x'y loses digits."""
    centred = draws - centre
    with np.errstate(over="ignore", invalid="ignore"):
        squares, products = np.vecdot(centred, centred), np.vecdot(scores, centred)
    return SteinRows(centred, scores, squares, products)


def pairs(first: SteinRows, second: SteinRows) -> Pairs:
    """Every row of one set with every row of another, by matrix products."""
    squared_distances = first.draws @ (-2.0 * second.draws.T)
    squared_distances += first.squares[:, None]
    squared_distances += second.squares
    np.maximum(squared_distances, 0.0, out=squared_distances)
    drift = first.scores @ second.draws.T
    drift += first.draws @ second.scores.T
    drift -= (first.products + first.draws.shape[1])[:, None]
    drift -= second.products
    return Pairs(squared_distances, drift, first.scores @ second.scores.T)


def stein_kernel(kernel: RadialKernel, of: Pairs) -> FloatArray:
    """The first-order Langevin Stein kernel of k = f(||x - y||^2).

    h(x, y) = s(x)'s(y) k + s(x)'∇_y k + s(y)'∇_x k + tr ∇_x ∇_y k, where
    ∇_x k = 2 f' (x - y) = -∇_y k and tr ∇_x ∇_y k = -2 d f' - 4 f'' ||x - y||^2, so that
    h = f (s(x)'s(y) + 2 f'/f (drift - 2 f''/f' ||x - y||^2)).
    """
    value, slope, curvature = kernel.profile(of.squared_distances)
    result: FloatArray = of.squared_distances * (-2.0 * curvature)
    result += of.drift
    result *= 2.0 * slope
    result += of.scores
    result *= value
    return result


def stein_diagonal(kernel: RadialKernel, rows: SteinRows) -> FloatArray:
    """h(x, x) = ||s(x)||^2 f(0) - 2 d f'(0), one for each row."""
    count, dimension = rows.draws.shape
    zero = np.zeros(count)
    same = Pairs(zero, np.full(count, -float(dimension)), np.vecdot(rows.scores, rows.scores))
    return stein_kernel(kernel, same)


def quadratic_forms(
    rows: SteinRows,
    kernels: Sequence[RadialKernel],
    factors: FloatArray,
    progress: Progress | None = None,
    *,
    side: int = TILE_SIDE,
) -> FloatArray:
    """Sum over j, k of F_j F_k h(x_j, x_k), of shape (kernels, columns of the factors F).

    `factors` has the shape (n, count). The matrix is symmetric: tiles above its
    diagonal count twice. Each is made, meets all factors in one matrix product, and
    is then discarded.
    """
    require_progress(progress)
    forms = np.zeros((len(kernels), factors.shape[1]))
    tiles = list(_upper_tiles(rows.draws.shape[0], side))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for done, (first, second) in enumerate(tiles, 1):
            of = _tile_pairs(rows, first, second)
            times = 1.0 if first == second else 2.0
            for form, kernel in zip(forms, kernels, strict=True):
                products = stein_kernel(kernel, of) @ factors[second]
                form += times * np.einsum("jb,jb->b", factors[first], products)
            if progress is not None:
                progress(done, len(tiles))
    finite(float(np.sum(np.abs(forms))), "the kernel Stein discrepancy")
    return forms


def _upper_tiles(total: int, side: int) -> Iterator[tuple[slice, slice]]:
    """Tiles on and above the diagonal."""
    strips = [slice(low, min(low + side, total)) for low in range(0, total, side)]
    for number, first in enumerate(strips):
        for second in strips[number:]:
            yield first, second


def _tile_pairs(rows: SteinRows, first: slice, second: slice) -> Pairs:
    """Pairs of two strips; a row is at distance 0 from itself, whatever the rounding."""
    of = pairs(rows.take(first), rows.take(second))
    if first == second:
        np.fill_diagonal(of.squared_distances, 0.0)
        np.fill_diagonal(of.drift, -float(rows.draws.shape[1]))
    return of


def held_rows(source: Source) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws and scores of all chains, (n, d), and importance weights that sum to 1.

    An error if pairs of them carry no information.
    """
    require_rows(source)
    held = gathered(source, every_row(source))
    if not np.any(held[1]):
        raise DegenerateError("`scores` are all zero: a flat target says nothing about draws")
    return held


@np.errstate(over="ignore", invalid="ignore")  # reported with the discrepancy
def held_stein_rows(source: Source) -> tuple[SteinRows, FloatArray]:
    """All rows, ready for pairs, and importance weights that sum to 1."""
    draws, scores, weights = held_rows(source)
    return stein_rows(draws, scores, draws.mean(axis=0)), weights


def unbiased_square(
    kernel: RadialKernel, rows: SteinRows, weights: FloatArray, form: float
) -> float:
    """The U-statistic: the V-statistic without its diagonal terms."""
    diagonal = float(weights**2 @ stein_diagonal(kernel, rows))
    return (form - diagonal) / (1.0 - float(weights @ weights))


def wild_factors(
    source: Source, weights: FloatArray, replicates: int, seed: int, length: float | None
) -> FloatArray:
    """The weights w_j, then w_j W_j for each vector of multipliers W, (n, 1 + replicates)."""
    require_shared_weight(source)
    stream = multipliers(replicates, seed, length)
    factors = np.empty((weights.size, 1 + replicates))
    factors[:, 0] = 1.0
    stops = np.cumsum(source.layout.lengths)
    for chain, (stop, size) in enumerate(zip(stops, source.layout.lengths, strict=True)):
        factors[stop - size : stop, 1:] = stream.draw(chain, size).T
    factors *= weights[:, None]
    return factors
