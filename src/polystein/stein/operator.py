"""The first-order Langevin-Stein operator on one basis term.

This is the only place that knows the feature map of eq. 4,

    Phi_i(x) = s(x) phi_i(x)' + diag(phi_i'(x)),

where phi_i(x) = x^i and phi_i'(x) = i x^(i-1) in the paper. Each structure says
how Phi_i is summed over rows, contracted with A_i, squared, and laid out.
"""

from __future__ import annotations

from typing import Protocol

from polystein._lib.arrays import flat_dot, namespace, row_dots, to_numpy, triple_sum
from polystein.errors import InputError
from polystein.protocols import Array, Basis, FloatArray, Structure, Term

EVERY = slice(None)


class WeighedRows:
    """Scores of a block with what sums of squared norms need of them.

    ``squares`` are the squared weights w^2, None where all are 1;
    ``weighted_scores`` are w^2 s and ``score_norms`` w^2 ||s||^2.
    """

    def __init__(self, scores: Array, squares: Array | None) -> None:
        self.scores, self.squares = scores, squares
        self.weighted_scores = scores if squares is None else scores * squares[:, None]
        self.score_norms = row_dots(self.weighted_scores, scores)
        self._columns: Array | None = None
        self._norms: Array | None = None

    def norms(self, columns: Array) -> Array:
        """Squared norm of each row; kept, since phi_i is often the next derivative."""
        if columns is not self._columns:
            self._columns, self._norms = columns, row_dots(columns, columns)
        return self._norms

    def sum_of_squares(self, columns: Array | None) -> Array:
        """Sum of w^2 times the squared norm of each row; of ones where columns is None."""
        xp = namespace(self.scores)
        if columns is None:
            rows, dimension = self.scores.shape
            return dimension * (rows if self.squares is None else xp.sum(self.squares))
        norms = self.norms(columns)
        return xp.sum(norms) if self.squares is None else flat_dot(self.squares, norms)


class Operator(Protocol):
    """What moments, witnesses and the bootstrap need to know of Phi_i."""

    def parameters(self, dimension: int) -> int:
        """How many free entries one A_i has."""

    def products(self, scores: Array, term: Term) -> Array:
        """Sum over the rows of s phi_i'."""

    def with_derivatives(self, products: list[Array], derivatives: list[Array]) -> list[Array]:
        """Add each order's derivatives, where they stand, to its summed products."""

    def outer(self, scores: Array, columns: Array) -> Array:
        """s columns', which is Phi_0 for columns of ones."""

    def outer_adjoint(self, matrix: Array) -> Array:
        """The vector v with <matrix, s 1'> = v's for every s."""

    def scale_rows(self, matrix: Array, factors: Array) -> Array:
        """Multiply the row of score coordinate l by ``factors[l]``."""

    def diagonal(self, matrix: Array) -> Array:
        """The entries of A_i that meet the derivatives."""

    def contract(self, scores: Array, term: Term, matrix: Array, diagonal: Array) -> Array:
        """<A_i, Phi_i(x)> for every row; `diagonal` is that of the matrix."""

    def squared_norm_sum(self, rows: WeighedRows, term: Term) -> float:
        """Sum over the rows of squared weights times ||Phi_i(x)||^2."""

    def stacked(self, scores: Array, term: Term, part: slice = EVERY) -> Array:
        """Rows `part` of Phi_i(x), laid out as a vector, for every row of scores."""


