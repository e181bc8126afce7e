"""The one call for users: safe for MCMC, with nothing to tune."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.notes import Notes, first_of
from polystein._lib.threads import one_blas_thread
from polystein.data.guard.chains import refuse_absurd_chains, rows_or_chains
from polystein.data.guard.interleaved import refuse_interleaved
from polystein.data.guard.rows import ScreenedRows
from polystein.data.guard.scores import score_warnings
from polystein.data.passes import Accumulator
from polystein.data.sample import as_source
from polystein.data.source import Source, coordinate_names
from polystein.data.split import TRAINING, BlockSplit, ChainSplit, RandomSplit, Split
from polystein.errors import LowESSWarning, ScoreWarning
from polystein.explain.hints import Circumstances
from polystein.explain.tolerance import checked_tolerance, with_effects
from polystein.inference.batch_means import BatchMeans
from polystein.inference.convergence import RankedConvergence
from polystein.inference.pvalues import upper_normal
from polystein.inference.variance import IID, Variance
from polystein.methods.check.agreement import (
    AgreementSums,
    ThinnedRows,
    agreement_abstention,
    agreement_arm,
)
from polystein.methods.check.arms import (
    AGREEMENT,
    FLIPS,
    GIVEN_UP,
    PAIRS,
    SHARES_OF_CHAINS,
    SHARES_OF_ROWS,
    combined,
)
from polystein.methods.check.batch_sums import MOST_PAIRED_DIMENSIONS, BatchSums
from polystein.methods.check.batches import chains_are_batches, cut
from polystein.methods.check.chain_convergence import (
    ChainConvergence,
    SpacedRows,
    chain_convergence,
    slow_scales,
)
from polystein.methods.check.families import BASIS, PAIR_ORDERS, TAILS, order_of
from polystein.methods.check.flips_arm import flip_signs
from polystein.methods.check.trained_arm import (
    INDEPENDENT,
    Trained,
    trained_arm,
    training_memory,
)
from polystein.methods.check.trained_witnesses import TrainingSums
from polystein.methods.check.verdict import diagnosed, doubts
from polystein.methods.split_sample import DividedRows, first_notes, split_rows
from polystein.results.diagnostics import Diagnostics
from polystein.results.evidence import Abstention, Arm, Evidence
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.scale.threads import working
from polystein.types import RNG, Array, Progress, ScoreFunction

#: Levels that people use. Where a p-value is near one of them, it is worth more flips.
USUAL_LEVELS = (0.05, 0.01, 0.005)


def check(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    model: object = None,
    iid: bool = False,
    tolerance: float | None = None,
    n_jobs: int | None = None,
    rng: RNG = 0,
    progress: Progress | None = None,
) -> GofResult:
    """Test whether the draws come from the target.

    Three tests share the level, each strong where the others are weak. One spends no
    rows on training: it asks whether location, spread, shape, tails or dependence of any
    coordinate, or location and spread along any direction, are off, and judges by flipping
    the signs of batches of rows. One
    trains several test functions on half of the rows and judges the best of them on
    the other half. One asks whether chains agree with each other and with their own
    beginnings. All keep chains in time order and allow for their memory, whatever its
    form. Units do not matter: every coordinate is centred and scaled.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one
        chain in time order. Objects of other libraries that carry draws
        and gradients may stand in for both: a trace of nutpie, a NumPyro ``MCMC``, states of
        BlackJAX.
    model : pymc.Model or bambi.Model, optional
        The model whose draws are given as ArviZ data, as in ``check(idata, model=model)``.
    iid : bool
        Whether the rows of (n, d) draws are independent. They are then split at random.
        Do not set it for shuffled or thinned chains.
    tolerance : float, optional
        How far off the draws may be: every mean by this many sds of the target, every
        sd by this part. ``result.tolerance`` then says whether they are "within" it, "beyond" it,
        or whether that is "undecided", beside the verdict and the p-value.
    n_jobs : int, optional
        Number of cores to use; -1 takes all. Results are the same for any number; without
        it, all is done on this thread and rounds differently.
    rng : int, SeedSequence, Generator or None
        Signs are flipped at random, and with ``iid=True`` rows are split at random. The
        default, 0, gives the same result for the same draws. None gives another one every
        time.
    progress : callable, optional
        Called as ``progress(done, total)`` while rows are worked through.

    Returns
    -------
    GofResult
        ``verdict`` is "rejected", "not rejected" or "inconclusive", with the ``reasons`` for
        the last. ``evidence.arms`` holds the tests with their parts, the one with the smallest
        p-value first, and ``evidence.abstained`` those that could not judge; ``explain()``
        sorts the parts by their share in the evidence. ``diagnostics`` has R-hat and ESS of
        draws and scores. ``statistic`` is the standard normal quantile of 1 - pvalue, 0 if
        that is below 0.

    Notes
    -----
    The p-value is the smallest of the arms', each divided by its share of the level: 0.836
    for sign flips, 0.114 for trained witnesses and 0.05 for the agreement of chains, or 0.88
    and 0.12 for independent rows. The p-value of the sign flips is a multiple of 1/500. It is
    refined, to 1/20,000 at the most, where it is near 0.05, 0.01 or 0.005.

    Sign flips judge each family of features on batches that are longer than its memory, and
    leave out coordinates that are worth fewer than 100 draws. In more than 256 dimensions they
    do not look at pairs of coordinates. In more than 1,000, or with fewer than two rows for each
    coordinate, they do not look at locations along directions. ``evidence.abstained`` says so.
    Chains of correlated coordinates that are worth fewer than eight independent rows for each of
    them are "inconclusive" unless they are rejected. Trained witnesses abstain if test rows would
    depend on training rows.

    ``result.effects`` says which property of which parameter is off; see `effects`. It is
    computed when it is asked for, and for a report of a rejected result: until then the result
    holds on to the draws. A stored or pickled result has what was computed before.

    A small p-value is evidence that the draws do not come from the target. A large one
    means that this test found no such evidence. Scores are local: no score-based method
    can see a distant mode that no chain has visited, or a wrong balance between distant modes.

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
    source = rows_or_chains(as_source(draws, scores, model), iid)
    refuse_absurd_chains(source)
    split, variance = _rules(source, iid)
    notes = first_notes(source, split, variance)
    screened = ScreenedRows(source.layout)
    thinned = ThinnedRows(source.layout) if agreement_abstention(source) is None else None
    # Ranks know no importance weights.
    spaced = None if iid or source.weighted else SpacedRows(source.layout)
    wanted: list[Accumulator | None] = [screened, thinned, spaced]
    beside = [look for look in wanted if look is not None]
    # Rows are read for a first look, for sums, and either to train or to test.
    with one_blas_thread(), working(source, n_jobs, progress, reads=3.0):
        (rows,) = split_rows(source, split, rng, notes, standardise=True, beside=beside)
        if not iid:
            refuse_interleaved(source.layout, screened)
        notes.add(*score_warnings(source, screened))
        ranked = None if spaced is None else spaced.ranked()
        del wanted, beside, screened, spaced  # rows are kept there
        found = _judged(rows, thinned, ranked)
    notes.emit()
    known = _circumstances(found, notes)
    return with_effects(_result(rows, found, iid=iid), source, bound, known)


