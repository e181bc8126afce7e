"""Cross-fitting: every training row is projected on a witness that other training rows made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import Frame
from polystein.data.passes import rows_of_many_arrays, run_pass, uncounted
from polystein.data.source import Block, Rows, Source
from polystein.data.weight_sums import WeightSums
from polystein.inference.columns import ColumnMoments, MeanAndCovariance
from polystein.stein.basis import Basis
from polystein.stein.dual import DualWitness, fit_dual
from polystein.stein.moments import SteinMoments, merge_all
from polystein.stein.witness import (
    PrimalWitness,
    ProjectedColumns,
    finite_features,
    maximiser,
)

#: Training rows are cut into this many parts; each is projected on a witness of the others.
FOLDS = 4
#: From this many chains on, a fold has chains of its own instead of a part of every chain.
MANY_STRETCHES = 16
#: About this many rows are projected to weigh the orders; more would hardly move the weights.
MOST_CROSS_FITTED = 2**17


def witness_of(sums: Sequence[SteinMoments], frame: Frame) -> PrimalWitness:
    """The maximiser of Proposition 3.2 on the rows of several sums together."""
    together = merge_all(sums)
    return maximiser(together.finalise(), together.basis, "full", frame)


def cross_fitted_moments(
    source: Source,
    parts: list[list[Rows]],
    sums: list[SteinMoments],
    frame: Frame,
) -> MeanAndCovariance | None:
    """Mean and covariance of the orders' features, each row's by a witness of other rows.

    None if all the importance weight is in one fold, which leaves no other rows. Of very many
    rows the first ones of every stretch are enough, for there are few features.
    """
    total = sum(stretch.stop - stretch.start for part in parts for stretch in part)
    less = max(1, total // MOST_CROSS_FITTED)
    folded = FoldedColumns([], ColumnMoments(sums[0].basis.order + 1))
    wanted: list[Rows] = []
    for k, part in enumerate(parts):
        others, first = sums[:k] + sums[k + 1 :], [_part(stretch, 0, 1, less) for stretch in part]
        if any(other.weight > 0.0 for other in others):
            stretches = {row.chain: (row.start, row.stop) for row in first}
            folded.witnesses.append((stretches, witness_of(others, frame)))
            wanted += first
    if wanted:
        if source.sequential or source.grain > 1:
            # What is walked or decoded for one fold is not walked or decoded for the others again.
            wanted.sort(key=lambda row: row[:2])
        run_pass(source, wanted, folded, many_steps=True)
    return None if folded.moments.weight == 0.0 else folded.moments.finalise()


class FoldedColumns(NamedTuple):
    """Columns of rows, each projected on the witness of its own fold.

    A fold has at most one stretch of every chain.
    """

    witnesses: list[tuple[dict[int, tuple[int, int]], PrimalWitness]]
    moments: ColumnMoments

    def zero(self) -> FoldedColumns:
        """An accumulator of the same kind without rows."""
        return FoldedColumns(self.witnesses, self.moments.zero())

    def update(self, block: Block) -> None:
        """Take the rows of a block; every basis function is evaluated once."""
        _, witness = self.witnesses[0]
        seen = witness.frame.see(block)
        terms = list(witness.basis.terms(seen.draws))
        # The fold of each run of rows. Chosen rows take up more than they are.
        found = [
            next(
                number
                for number, (stretches, _) in enumerate(self.witnesses)
                if (bounds := stretches.get(run.chain)) is not None
                and bounds[0] <= run.start
                and run.start + run.high - run.low <= bounds[1]
            )
            for run in block.chains
        ]
        # Neighbouring runs of one fold are projected together.
        for number, group in groupby(zip(found, block.chains, strict=True), itemgetter(0)):
            runs = [run for _, run in group]
            low, high = runs[0].low, runs[-1].high
            _, witness = self.witnesses[number]
            own = [term.part(low, high) for term in terms]
            columns = finite_features(witness.contract(seen.scores[low:high], own))
            weights = None if seen.weights is None else seen.weights[low:high]
            self.moments.update(columns, weights)

    def merge(self, other: FoldedColumns) -> FoldedColumns:
        """Add another accumulator's rows."""
        self.moments.merge(other.moments)
        return self


def fitted_by_rows(
    source: Source, parts: list[list[Rows]], basis: Basis, frame: Frame
) -> tuple[PrimalWitness | DualWitness, MeanAndCovariance | None]:
    """The maximiser and the cross-fitted moments by products with the training rows."""
    moments = ColumnMoments(basis.order + 1)
    for k, part in enumerate(parts):
        others = [row for other in parts[:k] + parts[k + 1 :] for row in other]
        if _weight(source, others) > 0.0:
            projected = ProjectedColumns(_dual(source, others, basis, frame), moments)
            most = rows_of_many_arrays(source.layout.dimension)
            run_pass(source, part, projected, most=most)
    every = [row for part in parts for row in part]
    found = None if moments.weight == 0.0 else moments.finalise()
    return _dual(source, every, basis, frame), found


def _dual(source: Source, rows: list[Rows], basis: Basis, frame: Frame) -> DualWitness:
    witness = fit_dual(source, rows, basis, frame, _count(rows))
    if witness is None:
        raise ValueError("rows of `check` are standardised")
    return witness.normalised(source, rows)


def _count(rows: list[Rows]) -> int:
    """How many rows are chosen."""
    return sum(
        row.stop - row.start if row.mask is None else int(np.count_nonzero(row.mask))
        for row in rows
    )


def _weight(source: Source, rows: list[Rows]) -> float:
    if not source.weighted:
        return float(_count(rows))
    sums = WeightSums()
    with uncounted():
        run_pass(source, rows, sums)
    return sums.total


def folds(rows: list[Rows]) -> list[list[Rows]]:
    """Contiguous parts of the rows: of many stretches some each, else a part of every stretch."""
    if len(rows) >= MANY_STRETCHES:
        bounds = [k * len(rows) // FOLDS for k in range(FOLDS + 1)]
        return [rows[low:high] for low, high in pairwise(bounds)]
    return [[_part(stretch, k, k + 1, FOLDS) for stretch in rows] for k in range(FOLDS)]


def _part(rows: Rows, first: int, last: int, parts: int) -> Rows:
    """The equal parts of a stretch from the first to the last, without the last."""
    length = rows.stop - rows.start
    low, high = first * length // parts, last * length // parts
    mask = None if rows.mask is None else rows.mask[low:high]
    return Rows(rows.chain, rows.start + low, rows.start + high, mask)


def fold_bounds(rows: list[Rows], chains: int) -> NDArray[np.intp]:
    """The rows from which on the second, third, ... fold begins, of shape (chains, folds - 1).

    Chains of which there are no rows have 0.
    """
    chain, start, stop = np.array([stretch[:3] for stretch in rows], dtype=np.intp).T
    bounds = np.zeros((chains, FOLDS - 1), dtype=np.intp)
    for k, part in enumerate(folds(rows)[1:]):
        if len(part) == len(rows):
            bounds[chain, k] = [stretch.start for stretch in part]
        else:
            # A chain that this fold has no part of lies before or after it as a whole.
            bounds[chain, k] = np.where(chain < part[0].chain, stop, start)
    return bounds
