"""Stein kernels of radial kernels f(||x - y||^2), and their sums over pairs of rows.

The n x n matrix of a Stein kernel is never held whole: pairs of rows are taken in square tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from polystein._lib.arguments import is_finite_number, require_progress
from polystein._lib.numerics import finite
from polystein.errors import DegenerateError, InputError
from polystein.types import FloatArray, Progress

# Rows whose pairwise distances give the median: half a million distances.
MEDIAN_ROWS = 1_000
# A tile of 128 x 128 numbers takes 128 kB: the few that are worked on at once stay in
# a core's second-level cache, and still fill a matrix product.
TILE_SIDE = 128


class Profile(NamedTuple):
    """A kernel k = f(||x - y||^2) at some distances: f, f'/f and f''/f'."""

    value: FloatArray
    slope: FloatArray | np.float64
    curvature: FloatArray | np.float64


class RadialKernel(Protocol):
    """A kernel f(||x - y||^2) with its width known."""

    def profile(self, squared_distances: FloatArray) -> Profile:
        """The function f and the ratios of its derivatives."""


@dataclass(frozen=True)
class IMQKernel:
    """Inverse multiquadric kernel k(x, y) = (c^2 + ||x - y||^2)^beta.

    The kernel that Gorham and Mackey (2017, Measuring sample quality with kernels,
    ICML) recommend: with -1 < beta < 0 and a target with light enough tails its
    Stein discrepancy vanishes only where the draws converge to the target.

    Parameters
    ----------
    c : float
        Width, positive, in the units of the draws.
    beta : float
        Exponent, negative.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((200, 2))
    >>> ps.ksd(draws, -draws, kernel=ps.IMQKernel(c=2.0)) < 0.3
    True
    """

    c: float = 1.0
    beta: float = -0.5

    def __post_init__(self) -> None:
        _require_positive(self.c, "c", "a positive number")
        if not (is_finite_number(self.beta) and self.beta < 0.0):
            raise InputError(f"`beta` must be a negative number; got {self.beta!r}")

    def profile(self, squared_distances: FloatArray) -> Profile:
        """f(r) = (c^2 + r)^beta, f'/f = beta/(c^2 + r), f''/f' = (beta - 1)/(c^2 + r)."""
        with np.errstate(over="ignore"):
            square = finite(float(np.float64(self.c) ** 2), "the square of `c` of the kernel")
        inverse = np.reciprocal(squared_distances + square)
        root = self.beta == -0.5
        value = np.sqrt(inverse) if root else np.power(inverse, -self.beta)
        return Profile(value, self.beta * inverse, (self.beta - 1.0) * inverse)


@dataclass(frozen=True)
class GaussianKernel:
    """Gaussian kernel k(x, y) = exp(-||x - y||^2 / (2 bandwidth^2)).

    Parameters
    ----------
    bandwidth : float or "median"
        A length in the units of the draws, or the median heuristic: the median of
        the distances ||x_j - x_k|| over all pairs of different rows. Beyond 1,000
        rows it is the median over the pairs of 1,000 of them, drawn at random by a
        seed that depends on the number of rows alone, so that the same draws always
        give the same bandwidth.

    Notes
    -----
    The median is a function of the draws and not of the multipliers of the wild
    bootstrap, so that given the draws all replicates use one kernel; and it does not
    depend on the order of the rows (up to the choice of the 1,000).

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((200, 2))
    >>> ps.ksd(draws, -draws, kernel=ps.GaussianKernel()) < 0.3
    True
    """

    bandwidth: float | Literal["median"] = "median"

    def __post_init__(self) -> None:
        # An array compares with a string element by element.
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "median"):
            _require_positive(self.bandwidth, "bandwidth", "a positive number or 'median'")

    def profile(self, squared_distances: FloatArray) -> Profile:
        """f(r) = exp(-r/(2 s^2)), f'/f = f''/f' = -1/(2 s^2)."""
        if self.bandwidth == "median":
            raise InputError("`bandwidth` must be a number before the kernel can be evaluated")
        # The square of a width beyond 1e154 is infinite: the kernel is constant to all digits. That
        # of one below 1e-162 is zero, which the values of the kernel do not survive.
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            rate = np.float64(-0.5) / np.float64(self.bandwidth) ** 2
        return Profile(np.exp(rate * squared_distances), rate, rate)


#: The kernels that the kernel tests take.
Kernel: TypeAlias = IMQKernel | GaussianKernel


def fixed_kernel(kernel: Kernel, draws: FloatArray) -> Kernel:
    """The kernel with its width known, by the median of the distances if asked for."""
    if not isinstance(kernel, IMQKernel | GaussianKernel):
        raise InputError(f"`kernel` must be an IMQKernel or a GaussianKernel; got {kernel!r}")
    if isinstance(kernel, GaussianKernel) and kernel.bandwidth == "median":
        return replace(kernel, bandwidth=median_distance(draws))
    return kernel


def median_distance(draws: FloatArray) -> float:
    """Median of the pairwise distances, over 1,000 fixed random rows if there are more."""
    total = draws.shape[0]
    if total > MEDIAN_ROWS:
        draws = draws[np.random.default_rng(total).choice(total, MEDIAN_ROWS, replace=False)]
    median = finite(float(np.median(pdist(draws))), "the median of the distances")
    if median == 0.0:
        raise DegenerateError(
            "the median of the distances between `draws` is 0: at least half of the pairs are "
            "equal rows. Give the kernel a width of its own."
        )
    return median


def _require_positive(value: float | str, argument: str, expected: str) -> None:
    if not (is_finite_number(value) and float(value) > 0.0):
        raise InputError(f"`{argument}` must be {expected}; got {value!r}")


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


def unbiased_square(
    kernel: RadialKernel, rows: SteinRows, weights: FloatArray, form: float
) -> float:
    """The U-statistic: the V-statistic without its diagonal terms."""
    diagonal = float(weights**2 @ stein_diagonal(kernel, rows))
    return (form - diagonal) / (1.0 - float(weights @ weights))


def batch_products(
    kernel: RadialKernel,
    rows: SteinRows,
    weights: FloatArray,
    batches: NDArray[np.intp],
    count: int,
    *,
    side: int = TILE_SIDE,
) -> FloatArray:
    """Sums of w_j w_k h(x_j, x_k) over the rows j and k of every pair of batches.

    ``batches`` has the batch of each row, in order, of ``count`` in all.
    """
    products = np.zeros((count, count))
    with np.errstate(over="ignore", invalid="ignore"):
        for first, second in _upper_tiles(batches.size, side):
            values = stein_kernel(kernel, _tile_pairs(rows, first, second))
            values *= weights[first, None]
            values *= weights[second]
            # Batches are in order, so that these are their numbers and first rows.
            own, below = np.unique(batches[first], return_index=True)
            others, beside = np.unique(batches[second], return_index=True)
            summed = np.add.reduceat(np.add.reduceat(values, below, axis=0), beside, axis=1)
            products[np.ix_(own, others)] += summed
            if first != second:
                products[np.ix_(others, own)] += summed.T
    finite(float(np.abs(products).sum()), "the kernel Stein discrepancy")
    return products