def _rules(source: Source, iid: bool) -> tuple[Split, Variance]:
    """How rows are split, and how the variance over test rows is estimated."""
    if iid:
        return RandomSplit(0.5), IID()
    many = chains_are_batches(source.layout)
    # The variance of chains is estimated by batches of their own (`batches_of_tests`).
    return ChainSplit(0.5) if many else BlockSplit(0.5, gap="auto"), BatchMeans()


class _Found(NamedTuple):
    """The arms that judged and those that abstain, the rows that trained, and the diagnostics."""

    arms: tuple[Arm, ...]
    abstained: tuple[Abstention, ...]
    trained: Trained
    diagnostics: Diagnostics | None


def _judged(
    rows: DividedRows,
    thinned: ThinnedRows | None,
    ranked: tuple[RankedConvergence, RankedConvergence] | None,
) -> _Found:
    """Sum what all arms need of the rows in one pass, then judge one after the other."""
    source, chains = rows.source, rows.source.layout.time_ordered
    shares = SHARES_OF_CHAINS if chains else SHARES_OF_ROWS
    sums, training, agreement = _summed(rows, thinned)
    convergence = chain_convergence(sums) if chains else None
    remembered = training_memory(rows, sums) if chains else INDEPENDENT
    trained = trained_arm(rows, training, remembered)
    if ranked is not None and slow_scales(ranked).any() and isinstance(trained.arm, Arm):
        trained = trained._replace(arm=Abstention(trained.arm.name, _SLOW_SCALE))
    found = [trained.arm, *_agreement(source, agreement)]
    arms, _ = combined(found, shares)
    # A level that another arm has reached already needs no more flips.
    reached = arms[0].pvalue if arms else 1.0
    levels = [level * shares[FLIPS] for level in USUAL_LEVELS if level < reached]
    left_out = _left_out(rows, convergence, ranked)
    names, rng = coordinate_names(source), rows.streams.resampling
    found += flip_signs(sums, names, rng, left_out=left_out, levels=levels)
    if not sums.judges_pairs and source.layout.dimension > 1:
        found.append(Abstention(PAIRS, _MANY_PAIRS))
    diagnostics = None
    if convergence is not None:
        diagnostics = diagnosed(source, convergence, ranked)
    return _Found(*combined(found, shares), trained, diagnostics)


