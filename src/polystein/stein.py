"""The first-order Langevin-Stein operator on one basis term.

This is the only place that knows the feature map of eq. 4,

    Phi_i(x) = s(x) phi_i(x)' + diag(phi_i'(x)),

where phi_i(x) = x^i and phi_i'(x) = i x^(i-1) in the paper. Each structure says
how Phi_i is summed over rows, contracted with A_i, squared, and laid out.
"""

from __future__ import annotations

from typing import Protocol

from polystein._arrays import namespace
from polystein.errors import InputError
from polystein.protocols import Array, Basis, Structure, Term

EVERY = slice(None)


class Operator(Protocol):
    """What moments, witnesses and the bootstrap need to know of Phi_i."""

    def parameters(self, dimension: int) -> int:
        """How many free entries one A_i has."""

    def products(self, scores: Array, term: Term) -> Array:
        """Sum over the rows of s phi_i'."""

    def with_derivatives(self, products: Array, derivatives: Array) -> Array:
        """Add the derivatives, where they stand, to the summed products."""

    def outer(self, scores: Array, columns: Array) -> Array:
        """Phi_0 = s 1', its columns multiplied by `columns`."""

    def outer_adjoint(self, matrix: Array) -> Array:
        """The vector v with <matrix, s 1'> = v's for every s."""

    def scale_rows(self, matrix: Array, factors: Array) -> Array:
        """Multiply the row of score coordinate l by ``factors[l]``."""

    def contract(self, scores: Array, term: Term, matrix: Array) -> Array:
        """<A_i, Phi_i(x)> for every row."""

    def squared_norms(self, scores: Array, score_norms: Array, term: Term) -> Array:
        """||Phi_i(x)||^2 for every row; `score_norms` are ||s||^2."""

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

    def with_derivatives(self, products: Array, derivatives: Array) -> Array:
        """The derivatives stand on the diagonal."""
        xp = namespace(products)
        identity = xp.eye(products.shape[0], dtype=products.dtype)
        return products + identity * derivatives

    def outer(self, scores: Array, columns: Array) -> Array:
        """s columns', of shape (d, d)."""
        return scores[:, None] * columns[None, :]

    def outer_adjoint(self, matrix: Array) -> Array:
        """The row sums."""
        return namespace(matrix).sum(matrix, axis=1)

    def scale_rows(self, matrix: Array, factors: Array) -> Array:
        """diag(factors) matrix."""
        return factors[:, None] * matrix

    def contract(self, scores: Array, term: Term, matrix: Array) -> Array:
        """s' A phi + <diag(A), phi'>."""
        xp = namespace(scores)
        diagonal = xp.linalg.diagonal(matrix)
        return xp.vecdot(scores @ matrix, term.values) + term.derivative @ (term.factor * diagonal)

    def squared_norms(self, scores: Array, score_norms: Array, term: Term) -> Array:
        """||s||^2 ||phi||^2 + 2 <s phi, phi'> + ||phi'||^2."""
        xp = namespace(scores)
        values, factor, derivative = term
        cross = xp.vecdot(scores * values, derivative)
        return (
            score_norms * xp.vecdot(values, values)
            + (2.0 * factor) * cross
            + factor**2 * xp.vecdot(derivative, derivative)
        )

    def stacked(self, scores: Array, term: Term, part: slice = EVERY) -> Array:
        """Entries of s phi' + diag(phi'), row after row."""
        xp = namespace(scores)
        identity = xp.eye(scores.shape[1], dtype=scores.dtype)[part, :]
        derivatives = (term.factor * term.derivative)[:, None, :] * identity
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

    def with_derivatives(self, products: Array, derivatives: Array) -> Array:
        """Every entry has its derivative."""
        return products + derivatives

    def outer(self, scores: Array, columns: Array) -> Array:
        """The diagonal of s columns'."""
        return scores * columns

    def outer_adjoint(self, matrix: Array) -> Array:
        """The diagonal itself."""
        return matrix

    def scale_rows(self, matrix: Array, factors: Array) -> Array:
        """Each entry has a row of its own."""
        return factors * matrix

    def contract(self, scores: Array, term: Term, matrix: Array) -> Array:
        """<a, s phi + phi'>."""
        return self.stacked(scores, term) @ matrix

    def squared_norms(self, scores: Array, score_norms: Array, term: Term) -> Array:
        """||s phi + phi'||^2."""
        entries = self.stacked(scores, term)
        return namespace(scores).vecdot(entries, entries)

    def stacked(self, scores: Array, term: Term, part: slice = EVERY) -> Array:
        """Entries of s phi + phi'."""
        derivatives = term.factor * term.derivative[:, part]
        return scores[:, part] * term.values[:, part] + derivatives


def operator_for(structure: Structure) -> Operator:
    """Look up the operator of a structure."""
    if structure == "full":
        return FullOperator()
    if structure == "diagonal":
        return DiagonalOperator()
    raise InputError(f"`structure` must be 'full' or 'diagonal'; got {structure!r}")


def squared_feature_norms(operator: Operator, basis: Basis, draws: Array, scores: Array) -> Array:
    """||xi(x)||^2 for every row: all orders and the score."""
    score_norms = namespace(scores).vecdot(scores, scores)
    norms = score_norms
    for term in basis.terms(draws):
        norms = norms + operator.squared_norms(scores, score_norms, term)
    return norms
