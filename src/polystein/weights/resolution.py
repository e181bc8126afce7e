"""Finer weights than one an order: the multi-resolution extension of Section 4.4.

The weights of coordinates, or of entries, are those of orders on a longer list of
features (`polystein.fine`). A rule finds lambda by their moments, as ever; then
lambda is folded into the matrices, A_i -> lambda o A_i, so that test rows cost
what they cost with one weight an order. All of this happens in the coordinates of
the answer, which are standardised: weights compare coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polystein._lib.arrays import convert, to_numpy
from polystein.errors import InputError
from polystein.protocols import (
    Basis,
    FloatArray,
    Resolution,
    Rows,
    Source,
    Structure,
    Weights,
)
from polystein.stein.expanded import (
    CoordinateFeatures,
    CoordinateSums,
    EntryFeatures,
    entry_variances,
)
from polystein.stein.moments import stein_moments
from polystein.stein.operator import DiagonalOperator, operator_for
from polystein.stein.witness import PrimalWitness, feature_moments
from polystein.weights.rules import CrossEntropy, SoftThreshold, signal_to_noise

# The paper's search is for few features; thresholds are for many.
MOST_SEARCHED = 32
# Beyond this many features their covariances take more work than the features.
MOST_CORRELATED = 1024
# Alternating maximisation gains most in its first rounds.
ROUNDS = 10
LEAST_GAIN = 1e-3
# How many coordinates, or entries, a result names.
MOST_NAMED = 5


def require_resolution(resolution: Resolution, *, standardise: bool) -> None:
    """Refuse what is no resolution, and weights of coordinates on different scales."""
    if resolution not in ("order", "coordinate", "hierarchical", "entry"):
        raise InputError(
            "`resolution` must be 'order', 'coordinate', 'hierarchical' or 'entry'; "
            f"got {resolution!r}"
        )
    if resolution != "order" and not standardise:
        raise InputError(
            f"`standardise` must be True for `resolution={resolution!r}`: weights of coordinates "
            "compare them, so they must be on one scale; got False"
        )


def default_rule(
    resolution: Resolution, basis: Basis, structure: Structure, dimension: int
) -> Weights:
    """The paper's search, or soft thresholding where there are too many weights for it."""
    few = parameters(resolution, basis.order, structure, dimension) <= MOST_SEARCHED
    return CrossEntropy() if resolution == "order" or few else SoftThreshold()


def parameters(resolution: Resolution, order: int, structure: Structure, dimension: int) -> int:
    """How many weights a resolution has (Section 4.4)."""
    if resolution == "order":
        return order + 1
    if resolution == "hierarchical":
        return order + 1 + dimension
    if resolution == "coordinate":
        return order * dimension + dimension
    return order * operator_for(structure).parameters(dimension) + dimension


@dataclass(frozen=True, eq=False)
class Refinement:
    """A witness with its weights folded in, and the norm of each order's weights."""

    resolution: Resolution
    witness: PrimalWitness
    norms: FloatArray

    def settings(
        self, source: Source, rows: Iterable[Rows], names: tuple[str, ...] | None
    ) -> dict[str, Any]:
        """Name the coordinates (and entries) that make up the mean of u over these rows."""
        parts = mean_parts(self.witness, source, rows)
        labels = names or tuple(str(index) for index in range(parts[-1].size))
        sums = np.sum([part if part.ndim == 1 else part.sum(axis=1) for part in parts], axis=0)
        details: dict[str, Any] = {
            "resolution": self.resolution,
            "coordinates": {labels[i]: share for i, share in largest_shares(sums)},
        }
        if self.resolution == "entry":
            entries = np.concatenate([part.ravel() for part in parts])
            details["entries"] = {
                entry_label(self.witness.names, labels, parts, i): share
                for i, share in largest_shares(entries)
            }
        return details


def refine(
    resolution: Resolution,
    source: Source,
    rows: Iterable[Rows],
    witness: PrimalWitness,
    rule: Weights,
    rng: np.random.Generator,
) -> Refinement:
    """Find the weights on the chosen rows and fold them into the witness."""
    rows = list(rows)
    if resolution == "hierarchical":
        factors = hierarchical_factors(source, rows, witness, rule, rng)
    elif resolution == "coordinate" or isinstance(witness.operator, DiagonalOperator):
        # The entries of a diagonal A_i are its coordinates.
        factors = coordinate_factors(source, rows, witness, rule, rng)
    else:
        factors = entry_factors(source, rows, witness, rule, rng)
    norms = np.array([np.linalg.norm(factor) for factor in factors])
    return Refinement(resolution, folded(witness, factors), norms)


