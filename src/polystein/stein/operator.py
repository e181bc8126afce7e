"""The first-order Langevin-Stein operator on one basis term.

This is the only place that knows the feature map of eq. 4,

    Phi_i(x) = s(x) phi_i(x)' + diag(phi_i'(x)),

where phi_i(x) = x^i and phi_i'(x) = i x^(i-1) in the paper. Each structure says
how Phi_i is summed over rows, contracted with A_i, squared, and laid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from polystein._lib.arguments import one_of
from polystein._lib.numerics import summed_products
from polystein.stein.basis import EnvelopedBasis, Term
from polystein.types import FloatArray, Structure

EVERY = slice(None)


class WeighedRows:
    """Scores of a block with what sums of squared norms need of them.

    ``squares`` are the squared weights w^2, None where all are 1;
    ``weighted_scores`` are w^2 s and ``score_norms`` w^2 ||s||^2.
    """

    def __init__(self, scores: FloatArray, squares: FloatArray | None) -> None:
        self.scores, self.squares = scores, squares
        self.weighted_scores = scores if squares is None else scores * squares[:, None]
        self.score_norms = _row_dots(self.weighted_scores, scores)
        self._columns: FloatArray | None = None
        self._norms: FloatArray | None = None

    def norms(self, columns: FloatArray) -> FloatArray:
        """Squared norm of each row; kept, since phi_i is often the next derivative."""
        if self._norms is None or columns is not self._columns:
            self._columns, self._norms = columns, _row_dots(columns, columns)
        return self._norms

    def sum_of_squares(self, columns: FloatArray | None) -> float:
        """Sum of w^2 times the squared norm of each row; of ones where columns is None."""
        if columns is None:
            rows, dimension = self.scores.shape
            return float(dimension * (rows if self.squares is None else np.sum(self.squares)))
        norms = self.norms(columns)
        return float(np.sum(norms) if self.squares is None else self.squares @ norms)


class Operator(Protocol):
    """What moments, witnesses and the bootstrap need from Phi_i."""

    def parameters(self, dimension: int) -> int:
        """How many free entries one A_i has."""

    def products(self, scores: FloatArray, term: Term) -> FloatArray:
        """Sum over the rows of s phi_i'."""

    def with_derivatives(
        self, products: list[FloatArray], derivatives: list[FloatArray]
    ) -> list[FloatArray]:
        """Add each order's derivatives to the entries of its summed products where they belong."""

    def outer(self, scores: FloatArray, columns: FloatArray) -> FloatArray:
        """s columns', which is Phi_0 for columns of ones."""

    def outer_adjoint(self, matrix: FloatArray) -> FloatArray:
        """The vector v with <matrix, s 1'> = v's for every s."""

    def scale_rows(self, matrix: FloatArray, factors: FloatArray) -> FloatArray:
        """Multiply the row of score coordinate l by ``factors[l]``."""

    def diagonal(self, matrix: FloatArray) -> FloatArray:
        """The entries of A_i that meet the derivatives."""

    def contract(self, scores: FloatArray, term: Term, matrix: FloatArray) -> FloatArray:
        """<A_i, Phi_i(x)> for every row."""

    def squared_norm_sum(self, rows: WeighedRows, term: Term) -> float:
        """Sum over the rows of squared weights times ||Phi_i(x)||^2."""

    def stacked(self, scores: FloatArray, term: Term, part: slice = EVERY) -> FloatArray:
        """Rows `part` of Phi_i(x), laid out as a vector, for every row of scores."""


