"""What split-sample tests share: roles of rows, a first look at them, columns of test rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import one_of, replicates_of, require_rule
from polystein._lib.notes import Notes
from polystein._lib.numerics import finite, is_constant, kish_size
from polystein._lib.random import Streams, seed_sequence, seed_setting
from polystein.data.coordinates import RAW, DrawMoments, Frame
from polystein.data.guard.chains import require_time_along_chains, stays
from polystein.data.guard.repeats import (
    RowKeys,
    keyed_rows,
    keys_of_chains,
    refuse_copies,
    refuse_repeats,
)
from polystein.data.guard.rows import PositiveWeights
from polystein.data.guard.scores import refuse_zeros
from polystein.data.passes import (
    Accumulator,
    every_row,
    rows_of_few_columns,
    rows_of_many_arrays,
    run_pass,
    uncounted,
    visit_blocks,
)
from polystein.data.source import Block, Source, coordinate_names
from polystein.data.split import TRAINING, Partition, Split
from polystein.data.weight_sums import WeightSums
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
from polystein.results.result import GofResult
from polystein.stein.witness import ChainColumns, Projection, project
from polystein.types import RNG, Alternative, FloatArray, Standardise


def require_rules(
    source: Source, split: Split, variance: Variance, alternative: Alternative, repeats: int
) -> None:
    """Raise an error for a split, variance, alternative or number of repeats that is none."""
    require_rule(split, "partition", "split", "RandomSplit(), BlockSplit() or ChainSplit()")
    require_rule(variance, "accumulator", "variance", "IID(), InitialSequence() or BatchMeans()")
    one_of(alternative, Alternative, "alternative")
    replicates_of(repeats, "repeats")
    if repeats > 1 and (split.respects_time or source.layout.time_ordered):
        raise InputError(
            "`repeats` must be 1 unless independent rows, (n, d), are split at random; got "
            f"{repeats} with {split} and {source}"
        )


def first_notes(source: Source, split: Split, variance: Variance) -> Notes:
    """The warnings that came with the draws, and one if chains are tested as independent rows."""
    notes, layout = Notes(source.facts.warnings), source.layout
    # A split that keeps time order implies that the rows are a chain.
    chains = layout.time_ordered or split.respects_time
    if chains and not (split.respects_time and variance.respects_time):
        count = len(layout.lengths)
        are = f"are {count} time-ordered chains" if count > 1 else "are a time-ordered chain"
        notes.add(
            DependenceWarning(
                f"`draws` {are}, but {split} with {variance} holds for independent rows "
                "only: on autocorrelated draws from the right target it rejects far too often. "
                "Use `split=BlockSplit()` with `variance=InitialSequence()`, or `check`."
            )
        )
    return notes


def expected_reads(source: Source, split: Split, standardise: Standardise, repeats: int) -> float:
    """About how often a row is read: for a first look if there is one, then to train or to test."""
    look = bool(standardise) or source.weighted or not split.respects_time
    return repeats * (1.0 + float(look))


class DividedRows(NamedTuple):
    """One split of the rows: their roles, the frame of the training rows, and random streams.

    Warnings are gathered in ``notes``. The first look gives the ``moments`` of the draws, if rows
    are standardised, the rows of every stay of chains, as far as they were looked at, and the
    effective number of importance weights as one of the ``estimates``.
    """

    source: Source
    partition: Partition
    frame: Frame
    streams: Streams
    notes: Notes
    moments: RoleMoments | None
    stays: NDArray[np.intp]
    estimates: dict[str, Any]

    def frame_of_all(self) -> Frame:
        """The frame that standardises all rows, of rows whose moments were taken."""
        assert self.moments is not None
        both = DrawMoments(self.source.layout.dimension)
        return both.merge(self.moments.training).merge(self.moments.others).standard_frame()


def split_rows(
    source: Source,
    split: Split,
    rng: RNG,
    notes: Notes,
    *,
    standardise: Standardise = False,
    repeats: int = 1,
    beside: Sequence[Accumulator] = (),
) -> Iterator[DividedRows]:
    """Give every row its role, once or for each of several repeats.

    One pass over all rows takes a first look at them: for repeated rows, for importance weights
    and for the frame of the training rows. Accumulators ``beside`` take part in that pass.
    """
    if split.respects_time:
        require_time_along_chains(source)
    seed, dimension = seed_sequence(rng), source.layout.dimension
    for number, child in enumerate([seed] if repeats == 1 else seed.spawn(repeats)):
        streams, frame = Streams.of(child), RAW
        estimates: dict[str, Any] = {}
        partition = split.partition(source.layout, streams.split)

        # What the first look is for, beside what is looked for elsewhere
        looks = list(beside)
        moments = None
        if standardise is not False:
            moments = RoleMoments(dimension, partition, joint=standardise == "whiten")
            looks.append(moments)
        if source.weighted:
            positive, weights = PositiveWeights(partition), WeightSums()
            looks += positive, weights
        # Independent rows must not repeat, and rows of chains repeat only their neighbours.
        if number == 0:
            chains = split.respects_time
            keys = keys_of_chains(source, alone=not looks) if chains else RowKeys()
            if looks:
                looks.append(keys)
            else:  # it looks at one column alone
                least = rows_of_few_columns(dimension)
                run_pass(source, keyed_rows(source, keys), keys, least=least)
        if looks:
            most = rows_of_many_arrays(dimension)
            run_pass(source, every_row(source), *looks, most=most, many_steps=bool(beside))

        if number == 0:
            stayed = np.ones(0, dtype=np.intp)
            if split.respects_time:
                refuse_copies(source, keys)
                stayed = stays(keys.in_order(), tuple(own.stop for own in keyed_rows(source, keys)))
            else:
                refuse_repeats(source, keys)
        if source.weighted:
            positive.require_enough()
            estimates["weights_ess"] = kish_size(weights.total, weights.squares)
        if moments is not None:
            training = moments.training
            white = standardise == "whiten"
            frame = training.whitening_frame() if white else training.standard_frame()
        yield DividedRows(source, partition, frame, streams, notes, moments, stayed, estimates)


class RoleMoments:
    """Mean and variance of the draws: of training rows, and of all others."""

    def __init__(self, dimension: int, partition: Partition, *, joint: bool = False) -> None:
        self._partition, self._joint = partition, joint
        self.training = DrawMoments(dimension, joint=joint)
        self.others = DrawMoments(dimension)

    def zero(self) -> RoleMoments:
        """An accumulator of the same kind without rows."""
        return RoleMoments(self.training.dimension, self._partition, joint=self._joint)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        mask = self._partition.mask(block, *TRAINING)
        for moments, chosen in ((self.training, mask), (self.others, ~mask)):
            # The draws alone are gathered, which costs half of gathering the rows.
            index = np.flatnonzero(chosen)
            if index.size == block.rows:
                moments.update(block)
            elif index.size:
                weights = None if block.weights is None else block.weights[index]
                moments.add(block.draws.take(index, axis=0), weights)

    def merge(self, other: RoleMoments) -> RoleMoments:
        """Add another accumulator's rows."""
        self.training.merge(other.training)
        self.others.merge(other.others)
        return self


