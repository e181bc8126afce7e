"""What the split-sample tests share: roles, coordinates, training, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polystein._lib.arguments import is_integer, require_rule
from polystein._lib.arrays import to_numpy
from polystein._lib.random import Streams, seed_sequence
from polystein.data.coordinates import RAW, Coordinates, standard_coordinates, working_coordinates
from polystein.data.passes import read_blocks
from polystein.data.sample import Sample, weights_ess
from polystein.data.screen import forbid_duplicates
from polystein.errors import (
    DegenerateError,
    DependenceWarning,
    HeavyTailWarning,
    InputError,
    LowESSWarning,
)
from polystein.inference.autocorrelation import autocorrelation_times
from polystein.inference.pareto import (
    LARGEST_INDEX,
    MOST_OF_A_VARIANCE,
    SUSPICIOUS_SHARE,
    largest_share,
    pareto_index,
)
from polystein.protocols import (
    RNG,
    Alternative,
    Basis,
    FeatureMoments,
    FloatArray,
    LongRun,
    Partition,
    Resolution,
    Role,
    Rows,
    Split,
    Structure,
    Variance,
    Weights,
    Witness,
)
from polystein.results.result import Component, GofResult, Notes, tail_probability
from polystein.stein.moments import ColumnMoments, finite
from polystein.stein.witness import feature_moments, fit_primal, fit_witness, project
from polystein.weights.resolution import Refinement, refine

TRAINING: tuple[Role, ...] = ("witness", "weights")
# Test rows keep this many autocorrelation times away from training rows.
GAP_TIMES = 5.0


@dataclass(frozen=True)
class Trial:
    """One question put to a sample, and the options that it is put with."""

    sample: Sample
    basis: Basis
    structure: Structure
    split: Split
    variance: Variance
    alternative: Alternative
    standardise: bool

    def __post_init__(self) -> None:
        require_rule(
            self.split, "partition", "split", "RandomSplit(), BlockSplit() or ChainSplit()"
        )
        require_rule(
            self.variance, "accumulator", "variance", "IID(), InitialSequence() or BatchMeans()"
        )
        if self.alternative not in ("two-sided", "greater"):
            raise InputError(
                f"`alternative` must be 'two-sided' or 'greater'; got {self.alternative!r}"
            )
        if not self.split.respects_time:
            forbid_duplicates(self.sample)

    def run(self, algorithm: Callable[[Stage], GofResult], repeats: int, rng: RNG) -> GofResult:
        """Run the algorithm on one split, or on several and combine their p-values."""
        self._validate_repeats(repeats)
        notes, seed = Notes(), seed_sequence(rng)
        self.note_dependence(notes)
        seeds = [seed] if repeats == 1 else seed.spawn(repeats)
        results = [algorithm(Stage.start(self, Streams.of(child), notes)) for child in seeds]
        notes.emit()
        result = replace(combined(results), warnings=notes.messages)
        return result

    def _validate_repeats(self, repeats: int) -> None:
        if not is_integer(repeats, least=1):
            raise InputError(f"`repeats` must be a positive integer; got {repeats!r}")
        if repeats > 1 and (self.split.respects_time or self.sample.layout.time_ordered):
            raise InputError(
                "`repeats` must be 1 unless independent rows, (n, d), are split at random; got "
                f"{repeats} with {self.split} and {self.sample}"
            )

    def note_dependence(self, notes: Notes) -> None:
        """Warn where chains meet rules for independent rows."""
        layout, split = self.sample.layout, self.split
        # Who asks for a split that keeps time takes the rows for a chain.
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


@dataclass(frozen=True)
class Stage:
    """A trial with the roles of its rows, ready to train and to test."""

    trial: Trial
    partition: Partition
    answer: Coordinates
    streams: Streams
    notes: Notes

    @classmethod
    def start(cls, trial: Trial, streams: Streams, notes: Notes) -> Stage:
        """Split, and standardise by the training rows if asked to."""
        partition = trial.split.partition(trial.sample.layout, streams.split)
        require_weight(trial.sample, partition)
        training = partition.rows(*TRAINING)
        answer = standardised(trial.sample, training) if trial.standardise else RAW
        return cls(trial, partition, answer, streams, notes)

    def fit(self, *roles: Role) -> Witness:
        """Train the test function on the rows of these roles."""
        return fit_witness(
            self.trial.sample,
            self.partition.rows(*roles),
            self.trial.basis,
            self.trial.structure,
            answer=self.answer,
            count=self.partition.count(*roles),
        )

    def feature_moments(self, witness: Witness, role: Role) -> FeatureMoments:
        """Mean and covariance of the features over the rows of a role."""
        return feature_moments(self.trial.sample, self.partition.rows(role), witness)

    def refine(self, resolution: Resolution, rule: Weights) -> Refinement:
        """Train the test function, and weights finer than one an order, on rows of their own."""
        trial, witness_rows = self.trial, self.partition.rows("witness")
        witness = fit_primal(
            trial.sample, witness_rows, trial.basis, trial.structure, answer=self.answer
        )
        weights_rows = self.partition.rows("weights")
        return refine(resolution, trial.sample, weights_rows, witness, rule, self.streams.weights)

    def refined_verdict(self, refinement: Refinement, *, method: str, weights: object) -> GofResult:
        """The verdict on u whose weights are in the witness; reports the norms of each order's."""
        witness, ones = refinement.witness, np.ones_like(refinement.norms)
        stage = replace(self, partition=self._with_gap(witness))
        result = stage.verdict(witness, ones, method=method, weights=None)
        named = dict(zip(witness.names, refinement.norms.tolist(), strict=True))
        sample, rows = self.trial.sample, stage.partition.rows("test")
        details = refinement.settings(sample, rows, sample.names)
        return replace(
            result,
            weights=named,
            components=tuple(part._replace(weight=named[part.name]) for part in result.components),
            settings={**result.settings, "weights": repr(weights), **details},
        )

    def verdict(
        self, witness: Witness, chosen: FloatArray, *, method: str, weights: object | None
    ) -> GofResult:
        """z-test (or t-test) of u = features lambda on the test rows."""
        partition = self._with_gap(witness)
        tested, column = test_columns(
            self.trial.sample, partition, witness, chosen, self.trial.variance
        )
        statistic = z_statistics(tested, judged=slice(1))
        self.note_ess(float(tested.ess[0]))
        self.note_tails(column)
        named = dict(zip(witness.names, chosen.tolist(), strict=True))
        return GofResult(
            statistic=float(statistic[0]),
            pvalue=tail_probability(
                float(statistic[0]), float(tested.df[0]), self.trial.alternative
            ),
            alternative=self.trial.alternative,
            method=method,
            weights=None if weights is None else named,
            components=tuple(
                Component(name, z, weight)
                for (name, weight), z in zip(named.items(), statistic[1:].tolist(), strict=True)
            ),
            ess=float(tested.ess[0]),
            n_train=partition.count(*TRAINING),
            n_gap=partition.count("gap"),
            n_test=partition.count("test"),
            settings=self._settings(weights, dict(zip(named, shares(chosen, tested), strict=True))),
        )

    def _with_gap(self, witness: Witness) -> Partition:
        """Drop rows between training and test, as many as the training features say."""
        if not self.partition.awaits_gap:
            return self.partition
        features: dict[int, list[FloatArray]] = {}
        for block in read_blocks(self.trial.sample, self.partition.rows("weights")):
            features.setdefault(block.chain, []).append(project(witness, block))
        times = autocorrelation_times([np.concatenate(parts) for parts in features.values()])
        return self.partition.with_gap(math.ceil(GAP_TIMES * float(times.max())))

    def _settings(self, weights: object | None, parts: dict[str, float]) -> dict[str, Any]:
        trial = self.trial
        settings: dict[str, Any] = {
            "order": trial.basis.order,
            "basis": type(trial.basis).__name__,
            "dimension": trial.sample.layout.dimension,
            "structure": trial.structure,
            "split": repr(trial.split),
            "variance": repr(trial.variance),
            "weights": None if weights is None else repr(weights),
            "standardise": trial.standardise,
            "shares": parts,
        }
        if trial.sample.log_weights is not None:
            settings["weights_ess"] = weights_ess(trial.sample.log_weights)
        return settings

    def note_ess(self, ess: float, what: str = "the p-value") -> None:
        """Warn where too few effective draws carry the verdict."""
        least = self.trial.variance.least_ess
        if ess < least:
            self.notes.add(
                LowESSWarning(
                    f"{what} rests on {ess:.0f} effective test draws; it is not to "
                    f"be trusted with fewer than {least:.0f}: take more draws"
                )
            )

    def note_outliers(self, coordinates: Coordinates) -> None:
        """Warn where one draw makes up most of a coordinate's variance."""
        share, coordinate = largest_share(self.trial.sample, coordinates)
        if share > MOST_OF_A_VARIANCE:
            self.notes.add(
                HeavyTailWarning(
                    f"one row of `draws` makes up {share:.0%} of the variance of coordinate "
                    f"{coordinate}: beside it all other draws look alike, and the test is blind. "
                    "Look at that draw."
                )
            )

    def note_tails(self, column: FloatArray) -> None:
        """Warn where the p-value rests on a column of heavy tails."""
        squares = column**2
        if float(squares.max()) <= SUSPICIOUS_SHARE * float(squares.sum()):
            return
        index, error = pareto_index(np.abs(column))
        # One standard error: a polynomial of a few hundred Gaussian draws looks heavy too.
        if index - error > LARGEST_INDEX:
            self.notes.add(
                HeavyTailWarning(
                    f"the test column u has a heavy tail (Pareto index {index:.2f} > "
                    f"{LARGEST_INDEX}): the p-value rests on a normal approximation that this many "
                    "draws may not support, and on a variance that may be infinite. Use a lower "
                    "`order` where there is one, more draws, or a parametrisation with lighter "
                    "tails."
                )
            )


