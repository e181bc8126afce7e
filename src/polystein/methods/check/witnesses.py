"""The trained witnesses of `check`, which are judged together by their largest z.

All of them see the basis of `check` in a frame standardised by the training rows:

* ``trained score``: the score alone, each coordinate by its studentised mean;
* ``sparse stack``: those diagonal entries of all orders that stand out;
* ``trained x``: PSD's own witness of order 1;
* ``trained stack``: all orders with full matrices, weighted order by order.

Weights of the orders are cross-fitted: every training row is projected on a witness
that other training rows made, so that no rows need be set aside for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from polystein.data.coordinates import Frame
from polystein.data.source import Block, Source
from polystein.data.split import TRAINING, Partition
from polystein.errors import DegenerateError
from polystein.inference.columns import ColumnMoments, MeanAndCovariance
from polystein.methods.check.cross_fitting import (
    FOLDS,
    cross_fitted_moments,
    fitted_by_rows,
    fold_bounds,
    folds,
    witness_of,
)
from polystein.stein.basis import Basis
from polystein.stein.dual import DualWitness
from polystein.stein.moments import SteinMoments
from polystein.stein.operator import diagonal_entries
from polystein.stein.witness import PrimalWitness, dual_is_cheaper
from polystein.types import FloatArray
from polystein.weights.rules import SoftThreshold, varying

#: Added to the correlations of the orders' features.
RIDGE = 0.1
#: How many witnesses there are.
MEMBERS = 4
#: How many coordinates of a sparse member a result names.
MOST_NAMED = 3
_DENSE, _SPARSE = SoftThreshold(level=0.0), SoftThreshold()


class Member(NamedTuple):
    """One witness: its name, what it looks at, and which orders and coordinates it weighs.

    ``coordinates`` is empty if it looks at all of them.
    """

    name: str
    words: str
    orders: tuple[str, ...]
    coordinates: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class TrainedWitnesses:
    """All members as the columns of one projection.

    ``entries`` holds the weights of the diagonal entries, the score's first, for each
    of the first members; ``full_witness`` projects on the features of each order with full
    matrices, of which ``combination`` makes the others.
    """

    basis: Basis
    frame: Frame
    full_witness: PrimalWitness | DualWitness
    combination: FloatArray
    entries: FloatArray

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Members' columns for every row; every basis function is evaluated once."""
        draws, scores = self.frame.apply(draws, scores)
        # Orders with any weight, the score's first: those of the diagonal entries, and those that
        # `combination` weighs. Functions of higher orders need not be evaluated.
        by_order = self.entries.reshape(1 + self.basis.order, -1, self.entries.shape[1])
        diagonal = np.flatnonzero(by_order.any(axis=(1, 2))).tolist()
        witness, combination = self.full_witness, self.combination
        full = list(range(self.basis.order))
        if isinstance(witness, PrimalWitness):  # a dual witness has no matrices to leave out
            full = np.flatnonzero(combination[:-1].any(axis=1)).tolist()
            witness = replace(witness, A=[witness.A[number] for number in full])
            combination = combination[[*full, -1]]
        highest = max([0, *diagonal, *(1 + number for number in full)])
        terms = list(islice(self.basis.terms(draws), highest))

        members = np.zeros((len(scores), self.entries.shape[1]))
        chosen = [terms[order - 1] for order in diagonal if order > 0]
        entries = diagonal_entries(scores, chosen)
        if 0 not in diagonal:
            next(entries)  # the scores themselves
        for order, entry in zip(diagonal, entries, strict=True):
            weights = by_order[order]
            places = np.flatnonzero(weights.any(axis=1))
            few = 4 * places.size < len(weights)
            members += entry[:, places] @ weights[places] if few else entry @ weights
        orders = witness.contract(scores, [terms[number] for number in full])
        return np.concatenate([members, orders @ combination], axis=1)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members, in the order of the columns."""
        dense, stack = self.entries.T.reshape(2, 1 + self.basis.order, -1)
        of_dense, of_stack = (
            _with_weight(("score", *self.basis.names), np.abs(weights).sum(axis=1))
            for weights in (dense, stack)
        )
        first, all_orders = (
            _with_weight(self.full_witness.names, weights) for weights in self.combination.T
        )
        # The coordinates that have the most weight over all orders
        sizes = np.linalg.norm(stack, axis=0)
        largest = np.argsort(-sizes, kind="stable")[:MOST_NAMED]
        leading = tuple(largest[sizes[largest] > 0.0].tolist())
        return (
            Member("trained score", "location", of_dense),
            Member("sparse stack", "spread, shape", of_stack, leading),
            Member("trained x", "spread, correlation", first),
            Member("trained stack", "everything at once", all_orders),
        )


def _with_weight(names: Sequence[str], weights: FloatArray) -> tuple[str, ...]:
    """The orders that have weight, by name."""
    return tuple(names[place] for place in np.flatnonzero(weights).tolist())


class TrainingSums:
    """The training rows' sums: Stein moments of each fold, and moments of the diagonal entries.

    An accumulator of a pass over all rows. Every basis function is evaluated once a row.
    """

    def __init__(self, source: Source, partition: Partition, basis: Basis, frame: Frame) -> None:
        self._partition, self._frame, self._log_scale = partition, frame, source.log_scale
        self.basis, self.rows = basis, list(partition.rows(*TRAINING))
        self._bounds = fold_bounds(self.rows, len(source.layout.lengths))
        count, dimension = partition.count(*TRAINING), source.layout.dimension
        #: Whether witnesses are products with the training rows: no d x d sums are taken then.
        self.dual = dual_is_cheaper(count, dimension, basis.order)
        n_folds = 0 if self.dual else FOLDS
        self.folds = [SteinMoments.empty(basis, "full", answer=frame) for _ in range(n_folds)]
        size = (1 + basis.order) * dimension
        self.entries = ColumnMoments(size, joint=False)

    def zero(self) -> TrainingSums:
        """An accumulator of the same kind without rows."""
        result = copy(self)
        result.folds = [moments.zero() for moments in self.folds]
        result.entries = self.entries.zero()
        return result

    def update(self, block: Block) -> None:
        """Take the training rows of a block."""
        index = np.flatnonzero(self._partition.mask(block, *TRAINING))
        if not index.size:
            return
        chosen, bounds = self._fold_by_fold(block, index)
        seen = self._frame.see(chosen)
        terms = list(self.basis.terms(seen.draws))
        # Witnesses that are products with the rows have no sums of folds.
        for moments, (low, high) in zip(self.folds, pairwise(bounds), strict=False):
            if low < high:
                own = [term.part(low, high) for term in terms]
                moments.add(seen.part(low, high), self._log_scale, own)
        entries = diagonal_entries(seen.scores, terms)
        self.entries.update_side_by_side(entries, seen.rows, seen.weights)

    def _fold_by_fold(self, block: Block, index: NDArray[np.intp]) -> tuple[Block, list[int]]:
        """Some rows of a block, those of a fold side by side, and where each fold begins and ends.

        The order of the rows within a fold does not matter to sums.
        """
        chain, start, low, high = np.array(block.chains, dtype=np.intp).T[:, :, None]
        # The rows of the block from which on the next folds begin, for each of its runs.
        cuts = low + np.clip(self._bounds[chain[:, 0]] - start, 0, high - low)
        if len(cuts) == 1:
            # Rows of one chain are in the order of the folds.
            bounds = np.searchsorted(index, cuts[0]).tolist()
            return _rows_at(block, index), [0, *bounds, index.size]
        # The fold grows by one at each cut, and begins anew with each run.
        steps = np.bincount(cuts.ravel(), minlength=block.rows + 1)
        steps -= (FOLDS - 1) * np.bincount(high[:, 0], minlength=block.rows + 1)
        fold = np.cumsum(steps[:-1])[index]
        in_order = bool(np.all(fold[1:] >= fold[:-1]))
        order = np.argsort(fold, kind="stable")
        bounds = np.searchsorted(fold[order], np.arange(FOLDS + 1)).tolist()
        return _rows_at(block, index) if in_order else block.take(index[order]), bounds

    def merge(self, other: TrainingSums) -> TrainingSums:
        """Add another accumulator's rows."""
        for mine, yours in zip(self.folds, other.folds, strict=True):
            mine.merge(yours)
        self.entries.merge(other.entries)
        return self


