"""The expanded features of finer weights, and their moments.

<A_i, Phi_i(x)> is taken apart into the addends that it sums,

    coordinate (i, l):  s_l (A_i phi_i)_l + A_i[l, l] phi_i'_l,
    entry (i, l, m):    A_i[l, m] Phi_i(x)[l, m],

and b's(x) into b_l s_l. Only the entries, d^2 for each order, may be too many to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import EPSILON
from polystein.data.passes import run_pass
from polystein.data.source import Block, Rows, Source
from polystein.inference.columns import ColumnMoments, MeanAndCovariance
from polystein.stein.operator import DiagonalOperator, derivative_sum
from polystein.stein.witness import PrimalWitness
from polystein.types import FloatArray


class CoordinateFeatures(NamedTuple):
    """Row l of <A_i, Phi_i(x)>, order after order, coordinate after coordinate."""

    witness: PrimalWitness

    @property
    def columns(self) -> int:
        """Q d + d."""
        return (self.witness.basis.order + 1) * self.witness.b.size

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Features of every row."""
        return np.concatenate(list(coordinate_parts(self.witness, draws, scores)), axis=1)


class CoordinateSums(NamedTuple):
    """The same summed over the orders: what each coordinate adds to u."""

    witness: PrimalWitness

    @property
    def columns(self) -> int:
        """One for each coordinate."""
        return self.witness.b.size

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Features of every row."""
        first, *others = coordinate_parts(self.witness, draws, scores)
        return sum(others, first)


class EntryFeatures(NamedTuple):
    """A_i[l, m] Phi_i(x)[l, m] for a full A_i, row after row, and b_l s_l."""

    witness: PrimalWitness

    @property
    def columns(self) -> int:
        """Q d^2 + d."""
        dimension = self.witness.b.size
        return self.witness.basis.order * dimension**2 + dimension

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Features of every row."""
        witness = self.witness
        draws, scores = witness.frame.apply(draws, scores)
        terms = zip(witness.basis.terms(draws), witness.A, strict=True)
        parts = [
            witness.operator.stacked(scores, term) * matrix.reshape(-1) for term, matrix in terms
        ]
        return np.concatenate([*parts, scores * witness.b], axis=1)


def coordinate_parts(
    witness: PrimalWitness, draws: FloatArray, scores: FloatArray
) -> Iterator[FloatArray]:
    """Row sums of A_i o Phi_i(x), one (n, d) array for each order, and b o s(x) last."""
    draws, scores = witness.frame.apply(draws, scores)
    for term, matrix in zip(witness.basis.terms(draws), witness.A, strict=True):
        if isinstance(witness.operator, DiagonalOperator):
            yield witness.operator.stacked(scores, term) * matrix
        else:
            own = term.factor * np.diagonal(matrix)
            own = own if term.derivative is None else own * term.derivative
            yield scores * (term.values @ matrix.T) + own
    yield scores * witness.b


def entry_variances(
    source: Source, rows: Iterable[Rows], witness: PrimalWitness
) -> MeanAndCovariance:
    """Means and variances of `EntryFeatures`, without forming the features.

    As E[(s_l phi_m)^2] = E[s_l^2 phi_m^2], the squares of all entries are one more
    matrix product for each order.
    """
    accumulator = EntryVariances(witness)
    run_pass(source, rows, accumulator)
    return accumulator.moments.finalise()


class EntryVariances:
    """Means and variances of `EntryFeatures`, as an accumulator of a pass."""

    def __init__(self, witness: PrimalWitness) -> None:
        self.witness = witness
        self.moments = ColumnMoments(EntryFeatures(witness).columns, joint=False)

    def zero(self) -> EntryVariances:
        """An accumulator of the same kind without rows."""
        return EntryVariances(self.witness)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        weights, witness = block.weights_or_ones, self.witness
        weight = float(weights.sum())
        if weight == 0.0:
            return
        operator, shares = witness.operator, weights / weight
        draws, scores = witness.frame.apply(block.draws, block.scores)
        weighted, squared = shares[:, None] * scores, shares[:, None] * scores**2
        first, second = [], []
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is reported by `add`
            for term, matrix in zip(witness.basis.terms(draws), witness.A, strict=True):
                slopes = term.factor * (1.0 if term.derivative is None else term.derivative)
                means = operator.with_slopes(
                    operator.products(weighted, term), derivative_sum(term, shares)
                )
                # (s phi + phi')^2 = (s phi)^2 + (2 s phi + phi') phi' on the diagonal.
                mean_squares = operator.with_slopes(
                    operator.products(squared, term._replace(values=term.values**2)),
                    shares @ ((2.0 * scores * term.values + slopes) * slopes),
                )
                first.append((matrix * means).ravel())
                second.append((matrix**2 * mean_squares).ravel())
            mean = np.concatenate([*first, witness.b * (shares @ scores)])
            mean_square = np.concatenate([*second, witness.b**2 * (shares @ scores**2)])
            variance = mean_square - mean**2
            # Two sums of many terms cancel: what is left of a constant entry is rounding.
            varies = variance > 64 * EPSILON * mean_square
            scatter = weight * np.where(varies, variance, 0.0)
        self.moments.add(weight, float(weights @ weights), mean, scatter)

    def merge(self, other: EntryVariances) -> EntryVariances:
        """Add another accumulator's rows."""
        self.moments.merge(other.moments)
        return self
