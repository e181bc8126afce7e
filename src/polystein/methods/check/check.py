"""The one call for users: safe for MCMC, with nothing to tune."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from polystein._lib.arguments import boolean
from polystein._lib.numerics import TINY
from polystein._lib.threads import one_blas_thread
from polystein.data.passes import Tick
from polystein.data.sample import as_source
from polystein.data.source import Source, coordinate_names, in_time_order
from polystein.data.split import TRAINING, BlockSplit, Partition, RandomSplit, Split
from polystein.errors import DegenerateError, LowESSWarning
from polystein.explain.tolerance import checked_tolerance, with_effects
from polystein.inference.pvalues import correlations, tail_of_maximum, upper_normal
from polystein.inference.variance import IID, InitialSequence, Variance
from polystein.methods.check.arms import TEST_ROWS, TRAINED, combined
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import cut
from polystein.methods.check.chain_memory import Times, memory_in_batches, slowest_times
from polystein.methods.check.families import BASIS, PAIR_ORDERS, order_of
from polystein.methods.check.flips_arm import FEWEST_BATCHES, flip_signs
from polystein.methods.check.trained_witnesses import TrainedWitnesses, TrainingSums, fit_witnesses
from polystein.methods.split_sample import (
    TRAINING_GAP_TIMES,
    SplitRound,
    SplitSampleTest,
    judged_columns,
    z_statistics,
)
from polystein.results.evidence import Arm, Evidence, Part
from polystein.results.result import GofResult
from polystein.types import RNG, Array, Progress, ScoreFunction

#: The sign flips' share of the level; the trained witnesses have the rest. Chosen on seeds that
#: appear in no table.
FLIPS_SHARE = 0.8
#: With fewer than this many autocorrelation times between them, test rows remember training rows.
LEAST_GAP_TIMES = 1.0


def check(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    iid: bool = False,
    tolerance: float | None = None,
    rng: RNG = None,
    progress: Progress | None = None,
) -> GofResult:
    """Test whether the draws come from the target.

    Two tests share the level, each strong where the other is weak. One spends no
    rows on training: it asks whether location, spread, shape or dependence of any
    coordinate is off, and judges by flipping the signs of batches of rows. The other
    trains several test functions on half of the rows and judges the best of them on
    the other half. Both keep chains in time order and allow for autocorrelation.
    Units do not matter: every coordinate is centred and scaled.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one
        chain in time order.
    iid : bool
        Whether the rows of (n, d) draws are independent. They are then split at random.
        Do not set it for shuffled or thinned chains.
    tolerance : float, optional
        How far off the draws may be: every mean by so many standard deviations of the target, every
        sd by this part. ``result.tolerance`` then says whether they are "within" it, "beyond" it,
        or whether that is "undecided", beside the verdict and the p-value.
    rng : int, SeedSequence, Generator or None
        An int or SeedSequence reproduces the result. Signs are flipped at random,
        and with ``iid=True`` rows are split at random.
    progress : callable, optional
        Called as ``progress(done, total)`` while rows are worked through.

    Returns
    -------
    GofResult
        ``evidence.arms`` holds the two tests with their parts, the one with the smaller
        p-value first; ``explain()`` sorts the parts by their share in the evidence.
        ``statistic`` is the standard normal quantile of 1 - pvalue, 0 if that is below 0.

    Notes
    -----
    The p-value is min(1, p_flips/0.8, p_trained/0.2). That of the sign flips is a
    multiple of 1/500; very small p-values come from the trained witnesses. The sign flips
    abstain if there are fewer than eight independent batches of rows. The trained
    witnesses abstain if test rows would depend on training rows. If both abstain, a
    `DegenerateError` is raised.

    Both references are asymptotic. The size at level 0.05 is 0.07 at n = 50. Where the scores
    have no fourth moment (a Gamma(3) law on its own scale) it is 0.09 at n = 1000 in two
    dimensions, and 0.13 in sixteen.

    ``result.effects`` says which property of which parameter is off; see `effects`. It is
    computed when it is asked for, and for a report of a rejected result: until then the result
    holds on to the draws. A stored or pickled result has what was computed before.

    A small p-value is evidence that the draws do not come from the target. A large one
    means that this test found no such evidence. Scores are local: no score-based method
    can see a mode that no chain has visited, or a wrong balance between distant modes.

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
    bound = checked_tolerance(tolerance)
    source = as_source(draws, scores)
    if not boolean(iid, "iid"):
        source = in_time_order(source)
    split: Split = RandomSplit(0.5) if iid else BlockSplit(0.5, gap="auto")
    variance: Variance = IID() if iid else InitialSequence()
    test = SplitSampleTest(source, BASIS, "full", split, variance, "greater", True)
    # Rows are read for a first look, for times (of chains), for sums, and to train or to test.
    notes, tick = test.notes(), Tick(progress, (3 if iid else 4) * source.layout.total)
    with one_blas_thread():
        (rows,) = test.rounds(1, rng, notes, tick)
        flips, trained = both_arms(rows, tick)
        tick.finish()
    arms = combined(flips, trained.arm, FLIPS_SHARE)
    if not arms:
        raise DegenerateError(
            f"`draws` must hold more independent draws to be judged: those of {source} move "
            f"so slowly that the test half is worth about {trained.ess:.1f}. Run the sampler longer"
        )
    _note_few(rows, trained)
    notes.emit()
    return with_effects(_result(rows, trained, arms), source, bound)


