"""The split arm of `check`: several trained witnesses, judged together by their largest z.

All of them see the basis of `check` in coordinates standardised by the training rows:

* ``trained score``: the score alone, each coordinate by its studentised mean;
* ``sparse score``: the same for the coordinates that stand out;
* ``sparse stack``: those diagonal entries of all orders that stand out;
* ``trained x``: PSD's own witness of order 1;
* ``trained stack``: all orders with full matrices, weighted order by order.

Weights of the orders are cross-fitted: every training row is projected on a witness
that other training rows made, so that no rows need be set aside for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from polystein.data.coordinates import Coordinates
from polystein.data.passes import read_blocks, reduce_blocks
from polystein.errors import DegenerateError
from polystein.protocols import (
    Array,
    Basis,
    Block,
    FeatureMoments,
    FloatArray,
    Rows,
    Source,
    Witness,
)
from polystein.stein.moments import ColumnMoments, SteinMoments, merge_all, stein_moments
from polystein.stein.operator import diagonal_entries
from polystein.stein.witness import PrimalWitness, maximiser, project
from polystein.weights.rules import SoftThreshold, varying

NAMES = ("trained score", "sparse score", "sparse stack", "trained x", "trained stack")
FOLDS = 4
#: Added to the correlations of the orders' features.
RIDGE = 0.1
_DENSE, _SPARSE = SoftThreshold(level=0.0), SoftThreshold()


@dataclass(frozen=True, eq=False)
class Portfolio:
    """A witness whose columns are the members.

    ``entries`` holds the weights of the diagonal entries, the score's first, for each
    of the first members; ``orders`` projects on the features of each order with full
    matrices, of which ``combination`` makes the others.
    """

    basis: Basis
    coordinates: Coordinates
    orders: Witness
    combination: FloatArray
    entries: FloatArray

    names = NAMES

    def project(self, draws: Array, scores: Array) -> FloatArray:
        """Members' columns for every row."""
        full = self.orders.project(draws, scores) @ self.combination
        entries = diagonal_entries(self.basis, *self.coordinates.apply(draws, scores))
        return np.concatenate([entries @ self.entries, full], axis=1)

    def orders_of(self, member: str) -> tuple[str, ...]:
        """The orders that a member has weight on, by name."""
        position, split = NAMES.index(member), self.entries.shape[1]
        if position < split:
            names = ("score", *self.basis.names)
            weights = np.abs(self._by_order(position)).sum(axis=1)
        else:
            names = self.orders.names
            weights = self.combination[:, position - split]
        return tuple(name for name, weight in zip(names, weights, strict=True) if weight != 0.0)

    def coordinates_of(self, member: str, most: int = 3) -> tuple[int, ...]:
        """The coordinates that a sparse member has most weight on; the others see them all."""
        if not member.startswith("sparse"):
            return ()
        sizes = np.linalg.norm(self._by_order(NAMES.index(member)), axis=0)
        order = np.argsort(-sizes, kind="stable")[:most]
        return tuple(int(index) for index in order if sizes[index] > 0.0)

    def _by_order(self, position: int) -> FloatArray:
        """Weights of the diagonal entries, of shape (1 + Q, d)."""
        return self.entries[:, position].reshape(1 + self.basis.order, -1)


def fit_portfolio(
    source: Source, rows: Iterable[Rows], basis: Basis, coordinates: Coordinates, time: float
) -> Portfolio:
    """Train every member on the chosen rows, of autocorrelation time ``time``."""
    rows = list(rows)
    parts = folds(rows, FOLDS)
    sums = [stein_moments(source, part, basis, answer=coordinates) for part in parts]
    # PSD of order 1 is the first feature and the score's, which is the last, as they come.
    uniform = np.zeros(basis.order + 1)
    uniform[[0, -1]] = 1.0
    moments = cross_fitted_moments(source, parts, sums, coordinates)
    stacked = np.ones(basis.order + 1) if moments is None else nonnegative_weights(moments)
    return Portfolio(
        basis,
        coordinates,
        witness_of(sums, coordinates),
        np.stack([uniform, stacked], axis=1),
        _entry_weights(source, rows, basis, coordinates, time),
    )


