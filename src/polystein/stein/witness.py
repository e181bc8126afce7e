"""The trained test function: closed-form maximiser and its projections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polystein._lib.arrays import convert, namespace, to_numpy
from polystein.data.coordinates import RAW, Coordinates, change, working_coordinates
from polystein.data.passes import reduce_blocks
from polystein.errors import DegenerateError
from polystein.protocols import (
    Array,
    Basis,
    Block,
    FeatureMoments,
    FloatArray,
    Rows,
    Source,
    Structure,
    Witness,
)
from polystein.stein.moments import ColumnMoments, SteinMean, finite, stein_moments
from polystein.stein.operator import Operator, derivative_dot, derivative_sum, operator_for


def feature_names(basis: Basis) -> tuple[str, ...]:
    """Names of the features; the score block comes last."""
    return (*basis.names, "score")


@dataclass(frozen=True, eq=False)
class PrimalWitness:
    """Features <A_i, Phi_i(x)> and b's(x) by products with d x d matrices.

    A feature in the coordinates of the answer is a combination of the terms in
    working coordinates: ``matrices[k]`` lists, for basis term k, which feature
    takes it with which matrix (and its diagonal); column i of ``vectors`` is what feature i takes
    of the score.
    """

    names: tuple[str, ...]
    basis: Basis
    operator: Operator
    working: Coordinates
    matrices: list[list[tuple[int, Array, Array]]]
    vectors: Array

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Features of every row."""
        draws, scores = self.working.apply(draws, scores)
        xp = namespace(draws)
        from_scores = scores @ self.vectors
        columns = [from_scores[:, i] for i in range(len(self.names))]
        for term, targets in zip(self.basis.terms(draws), self.matrices, strict=True):
            for i, matrix, diagonal in targets:
                columns[i] = columns[i] + self.operator.contract(scores, term, matrix, diagonal)
        return to_numpy(xp.stack(columns, axis=1))


