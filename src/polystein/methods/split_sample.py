"""What split-sample tests share: options, roles of rows, and columns of the test rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polystein._lib.arguments import one_of, replicates_of, require_rule, standardisation
from polystein._lib.notes import Notes
from polystein._lib.numerics import finite, is_constant
from polystein._lib.random import Streams, seed_sequence
from polystein.data.axes import require_time_along_chains
from polystein.data.coordinates import Frame
from polystein.data.cores import side_by_side
from polystein.data.passes import Accumulator, Tick, run_pass
from polystein.data.screen import forbid_duplicates
from polystein.data.source import Block, Source
from polystein.data.split import Partition, Split
from polystein.errors import (
    DegenerateError,
    DependenceWarning,
    HeavyTailWarning,
    InputError,
    LowESSWarning,
)
from polystein.inference.autocorrelation import autocorrelation_times
from polystein.inference.lugsail import LugsailBatches
from polystein.inference.pareto import LARGEST_INDEX, LargestValues
from polystein.inference.pvalues import exchangeable_pvalue
from polystein.inference.variance import ColumnAccumulator, LongRun, Variance
from polystein.methods.first_look import FirstLook
from polystein.results.result import GofResult
from polystein.stein.basis import Basis
from polystein.stein.witness import ChainColumns, Projection, project
from polystein.types import RNG, Alternative, FloatArray, Standardise, Structure

# Test rows stay this many autocorrelation times away from training rows: after five of them the
# autocorrelation of an AR(1) chain is below 1 %.
TRAINING_GAP_TIMES = 5.0


@dataclass(frozen=True)
class SplitSampleTest:
    """What a split-sample test is asked: the rows, and the options that all such tests share."""

    source: Source
    basis: Basis
    structure: Structure
    split: Split
    variance: Variance
    alternative: Alternative
    standardise: Standardise
    repeats: int = 1

    def __post_init__(self) -> None:
        require_rule(
            self.split, "partition", "split", "RandomSplit(), BlockSplit() or ChainSplit()"
        )
        require_rule(
            self.variance, "accumulator", "variance", "IID(), InitialSequence() or BatchMeans()"
        )
        one_of(self.alternative, Alternative, "alternative")
        standardisation(self.standardise)
        replicates_of(self.repeats, "repeats")
        ordered = self.split.respects_time or self.source.layout.time_ordered
        if self.repeats > 1 and ordered:
            raise InputError(
                "`repeats` must be 1 unless independent rows, (n, d), are split at random; got "
                f"{self.repeats} with {self.split} and {self.source}"
            )

    def reads(self) -> float:
        """About how often a row is read: for a first look if there is one, to train or to test."""
        looks = bool(self.standardise) or self.source.weighted or not self.split.respects_time
        return self.repeats * (1.0 + float(looks))

    def notes(self) -> Notes:
        """The warnings that came with the draws, and one if chains are tested as independent."""
        notes = Notes(self.source.facts.warnings)
        layout, split = self.source.layout, self.split
        # A split that keeps time order implies that the rows are a chain.
        chains = layout.time_ordered or split.respects_time
        if chains and not (split.respects_time and self.variance.respects_time):
            count = len(layout.lengths)
            are = f"are {count} time-ordered chains" if count > 1 else "are a time-ordered chain"
            notes.add(
                DependenceWarning(
                    f"`draws` {are}, but {split} with {self.variance} holds for independent rows "
                    "only: on autocorrelated draws from the right target it rejects far too often. "
                    "Use `split=BlockSplit()` with `variance=InitialSequence()`, or `check`."
                )
            )
        return notes

    def settings(self, weights: object | None) -> dict[str, Any]:
        """The options, as words and numbers."""
        return {
            "order": self.basis.order,
            "basis": type(self.basis).__name__,
            "structure": self.structure,
            "split": repr(self.split),
            "variance": repr(self.variance),
            "weights": None if weights is None else repr(weights),
            "standardise": self.standardise,
        }


class DividedRows(NamedTuple):
    """One split of the rows: their roles, the frame of the training rows, and random streams.

    Warnings are gathered in ``notes``.
    """

    source: Source
    partition: Partition
    frame: Frame
    streams: Streams
    look: FirstLook
    notes: Notes


def split_rows(
    test: SplitSampleTest,
    rng: RNG,
    notes: Notes,
    tick: Tick | None = None,
    beside: Sequence[Accumulator] = (),
) -> Iterator[DividedRows]:
    """Give every row its role, once or for each of several repeats.

    One pass over all rows takes a first look at them: for repeated rows, for weights and for the
    frame of the training rows. Accumulators ``beside`` take part in that pass.
    """
    source, split = test.source, test.split
    if split.respects_time:
        require_time_along_chains(source)
    seed = seed_sequence(rng)
    for number, child in enumerate([seed] if test.repeats == 1 else seed.spawn(test.repeats)):
        streams = Streams.of(child)
        draw_roles = partial(split.partition, source.layout, streams.split)
        # Rows that are all independent must not repeat. Where nothing else is looked at, that does
        # not have to wait for the roles.
        search = number == 0 and not split.respects_time
        alone = search and not (test.standardise or source.weighted or beside)
        if alone:
            look_for_repeats = partial(forbid_duplicates, source)
            partition = side_by_side(draw_roles, look_for_repeats, source.layout.total)
        else:
            partition = draw_roles()
        look = FirstLook(
            source,
            partition,
            repeats=search and not alone,
            moments=test.standardise is not False,
            whiten=test.standardise == "whiten",
        )
        look.take(tick, beside)
        yield DividedRows(source, partition, look.training_frame(), streams, look, notes)


def with_training_gap(rows: DividedRows, witness: Projection) -> DividedRows:
    """Drop rows before the test rows, by the autocorrelation of the training features."""
    if not rows.partition.awaits_gap:
        return rows
    columns = ChainColumns(witness)
    run_pass(rows.source, rows.partition.rows("weights"), columns)
    times = autocorrelation_times(columns.by_chain())
    longest = finite(float(times.max()), "the autocorrelation of the training features")
    gap = math.ceil(TRAINING_GAP_TIMES * longest)
    return rows._replace(partition=rows.partition.with_gap(gap))


def low_ess_warning(ess: float, least: float) -> LowESSWarning | None:
    """A warning if the verdict rests on too few effective draws."""
    if ess >= least:
        return None
    return LowESSWarning(
        f"the p-value rests on {ess:.0f} effective test draws; it is not to "
        f"be trusted with fewer than {least:.0f}: take more draws"
    )


def heavy_tail_warning(values: LargestValues) -> HeavyTailWarning | None:
    """A warning if the p-value rests on a column with heavy tails."""
    index = values.heavy_tail_index()
    if index is None:
        return None
    return HeavyTailWarning(
        f"the test column u has a heavy tail (Pareto index {index:.2f} > "
        f"{LARGEST_INDEX}): the p-value rests on a normal approximation that this many "
        "draws may not support, and on a variance that may be infinite. Use a lower "
        "`order` where there is one, more draws, or a parametrisation with lighter "
        "tails."
    )


class ColumnsOfTestRows(NamedTuple):
    """Long-run mean and covariance of columns over the test rows.

    ``tails`` has the largest values of the first columns, and ``weighted`` the columns
    themselves if they were kept; every row times its importance weight.
    """

    long_run: LongRun
    tails: list[LargestValues]
    weighted: FloatArray | None


def columns_of_test_rows(
    source: Source,
    partition: Partition,
    projection: Projection,
    variance: ColumnAccumulator,
    *,
    tails: int,
    kept: bool = False,
    tick: Tick | None = None,
    most: int | None = None,
    many_steps: bool = False,
) -> ColumnsOfTestRows:
    """Project the test rows, and estimate the mean of every column and its long-run variance.

    ``most`` and ``many_steps`` are those of `run_pass`.
    """
    largest = [LargestValues(partition.count("test")) for _ in range(tails)]
    columns = ProjectedTestRows(projection, variance, largest, kept)
    rows = partition.rows("test")
    run_pass(source, rows, columns, tick=tick, most=most, many_steps=many_steps)
    whole = np.concatenate(columns.parts) if kept else None
    return ColumnsOfTestRows(columns.variance.finalise(), columns.tails, whole)


class ProjectedTestRows:
    """Columns of a projection in the long-run variance's accumulator, with their largest values."""

    def __init__(
        self,
        projection: Projection,
        variance: ColumnAccumulator,
        tails: list[LargestValues],
        kept: bool,
    ) -> None:
        self._projection, self.variance, self.tails, self._kept = projection, variance, tails, kept
        self.parts: list[FloatArray] = []

    def zero(self) -> ProjectedTestRows:
        """An accumulator of the same kind without rows."""
        tails = [tail.zero() for tail in self.tails]
        return ProjectedTestRows(self._projection, self.variance.zero(), tails, self._kept)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        values = project(self._projection, block)
        if isinstance(self.variance, LugsailBatches):
            # Short chains are many: all of a block's are taken at once.
            self.variance.update_runs(values, block.weights, block.runs)
        else:
            self._update_each(values, block)
        weighted = values if block.weights is None else block.weights[:, None] * values
        for tail, column in zip(self.tails, weighted.T, strict=False):
            tail.add(column)
        if self._kept:
            self.parts.append(weighted.copy())

    def _update_each(self, values: FloatArray, block: Block) -> None:
        for run in block.runs:
            part = slice(run.low, run.high)
            weights = None if block.weights is None else block.weights[part]
            self.variance.update(values[part], weights, run.chain, run.start)

    def merge(self, other: ProjectedTestRows) -> ProjectedTestRows:
        """Add another accumulator's rows."""
        self.variance.merge(other.variance)
        for tail, further in zip(self.tails, other.tails, strict=True):
            tail.merge(further)
        self.parts += other.parts
        return self