def _rows_at(block: Block, index: NDArray[np.intp]) -> Block:
    """Some of the rows of a block, in their order; consecutive ones are not copied."""
    first, last = int(index[0]), int(index[-1])
    consecutive = last - first + 1 == index.size
    return block.part(first, last + 1) if consecutive else block.take(index)


def fit_witnesses(
    source: Source, sums: TrainingSums, frame: Frame, time: float
) -> TrainedWitnesses:
    """Train every member on the training rows, of autocorrelation time ``time``."""
    basis = sums.basis
    # PSD of order 1 is the first feature and the score's, which is the last, as they come.
    uniform = np.zeros(basis.order + 1)
    uniform[[0, -1]] = 1.0
    parts = folds(sums.rows)
    if sums.dual:
        trained, moments = fitted_by_rows(source, parts, basis, frame)
    else:
        trained = witness_of(sums.folds, frame)
        moments = cross_fitted_moments(source, parts, sums.folds, frame)
    stacked = np.ones(basis.order + 1) if moments is None else nonnegative_weights(moments)
    return TrainedWitnesses(
        basis,
        frame,
        trained,
        np.stack([uniform, stacked], axis=1),
        _entry_weights(sums.entries.finalise(), source.layout.dimension, time),
    )


def _entry_weights(moments: MeanAndCovariance, dimension: int, time: float) -> FloatArray:
    """Weights of the diagonal entries for the members that have them, one column each."""
    size = moments.mean.size
    weights = np.zeros((size, 2))
    for member, (rule, count) in enumerate([(_DENSE, dimension), (_SPARSE, size)]):
        seen = MeanAndCovariance(
            moments.mean[:count], moments.covariance[:count], moments.rows / time
        )
        # A constant score is for the other members and the other arm to judge.
        with suppress(DegenerateError):
            weights[:count, member] = rule.solve(seen, np.random.default_rng(0))
    return weights


def nonnegative_weights(moments: MeanAndCovariance) -> FloatArray:
    """The ridged maximiser of SNR^2 among weights that are not negative.

    A feature's population mean is a squared norm, so that a negative weight would
    only fit noise. Where every feature has a negative mean, all are kept.
    """
    features = varying(moments)
    spread = moments.spread[features]
    correlation = moments.covariance[features][:, features] / (spread[:, None] * spread)
    root = np.linalg.cholesky(correlation + RIDGE * np.eye(features.size))
    solution, _ = nnls(root.T, np.linalg.solve(root, moments.mean[features] / spread))
    weights = np.zeros(moments.mean.size)
    weights[features] = (solution if solution.any() else np.ones(features.size)) / spread
    weights /= weights.max()  # so that no square overflows
    return weights / np.sqrt(weights @ weights)