class FullOperator:
    """A_i is d x d: every score coordinate meets every coordinate of phi_i."""

    def parameters(self, dimension: int) -> int:
        """d^2."""
        return dimension * dimension

    def products(self, scores: FloatArray, term: Term) -> FloatArray:
        """One matrix product, s' phi_i, of shape (d, d)."""
        return summed_products(scores, term.values)

    def with_derivatives(
        self, products: list[FloatArray], derivatives: list[FloatArray]
    ) -> list[FloatArray]:
        """Add the derivatives to the diagonal."""
        matrices = [product.copy() for product in products]
        for matrix, derivative in zip(matrices, derivatives, strict=True):
            matrix.reshape(-1)[:: len(matrix) + 1] += derivative
        return matrices

    def outer(self, scores: FloatArray, columns: FloatArray) -> FloatArray:
        """s columns', of shape (d, d)."""
        return scores[:, None] * columns[None, :]

    def outer_adjoint(self, matrix: FloatArray) -> FloatArray:
        """The row sums."""
        result: FloatArray = matrix.sum(axis=1)
        return result

    def scale_rows(self, matrix: FloatArray, factors: FloatArray) -> FloatArray:
        """diag(factors) matrix."""
        return factors[:, None] * matrix

    def diagonal(self, matrix: FloatArray) -> FloatArray:
        """The diagonal of a d x d matrix."""
        return np.diagonal(matrix)

    def contract(self, scores: FloatArray, term: Term, matrix: FloatArray) -> FloatArray:
        """s' A phi + <diag(A), phi'>."""
        result = _row_dots(scores @ matrix, term.values)
        result += derivative_dot(term, matrix.diagonal())
        return result

    def squared_norm_sum(self, rows: WeighedRows, term: Term) -> float:
        """Sum of w^2 (||s||^2 ||phi||^2 + 2 <s phi, phi'> + ||phi'||^2)."""
        values, factor, derivative = term
        own = rows.sum_of_squares(derivative)
        # By einsum, which makes no temporary array: those of every block cost page faults.
        crossed = (
            np.vdot(rows.weighted_scores, values)
            if derivative is None
            else np.einsum("ij,ij,ij->", rows.weighted_scores, values, derivative)
        )
        norms = rows.score_norms @ rows.norms(values)
        return float(norms + (2.0 * factor) * crossed + factor**2 * own)

    def stacked(self, scores: FloatArray, term: Term, part: slice = EVERY) -> FloatArray:
        """Entries of s phi' + diag(phi'), row after row."""
        identity = np.eye(scores.shape[1])[part, :]
        derivatives = (
            term.factor * identity
            if term.derivative is None
            else (term.factor * term.derivative)[:, None, :] * identity
        )
        matrices = scores[:, part, None] * term.values[:, None, :] + derivatives
        return matrices.reshape(scores.shape[0], -1)


class DiagonalOperator:
    """A_i is diagonal: the O(Q n d) variant of Section 3.2."""

    def parameters(self, dimension: int) -> int:
        """One for each coordinate."""
        return dimension

    def products(self, scores: FloatArray, term: Term) -> FloatArray:
        """The diagonal of s' phi_i, of shape (d,)."""
        result: FloatArray = np.sum(scores * term.values, axis=0)
        return result

    def with_derivatives(
        self, products: list[FloatArray], derivatives: list[FloatArray]
    ) -> list[FloatArray]:
        """Add a derivative to every entry."""
        return [p + d for p, d in zip(products, derivatives, strict=True)]

    def outer(self, scores: FloatArray, columns: FloatArray) -> FloatArray:
        """The diagonal of s columns'."""
        return scores * columns

    def outer_adjoint(self, matrix: FloatArray) -> FloatArray:
        """The diagonal itself."""
        return matrix

    def scale_rows(self, matrix: FloatArray, factors: FloatArray) -> FloatArray:
        """Each entry has a row of its own."""
        return factors * matrix

    def diagonal(self, matrix: FloatArray) -> FloatArray:
        """The matrix is its own diagonal."""
        return matrix

    def contract(self, scores: FloatArray, term: Term, matrix: FloatArray) -> FloatArray:
        """<a, s phi + phi'>."""
        return self.stacked(scores, term) @ matrix

    def squared_norm_sum(self, rows: WeighedRows, term: Term) -> float:
        """Sum of w^2 ||s phi + phi'||^2."""
        return rows.sum_of_squares(self.stacked(rows.scores, term))

    def stacked(self, scores: FloatArray, term: Term, part: slice = EVERY) -> FloatArray:
        """Entries of s phi + phi'."""
        products = scores[:, part] * term.values[:, part]
        if term.derivative is None:
            return products + term.factor
        return products + term.factor * term.derivative[:, part]


def operator_for(structure: Structure) -> Operator:
    """Look up the operator of a structure."""
    one_of(structure, Structure, "structure")
    return FullOperator() if structure == "full" else DiagonalOperator()


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


@lru_cache(maxsize=16)
def diagonal_sums(basis: EnvelopedBasis, kept: tuple[int, ...] = ()) -> DiagonalSums:
    """How sums of the diagonal are put together; it is worked out once for each basis."""
    return DiagonalSums(basis, kept)