def test_columns(
    sample: Sample, partition: Partition, witness: Witness, chosen: FloatArray, variance: Variance
) -> tuple[LongRun, FloatArray]:
    """Long-run mean and covariance of u and of each feature over the test rows, and w u."""
    accumulator = variance.accumulator(sample.layout, 1 + chosen.shape[0])
    kept = []
    for block in read_blocks(sample, partition.rows("test")):
        features = project(witness, block)
        column = features @ chosen
        columns = np.concatenate([column[:, None], features], axis=1)
        accumulator.update(columns, block.weights, block.chain, block.start)
        kept.append(column if block.weights is None else block.weights * column)
    return accumulator.finalise(), np.concatenate(kept)


def z_statistics(tested: LongRun, judged: slice) -> FloatArray:
    """mean / standard error, 0 for a constant column; an error if all that is judged is."""
    mean, error = tested.mean, np.sqrt(np.diagonal(tested.covariance))
    finite(float(error[judged].max()), "the variance of the test column u")
    flat = ~(error > 16 * np.finfo(float).eps * np.abs(mean))
    if flat[judged].all():
        raise DegenerateError(
            f"the test column u has no variance: it is {mean[judged][0]:.6g} on every test row. "
            "Are the draws or the scores constant?"
        )
    return np.divide(mean, error, out=np.zeros_like(mean), where=~flat)


