"""How sums of powers' Stein features change with the frame of the draws.

As x^i = sum_k C(i,k) c^(i-k) (D y)^k for y = (x - c)/D, with Phi_0 = s 1',

    Phi_i(x) = sum_k C(i,k) D^-1 Phi_k(y) D^k diag(c)^(i-k).

This holds for powers only: see `Basis.closed_under_shifts`. Matrices are d x d, or diagonal and
kept as vectors.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from polystein.data.coordinates import Frame
from polystein.types import FloatArray


class Change(NamedTuple):
    """From the frame (c, D) to (c', D'): D'/D, D/D' and (c - c')/D'."""

    rows: FloatArray
    ratio: FloatArray
    shift: FloatArray | None

    def scale_columns(self, matrix: FloatArray, i: int, k: int) -> FloatArray:
        """Multiply columns by C(i,k) (D/D')^k ((c - c')/D')^(i-k), as Phi_k enters Phi_i."""
        if self.shift is not None:
            matrix = matrix * (comb(i, k) * self.shift ** (i - k))
        # In two steps: (D/D')^k alone may overflow where the result does not.
        return matrix * self.ratio ** (k - 1) * self.ratio if k else matrix

    def sources(self, i: int) -> range:
        """The k whose Phi_k enter Phi_i; without a shift only k = i."""
        return range(i, i + 1) if self.shift is None else range(i + 1)

    def moments(
        self, score: FloatArray, matrices: list[FloatArray]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Map sums of s and of Phi_1, ..., Phi_Q to the new frame."""
        score = self.rows * score
        scaled = [scale_rows(matrix, self.rows) for matrix in matrices]
        mapped = []
        for i, matrix in enumerate(matrices, start=1):
            # Phi_0 = s 1' has equal columns.
            phi_0 = score[:, None] if matrix.ndim == 2 else score
            parts = [
                self.scale_columns(scaled[k - 1] if k else phi_0, i, k) for k in self.sources(i)
            ]
            mapped.append(sum(parts[1:], parts[0]))
        return score, mapped

    def coefficients(self, i: int, matrix: FloatArray) -> dict[int, FloatArray]:
        """Express <A_i, Phi_i> of the new frame by Phi_k of the old one.

        The adjoint of `moments`: key k > 0 holds the matrix to contract with
        Phi_k, key 0 the vector to contract with the score.
        """
        scaled = scale_rows(matrix, self.rows)
        result = {k: self.scale_columns(scaled, i, k) for k in self.sources(i)}
        if 0 in result and matrix.ndim == 2:
            result[0] = result[0].sum(axis=1)
        return result


def scale_rows(matrix: FloatArray, factors: FloatArray) -> FloatArray:
    """diag(factors) matrix; a diagonal matrix is kept as a vector."""
    return (factors[:, None] if matrix.ndim == 2 else factors) * matrix


def change(source: Frame, target: Frame, dimension: int) -> Change | None:
    """The way from one frame to another; None if they are the same."""
    if source is target or (source.scale is None and target.scale is None):
        return None
    ones = np.ones(dimension)
    source_scale = ones if source.scale is None else source.scale
    target_scale = ones if target.scale is None else target.scale
    shift = None
    if source.centre is not None or target.centre is not None:
        source_centre = 0.0 * ones if source.centre is None else source.centre
        target_centre = 0.0 * ones if target.centre is None else target.centre
        shift = (source_centre - target_centre) / target_scale
    return Change(target_scale / source_scale, source_scale / target_scale, shift)