def z_statistics(tested: LongRun, judged: slice) -> FloatArray:
    """mean / standard error, 0 for a constant column; an error if all judged ones are constant."""
    mean, error = tested.mean, np.sqrt(np.diagonal(tested.covariance))
    finite(float(error[judged].max()), "the variance of the test column u")
    flat = is_constant(error, mean)
    if flat[judged].all():
        raise DegenerateError(
            f"the test column u has no variance: it is {mean[judged][0]:.6g} on every test row. "
            "Are the draws or the scores constant?"
        )
    return np.divide(mean, error, out=np.zeros_like(mean), where=~flat)


def combine_splits(results: Sequence[GofResult], notes: Notes) -> GofResult:
    """The result, or that of the median statistic with a p-value for all splits together."""
    notes.emit()
    if len(results) == 1:
        return replace(results[0], warnings=notes.messages) if notes.messages else results[0]
    pvalues = np.array([result.pvalue for result in results])
    middle = sorted(results, key=lambda result: result.statistic)[len(results) // 2]
    return replace(
        middle,
        pvalue=exchangeable_pvalue(pvalues),
        evidence=replace(middle.evidence, split_pvalues=tuple(pvalues.tolist())),
        settings={**middle.settings, "repeats": len(results)},
        warnings=notes.messages,
    )
