"""What the split-sample tests share: roles, frames, training, and the verdict on test rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from polystein._lib.arguments import integer, one_of, require_rule, standardisation
from polystein._lib.notes import Notes
from polystein._lib.numerics import TINY, finite, is_constant
from polystein._lib.random import Streams, seed_sequence
from polystein.data.axes import require_time_along_chains
from polystein.data.coordinates import Frame
from polystein.data.cores import side_by_side
from polystein.data.passes import Accumulator, Tick, run_pass
from polystein.data.screen import forbid_duplicates
from polystein.data.source import Block, Source
from polystein.data.split import TRAINING, Partition, Split
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
from polystein.inference.pvalues import exchangeable_pvalue, tail_probability
from polystein.inference.variance import ColumnAccumulator, LongRun, Variance
from polystein.methods.first_look import FirstLook
from polystein.results.evidence import Component, Evidence
from polystein.results.result import GofResult
from polystein.stein.basis import Basis
from polystein.stein.witness import ChainColumns, Projection, Witness, fit_witness, project
from polystein.types import RNG, Alternative, FloatArray, Role, Standardise, Structure

# Test rows stay this many autocorrelation times away from training rows: after five of them the
# autocorrelation of an AR(1) chain is below 1 %.
TRAINING_GAP_TIMES = 5.0


@dataclass(frozen=True)
class SplitSampleTest:
    """A split-sample test of one source: the options that all such tests share."""

    source: Source
    basis: Basis
    structure: Structure
    split: Split
    variance: Variance
    alternative: Alternative
    standardise: Standardise

    def __post_init__(self) -> None:
        require_rule(
            self.split, "partition", "split", "RandomSplit(), BlockSplit() or ChainSplit()"
        )
        require_rule(
            self.variance, "accumulator", "variance", "IID(), InitialSequence() or BatchMeans()"
        )
        one_of(self.alternative, Alternative, "alternative")
        standardisation(self.standardise)

    def rounds(
        self,
        repeats: int,
        rng: RNG,
        notes: Notes,
        tick: Tick | None = None,
        beside: Sequence[Accumulator] = (),
    ) -> Iterator[SplitRound]:
        """Split the rows once, or several times at random, each time ready to train and test.

        Accumulators ``beside`` take part in the first look at all rows.
        """
        self._validate_repeats(repeats)
        if self.split.respects_time:
            require_time_along_chains(self.source)
        self._note_dependence(notes)
        seed = seed_sequence(rng)
        for number, child in enumerate([seed] if repeats == 1 else seed.spawn(repeats)):
            first = number == 0
            yield self._round(Streams.of(child), notes, tick, beside, first=first)

    def reads(self, repeats: int) -> float:
        """About how often a row is read: for a first look if there is one, to train or to test."""
        self._validate_repeats(repeats)
        looks = bool(self.standardise) or self.source.weighted or not self.split.respects_time
        return repeats * (1.0 + float(looks))

    def notes(self) -> Notes:
        """A collection for warnings, which holds those that came with the draws."""
        return Notes(self.source.facts.warnings)

    def _round(
        self,
        streams: Streams,
        notes: Notes,
        tick: Tick | None,
        beside: Sequence[Accumulator],
        *,
        first: bool,
    ) -> SplitRound:
        """Give every row its role, and take the first look at all rows in one pass."""
        repeats = first and not self.split.respects_time
        # Roles do not matter to repeats. They do to all else that is looked at.
        only_repeats = repeats and not (self.standardise or self.source.weighted or beside)
        partition = self._partition(streams, tick, refuse_repeats=only_repeats)
        look = FirstLook(
            self.source,
            partition,
            repeats=repeats and not only_repeats,
            moments=self.standardise is not False,
            whiten=self.standardise == "whiten",
        )
        look.take(tick, beside)
        return SplitRound(self, partition, look.training_frame(), streams, notes, look)

    def _partition(self, streams: Streams, tick: Tick | None, *, refuse_repeats: bool) -> Partition:
        """A role for every row; while roles are drawn, rows that repeat may be looked for."""

        def drawn() -> Partition:
            return self.split.partition(self.source.layout, streams.split)

        if not refuse_repeats:
            return drawn()
        rows = self.source.layout.total
        return side_by_side(drawn, lambda: forbid_duplicates(self.source, tick), rows)

    def _validate_repeats(self, repeats: int) -> None:
        integer(repeats, "repeats", least=1)
        if repeats > 1 and (self.split.respects_time or self.source.layout.time_ordered):
            raise InputError(
                "`repeats` must be 1 unless independent rows, (n, d), are split at random; got "
                f"{repeats} with {self.split} and {self.source}"
            )

    def _note_dependence(self, notes: Notes) -> None:
        """Warn if chains are tested by rules for independent rows."""
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


@dataclass(frozen=True)
class SplitRound:
    """One split of the rows: their roles, the frame by training rows, and random streams."""

    test: SplitSampleTest
    partition: Partition
    frame: Frame
    streams: Streams
    notes: Notes
    look: FirstLook

    def fit(self, *roles: Role) -> Witness:
        """Train the test function on the rows of these roles."""
        return fit_witness(
            self.test.source,
            self.partition.rows(*roles),
            self.test.basis,
            self.test.structure,
            frame=self.frame,
            count=self.partition.count(*roles),
        )

    def verdict(
        self, witness: Witness, chosen: FloatArray, *, method: str, weights: object | None
    ) -> GofResult:
        """z-test (or t-test) of u = features lambda on the test rows."""
        partition = self.with_gap(witness).partition
        columns = _WithSum(witness, chosen)
        tested = judged_columns(self.test, partition, columns, 1 + chosen.size, tails=1)
        statistic = z_statistics(tested.long_run, judged=slice(1))
        self.note_ess(float(tested.long_run.ess[0]))
        self.note_tails(tested.tails[0])
        named = dict(zip(witness.names, chosen.tolist(), strict=True))
        df = float(tested.long_run.df[0])
        return GofResult(
            statistic=float(statistic[0]),
            pvalue=tail_probability(float(statistic[0]), df, self.test.alternative),
            alternative=self.test.alternative,
            method=method,
            dimension=self.test.source.layout.dimension,
            weights=None if weights is None else named,
            components=_components(witness, statistic[1:], chosen, tested.long_run.mean[1:]),
            evidence=Evidence(estimates=self.look.estimates()),
            ess=float(tested.long_run.ess[0]),
            n_train=partition.count(*TRAINING),
            n_gap=partition.count("gap"),
            n_test=partition.count("test"),
            settings=self.test.settings(weights),
        )

    def with_gap(self, witness: Projection) -> SplitRound:
        """Drop rows before the test rows, by the autocorrelation of the training features."""
        if not self.partition.awaits_gap:
            return self
        columns = ChainColumns(witness)
        run_pass(self.test.source, self.partition.rows("weights"), columns)
        times = autocorrelation_times(columns.by_chain())
        gap = math.ceil(TRAINING_GAP_TIMES * float(times.max()))
        return replace(self, partition=self.partition.with_gap(gap))

    def note_ess(self, ess: float, what: str = "the p-value") -> None:
        """Warn if the verdict rests on too few effective draws."""
        least = self.test.variance.least_ess
        if ess < least:
            self.notes.add(
                LowESSWarning(
                    f"{what} rests on {ess:.0f} effective test draws; it is not to "
                    f"be trusted with fewer than {least:.0f}: take more draws"
                )
            )

    def note_tails(self, values: LargestValues) -> None:
        """Warn if the p-value rests on a column with heavy tails."""
        index = values.heavy_tail_index()
        if index is not None:
            self.notes.add(
                HeavyTailWarning(
                    f"the test column u has a heavy tail (Pareto index {index:.2f} > "
                    f"{LARGEST_INDEX}): the p-value rests on a normal approximation that this many "
                    "draws may not support, and on a variance that may be infinite. Use a lower "
                    "`order` where there is one, more draws, or a parametrisation with lighter "
                    "tails."
                )
            )


class _WithSum(NamedTuple):
    """u = features lambda, and then the features themselves."""

    witness: Witness
    chosen: FloatArray

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        features = self.witness.project(draws, scores)
        return np.concatenate([(features @ self.chosen)[:, None], features], axis=1)


class JudgedColumns(NamedTuple):
    """Long-run mean and covariance of columns over the test rows.

    ``tails`` has the largest values of the first columns, and ``weighted`` the columns
    themselves if they were kept; every row times its importance weight.
    """

    long_run: LongRun
    tails: list[LargestValues]
    weighted: FloatArray | None


def judged_columns(
    test: SplitSampleTest,
    partition: Partition,
    projection: Projection,
    columns: int,
    *,
    tails: int,
    kept: bool = False,
    accumulator: ColumnAccumulator | None = None,
    tick: Tick | None = None,
    most: int | None = None,
    many_steps: bool = False,
) -> JudgedColumns:
    """Project the test rows and estimate the long-run variance of every column.

    It is estimated by an accumulator of the test's own variance rule, unless one is given.
    ``most`` and ``many_steps`` are those of `run_pass`.
    """
    if accumulator is None:
        accumulator = test.variance.accumulator(test.source.layout.lengths, columns)
    count = partition.count("test")
    judged = _Judged(projection, accumulator, [LargestValues(count) for _ in range(tails)], kept)
    rows = partition.rows("test")
    run_pass(test.source, rows, judged, tick=tick, most=most, many_steps=many_steps)
    whole = np.concatenate(judged.parts) if kept else None
    return JudgedColumns(judged.variance.finalise(), judged.tails, whole)


class _Judged:
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

    def zero(self) -> _Judged:
        tails = [tail.zero() for tail in self.tails]
        return _Judged(self._projection, self.variance.zero(), tails, self._kept)

    def update(self, block: Block) -> None:
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

    def merge(self, other: _Judged) -> _Judged:
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


def _components(
    witness: Witness, statistics: FloatArray, chosen: FloatArray, means: FloatArray
) -> tuple[Component, ...]:
    """Each feature with its share in the mean of u: absolute values sum to 1."""
    products = chosen * means
    shares = products / max(float(np.abs(products).sum()), TINY)
    columns = (statistics.tolist(), chosen.tolist(), shares.tolist())
    return tuple(map(Component, witness.names, witness.words, *columns))


def concluded(results: Sequence[GofResult], notes: Notes) -> GofResult:
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