class FullOperator:
    """A_i is d x d: every score coordinate meets every coordinate of phi_i."""

    def parameters(self, dimension: int) -> int:
        """d^2."""
        return dimension * dimension

    def products(self, scores: Array, term: Term) -> Array:
        """One matrix product, s' phi_i, of shape (d, d)."""
        return scores.T @ term.values

    def with_derivatives(self, products: list[Array], derivatives: list[Array]) -> list[Array]:
        """The derivatives stand on the diagonal."""
        if not products:
            return []
        xp = namespace(products[0])
        identity = xp.eye(products[0].shape[0], dtype=products[0].dtype)
        return [p + identity * d for p, d in zip(products, derivatives, strict=True)]

    def outer(self, scores: Array, columns: Array) -> Array:
        """s columns', of shape (d, d)."""
        return scores[:, None] * columns[None, :]

    def outer_adjoint(self, matrix: Array) -> Array:
        """The row sums."""
        return namespace(matrix).sum(matrix, axis=1)

    def scale_rows(self, matrix: Array, factors: Array) -> Array:
        """diag(factors) matrix."""
        return factors[:, None] * matrix

    def diagonal(self, matrix: Array) -> Array:
        """The diagonal of a d x d matrix."""
        return namespace(matrix).linalg.diagonal(matrix)

    def contract(self, scores: Array, term: Term, matrix: Array, diagonal: Array) -> Array:
        """s' A phi + <diag(A), phi'>."""
        products = row_dots(scores @ matrix, term.values)
        return products + derivative_dot(term, diagonal)

    def squared_norm_sum(self, rows: WeighedRows, term: Term) -> float:
        """Sum of w^2 (||s||^2 ||phi||^2 + 2 <s phi, phi'> + ||phi'||^2)."""
        values, factor, derivative = term
        own = rows.sum_of_squares(derivative)
        crossed = (
            flat_dot(rows.weighted_scores, values)
            if derivative is None
            else triple_sum(rows.weighted_scores, values, derivative)
        )
        norms = flat_dot(rows.score_norms, rows.norms(values))
        return float(norms + (2.0 * factor) * crossed + factor**2 * own)

    def stacked(self, scores: Array, term: Term, part: slice = EVERY) -> Array:
        """Entries of s phi' + diag(phi'), row after row."""
        xp = namespace(scores)
        identity = xp.eye(scores.shape[1], dtype=scores.dtype)[part, :]
        derivatives = (
            term.factor * identity
            if term.derivative is None
            else (term.factor * term.derivative)[:, None, :] * identity
        )
        matrices = scores[:, part, None] * term.values[:, None, :] + derivatives
        return xp.reshape(matrices, (scores.shape[0], -1))


class DiagonalOperator:
    """A_i is diagonal: the O(Q n d) variant of Section 3.2."""

    def parameters(self, dimension: int) -> int:
        """One for each coordinate."""
        return dimension

    def products(self, scores: Array, term: Term) -> Array:
        """The diagonal of s' phi_i, of shape (d,)."""
        xp = namespace(scores)
        return xp.sum(scores * term.values, axis=0)

    def with_derivatives(self, products: list[Array], derivatives: list[Array]) -> list[Array]:
        """Every entry has its derivative."""
        return [p + d for p, d in zip(products, derivatives, strict=True)]

    def outer(self, scores: Array, columns: Array) -> Array:
        """The diagonal of s columns'."""
        return scores * columns

    def outer_adjoint(self, matrix: Array) -> Array:
        """The diagonal itself."""
        return matrix

    def scale_rows(self, matrix: Array, factors: Array) -> Array:
        """Each entry has a row of its own."""
        return factors * matrix

    def diagonal(self, matrix: Array) -> Array:
        """All there is."""
        return matrix

    def contract(self, scores: Array, term: Term, matrix: Array, diagonal: Array) -> Array:
        """<a, s phi + phi'>."""
        return self.stacked(scores, term) @ matrix

    def squared_norm_sum(self, rows: WeighedRows, term: Term) -> float:
        """Sum of w^2 ||s phi + phi'||^2."""
        return float(rows.sum_of_squares(self.stacked(rows.scores, term)))

    def stacked(self, scores: Array, term: Term, part: slice = EVERY) -> Array:
        """Entries of s phi + phi'."""
        products = scores[:, part] * term.values[:, part]
        if term.derivative is None:
            return products + term.factor
        return products + term.factor * term.derivative[:, part]


def operator_for(structure: Structure) -> Operator:
    """Look up the operator of a structure."""
    if structure == "full":
        return FullOperator()
    if structure == "diagonal":
        return DiagonalOperator()
    raise InputError(f"`structure` must be 'full' or 'diagonal'; got {structure!r}")


def diagonal_entries(basis: Basis, draws: Array, scores: Array) -> FloatArray:
    """s, and the diagonal of Phi_i for every order, of shape (rows, (1 + Q) d)."""
    operator = DiagonalOperator()
    columns = [scores, *(operator.stacked(scores, term) for term in basis.terms(draws))]
    return to_numpy(namespace(draws).concat(columns, axis=1))


def derivative_dot(term: Term, vector: Array) -> Array:
    """<phi_i', vector> for every row."""
    scaled = term.factor * vector
    return namespace(vector).sum(scaled) if term.derivative is None else term.derivative @ scaled


def derivative_sum(term: Term, weights: Array) -> Array:
    """Weighted sum of phi_i' over the rows: one number a coordinate, or one for all."""
    if term.derivative is None:
        return term.factor * namespace(weights).sum(weights)
    return term.factor * (weights @ term.derivative)
