"""Finer weights than one for each order: the multi-resolution extension of Section 4.4.

<A_i, Phi_i(x)> is taken apart into the addends that it sums,

    coordinate (i, l):  s_l (A_i phi_i)_l + A_i[l, l] phi_i'_l,
    entry (i, l, m):    A_i[l, m] Phi_i(x)[l, m],

and b's(x) into b_l s_l. A rule finds lambda from the moments of this longer list of features, as
for orders. Then lambda is folded into the matrices, A_i -> lambda o A_i, so that test rows cost no
more than with one weight for each order. All of this needs a standardised frame, because weights
compare coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polystein._lib.arguments import one_of
from polystein._lib.numerics import EPSILON
from polystein.data.passes import run_pass
from polystein.data.source import Block, Rows, Source
from polystein.errors import InputError
from polystein.inference.columns import ColumnMoments, MeanAndCovariance
from polystein.stein.basis import Basis
from polystein.stein.operator import DiagonalOperator, derivative_sum, operator_for
from polystein.stein.witness import PrimalWitness, feature_moments, projected_moments
from polystein.types import FloatArray, Resolution, Structure
from polystein.weights.rules import CrossEntropy, SoftThreshold, Weights, signal_to_noise

# Beyond this many features their covariances take more work than the features.
MOST_CORRELATED = 1024
# Alternating maximisation gains most in its first rounds.
ROUNDS = 10
LEAST_GAIN = 1e-3


def require_resolution(resolution: Resolution, *, standardise: bool) -> None:
    """Raise an error for an unknown resolution, or for finer weights on different scales."""
    one_of(resolution, Resolution, "resolution")
    if resolution != "order" and not standardise:
        raise InputError(
            f"`standardise` must be True for `resolution={resolution!r}`: weights of coordinates "
            "compare them, so they must be on one scale; got False"
        )


def default_rule(
    resolution: Resolution, basis: Basis, structure: Structure, dimension: int
) -> Weights:
    """The paper's search, or soft thresholding if there are too many weights for it."""
    if resolution == "order":
        return CrossEntropy()
    if resolution == "hierarchical":
        count = basis.order + 1 + dimension
    else:
        entries = dimension
        if resolution == "entry":
            entries = operator_for(structure).parameters(dimension)
        count = basis.order * entries + dimension
    # The paper's search is for few features; thresholds are for many.
    return CrossEntropy() if count <= 32 else SoftThreshold()


@dataclass(frozen=True)
class FinerWeights:
    """The rows that set the weights, the witness that they are for, and the rule."""

    source: Source
    rows: Sequence[Rows]
    witness: PrimalWitness
    rule: Weights
    rng: np.random.Generator

    def factors(self, resolution: Resolution) -> list[FloatArray]:
        """For each order and for the score, factors of the rows or entries of its matrix."""
        dimension = self.witness.b.size
        if resolution == "hierarchical":
            return self._by_order_and_coordinate()
        if resolution == "coordinate" or isinstance(self.witness.operator, DiagonalOperator):
            # Q d + d weights. The entries of a diagonal A_i are its coordinates.
            solution = self._solve(CoordinateFeatures(self.witness))
            return list(solution.reshape(len(self.witness.A) + 1, dimension))
        # Q d^2 + d weights, as o-PSD has
        solution = self._solve(EntryFeatures(self.witness))
        matrices = solution[:-dimension].reshape(-1, dimension, dimension)
        return [*matrices, solution[-dimension:]]

    def _by_order_and_coordinate(self) -> list[FloatArray]:
        """Weights alpha_i beta_l, by maximising over alpha and beta in alternation.

        Each step maximises a Rayleigh quotient while the other factor is held fixed.

        Starts at beta = 1, one weight for each order, and never returns a smaller SNR^2 than that.
        """
        dimension = self.witness.b.size
        beta = np.full(dimension, 1.0 / math.sqrt(dimension))
        best, alpha = self._given_beta(beta)
        for _ in range(ROUNDS):
            # The coordinates' weights, with those of the orders held fixed
            held = self.witness.scaled(list(np.outer(alpha, np.ones(dimension))))
            beta_next = self._solve(CoordinateSums(held))
            quotient, alpha_next = self._given_beta(beta_next)
            enough = quotient > (1.0 + LEAST_GAIN) * best
            if quotient > best:
                best, alpha, beta = quotient, alpha_next, beta_next
            if not enough:
                break
        return list(np.outer(alpha, beta))

    def _given_beta(self, beta: FloatArray) -> tuple[float, FloatArray]:
        """The orders' weights, with those of the coordinates held fixed, and their SNR^2."""
        held = self.witness.scaled([beta] * (len(self.witness.A) + 1))
        moments = feature_moments(self.source, self.rows, held)
        alpha = self.rule.solve(moments, self.rng)
        quotient = signal_to_noise(alpha[None, :], moments.mean, moments.covariance)
        return float(quotient[0]), alpha

    def _solve(self, features: CoordinateFeatures | CoordinateSums | EntryFeatures) -> FloatArray:
        """The rule's weights of expanded features.

        Covariances are worth their cost if the rule looks at them and the features are few.
        """
        joint = features.columns <= MOST_CORRELATED and self.rule.needs_covariance
        if isinstance(features, EntryFeatures) and not joint:
            moments = entry_variances(self.source, self.rows, self.witness)
        else:
            moments = projected_moments(
                self.source, self.rows, features, features.columns, joint=joint
            )
        return self.rule.solve(moments, self.rng)


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
                means = operator.summed(weighted, term.values, derivative_sum(term, shares, 1.0))
                # (s phi + phi')^2 = (s phi)^2 + (2 s phi + phi') phi' on the diagonal.
                mean_squares = operator.summed(
                    squared,
                    term.values**2,
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
