"""Centring, scaling, and the exact way back.

The paper's functions answer in the coordinates they are given. Raw powers of
draws far from the origin lose digits, and of draws on a large scale overflow, so
sums are taken in *working* coordinates y = (x - c)/D, in which the score is D s,
and mapped back. As x^i = sum_k C(i,k) c^(i-k) (D y)^k, with Phi_0 = s 1',

    Phi_i(x) = sum_k C(i,k) D^-1 Phi_k(y) D^k diag(c)^(i-k).

The scale is a power of two and the centre a multiple of it, so that going to
working coordinates rounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from polystein._lib.arrays import convert, namespace, to_numpy
from polystein.errors import DegenerateError
from polystein.protocols import Array, FloatArray
from polystein.stein.operator import Operator

# Raw powers are safe while the middle of the draws is not farther from the origin than
# this many times half of their range ...
SAFE_OFFSET = 2.0
# ... and that is within this factor of 1.
SAFE_REACH = 256.0


@dataclass(frozen=True, eq=False)
class Coordinates:
    """x -> (x - centre)/scale and s -> scale s; nothing where both are None."""

    centre: Array | None = None
    scale: Array | None = None

    def apply(self, draws: Array, scores: Array) -> tuple[Array, Array]:
        """Draws and scores in these coordinates; the inputs are left alone."""
        if self.scale is None:
            return draws, scores
        if self.centre is not None:
            draws = draws - self.centre
        with np.errstate(over="ignore"):  # whoever sums them finds out
            return draws / self.scale, scores * self.scale

    def part(self, columns: slice) -> Coordinates:
        """The same for some of the coordinates."""
        return Coordinates(
            None if self.centre is None else self.centre[columns],
            None if self.scale is None else self.scale[columns],
        )


RAW = Coordinates()


class Change(NamedTuple):
    """From coordinates (c, D) to (c', D'): D'/D, D/D' and (c - c')/D'."""

    rows: Array
    ratio: Array
    shift: Array | None

    def scale_columns(self, matrix: Array, i: int, k: int) -> Array:
        """Multiply columns by C(i,k) (D/D')^k ((c - c')/D')^(i-k), as Phi_k enters Phi_i."""
        if self.shift is not None:
            matrix = matrix * (comb(i, k) * self.shift ** (i - k))
        # In two steps: (D/D')^k alone may overflow where the result does not.
        return matrix * self.ratio ** (k - 1) * self.ratio if k else matrix

    def sources(self, i: int) -> range:
        """The k whose Phi_k enter Phi_i; without a shift only k = i."""
        return range(i, i + 1) if self.shift is None else range(i + 1)

    def moments(
        self, operator: Operator, score: Array, matrices: list[Array]
    ) -> tuple[Array, list[Array]]:
        """Map sums of s and of Phi_1, ..., Phi_Q to the new coordinates."""
        ones = namespace(score).ones_like(score)
        scaled = [self.rows * score]
        scaled += [operator.scale_rows(matrix, self.rows) for matrix in matrices]
        mapped = []
        for i in range(1, len(matrices) + 1):
            parts = [
                self.scale_columns(scaled[k] if k else operator.outer(scaled[0], ones), i, k)
                for k in self.sources(i)
            ]
            mapped.append(sum(parts[1:], parts[0]))
        return scaled[0], mapped

    def coefficients(self, operator: Operator, i: int, matrix: Array) -> dict[int, Array]:
        """Express <A_i, Phi_i> of the new coordinates by Phi_k of the old ones.

        The adjoint of `moments`: key k > 0 holds the matrix to contract with
        Phi_k, key 0 the vector to contract with the score.
        """
        scaled = operator.scale_rows(matrix, self.rows)
        result = {k: self.scale_columns(scaled, i, k) for k in self.sources(i)}
        if 0 in result:
            result[0] = operator.outer_adjoint(result[0])
        return result


def change(source: Coordinates, target: Coordinates, like: Array) -> Change | None:
    """The way from one set of coordinates to another; None if they are the same."""
    if source is target or (source.scale is None and target.scale is None):
        return None
    ones = namespace(like).ones_like(like)
    source_scale = ones if source.scale is None else source.scale
    target_scale = ones if target.scale is None else target.scale
    shift = None
    if source.centre is not None or target.centre is not None:
        source_centre = 0.0 * ones if source.centre is None else source.centre
        target_centre = 0.0 * ones if target.centre is None else target.centre
        shift = (source_centre - target_centre) / target_scale
    return Change(target_scale / source_scale, source_scale / target_scale, shift)


def working_coordinates(draws: Array) -> Coordinates:
    """Coordinates in which powers of these draws neither lose digits nor overflow.

    They are the raw ones wherever raw powers are safe. As the way back is exact,
    the choice moves results by no more than rounding.
    """
    xp = namespace(draws)
    low, high = to_numpy(xp.min(draws, axis=0)), to_numpy(xp.max(draws, axis=0))
    # Half of the range, not the standard deviation: it cannot overflow.
    middle, reach = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    offset = np.abs(middle) > SAFE_OFFSET * reach
    if not offset.any() and reach.max() < SAFE_REACH and reach.min() > 1.0 / SAFE_REACH:
        return RAW
    size = np.where(offset & (reach > 0.0), reach, np.maximum(np.abs(middle), reach))
    exponent = np.round(np.log2(size, out=np.zeros_like(size), where=size > 0.0))
    scale = np.ldexp(1.0, np.clip(exponent, -1000, 1000).astype(int))
    centre = np.where(offset, np.round(middle / scale) * scale, 0.0)
    return _like(draws, centre if centre.any() else None, scale)


def standard_coordinates(
    mean: FloatArray, spread: FloatArray, working: Coordinates, like: Array
) -> Coordinates:
    """The training rows' mean and standard deviation, found in `working`, as coordinates."""
    if working.scale is not None:
        scale = to_numpy(working.scale)
        centre = 0.0 if working.centre is None else to_numpy(working.centre)
        mean, spread = centre + scale * mean, scale * spread
    flat = np.flatnonzero(~(spread > 16 * np.finfo(float).eps * np.abs(mean)))
    if flat.size:
        raise DegenerateError(
            f"`draws` must vary in every coordinate to be standardised; coordinate {flat[0]} is "
            f"constant over the training rows ({flat.size} of {spread.size} are)"
        )
    return _like(like, mean, spread)


def _like(draws: Array, centre: FloatArray | None, scale: FloatArray) -> Coordinates:
    shift = None if centre is None else convert(centre, draws)
    return Coordinates(shift, convert(scale, draws))