def folded(witness: PrimalWitness, factors: list[FloatArray]) -> PrimalWitness:
    """lambda o A_i and lambda o b, with one factor for each row of A_i or for each entry."""
    operator, matrices = witness.operator, []
    for ((i, matrix, _),), factor in zip(witness.matrices, factors[:-1], strict=True):
        weights = convert(factor, matrix)
        scaled = operator.scale_rows(matrix, weights) if factor.ndim == 1 else weights * matrix
        matrices.append([(i, scaled, operator.diagonal(scaled))])
    vectors = witness.vectors * convert(factors[-1], witness.vectors)[:, None]
    return replace(witness, matrices=matrices, vectors=vectors)


def coordinate_factors(
    source: Source,
    rows: list[Rows],
    witness: PrimalWitness,
    rule: Weights,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """One weight for each order and coordinate: Q d + d of them."""
    features = CoordinateFeatures(witness)
    moments = feature_moments(source, rows, features, joint=joint(rule, len(features.names)))
    return list(rule.solve(moments, rng).reshape(len(witness.names), -1))


def hierarchical_factors(
    source: Source,
    rows: list[Rows],
    witness: PrimalWitness,
    rule: Weights,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """alpha_i beta_l, by turns: each is a Rayleigh quotient while the other is held.

    Starts at beta = 1, one weight an order, and never returns a smaller SNR^2.
    """
    orders, dimension = len(witness.names), witness.vectors.shape[0]

    def given_beta(beta: FloatArray) -> tuple[float, FloatArray]:
        moments = feature_moments(source, rows, folded(witness, [beta] * orders))
        alpha = rule.solve(moments, rng)
        return float(signal_to_noise(alpha[None, :], *moments[:2])[0]), alpha

    def given_alpha(alpha: FloatArray) -> FloatArray:
        held = folded(witness, list(np.outer(alpha, np.ones(dimension))))
        both = joint(rule, dimension)
        return rule.solve(feature_moments(source, rows, CoordinateSums(held), joint=both), rng)

    beta = np.full(dimension, 1.0 / math.sqrt(dimension))
    best, alpha = given_beta(beta)
    for _ in range(ROUNDS):
        beta_next = given_alpha(alpha)
        quotient, alpha_next = given_beta(beta_next)
        enough = quotient > (1.0 + LEAST_GAIN) * best
        if quotient > best:
            best, alpha, beta = quotient, alpha_next, beta_next
        if not enough:
            break
    return list(np.outer(alpha, beta))


def entry_factors(
    source: Source,
    rows: list[Rows],
    witness: PrimalWitness,
    rule: Weights,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """One weight for each entry: Q d^2 + d of them, as o-PSD has."""
    dimension = witness.vectors.shape[0]
    size = parameters("entry", witness.basis.order, "full", dimension)
    moments = (
        feature_moments(source, rows, EntryFeatures(witness))
        if joint(rule, size)
        else entry_variances(source, rows, witness)
    )
    solution = rule.solve(moments, rng)
    matrices = solution[:-dimension].reshape(-1, dimension, dimension)
    return [*matrices, solution[-dimension:]]


def joint(rule: Weights, size: int) -> bool:
    """Whether covariances are worth their while: the rule looks at them, and they are few."""
    return size <= MOST_CORRELATED and getattr(rule, "needs_covariance", True)


def mean_parts(witness: PrimalWitness, source: Source, rows: Iterable[Rows]) -> list[FloatArray]:
    """A_i o mean Phi_i and b o mean s: the addends of the mean of u."""
    structure: Structure = "diagonal" if isinstance(witness.operator, DiagonalOperator) else "full"
    mean = stein_moments(source, rows, witness.basis, structure, answer=witness.working).finalise()
    parts = [
        matrix * moment
        for ((_, matrix, _),), moment in zip(witness.matrices, mean.matrices, strict=True)
    ]
    return [to_numpy(part) for part in (*parts, witness.vectors[:, -1] * mean.score)]


def largest_shares(parts: FloatArray) -> list[tuple[int, float]]:
    """The largest parts, as shares of the sum of all absolute values."""
    sizes = np.abs(parts)
    order = np.argsort(-sizes, kind="stable")[:MOST_NAMED]
    total = sizes.sum()
    return [(int(i), float(parts[i] / total)) for i in order if sizes[i] > 0.0]


def entry_label(
    names: tuple[str, ...], labels: tuple[str, ...], parts: list[FloatArray], index: int
) -> str:
    """``x^2[l, m]`` for the entry that comes at this place when all are laid out."""
    for name, part in zip(names, parts, strict=True):
        if index < part.size:
            place = np.unravel_index(index, part.shape)
            return f"{name}[{', '.join(labels[i] for i in place)}]"
        index -= part.size
    raise IndexError(index)