def _note_few(rows: SplitRound, trained: Trained) -> None:
    """Warn if the trained witnesses abstained, or rest on few effective draws."""
    if trained.arm is None:
        rows.notes.add(
            LowESSWarning(
                "the draws move too slowly to be trained on and tested apart: the test half is "
                f"worth about {trained.ess:.0f} independent draws, and sign flips of batches judge "
                "alone: take more draws"
            )
        )
    else:
        rows.note_ess(trained.ess, "the trained arm")


def both_arms(rows: SplitRound, tick: Tick) -> tuple[Arm | None, Trained]:
    """Sum what both arms need of the rows in one pass, then judge one after the other."""
    source = rows.test.source
    frame = rows.look.frame_of_all()
    chains = rows.test.split.respects_time
    times = slowest_times(rows, frame, tick) if chains else Times(1.0, 1.0)
    orders = tuple(order_of(BASIS, name) for name in PAIR_ORDERS)
    batches = cut(source.layout, times.of_all if chains else None)
    sums = BatchSums(source, frame, BASIS, batches, orders)
    training = TrainingSums(source, rows.partition, BASIS, rows.frame)
    sums.take(training, tick=tick)
    if (warning := sums.deviations.warning()) is not None:
        rows.notes.add(warning)
    if chains:
        join_what_agrees(sums)
    flips = flip_signs(sums, coordinate_names(source), rows.streams.resampling)
    return flips, trained_arm(rows, training, times.of_training, tick)


def join_what_agrees(sums: BatchSums) -> None:
    """Join neighbouring batches until no feature's sums agree more than chance makes them."""
    while sums.count >= FEWEST_BATCHES and sums.neighbours.any():
        remembered = memory_in_batches(sums)
        if remembered <= 1.0:
            break
        sums.join(max(2, math.ceil(remembered)))


class Trained(NamedTuple):
    """The trained arm, the roles of its rows, and the best witness's effective test rows.

    The arm is None if test rows would depend on training rows.
    """

    arm: Arm | None
    partition: Partition
    ess: float


def trained_arm(rows: SplitRound, sums: TrainingSums, time: float, tick: Tick) -> Trained:
    """The largest z of the trained witnesses on the test rows, allowing for their correlation."""
    source, partition = rows.test.source, rows.partition
    if partition.awaits_gap:
        partition = partition.with_gap(math.ceil(TRAINING_GAP_TIMES * time))
        gaps = {stretch.chain: stretch.stop - stretch.start for stretch in partition.rows("gap")}
        shortest = min(gaps.get(chain, 0) for chain in range(len(source.layout.lengths)))
        if shortest < LEAST_GAP_TIMES * time:
            return Trained(None, partition, partition.count("test") / time)
    witnesses = fit_witnesses(source, sums, rows.frame, time, tick)
    return _judged(rows, partition, witnesses, tick)


def _judged(
    rows: SplitRound, partition: Partition, witnesses: TrainedWitnesses, tick: Tick
) -> Trained:
    """Judge the witnesses on the test rows."""
    members, names = witnesses.members, coordinate_names(rows.test.source)
    tested, columns = judged_columns(rows.test, partition, witnesses, len(members), tick=tick)
    statistics = z_statistics(tested, judged=slice(None))
    # The variance of a handful of independent rows is uncertain, too.
    freedom = np.clip(tested.ess - 1.0, 1.0, tested.df)
    pvalues = np.maximum(stdtr(freedom, -statistics), TINY)
    leading = int(np.argmin(pvalues))
    rows.note_tails(columns[:, leading])
    parts = tuple(
        Part(
            member.name,
            member.words,
            member.orders,
            tuple(names[index] for index in member.coordinates),
            pvalue,
            1.0 / len(members),
        )
        for member, pvalue in zip(members, pvalues.tolist(), strict=True)
    )
    largest = float(upper_normal(pvalues[leading]))
    pvalue = tail_of_maximum(largest, correlations(tested.covariance))
    arm = Arm(TRAINED, TEST_ROWS, pvalue, parts)
    return Trained(arm, partition, float(tested.ess[leading]))


def _result(rows: SplitRound, trained: Trained, arms: tuple[Arm, ...]) -> GofResult:
    test, pvalue, partition = rows.test, arms[0].pvalue, trained.partition
    apart = trained.arm is not None
    return GofResult(
        statistic=max(0.0, float(upper_normal(pvalue))),
        pvalue=pvalue,
        alternative="greater",
        method="check",
        dimension=test.source.layout.dimension,
        evidence=Evidence(arms, estimates=rows.look.estimates()),
        ess=trained.ess if apart else math.nan,
        n_train=partition.count(*TRAINING) if apart else 0,
        n_gap=partition.count("gap") if apart else 0,
        n_test=partition.count("test") if apart else test.source.layout.total,
        settings={"split": repr(test.split), "variance": repr(test.variance)},
        warnings=rows.notes.messages,
    )