def with_training_gap(rows: DividedRows, witness: Projection) -> DividedRows:
    """Drop rows of chains before the test rows, by the autocorrelation of the training features."""
    if not rows.partition.awaits_gap:
        return rows
    columns = ChainColumns(witness)
    run_pass(rows.source, rows.partition.rows("weights"), columns)
    times = autocorrelation_times(columns.by_chain())
    longest = finite(float(times.max()), "the autocorrelation of the training features")
    # After five autocorrelation times the autocorrelation of an AR(1) chain is below 1 %.
    return rows._replace(partition=rows.partition.with_gap(math.ceil(5.0 * longest)))


class ProjectedTestRows:
    """Columns of a projection: their long-run variance, and the largest values of some of them.

    With ``combined``, a first column is added, the sum of the others with these weights. The
    first columns have their largest values in ``tails``. With ``kept``, the columns themselves are
    kept in ``parts``. Values in both are multiplied by the row's importance weight.
    """

    def __init__(
        self,
        projection: Projection,
        variance: ColumnAccumulator,
        tails: list[LargestValues],
        *,
        combined: FloatArray | None = None,
        kept: bool = False,
    ) -> None:
        self._projection, self._combined, self._kept = projection, combined, kept
        self.variance, self.tails = variance, tails
        self.parts: list[FloatArray] = []

    def zero(self) -> ProjectedTestRows:
        """An accumulator of the same kind without rows."""
        return ProjectedTestRows(
            self._projection,
            self.variance.zero(),
            [tail.zero() for tail in self.tails],
            combined=self._combined,
            kept=self._kept,
        )

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        values = project(self._projection, block)
        if self._combined is not None:
            values = np.concatenate([(values @ self._combined)[:, None], values], axis=1)
        weights = block.weights
        if isinstance(self.variance, LugsailBatches):
            # Short chains are many: all of a block's are taken at once.
            self.variance.update_runs(values, weights, block.chains)
        else:
            for chain, start, low, high in block.chains:
                own = None if weights is None else weights[low:high]
                self.variance.update(values[low:high], own, chain, start)
        weighted = values if weights is None else weights[:, None] * values
        for tail, column in zip(self.tails, weighted.T, strict=False):
            tail.add(column)
        if self._kept:
            self.parts.append(weighted.copy())

    def merge(self, other: ProjectedTestRows) -> ProjectedTestRows:
        """Add another accumulator's rows."""
        self.variance.merge(other.variance)
        for tail, further in zip(self.tails, other.tails, strict=True):
            tail.merge(further)
        self.parts += other.parts
        return self


