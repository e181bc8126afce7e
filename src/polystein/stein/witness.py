"""The trained test function: closed-form maximiser and its projections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from polystein._lib.numerics import finite
from polystein.data.coordinates import Frame
from polystein.data.passes import run_pass
from polystein.data.source import Block, Rows, Source
from polystein.errors import DegenerateError
from polystein.inference.columns import ColumnMoments, MeanAndCovariance
from polystein.stein.basis import Basis, NamedFeatures, Term
from polystein.stein.change import change, scale_rows
from polystein.stein.moments import SteinMean, stein_moments
from polystein.stein.operator import Operator, operator_for
from polystein.types import FloatArray, Structure


class Projection(Protocol):
    """A map from rows to columns of numbers."""

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Columns of every row, of shape (rows, columns)."""


class Witness(Projection, Protocol):
    """A trained test function whose Stein image splits into named features."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each feature."""

    @property
    def words(self) -> tuple[str, ...]:
        """What each feature looks at, in everyday words."""


@dataclass(frozen=True, eq=False)
class PrimalWitness(NamedFeatures):
    """Features <A_i, Phi_i(x)> and b's(x), with x and s seen in a frame."""

    basis: Basis
    operator: Operator
    frame: Frame
    A: list[FloatArray]
    b: FloatArray

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Features of every row."""
        draws, scores = self.frame.apply(draws, scores)
        return self.contract(scores, self.basis.terms(draws))

    def contract(self, scores: FloatArray, terms: Iterable[Term]) -> FloatArray:
        """Features of rows that are seen in the frame already, by their basis terms."""
        features = np.empty((len(scores), len(self.A) + 1))
        for i, (term, matrix) in enumerate(zip(terms, self.A, strict=True)):
            features[:, i] = self.operator.contract(scores, term, matrix)
        features[:, -1] = np.dot(scores, self.b)
        return features

    def scaled(self, factors: list[FloatArray]) -> PrimalWitness:
        """lambda o A_i and lambda o b, with one factor for each row of A_i or for each entry."""
        matrices = [
            scale_rows(matrix, factor) if factor.ndim == 1 else factor * matrix
            for matrix, factor in zip(self.A, factors[:-1], strict=True)
        ]
        return replace(self, A=matrices, b=factors[-1] * self.b)


@dataclass(frozen=True, eq=False)
class PulledBackWitness(NamedFeatures):
    """The features of a witness of raw powers, computed in a frame where powers are safe.

    A raw feature is a combination of the terms there: ``parts[i][k]`` is the matrix by which
    term k enters feature i, and column i of ``vectors`` the vector by which the score does.
    """

    basis: Basis
    operator: Operator
    frame: Frame
    parts: list[dict[int, FloatArray]]
    vectors: FloatArray

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Features of every row."""
        draws, scores = self.frame.apply(draws, scores)
        columns: FloatArray = scores @ self.vectors
        for k, term in enumerate(self.basis.terms(draws), start=1):
            for i, matrices in enumerate(self.parts):
                if k in matrices:
                    columns[:, i] += self.operator.contract(scores, term, matrices[k])
        return columns

    @classmethod
    def of(cls, witness: PrimalWitness, working: Frame) -> PulledBackWitness:
        """The same features by way of the working frame."""
        path = change(working, witness.frame, witness.b.size)
        if path is None:
            raise ValueError("the working frame is the witness's own")
        parts = [path.coefficients(i, matrix) for i, matrix in enumerate(witness.A, start=1)]
        vectors = [matrices.pop(0, np.zeros_like(witness.b)) for matrices in parts]
        vectors.append(path.rows * witness.b)
        return cls(witness.basis, witness.operator, working, parts, np.stack(vectors, axis=1))


def dual_is_cheaper(count: int, dimension: int, order: int) -> bool:
    """Compare multiplications for a projected row: (Q+1) d m against Q d^2."""
    return (order + 1) * count < order * dimension


