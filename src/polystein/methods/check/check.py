"""The one call for users: safe for MCMC, nothing to tune."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from polystein._lib.random import Streams, seed_sequence
from polystein.data.passes import every_row, read_blocks
from polystein.data.sample import Sample, ScoreFunction, as_sample, weights_ess
from polystein.data.split import BlockSplit, RandomSplit
from polystein.errors import DegenerateError, LowESSWarning
from polystein.inference.autocorrelation import slowest_time
from polystein.inference.pvalues import correlations, tail_of_maximum
from polystein.inference.variance import IID, InitialSequence
from polystein.methods.check.arms import Arm, Part, combine, evidence_shares, upper_normal
from polystein.methods.check.block_sums import BlockSums, cut
from polystein.methods.check.flips import BASIS, FEWEST_BLOCKS, flip_signs, memory
from polystein.methods.check.witnesses import Portfolio, fit_portfolio
from polystein.methods.split_sample import (
    GAP_TIMES,
    TRAINING,
    Stage,
    Trial,
    standardised,
    z_statistics,
)
from polystein.protocols import RNG, Array, FloatArray, LongRun, Partition, Split, Variance, Witness
from polystein.results.result import Component, GofResult, Notes
from polystein.stein.witness import project

#: The full-sample arm's part of the level, the split arm has the rest; chosen on seeds of
#: which no table is made.
FULL_SHARE = 0.8
#: With fewer than this many autocorrelation times between them, test rows remember training rows.
LEAST_GAP_TIMES = 1.0


def check(
    draws: Array | Sample,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    iid: bool = False,
    rng: RNG = None,
) -> GofResult:
    """Answer whether these draws come from that target.

    Two tests share the level, each strong where the other is blind. One spends no
    rows on training: it asks whether location, spread, shape or dependence of any
    coordinate is off, and judges by flipping the signs of blocks of rows. The other
    trains several test functions on half of the rows and judges the best of them on
    the other half. Both keep chains in time order and allow for autocorrelation.
    Units do not matter: every coordinate is centred and scaled.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one
        chain in time order.
    iid : bool
        The rows of (n, d) draws are independent: split them at random instead. Do
        not say so of shuffled or thinned chains.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result. Signs are flipped at random,
        and with ``iid=True`` rows are split at random.

    Returns
    -------
    GofResult
        ``components`` holds what each test looked at, ``explain()`` sorts it by its
        part in the evidence; ``settings["arm"]`` says which of the two tests found
        more, ``settings["found"]`` what each found most, with orders and coordinates.
        ``statistic`` is the standard normal quantile of 1 - pvalue, 0 if that is below 0.

    Notes
    -----
    The p-value is min(1, p_full/0.8, p_split/0.2). That of the full-sample test is
    a multiple of 1/500; very small p-values come from the other. Where there are fewer
    than eight independent blocks of rows to flip the first one abstains, where test
    rows would remember training rows the other; that both do is an error.

    Both references are asymptotic. With fewer than fifty independent rows the size at
    level 0.05 is up to 0.1, and where the scores have no fourth moment (a Gamma(3) law
    on its own scale) it is 0.09 at n = 1000.

    A small p-value says that the draws do not come from the target. A large one
    says that this test found no evidence of it: scores are local, so that a mode
    that no chain has visited, or a wrong balance between modes far apart, shows in
    no score-based method.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> rng = np.random.default_rng(0)
    >>> chains = np.empty((4, 1000, 3))  # AR(1) chains with the right law, N(0, I)
    >>> chains[:, 0] = rng.standard_normal((4, 3))
    >>> for t in range(1, 1000):
    ...     chains[:, t] = 0.9 * chains[:, t - 1] + 0.19**0.5 * rng.standard_normal((4, 3))
    >>> ps.check(chains, lambda x: -x, rng=1).pvalue > 0.05
    True
    >>> result = ps.check(1.3 * chains, lambda x: -x, rng=1)
    >>> result.pvalue < 0.01
    True
    """
    split: Split = RandomSplit(0.5) if iid else BlockSplit(0.5, gap="auto")
    variance: Variance = IID() if iid else InitialSequence()
    trial = Trial(as_sample(draws, scores), BASIS, "full", split, variance, "greater", True)
    notes, streams = Notes(), Streams.of(seed_sequence(rng))
    trial.note_dependence(notes)
    stage = Stage.start(trial, streams, notes)
    full, trained = full_arm(stage, iid), split_arm(stage)
    arms = combine(full, trained.arm, FULL_SHARE)
    if not arms:
        raise DegenerateError(
            f"`draws` must hold more independent draws to be judged: those of {trial.sample} move "
            f"so slowly that the test half is worth about {trained.ess:.1f}. Run the sampler longer"
        )
    _note_few(stage, trained)
    notes.emit()
    return _result(trial, trained, arms, notes)


def _note_few(stage: Stage, trained: Trained) -> None:
    """Warn where the split arm abstained, or rests on few effective draws."""
    if trained.arm is None:
        stage.notes.add(
            LowESSWarning(
                "the draws move too slowly to be trained on and tested apart: the test half is "
                f"worth about {trained.ess:.0f} independent draws, and sign flips of blocks judge "
                "alone: take more draws"
            )
        )
    else:
        stage.note_ess(trained.ess, "the trained arm")


def full_arm(stage: Stage, iid: bool) -> Arm | None:
    """Sign flips of block sums over all rows; None where there are too few blocks."""
    sample = stage.trial.sample
    coordinates = standardised(sample, every_row(sample))
    stage.note_outliers(coordinates)

    def blocks(time: float | None) -> BlockSums:
        return BlockSums(sample, coordinates, BASIS, cut(sample.layout, time))

    if iid:
        return flip_signs(blocks(None), stage.streams.resampling)
    time = slowest_time(sample, every_row(sample), coordinates)
    sums = blocks(time)
    while (
        sums.count >= FEWEST_BLOCKS and sums.neighbours.any() and (in_blocks := memory(sums)) > 1.0
    ):
        time = max(2.0 * time, in_blocks * sample.layout.total / sums.count)
        sums = blocks(time)
    return flip_signs(sums, stage.streams.resampling)


class Trained(NamedTuple):
    """The split arm, with the roles that its rows had and the winner's effective test rows.

    There is no arm where test rows would remember training rows.
    """

    arm: Arm | None
    partition: Partition
    ess: float


def split_arm(stage: Stage) -> Trained:
    """The largest z of the portfolio on the test rows, allowing for their correlation."""
    sample, partition = stage.trial.sample, stage.partition
    training = list(partition.rows(*TRAINING))
    time = 1.0
    if partition.awaits_gap:
        time = slowest_time(sample, training, stage.answer)
        partition = partition.with_gap(math.ceil(GAP_TIMES * time))
        gap = partition.count("gap") / len(sample.layout.lengths)
        if gap < LEAST_GAP_TIMES * time:
            return Trained(None, partition, partition.count("test") / time)
    portfolio = fit_portfolio(sample, training, BASIS, stage.answer, time)
    return Trained(*_judged(stage, partition, portfolio))


def _judged(
    stage: Stage, partition: Partition, portfolio: Portfolio
) -> tuple[Arm, Partition, float]:
    """Judge the portfolio on the test rows."""
    tested, columns = _tested(stage.trial, partition, portfolio)
    statistics = z_statistics(tested, judged=slice(None))
    # A handful of independent rows know their own variance badly, too.
    freedom = np.clip(tested.ess - 1.0, 1.0, tested.df)
    pvalues = np.maximum(stdtr(freedom, -statistics), np.finfo(float).tiny)
    leading = int(np.argmin(pvalues))
    stage.note_tails(columns[:, leading])
    largest = float(upper_normal(pvalues[leading]))
    share = 1.0 / pvalues.size
    parts = tuple(
        Part(name, pvalue, share, portfolio.orders_of(name), portfolio.coordinates_of(name))
        for name, pvalue in zip(portfolio.names, pvalues.tolist(), strict=True)
    )
    pvalue = tail_of_maximum(largest, correlations(tested.covariance))
    return Arm("split", pvalue, parts), partition, float(tested.ess[leading])


def _tested(trial: Trial, partition: Partition, witness: Witness) -> tuple[LongRun, FloatArray]:
    """Long-run mean and covariance of every member over the test rows, and w times each."""
    accumulator = trial.variance.accumulator(trial.sample.layout, len(witness.names))
    kept = []
    for block in read_blocks(trial.sample, partition.rows("test")):
        columns = project(witness, block)
        accumulator.update(columns, block.weights, block.chain, block.start)
        kept.append(columns if block.weights is None else block.weights[:, None] * columns)
    return accumulator.finalise(), np.concatenate(kept)


def _result(trial: Trial, trained: Trained, arms: list[Arm], notes: Notes) -> GofResult:
    parts = [part for arm in arms for part in arm.parts]
    pvalue = min(1.0, arms[0].pvalue)
    total, partition = trial.sample.layout.total, trained.partition
    apart = trained.arm is not None
    return GofResult(
        statistic=max(0.0, float(upper_normal(pvalue))),
        pvalue=pvalue,
        alternative="greater",
        method="check",
        components=tuple(
            Component(part.name, float(upper_normal(part.pvalue)), part.share) for part in parts
        ),
        ess=trained.ess if apart else math.nan,
        n_train=partition.count(*TRAINING) if apart else 0,
        n_gap=partition.count("gap") if apart else 0,
        n_test=partition.count("test") if apart else total,
        settings=_settings(trial, arms, parts),
        warnings=notes.messages,
    )


def _settings(trial: Trial, arms: list[Arm], parts: list[Part]) -> dict[str, Any]:
    sample = trial.sample
    names = sample.names or [f"x[{index}]" for index in range(sample.layout.dimension)]
    settings: dict[str, Any] = {
        "dimension": sample.layout.dimension,
        "split": repr(trial.split),
        "variance": repr(trial.variance),
        "arm": arms[0].name,
        "arms": {arm.name: min(1.0, arm.pvalue) for arm in arms},
        "found": {arm.name: _found(arm.leading, names) for arm in arms if arm.pvalue < 1.0},
        "shares": dict(zip((part.name for part in parts), evidence_shares(parts), strict=True)),
    }
    if sample.log_weights is not None:
        settings["weights_ess"] = weights_ess(sample.log_weights)
    return settings


def _found(part: Part, names: Sequence[str]) -> dict[str, Any]:
    return {
        "component": part.name,
        "orders": list(part.orders),
        "coordinates": [names[index] for index in part.coordinates],
    }
