"""The first-order Langevin-Stein operator on one basis term.

This is the only place that knows the feature map of eq. 4,

    Phi_i(x) = s(x) phi_i(x)' + diag(phi_i'(x)),

where phi_i(x) = x^i and phi_i'(x) = i x^(i-1) in the paper. Each structure says
how Phi_i is summed over rows, contracted with A_i, squared, and laid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from polystein._lib.arguments import one_of
from polystein._lib.numerics import ones
from polystein.stein.basis import Term
from polystein.types import FloatArray, Structure

EVERY = slice(None)


class FullOperator:
    """A_i is d x d: every score coordinate meets every coordinate of phi_i."""

    def parameters(self, dimension: int) -> int:
        """How many free entries one A_i has, d^2."""
        return dimension * dimension

    def summed(
        self, scores: FloatArray, values: FloatArray, slopes: FloatArray | float
    ) -> FloatArray:
        """Sum over rows of Phi_i(x) = s phi_i' + diag(phi_i'), of shape (d, d).

        ``slopes`` is the sum of phi_i' over the rows. Importance weights are in ``scores``.
        """
        matrix: FloatArray = np.dot(scores.T, values)
        matrix.reshape(-1)[:: len(matrix) + 1] += slopes
        return matrix

    def contract(self, scores: FloatArray, term: Term, matrix: FloatArray) -> FloatArray:
        """<A_i, Phi_i(x)> = s' A_i phi_i + <diag(A_i), phi_i'> for every row (eq. 3)."""
        products = np.dot(scores, matrix)
        products *= term.values
        result: FloatArray = np.dot(products, ones(len(matrix)))
        result += derivative_dot(term, matrix.diagonal())
        return result

    def squared_norms(
        self, squares: FloatArray, scores: FloatArray, terms: Iterable[Term]
    ) -> float:
        """Sum over rows of w^2 ||xi(x)||^2 (Section 3.4); ``squares`` are the w^2.

        ||xi||^2 = ||s||^2 + sum_i (||s||^2 ||phi_i||^2 + 2 <s phi_i, phi_i'> + ||phi_i'||^2).
        """
        weighted = squares[:, None] * scores
        score_norms = row_dots(weighted, scores)
        total = float(score_norms.sum())
        before, norms = None, squares
        for values, factor, derivative in terms:
            if derivative is None:
                crossed, own = np.vdot(weighted, values), values.shape[1] * squares.sum()
            else:
                crossed = np.einsum("ij,ij,ij->", weighted, values, derivative)
                # The derivative of a power is the power before, whose norms are known.
                own = squares @ (
                    norms if derivative is before else row_dots(derivative, derivative)
                )
            before, norms = values, row_dots(values, values)
            total += float(score_norms @ norms + 2.0 * factor * crossed + factor**2 * own)
        return total

    def stacked(self, scores: FloatArray, term: Term, part: slice = EVERY) -> FloatArray:
        """Rows ``part`` of Phi_i(x), laid out as a vector, for every row of scores."""
        identity = np.eye(scores.shape[1])[part, :]
        matrices = scores[:, part, None] * term.values[:, None, :]
        matrices += (
            term.factor * identity
            if term.derivative is None
            else (term.factor * term.derivative)[:, None, :] * identity
        )
        return matrices.reshape(scores.shape[0], -1)


class DiagonalOperator:
    """A_i is diagonal: the O(Q n d) variant of Section 3.2. Matrices are kept as vectors."""

    def parameters(self, dimension: int) -> int:
        """How many free entries one A_i has, d."""
        return dimension

    def summed(
        self, scores: FloatArray, values: FloatArray, slopes: FloatArray | float
    ) -> FloatArray:
        """Sum over rows of s phi_i + phi_i', of shape (d,); ``slopes`` is the sum of phi_i'."""
        result: FloatArray = np.sum(scores * values, axis=0) + slopes
        return result

    def contract(self, scores: FloatArray, term: Term, matrix: FloatArray) -> FloatArray:
        """<a_i, s phi_i + phi_i'> for every row."""
        return self.stacked(scores, term) @ matrix

    def squared_norms(
        self, squares: FloatArray, scores: FloatArray, terms: Iterable[Term]
    ) -> float:
        """Sum over rows of w^2 (||s||^2 + sum_i ||s phi_i + phi_i'||^2)."""
        norms = row_dots(scores, scores)
        for term in terms:
            entries = self.stacked(scores, term)
            norms += row_dots(entries, entries)
        return float(squares @ norms)

    def stacked(self, scores: FloatArray, term: Term, part: slice = EVERY) -> FloatArray:
        """Entries ``part`` of s phi_i + phi_i' for every row of scores."""
        products = scores[:, part] * term.values[:, part]
        if term.derivative is None:
            return products + term.factor
        return products + term.factor * term.derivative[:, part]


Operator = FullOperator | DiagonalOperator
FULL, DIAGONAL = FullOperator(), DiagonalOperator()


def operator_for(structure: Structure) -> Operator:
    """Look up the operator of a structure."""
    one_of(structure, Structure, "structure")
    return FULL if structure == "full" else DIAGONAL


def diagonal_entries(scores: FloatArray, terms: Iterable[Term]) -> Iterator[FloatArray]:
    """s, and then the diagonal of Phi_i for one term after the other, (rows, d) each.

    All but the first are handed out in the same memory.
    """
    yield scores
    entry = np.empty_like(scores)
    for values, factor, derivative in terms:
        np.multiply(scores, values, out=entry)
        if derivative is None:
            entry += factor
        else:
            entry += derivative if factor == 1.0 else factor * derivative
        yield entry


def row_dots(first: FloatArray, second: FloatArray) -> FloatArray:
    """Dot products of the rows of two blocks; on short rows einsum is faster than vecdot."""
    result: FloatArray = np.einsum("ij,ij->i", first, second)
    return result


def derivative_dot(term: Term, vector: FloatArray) -> FloatArray | float:
    """<phi_i', vector> for every row, or one number if it is the same for all rows."""
    scaled = term.factor * vector
    return float(scaled.sum()) if term.derivative is None else np.dot(term.derivative, scaled)


def derivative_sum(term: Term, weights: FloatArray, weight: float) -> FloatArray | float:
    """Weighted sum of phi_i' over rows of a total weight; one number where phi_i' is constant."""
    if term.derivative is None:
        return term.factor * weight
    slopes: FloatArray = term.factor * np.dot(weights, term.derivative)
    return slopes