def witness_of(sums: Sequence[SteinMoments], coordinates: Coordinates) -> PrimalWitness:
    """The maximiser of Proposition 3.2 on the rows of several sums together."""
    together = merge_all(sums)
    return maximiser(together.finalise(), together.basis, "full", coordinates, coordinates)


def _entry_weights(
    source: Source, rows: list[Rows], basis: Basis, coordinates: Coordinates, time: float
) -> FloatArray:
    """Weights of the diagonal entries for the members that have them, one a column."""
    dimension = source.layout.dimension

    def zero() -> ColumnMoments:
        return ColumnMoments((1 + basis.order) * dimension, joint=False)

    def update(state: ColumnMoments, block: Block) -> ColumnMoments:
        entries = diagonal_entries(basis, *coordinates.apply(block.draws, block.scores))
        return state.update(entries, block.weights)

    moments = reduce_blocks(source, rows, zero, update, ColumnMoments.merge)
    variance = moments.scatter / moments.weight
    effective = moments.weight**2 / moments.weight_squares / time
    weights = np.zeros((moments.mean.size, 3))
    for member, (rule, size) in enumerate(
        [(_DENSE, dimension), (_SPARSE, dimension), (_SPARSE, moments.mean.size)]
    ):
        seen = FeatureMoments(moments.mean[:size], variance[:size], effective)
        # A constant score is for the other members and the other arm to judge.
        with suppress(DegenerateError):
            weights[:size, member] = rule.solve(seen, np.random.default_rng(0))
    return weights


def cross_fitted_moments(
    source: Source,
    parts: list[list[Rows]],
    sums: list[SteinMoments],
    coordinates: Coordinates,
) -> FeatureMoments | None:
    """Mean and covariance of the orders' features, each row's by a witness of other rows.

    None where all the importance weight is in one fold, which leaves no other rows.
    """
    moments = ColumnMoments(sums[0].basis.order + 1)
    for k, part in enumerate(parts):
        others = sums[:k] + sums[k + 1 :]
        if not any(other.weight > 0.0 for other in others):
            continue
        witness = witness_of(others, coordinates)
        for block in read_blocks(source, part):
            moments.update(project(witness, block), block.weights)
    if moments.weight == 0.0:
        return None
    effective = moments.weight**2 / moments.weight_squares
    return FeatureMoments(moments.mean, moments.scatter / moments.weight, effective)


def nonnegative_weights(moments: FeatureMoments) -> FloatArray:
    """The ridged maximiser of SNR^2 among weights that are not negative.

    A feature's population mean is a squared norm, so that a negative weight would
    only fit noise. Where every feature has a negative mean, all are kept.
    """
    kept = varying(moments)
    spread = np.sqrt(moments.variance[kept])
    correlation = moments.covariance[kept][:, kept] / (spread[:, None] * spread)
    root = np.linalg.cholesky(correlation + RIDGE * np.eye(kept.size))
    solution, _ = nnls(root.T, np.linalg.solve(root, moments.mean[kept] / spread))
    weights = np.zeros(moments.mean.size)
    weights[kept] = (solution if solution.any() else np.ones(kept.size)) / spread
    return weights / np.sqrt(weights @ weights)


def folds(rows: list[Rows], count: int) -> list[list[Rows]]:
    """Contiguous parts of the rows, each a part of every stretch."""
    return [[_part(stretch, k, count) for stretch in rows] for k in range(count)]


def _part(rows: Rows, k: int, count: int) -> Rows:
    """The k-th of ``count`` equal parts of a stretch."""
    length = rows.stop - rows.start
    low, high = k * length // count, (k + 1) * length // count
    mask = None if rows.mask is None else rows.mask[low:high]
    return Rows(rows.chain, rows.start + low, rows.start + high, mask)