def fit_matrices(
    source: Source,
    rows: Iterable[Rows],
    basis: Basis,
    structure: Structure = "full",
    *,
    frame: Frame,
) -> PrimalWitness:
    """The same maximiser in the primal form, with matrices, in a standardised frame."""
    moments = stein_moments(source, rows, basis, structure, answer=frame)
    return maximiser(moments.finalise(), basis, structure, frame)


def maximiser(mean: SteinMean, basis: Basis, structure: Structure, frame: Frame) -> PrimalWitness:
    """A_i = mu_i / Z and b = mu_b / Z (Proposition 3.2, eq. 6)."""
    size = mean.norm()
    if size == 0.0:
        raise DegenerateError(
            "every Stein moment of the training rows is exactly zero, so that no test function "
            "stands out; are all `scores` zero?"
        )
    matrices = [matrix / size for matrix in mean.matrices]
    return PrimalWitness(basis, operator_for(structure), frame, matrices, mean.score / size)


def feature_moments(source: Source, rows: Iterable[Rows], witness: Witness) -> MeanAndCovariance:
    """Mean and covariance (1/n, as in Algorithm 2) of the features of the chosen rows."""
    return projected_moments(source, rows, witness, len(witness.names))


def projected_moments(
    source: Source,
    rows: Iterable[Rows],
    projection: Projection,
    columns: int,
    *,
    joint: bool = True,
    most: int | None = None,
) -> MeanAndCovariance:
    """Mean and covariance of the columns of a projection; only the variances unless `joint`."""
    accumulator = ProjectedColumns(projection, ColumnMoments(columns, joint=joint))
    run_pass(source, rows, accumulator, most=most)
    return accumulator.moments.finalise()


@dataclass(frozen=True)
class ProjectedColumns:
    """Mean and covariance of the columns of a projection, as an accumulator of a pass."""

    projection: Projection
    moments: ColumnMoments

    def zero(self) -> ProjectedColumns:
        """An accumulator of the same kind without rows."""
        return ProjectedColumns(self.projection, self.moments.zero())

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        self.moments.update(project(self.projection, block), block.weights)

    def merge(self, other: ProjectedColumns) -> ProjectedColumns:
        """Add another accumulator's rows."""
        self.moments.merge(other.moments)
        return self


def project(projection: Projection, block: Block) -> FloatArray:
    """Columns of a block of a pass; overflow is an error, not inf."""
    return finite_features(projection.project(block.draws, block.scores))


def finite_features(columns: FloatArray) -> FloatArray:
    """The columns, or an error if any of their numbers overflowed."""
    finite(float(np.abs(columns).max()), "a feature")
    return columns


class ChainColumns:
    """The columns of a projection, kept whole and chain by chain: 8 bytes a row and column.

    With `weighted`, every row is multiplied by its importance weight.
    """

    def __init__(self, projection: Projection, *, weighted: bool = False) -> None:
        self._projection, self._weighted = projection, weighted
        self._pieces: list[tuple[int, int, FloatArray]] = []

    def zero(self) -> ChainColumns:
        """An accumulator of the same kind without rows."""
        return ChainColumns(self._projection, weighted=self._weighted)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        columns = project(self._projection, block)
        if self._weighted and block.weights is not None:
            columns = columns * block.weights[:, None]
        for run in block.chains:
            self._pieces.append((run.chain, run.start, columns[run.low : run.high]))

    def merge(self, other: ChainColumns) -> ChainColumns:
        """Add another accumulator's rows."""
        self._pieces += other._pieces
        return self

    def by_chain(self) -> list[FloatArray]:
        """The columns of each chain, in time order."""
        chains: dict[int, list[FloatArray]] = {}
        for chain, _, columns in sorted(self._pieces, key=lambda piece: piece[:2]):
            chains.setdefault(chain, []).append(columns)
        return [np.concatenate(parts) for parts in chains.values()]
