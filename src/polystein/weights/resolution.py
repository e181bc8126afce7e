"""Finer weights than one for each order: the multi-resolution extension of Section 4.4.

The weights of coordinates, or of entries, are those of orders on a longer list of features
(`polystein.stein.expanded_features`). A rule finds lambda from their moments, as for orders. Then
lambda is folded into the matrices, A_i -> lambda o A_i, so that test rows cost no more than with
one weight for each order. All of this needs a standardised frame, because weights compare
coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polystein._lib.arguments import one_of
from polystein.data.source import Rows, Source
from polystein.errors import InputError
from polystein.stein.basis import Basis
from polystein.stein.expanded_features import (
    CoordinateFeatures,
    CoordinateSums,
    EntryFeatures,
    entry_variances,
)
from polystein.stein.operator import DiagonalOperator, operator_for
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