def z_statistics(tested: LongRun, judged: slice) -> FloatArray:
    """mean / standard error, 0 for a constant column; an error if all judged ones are constant."""
    mean, error = tested.mean, np.sqrt(tested.covariance.diagonal())
    finite(float(error[judged].max()), "the variance of the test column u")
    flat = is_constant(error, mean)
    if not flat.any():
        z: FloatArray = mean / error
        return z
    if flat[judged].all():
        raise DegenerateError(
            f"the test column u has no variance: it is {mean[judged][0]:.6g} on every test row. "
            "Are the draws or the scores constant?"
        )
    return np.divide(mean, error, out=np.zeros_like(mean), where=~flat)


def refuse_zero_scores(source: Source) -> None:
    """Raise an error if every score is 0, which no density has."""
    found: list[bool] = []
    with uncounted():
        visit_blocks(source, every_row(source), lambda one: found.append(bool(one.scores.any())))
    if not any(found):
        refuse_zeros(np.zeros((1, source.layout.dimension)), coordinate_names(source))


def low_ess_warning(ess: float, least: float) -> LowESSWarning | None:
    """A warning if the verdict rests on too few effective draws."""
    if ess >= least:
        return None
    return LowESSWarning(
        f"the p-value rests on {ess:.0f} effective test draws; it is not to "
        f"be trusted with fewer than {least:.0f}: take more draws",
        subject="effective test draws",
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
        "tails.",
        subject="tail of u",
    )


def combine_splits(results: Sequence[GofResult], notes: Notes, rng: RNG) -> GofResult:
    """The result of one split; of several, that with the median statistic and a joint p-value."""
    notes.emit()
    seed = {"rng": seed_setting(rng)}
    if len(results) == 1:
        (only,) = results
        return replace(only, settings={**only.settings, **seed}, warnings=notes.messages)
    pvalues = np.array([result.pvalue for result in results])
    middle = sorted(results, key=lambda result: result.statistic)[len(results) // 2]
    return replace(
        middle,
        pvalue=exchangeable_pvalue(pvalues),
        evidence=replace(middle.evidence, split_pvalues=tuple(pvalues.tolist())),
        settings={**middle.settings, "repeats": len(results), **seed},
        warnings=notes.messages,
    )