def shares(chosen: FloatArray, tested: LongRun) -> list[float]:
    """Each feature's part in the mean of u: weight times mean, absolute values sum to 1."""
    products = chosen * tested.mean[1:]
    total = max(float(np.abs(products).sum()), float(np.finfo(float).tiny))
    parts: list[float] = (products / total).tolist()
    return parts


def combined(results: list[GofResult]) -> GofResult:
    """The result of the median statistic, with a p-value for all of them together.

    p = min over k of 2/k (p_1 + ... + p_k), at most 1, is a p-value for exchangeable
    p-values, as those of random splits are (Gasparin, Wang and Ramdas, 2025,
    Combining exchangeable p-values, PNAS 122).
    """
    if len(results) == 1:
        return results[0]
    pvalues = np.array([result.pvalue for result in results])
    averages = 2.0 * np.cumsum(pvalues) / np.arange(1, pvalues.size + 1)
    middle = sorted(results, key=lambda result: result.statistic)[len(results) // 2]
    settings = {**middle.settings, "repeats": len(results), "pvalues": pvalues.tolist()}
    return replace(middle, pvalue=min(1.0, float(averages.min())), settings=settings)


def standardised(sample: Sample, rows: Iterable[Rows]) -> Coordinates:
    """Coordinates by the mean and standard deviation of these rows."""
    moments = ColumnMoments(sample.layout.dimension, joint=False)
    working: Coordinates | None = None
    for block in read_blocks(sample, rows):
        # Squares of draws on a huge scale would overflow.
        working = working or working_coordinates(block.draws)
        draws, _ = working.apply(block.draws, block.scores)
        moments.update(to_numpy(draws), block.weights)
    spread = np.sqrt(moments.scatter / moments.weight)
    return standard_coordinates(moments.mean, spread, working or RAW, block.draws)


def require_weight(sample: Sample, partition: Partition) -> None:
    """Every role must hold rows of positive importance weight."""
    if sample.log_weights is None:
        return
    for role, least in (("witness", 1), ("weights", 2), ("test", 2)):
        rows = partition.rows(role)  # type: ignore[arg-type]
        positive = sum(
            int(np.count_nonzero(block.weights))
            for block in read_blocks(sample, rows)
            if block.weights is not None
        )
        if positive < least:
            raise InputError(
                f"`log_weights` must leave at least {least} rows of positive weight for the role "
                f"{role!r}; got {positive}"
            )
