"""The expanded features of finer weights, and their moments.

<A_i, Phi_i(x)> is taken apart into the addends that it sums,

    coordinate (i, l):  s_l (A_i phi_i)_l + A_i[l, l] phi_i'_l,
    entry (i, l, m):    A_i[l, m] Phi_i(x)[l, m],

and b's(x) into b_l s_l. Every kind of feature is a `Witness` of its own; only the
entries, d^2 an order, may be too many to be laid out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polystein._lib.arrays import convert, namespace, to_numpy
from polystein.data.passes import reduce_blocks
from polystein.protocols import Array, Block, FeatureMoments, FloatArray, Rows, Source, Term
from polystein.stein.moments import ColumnMoments
from polystein.stein.operator import DiagonalOperator, derivative_sum
from polystein.stein.witness import PrimalWitness, moments_of

# A variance below this share of the mean square is rounding.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class CoordinateFeatures:
    """Row l of <A_i, Phi_i(x)>, order after order, coordinate after coordinate."""

    witness: PrimalWitness

    @property
    def names(self) -> tuple[str, ...]:
        """``x[0]``, ``x[1]``, ..., ``score[d-1]``."""
        dimension = self.witness.vectors.shape[0]
        return tuple(f"{name}[{i}]" for name in self.witness.names for i in range(dimension))

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Features of every row."""
        parts = list(coordinate_parts(self.witness, draws, scores))
        return to_numpy(namespace(draws).concat(parts, axis=1))


@dataclass(frozen=True, eq=False)
class CoordinateSums:
    """The same summed over the orders: what each coordinate adds to u."""

    witness: PrimalWitness

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates' numbers."""
        return tuple(str(i) for i in range(self.witness.vectors.shape[0]))

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Features of every row."""
        first, *others = coordinate_parts(self.witness, draws, scores)
        return to_numpy(sum(others, first))


@dataclass(frozen=True, eq=False)
class EntryFeatures:
    """A_i[l, m] Phi_i(x)[l, m] for a full A_i, row after row, and b_l s_l."""

    witness: PrimalWitness

    @property
    def names(self) -> tuple[str, ...]:
        """``x[0, 0]``, ``x[0, 1]``, ..., ``score[d-1]``."""
        d = range(self.witness.vectors.shape[0])
        *terms, score = self.witness.names
        entries = (f"{name}[{row}, {column}]" for name in terms for row in d for column in d)
        return (*entries, *(f"{score}[{row}]" for row in d))

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Features of every row."""
        witness = self.witness
        draws, scores = witness.working.apply(draws, scores)
        xp = namespace(draws)
        columns = [
            witness.operator.stacked(scores, term) * xp.reshape(matrix, (-1,))
            for term, ((_, matrix, _),) in zip(
                witness.basis.terms(draws), witness.matrices, strict=True
            )
        ]
        return to_numpy(xp.concat([*columns, scores * witness.vectors[:, -1]], axis=1))


def coordinate_parts(witness: PrimalWitness, draws: Array, scores: Array) -> Iterator[Array]:
    """Row sums of A_i o Phi_i(x), one (n, d) array an order, and b o s(x) at last."""
    draws, scores = witness.working.apply(draws, scores)
    terms = zip(witness.basis.terms(draws), witness.matrices, strict=True)
    for term, ((_, matrix, diagonal),) in terms:
        if isinstance(witness.operator, DiagonalOperator):
            yield witness.operator.stacked(scores, term) * matrix
        else:
            own = term.factor * diagonal
            own = own if term.derivative is None else own * term.derivative
            yield scores * (term.values @ matrix.T) + own
    yield scores * witness.vectors[:, -1]


def entry_variances(source: Source, rows: list[Rows], witness: PrimalWitness) -> FeatureMoments:
    """Means and variances of `EntryFeatures` without laying them out.

    As E[(s_l phi_m)^2] = E[s_l^2 phi_m^2], the squares of all entries are one more
    matrix product an order.
    """
    dimension = witness.vectors.shape[0]
    size = witness.basis.order * dimension**2 + dimension

    def update(state: ColumnMoments, block: Block) -> ColumnMoments:
        with np.errstate(over="ignore", invalid="ignore"):  # `merge` finds out
            return state.merge(block_variances(witness, block, size))

    return moments_of(
        reduce_blocks(
            source, rows, lambda: ColumnMoments(size, joint=False), update, ColumnMoments.merge
        )
    )


def block_variances(witness: PrimalWitness, block: Block, size: int) -> ColumnMoments:
    """The moments of one block's entries."""
    result = ColumnMoments(size, joint=False)
    weights = np.ones(block.rows) if block.weights is None else block.weights
    result.weight, result.weight_squares = float(weights.sum()), float(weights @ weights)
    if result.weight > 0.0:
        draws, scores = witness.working.apply(block.draws, block.scores)
        shares = convert(weights / result.weight, draws)
        first, second = entry_means(witness, draws, scores, shares)
        spread = second - first**2
        # What cancellation leaves of an entry that does not vary is not a variance.
        result.mean = first
        result.scatter = result.weight * np.where(spread > _ROUNDING * second, spread, 0.0)
    return result


def entry_means(
    witness: PrimalWitness, draws: Array, scores: Array, shares: Array
) -> tuple[FloatArray, FloatArray]:
    """Weighted means of the entries and of their squares."""
    operator, column = witness.operator, shares[:, None]
    vector = witness.vectors[:, -1]
    first, second = [], []
    terms = zip(witness.basis.terms(draws), witness.matrices, strict=True)
    for term, ((_, matrix, _),) in terms:
        squared = term._replace(values=term.values**2)
        products = [operator.products(column * scores, term)]
        squares = [operator.products(column * scores**2, squared)]
        own = [derivative_sum(term, shares)]
        crossed = [derivative_squares(scores, term, shares)]
        first.append(matrix * operator.with_derivatives(products, own)[0])
        second.append(matrix**2 * operator.with_derivatives(squares, crossed)[0])
    first.append(vector * (shares @ scores))
    second.append(vector**2 * (shares @ scores**2))
    return flattened(first), flattened(second)


def derivative_squares(scores: Array, term: Term, shares: Array) -> Array:
    """What (s phi + phi')^2 has beyond (s phi)^2, as a mean: 2 s phi phi' + phi'^2."""
    own = term.factor if term.derivative is None else term.factor * term.derivative
    return shares @ (own * (2.0 * scores * term.values + own))


def flattened(arrays: list[Array]) -> FloatArray:
    """All entries, row after row."""
    return np.concatenate([to_numpy(array).ravel() for array in arrays])