_SLOW_SCALE = (
    "the scale of some coordinates moves so slowly that test rows may depend on training rows. Run "
    "the sampler longer"
)
_MANY_PAIRS = (
    f"there are more than {MOST_PAIRED_DIMENSIONS} coordinates. Spreads along directions of many "
    "coordinates are left out, too. The trained witnesses look at pairs nevertheless"
)


def _summed(
    rows: DividedRows, thinned: ThinnedRows | None
) -> tuple[BatchSums, TrainingSums, AgreementSums | None]:
    """One pass over all rows."""
    source = rows.source
    batches = cut(source.layout, chains=rows.source.layout.time_ordered)
    orders = tuple(order_of(BASIS, name) for name in PAIR_ORDERS)
    sums = BatchSums(source, rows.frame_of_all(), BASIS, batches, orders, TAILS)
    training = TrainingSums(source, rows.partition, BASIS, rows.frame)
    agreement = None if thinned is None else AgreementSums(source.layout, thinned.bounds())
    sums.take(training, *([] if agreement is None else [agreement]))
    rows.notes.add(sums.deviations.warning())
    return sums, training, agreement


def _agreement(source: Source, sums: AgreementSums | None) -> list[Arm | Abstention]:
    """The arm that compares chains, or why they cannot be compared; nothing without chains."""
    if sums is not None:
        return [agreement_arm(sums, coordinate_names(source))]
    if not source.layout.time_ordered:
        return []
    abstention = agreement_abstention(source)
    return [] if abstention is None else [abstention]


def _circumstances(found: _Found, notes: Notes) -> Circumstances:
    """What a hint rests on beside the effects: suspect scores, and chains that do not agree."""
    scores = " ".join(notes.of_kind(ScoreWarning))
    for arm in found.arms:
        if arm.name == AGREEMENT and arm.pvalue <= DEFAULT_LEVEL:
            where = arm.leading.words.rpartition(":")[0]
            one = where.startswith("chain ")
            return Circumstances(scores, where if one else "", "" if one else where)
    return Circumstances(scores)


def _left_out(
    rows: DividedRows,
    convergence: ChainConvergence | None,
    ranked: tuple[RankedConvergence, RankedConvergence] | None,
) -> NDArray[np.bool_]:
    """Which coordinates move too slowly beside the others to be judged by sign flips."""
    names = coordinate_names(rows.source)
    if convergence is None:
        return np.zeros(len(names), dtype=np.bool_)
    slow = convergence.too_slow()
    if ranked is not None:
        slow |= slow_scales(ranked)
    _note_slow(rows.notes, [name for name, own in zip(names, slow, strict=True) if own])
    return slow


def _note_slow(notes: Notes, names: Sequence[str]) -> None:
    if names:
        notes.add(
            LowESSWarning(
                f"the sign flips left {first_of(names, 5)} out: too slow, or too different from "
                "chain to chain, to be judged. Look at the chains, and run the sampler longer"
            )
        )


def _result(rows: DividedRows, found: _Found, *, iid: bool) -> GofResult:
    """Everything in one result; without any arm the p-value is 1 and the verdict inconclusive."""
    layout, partition = rows.source.layout, found.trained.partition
    pvalue = found.arms[0].pvalue if found.arms else 1.0
    estimates = rows.estimates
    independent = estimates.get("weights_ess", float(layout.total) if iid else math.inf)
    missing = [one for one in found.abstained if one.name not in (AGREEMENT, *GIVEN_UP)]
    return GofResult(
        statistic=max(0.0, float(upper_normal(pvalue))),
        pvalue=pvalue,
        alternative="greater",
        method="check",
        dimension=layout.dimension,
        evidence=Evidence(found.arms, estimates=estimates, abstained=found.abstained),
        ess=found.trained.ess if iid else min(independent, _least_ess(found.diagnostics)),
        n_train=partition.count(*TRAINING),
        n_gap=partition.count("gap"),
        n_test=partition.count("test"),
        settings={"iid": iid},
        warnings=rows.notes.messages,
        reasons=doubts(found.diagnostics, missing, independent),
        diagnostics=found.diagnostics,
    )


def _least_ess(diagnostics: Diagnostics | None) -> float:
    """The smallest effective number of draws or scores of chains."""
    if diagnostics is None:
        return math.inf
    return min(diagnostics.draws.worst_known().ess, diagnostics.scores.worst_known().ess)