class _Power(NamedTuple):
    """A power of the draws: which of its columns are summed, and its part in basis functions."""

    scored: bool
    free: bool
    coefficients: list[tuple[int, float]]

    @classmethod
    def of(cls, own: FloatArray, slopes: FloatArray, kept: tuple[int, ...]) -> _Power:
        """From its coefficients in the polynomials of all orders, and in their derivatives."""
        parts = [(i, float(own[i - 1])) for i in kept if own[i - 1] != 0.0]
        return cls(bool(own.any()), bool(slopes.any()), parts)


class DiagonalSums:
    """Sums over rows of the diagonal of Phi_i, from sums of columns that take fewer steps.

    With phi_i = p_i w, a polynomial times an envelope, the diagonal of Phi_i is

        s phi_i + phi_i' = p_i (s + w'/w) w + p_i' w,

    the same combination of columns x^j (s + w'/w) w and x^j w in every row. The functions
    themselves, of the orders ``kept``, are combinations of the latter.
    """

    def __init__(self, basis: EnvelopedBasis, kept: tuple[int, ...]) -> None:
        self._envelopes = basis.envelopes
        self._powers: list[list[_Power]] = []
        columns, first = [np.zeros((0, basis.order))], 0
        for polynomials in basis.polynomials:
            own, slopes = _by_power(polynomials, first, basis.order)
            both = np.stack([own, slopes], axis=1).reshape(2 * len(own), basis.order)
            columns.append(both[both.any(axis=1)])
            self._powers.append([_Power.of(*pair, kept) for pair in zip(own, slopes, strict=True)])
            first += len(polynomials)
        #: Sums of the diagonal are this, of shape (Q, columns), times sums of the columns.
        self.combination = np.concatenate(columns).T.copy()

    def columns(
        self, draws: FloatArray, scores: FloatArray, values: dict[int, FloatArray]
    ) -> Iterator[FloatArray | None]:
        """Yield one column after the other, None for ones; ``values`` gets phi_i of orders kept.

        A column is valid until the next one is asked for.
        """
        entry = np.empty_like(draws)
        for powers, (power, slope) in zip(self._powers, self._envelopes(draws), strict=True):
            shifted = scores if slope is None else np.add(slope, scores, out=slope)
            for j, (scored, free, parts) in enumerate(powers):
                if j > 0:
                    power = _raised(power, draws)
                if scored:
                    yield shifted if power is None else np.multiply(shifted, power, out=entry)
                if free:
                    yield power
                for i, coefficient in parts:
                    values[i] = _added(values.get(i), coefficient, power, draws, entry)


def _by_power(polynomials: FloatArray, first: int, order: int) -> tuple[FloatArray, FloatArray]:
    """Coefficients of p_i and of p_i' of each power, a row for each, among those of all orders."""
    own, slopes = np.zeros((2, polynomials.shape[1], order))
    own[:, first : first + len(polynomials)] = polynomials.T
    slopes[:-1] = own[1:] * np.arange(1.0, len(own))[:, None]
    return own, slopes


def _raised(power: FloatArray | None, draws: FloatArray) -> FloatArray:
    """The next power of the draws, in the memory of the one before unless these are the draws."""
    if power is None:
        return draws
    return np.multiply(power, draws, out=np.empty_like(draws) if power is draws else power)


def _added(
    sums: FloatArray | None,
    coefficient: float,
    power: FloatArray | None,
    draws: FloatArray,
    spare: FloatArray,
) -> FloatArray:
    """A sum of powers with one more, in memory of its own unless these are the draws."""
    if sums is None and power is draws and coefficient == 1.0:
        return draws
    part = np.empty_like(draws) if sums is None else spare
    np.multiply(1.0 if power is None else power, coefficient, out=part)
    if sums is None:
        return part
    return np.add(sums, part, out=np.empty_like(draws) if sums is draws else sums)


def derivative_dot(term: Term, vector: FloatArray) -> FloatArray | float:
    """<phi_i', vector> for every row, or one number if it is the same for all rows."""
    scaled = term.factor * vector
    return float(scaled.sum()) if term.derivative is None else term.derivative @ scaled


def derivative_sum(term: Term, weights: FloatArray) -> FloatArray:
    """Weighted sum of phi_i' over the rows, one number for each coordinate."""
    if term.derivative is None:
        return np.full(term.values.shape[1], term.factor * np.sum(weights))
    return term.factor * summed_products(weights, term.derivative)


def _row_dots(first: FloatArray, second: FloatArray) -> FloatArray:
    """Dot product of every row of two blocks; einsum is faster than vecdot on short rows."""
    result: FloatArray = np.einsum("ij,ij->i", first, second)
    return result