@dataclass(frozen=True, eq=False)
class DualWitness:
    """The same features by products with the m training rows, for m below d.

    As A_i is an average over training rows,

        <A_i, Phi_i(x)> = sum_j w_j (s's_j)(phi'phi_j) + (s phi)'g + phi'' diag(A_i),

    with g the mean derivative of the training rows and phi'' the derivative of the
    row's own: products of length d with m columns instead of d.
    """

    names: tuple[str, ...]
    basis: Basis
    answer: Coordinates
    weighted_scores: Array
    terms: list[Array]
    derivatives: list[Array]
    diagonals: list[Array]
    score: Array

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Features of every row."""
        draws, scores = self.answer.apply(draws, scores)
        xp = namespace(draws)
        score_products = scores @ self.weighted_scores.T
        columns = []
        for i, term in enumerate(self.basis.terms(draws)):
            pairs = xp.vecdot(score_products, term.values @ self.terms[i].T)
            own = (scores * term.values) @ self.derivatives[i]
            columns.append(pairs + own + derivative_dot(term, self.diagonals[i]))
        columns.append(scores @ self.score)
        return to_numpy(xp.stack(columns, axis=1))


def fit_witness(
    source: Source,
    rows: Iterable[Rows],
    basis: Basis,
    structure: Structure = "full",
    *,
    answer: Coordinates = RAW,
    count: int,
) -> Witness:
    """The maximiser of Proposition 3.2 on the chosen rows.

    ``count``, the number of rows, decides between the primal and the dual form,
    which give the same features up to one common factor.
    """
    rows = list(rows)
    if structure == "full" and dual_is_cheaper(count, source.layout.dimension, basis.order):
        draws, scores, weights = _gather(source, rows)
        if answer is not RAW or working_coordinates(draws) is RAW:
            return _dual(draws, scores, weights, basis, answer)
    return fit_primal(source, rows, basis, structure, answer=answer)


def fit_primal(
    source: Source,
    rows: Iterable[Rows],
    basis: Basis,
    structure: Structure = "full",
    *,
    answer: Coordinates = RAW,
) -> PrimalWitness:
    """The same with its matrices at hand, however few the rows are."""
    moments = stein_moments(source, rows, basis, structure, answer=answer)
    return maximiser(moments.finalise(), basis, structure, moments.working, answer)


def dual_is_cheaper(count: int, dimension: int, order: int) -> bool:
    """Compare multiplications a projected row: (Q+1) d m against Q d^2."""
    return (order + 1) * count < order * dimension


def maximiser(
    mean: SteinMean,
    basis: Basis,
    structure: Structure,
    working: Coordinates,
    answer: Coordinates,
) -> PrimalWitness:
    """A_i = mu_i / Z and b = mu_b / Z (Proposition 3.2), ready for working coordinates."""
    size = mean.norm()
    if size == 0.0:
        raise DegenerateError(
            "every Stein moment of the training rows is exactly zero, so that no test function "
            "stands out; are all `scores` zero?"
        )
    operator = operator_for(structure)
    xp = namespace(mean.score)
    path = change(working, answer, mean.score)
    matrices: list[list[tuple[int, Array, Array]]] = [[] for _ in range(basis.order)]
    vectors = []
    for i, matrix in enumerate(mean.matrices, start=1):
        parts = (
            {i: matrix / size} if path is None else path.coefficients(operator, i, matrix / size)
        )
        vectors.append(parts.pop(0, xp.zeros_like(mean.score)))
        for k, part in parts.items():
            matrices[k - 1].append((i - 1, part, operator.diagonal(part)))
    score = mean.score / size
    vectors.append(score if path is None else path.rows * score)
    return PrimalWitness(
        feature_names(basis), basis, operator, working, matrices, xp.stack(vectors, axis=1)
    )


def feature_moments(
    source: Source, rows: Iterable[Rows], witness: Witness, *, joint: bool = True
) -> FeatureMoments:
    """Mean and covariance (1/n, as in Algorithm 2) of the features of the chosen rows.

    Only the variances unless `joint`.
    """
    size = len(witness.names)

    def update(state: ColumnMoments, block: Block) -> ColumnMoments:
        features = project(witness, block)
        return state.update(features, block.weights)

    return moments_of(
        reduce_blocks(
            source, rows, lambda: ColumnMoments(size, joint=joint), update, ColumnMoments.merge
        )
    )


def moments_of(moments: ColumnMoments) -> FeatureMoments:
    """Sums over rows as a weight rule wants them."""
    effective = moments.weight**2 / moments.weight_squares
    return FeatureMoments(moments.mean, moments.scatter / moments.weight, effective)


def project(witness: Witness, block: Block) -> FloatArray:
    """Features of a block; overflow is an error, not inf."""
    with np.errstate(over="ignore", invalid="ignore"):
        features = witness.project(block.draws, block.scores)
    finite(float(np.max(np.abs(features))), "a feature")
    return features


def _gather(source: Source, rows: Iterable[Rows]) -> tuple[Array, Array, FloatArray]:
    """The training rows themselves, with weights that sum to 1."""

    def update(blocks: list[Block], block: Block) -> list[Block]:
        return [*blocks, block]

    blocks = reduce_blocks(source, rows, list, update, lambda first, second: first + second)
    xp = namespace(blocks[0].draws)
    draws = xp.concat([block.draws for block in blocks])
    scores = xp.concat([block.scores for block in blocks])
    weights = np.concatenate(
        [np.ones(block.rows) if block.weights is None else block.weights for block in blocks]
    )
    return draws, scores, weights / weights.sum()


def _dual(
    draws: Array, scores: Array, weights: FloatArray, basis: Basis, answer: Coordinates
) -> DualWitness:
    draws, scores = answer.apply(draws, scores)
    xp = namespace(draws)
    shares = convert(weights, draws)
    weighted = scores * shares[:, None]
    terms, derivatives, diagonals = [], [], []
    for term in basis.terms(draws):
        derivative = derivative_sum(term, shares) * xp.ones_like(draws[0, :])
        terms.append(term.values)
        derivatives.append(derivative)
        diagonals.append(xp.sum(weighted * term.values, axis=0) + derivative)
    return DualWitness(
        feature_names(basis),
        basis,
        answer,
        weighted,
        terms,
        derivatives,
        diagonals,
        shares @ scores,
    )
