"""Every accumulator of the package, how it is made, and the numbers that it gives."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import polystein as ps
from polystein.data.coordinates import RAW, DrawMoments
from polystein.data.guard.repeats import RowKeys
from polystein.data.guard.rows import LargestDeviations, PositiveWeights, ScreenedRows
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Source
from polystein.data.split import TRAINING, ForRoles, Partition
from polystein.data.weight_sums import WeightSums
from polystein.explain.designs import (
    CoordinateDesign,
    JointDesign,
    MeansDesign,
    PairDesign,
    ValueFunction,
)
from polystein.explain.directions import MemorySums
from polystein.explain.estimates import Rows
from polystein.explain.gram import Folds, GramPass
from polystein.explain.influence import Combination, InfluencePass
from polystein.explain.products import ProductSums
from polystein.explain.screening import ShapeLook
from polystein.inference.batch_means import ShortBatches
from polystein.inference.columns import ColumnMoments
from polystein.inference.longrun import EqualBatches, IndependentBatches
from polystein.inference.lugsail import ChainHalves, LugsailBatches
from polystein.inference.pareto import LargestValues
from polystein.methods.check.agreement import AgreementSums
from polystein.methods.check.batches import cut
from polystein.methods.check.look import Bounds, KeptRows, kept_rows, rows_to_rank
from polystein.methods.check.sums import BatchSums
from polystein.methods.check.witnesses import TrainingSums
from polystein.methods.discrepancy import _Products, _Stack
from polystein.methods.split_sample import ProjectedTestRows, RoleMoments
from polystein.stein.basis import Hermite, LinearAndBounded, Monomial
from polystein.stein.batched import BatchedMoments
from polystein.stein.dual import _Extent, _FeatureSum
from polystein.stein.moments import SteinMoments, SteinSums
from polystein.stein.operator import operator_for
from polystein.stein.witness import ChainColumns, PrimalWitness, ProjectedColumns, fit_matrices
from polystein.weights.resolution import EntryVariances

ORDER = 3


class Given(NamedTuple):
    """A source, the roles of its rows, and a witness in the frame of all rows."""

    source: Source
    partition: Partition
    witness: PrimalWitness

    @classmethod
    def of(cls, source: Source, split: Any) -> Given:
        moments = DrawMoments(source.layout.dimension)
        run_pass(source, every_row(source), moments)
        frame = moments.standard_frame()
        witness = fit_matrices(source, every_row(source), Hermite(ORDER), frame=frame)
        return cls(source, split.partition(source.layout, np.random.default_rng(0)), witness)


class Case(NamedTuple):
    """How an accumulator is made, and a list of the arrays that it comes to."""

    make: Callable[[Given], Any]
    read: Callable[[Any], list[Any]]


def _frame(moments: DrawMoments) -> list[Any]:
    frame = moments.standard_frame()
    return [frame.centre, frame.scale]


def _moments(sums: Any) -> list[Any]:
    return list(sums.moments.finalise())


def _stein(moments: SteinMoments) -> list[Any]:
    mean = moments.finalise()
    squares = [] if mean.squared_norms is None else [mean.squared_norms]
    return [*mean.matrices, mean.score, mean.weight_squares, *squares]


def _sums(structure: Any, basis: Any, given: Given) -> SteinSums:
    answer = RAW if basis.closed_under_shifts else given.witness.frame
    moments = SteinMoments.empty(basis, structure, norms=True, answer=answer)
    return SteinSums(moments, given.source.log_scale)


def _tails(given: Given) -> list[LargestValues]:
    return [LargestValues(given.source.layout.total) for _ in range(2)]


def _judged(variance: Any, given: Given) -> ProjectedTestRows:
    columns = 2 + ORDER
    accumulator = variance.accumulator(given.source.layout.lengths, columns)
    return ProjectedTestRows(
        given.witness, accumulator, _tails(given), combined=np.arange(1.0, columns), kept=True
    )


def _lugsail(halved: bool, given: Given) -> ProjectedTestRows:
    """Halves of batches of every chain, or whole chains, four to a batch."""
    stretches, first = {}, 0
    for chain, length in enumerate(given.source.layout.lengths):
        if halved:
            halves = 2 * max(1, length // 8)
            stretches[chain] = ChainHalves(0, length, halves, first)
            first += halves
        else:
            stretches[chain] = ChainHalves(0, length, 1, chain // 2)
    if not halved and len(stretches) == 1:
        stretches[0] = ChainHalves(0, given.source.layout.total, 4, 0)
    columns = 2 + ORDER
    accumulator = LugsailBatches(stretches, columns, halved=halved)
    return ProjectedTestRows(
        given.witness, accumulator, _tails(given), combined=np.arange(1.0, columns), kept=True
    )


def _read_judged(judged: ProjectedTestRows) -> list[Any]:
    """What is kept of the columns is a set of rows."""
    tails = [np.sort(np.concatenate(tail._kept))[-tail._count :] for tail in judged.tails]
    return [*judged.variance.finalise(), np.sort(np.concatenate(judged.parts), axis=0), *tails]


def _cells(given: Given) -> ProjectedTestRows:
    columns, lengths = 2 + ORDER, given.source.layout.lengths
    accumulator = ShortBatches(ps.BatchMeans(), lengths, columns, 3)
    return ProjectedTestRows(
        given.witness, accumulator, _tails(given), combined=np.arange(1.0, columns), kept=True
    )


def _batch_pass(given: Given) -> Any:
    batches = cut(given.source.layout, chains=given.source.layout.time_ordered)
    basis = LinearAndBounded(ORDER)
    return BatchSums(given.source, given.witness.frame, basis, batches, (1, 2))._pass


def _read_batches(sums: Any) -> list[Any]:
    pairs = [pairs.sums for pairs in sums.pairs.values()]
    own = [sums.sums, sums.weights]
    return [*own, *pairs, *_read_largest(sums.deviations)]


def _read_largest(largest: LargestDeviations) -> list[Any]:
    """Only the largest of all coordinates is asked for."""
    return [largest._largest.max(), np.argmax(largest._largest), largest._total]


def _training(given: Given) -> TrainingSums:
    basis = LinearAndBounded(ORDER)
    return TrainingSums(given.source, given.partition, basis, given.witness.frame)


def _read_training(sums: TrainingSums) -> list[Any]:
    folds = [array for fold in sums.folds if fold.weight > 0.0 for array in _stein(fold)]
    return [*folds, *sums.entries.finalise()]


def _products(given: Given) -> _Products:
    stack = _Stack(Monomial(2), operator_for("full"), given.witness.frame)
    size = 2 * 9 + 3
    return _Products(stack, np.full(size, 0.1), np.full(size, 2.0))


_DESIGNS = (
    MeansDesign(3),
    CoordinateDesign(3, 1),
    CoordinateDesign(3, 0, shape=True),
    PairDesign(3, 0, 2),
    JointDesign(3, (0,), (), (ValueFunction(np.sin, np.zeros(3), np.ones(3)),)),
)


def _gram(given: Given) -> GramPass:
    return GramPass(_DESIGNS, given.witness.frame, Folds(given.source.layout))


def _products_shared(given: Given) -> ProductSums:
    designs = (_DESIGNS[1], _DESIGNS[3])
    return ProductSums(designs, given.witness.frame, Folds(given.source.layout))


def _influence(chains: bool, given: Given) -> InfluencePass:
    lengths = given.source.layout.lengths
    stretches = EqualBatches(lengths) if chains else IndependentBatches(lengths)
    rows = Rows(given.source, given.source.layout.total, stretches)
    fits = rows.fits(_DESIGNS[1:4], given.witness.frame)
    combinations = [
        Combination(fit, np.eye(fit.design.functions), np.eye(fit.design.functions)) for fit in fits
    ]
    return InfluencePass(combinations, given.witness.frame, stretches)


def _agreement(given: Given) -> AgreementSums:
    bounds = Bounds(
        np.linspace(-1.0, 1.0, 6), np.linspace(0.5, 2.0, 6), 2.0, np.ones(6), np.zeros(3, bool)
    )
    return AgreementSums(given.source.layout, bounds)


def _kept(rows: KeptRows) -> list[Any]:
    return [rows.values[rows._held], rows.weights, rows._held]


CASES: dict[str, Case] = {
    "GramPass": Case(_gram, lambda a: list(a.matrices)),
    "ProductSums": Case(_products_shared, lambda a: [a.scores, a.sums, a.own]),
    "InfluencePass": Case(partial(_influence, False), lambda a: [a.sums]),
    "InfluencePass chains": Case(partial(_influence, True), lambda a: [a.sums]),
    "MemorySums": Case(
        lambda g: MemorySums(EqualBatches(g.source.layout.lengths), 3, g.witness.frame),
        lambda a: [a.sums],
    ),
    "ShapeLook": Case(lambda g: ShapeLook(3, g.witness.frame), _moments),
    "AgreementSums": Case(_agreement, lambda a: [*a.finalise()[:3]]),
    "ScreenedRows": Case(lambda g: ScreenedRows(g.source.layout), lambda a: [*a.finalise()]),
    "KeptRows kept": Case(lambda g: kept_rows(g.source.layout), _kept),
    "KeptRows to rank": Case(lambda g: rows_to_rank(g.source.layout), _kept),
    "SteinSums": Case(partial(_sums, "full", Monomial(ORDER)), lambda a: _stein(a.moments)),
    "SteinSums diagonal": Case(
        partial(_sums, "diagonal", Monomial(ORDER)), lambda a: _stein(a.moments)
    ),
    "SteinSums hermite": Case(partial(_sums, "full", Hermite(2)), lambda a: _stein(a.moments)),
    "ProjectedColumns": Case(
        lambda g: ProjectedColumns(g.witness, ColumnMoments(1 + ORDER)), _moments
    ),
    "ProjectedColumns variances": Case(
        lambda g: ProjectedColumns(g.witness, ColumnMoments(1 + ORDER, joint=False)), _moments
    ),
    "ChainColumns": Case(lambda g: ChainColumns(g.witness), lambda a: a.by_chain()),
    "ChainColumns weighted": Case(
        lambda g: ChainColumns(g.witness, weighted=True), lambda a: a.by_chain()
    ),
    "EntryVariances": Case(lambda g: EntryVariances(g.witness), _moments),
    "DrawMoments": Case(lambda g: DrawMoments(3), _frame),
    "RowKeys": Case(lambda g: RowKeys(), lambda a: [a.repeats()]),
    "PositiveWeights": Case(
        lambda g: PositiveWeights(g.partition), lambda a: list(a._counts.values())
    ),
    "LargestDeviations": Case(lambda g: LargestDeviations(g.witness.frame, 3), _read_largest),
    "WeightSums": Case(lambda g: WeightSums(), lambda a: [a.total, a.squares]),
    "ForRoles": Case(
        lambda g: ForRoles(g.partition, TRAINING, ChainColumns(g.witness)),
        lambda a: a.accumulator.by_chain(),
    ),
    "ForRoles moments": Case(
        lambda g: ForRoles(g.partition, ("test",), DrawMoments(3)),
        lambda a: _frame(a.accumulator),
    ),
    "RoleMoments": Case(
        lambda g: RoleMoments(3, g.partition),
        lambda a: [*_frame(a.training), *_frame(a.others)],
    ),
    "ProjectedTestRows iid": Case(partial(_judged, ps.IID()), _read_judged),
    "ProjectedTestRows sequence": Case(partial(_judged, ps.InitialSequence()), _read_judged),
    "ProjectedTestRows batches": Case(partial(_judged, ps.BatchMeans(length=3)), _read_judged),
    "ProjectedTestRows lugsail": Case(partial(_lugsail, True), _read_judged),
    "ProjectedTestRows whole chains": Case(partial(_lugsail, False), _read_judged),
    "BatchedMoments": Case(
        lambda g: BatchedMoments(
            Hermite(ORDER), "full", g.witness.frame, 3, EqualBatches(g.source.layout.lengths)
        ),
        lambda a: [*a.finalise()],
    ),
    "_Extent": Case(lambda g: _Extent(3), lambda a: [a.bounds]),
    "_FeatureSum": Case(lambda g: _FeatureSum(g.witness), lambda a: [a.total, a.weight]),
    "ProjectedTestRows cells": Case(_cells, _read_judged),
    "BatchPass": Case(_batch_pass, _read_batches),
    "TrainingSums": Case(_training, _read_training),
    "_Products": Case(_products, lambda a: [a.products, a.squares, a.weight, a.weight_squares]),
}
#: These take columns or arrays instead of blocks, from accumulators above. The folds are not
#: cut anywhere: a block lies in one of them.
BEHIND_OTHERS = {
    "ShortBatches",
    "ChainAccumulator",
    "_IIDAccumulator",
    "ColumnMoments",
    "FoldedColumns",
    "LugsailBatches",
    "SteinMoments",
}


def accumulator_classes() -> set[str]:
    """Names of all classes of the package that have what an accumulator must have."""
    found = set()
    for module in pkgutil.walk_packages(ps.__path__, "polystein."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            own = isinstance(value, type) and value.__module__.startswith("polystein.")
            protocol = getattr(value, "_is_protocol", False)
            if own and not protocol and all(hasattr(value, n) for n in ("zero", "update", "merge")):
                found.add(value.__name__)
    return found
