"""The one call for users: safe for MCMC, with nothing to tune."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from polystein._lib.notes import Notes, first_of
from polystein._lib.random import seed_setting
from polystein._lib.threads import one_blas_thread
from polystein.data.columns import with_coordinates
from polystein.data.guard.chains import refuse_absurd_chains, rows_or_chains
from polystein.data.guard.interleaved import interleaved_warning
from polystein.data.guard.rows import ScreenedRows
from polystein.data.guard.scores import score_warnings
from polystein.data.passes import Accumulator
from polystein.data.sample import as_source
from polystein.data.source import Source, coordinate_names, with_minibatches
from polystein.data.split import TRAINING, BlockSplit, ChainSplit, RandomSplit, Split
from polystein.data.spread import KeptRows
from polystein.errors import LowESSWarning, ScoreWarning
from polystein.explain.hints import Circumstances, refine_call
from polystein.explain.tolerance import checked_tolerance, with_effects
from polystein.inference.pvalues import upper_normal
from polystein.methods.check.agreement import (
    AgreementSums,
    agreement_abstention,
    agreement_arm,
    place_of,
)
from polystein.methods.check.batches import chains_are_batches, cut
from polystein.methods.check.flips import flip_signs
from polystein.methods.check.left_out import RankedRows, chain_convergence, ranked_rows
from polystein.methods.check.look import (
    bounds_of,
    kept_rows,
    robust_frame,
    rows_to_rank,
)
from polystein.methods.check.net import net_arm
from polystein.methods.check.noticed import noticeable_faults
from polystein.methods.check.statistics import (
    AGREEMENT,
    BASIS,
    FLIPS,
    LEAVES_NOTHING_OPEN,
    NET,
    PAIR_ORDERS,
    SHARES_OF_CHAINS,
    SHARES_OF_ROWS,
    TAILS,
)
from polystein.methods.check.sums import BatchSums
from polystein.methods.check.trained import INDEPENDENT, memory_of_training, trained_arm
from polystein.methods.check.verdict import (
    diagnosed,
    dominant_rows,
    doubts,
    stays_with_heavy_tail,
)
from polystein.methods.check.witnesses import TrainingSums
from polystein.methods.split_sample import DividedRows, split_rows
from polystein.results.evidence import Abstention, Arm, Evidence
from polystein.results.noticeable import Noticeable
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
    var_names: str | Sequence[str] | None = None,
    coords: Mapping[str, Any] | None = None,
    iid: bool = False,
    minibatch: bool = False,
    tolerance: float | None = None,
    n_jobs: int | None = None,
    rng: RNG = 0,
    progress: Progress | None = None,
) -> GofResult:
    """Test whether the draws come from the target.

    Four tests share the level, each strong where the others are weak. One spends no rows on
    training: it asks whether location, spread, shape, tails, fine structure or dependence of any
    coordinate, or location and spread along any direction, are off, and judges by flipping the
    signs of batches of rows. One trains several test functions on half of the rows and judges the
    best of them on the other half. One asks whether chains agree with each other and with their
    own beginnings. One is a kernel test of some rows, a net under everything. All keep chains in
    time order and allow for their autocorrelation, whatever its form. Units do not matter: every
    coordinate is centred and scaled.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`. Draws of shape (chain, draw, d) are chains, (n, d) is one
        chain in time order. Objects of other libraries that carry draws
        and gradients may stand in for both: a trace of nutpie, a NumPyro ``MCMC``, states of
        BlackJAX.
    model : pymc.Model or bambi.Model, optional
        The model whose draws are given as ArviZ data, as in ``check(idata, model=model)``.
    var_names, coords
        Which coordinates to test, as for `Sample.select`; all by default. Their scores are still
        those of the whole target.
    iid : bool
        Whether the rows of (n, d) draws, or of one chain, are independent. They are then split at
        random. Draws of variational fits are known to be. Do not set it for shuffled or thinned
        chains.
    minibatch : bool
        Whether every row's score is an unbiased estimate from a fresh minibatch, independent of
        the row and of other batches. A `Sample` may say so in its ``facts``. What is not linear in
        the scores is then not judged.
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
        draws and scores of chains, and Pareto k-hat of a variational fit. ``statistic`` is the
        standard normal quantile of 1 - pvalue, 0 if that is below 0.

    Notes
    -----
    The p-value is the smallest of the arms', each divided by its share of the level: 0.765 for sign
    flips, 0.005 for trained witnesses, 0.05 for the agreement of chains and 0.18 for the kernel
    net, or 0.815, 0.005 and 0.18 for independent rows. The p-value of the sign flips is a
    multiple of 1/500. Near 0.05, 0.01 or 0.005 it is refined, to 1/20,000 at the most.

    Sign flips judge each family of features on batches that are longer than its autocorrelation.
    Coordinates are left out that are worth fewer than 30 draws, or fewer than 100 and less than a
    quarter of the best one's, whose scale moves slowly, or whose chains disagree. In more than 256
    dimensions sign flips do not look at pairs of coordinates. In more than 1,000 they do not look
    at fine structure. In more than 1,000, or with fewer than two rows for each coordinate, they do
    not look at locations along directions. ``evidence.abstained`` says so. The kernel net is
    consistent against every alternative and needs many rows; the other arms need few and see what
    they look at.
    Chains of correlated coordinates that are worth fewer than eight independent rows for each of
    them are "inconclusive" unless they are rejected, or R-hat is at most 1.02 and the ESS at least
    200 for all coordinates. Trained witnesses abstain if test rows would depend on training rows.
    No arm judges chains that get stuck at single rows for long.

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
    # 1. Rows or chains. Values that no chain has are errors.
    given = as_source(draws, scores, model)
    source = with_coordinates(given, var_names, coords)
    source = with_minibatches(rows_or_chains(source, iid), minibatch)
    refuse_absurd_chains(source)
    # Rows are read for a first look, for sums, and either to train or to test.
    with one_blas_thread(), working(source, n_jobs, progress, reads=3.0):
        rows, kept, ranked = _first_look(source, rng)
        result, compute_noticeable = _sum_and_judge(rows, kept, ranked, seed_setting(rng))
    rows.notes.emit()
    known = _circumstances(result.evidence.arms, rows.notes)
    known = known._replace(refine=refine_call(given, draws, model))
    result = with_effects(result, source, bound, known)
    result.compute_noticeable_by(compute_noticeable)
    return result


def _first_look(source: Source, rng: RNG) -> tuple[DividedRows, KeptRows, RankedRows | None]:
    """The rows with their roles, about a thousand of them, and the convergence by ranks."""
    # 2. Halves: any half of the rows trains, the first half of every chain, or half of the chains.
    layout = source.layout
    split: Split
    if not layout.time_ordered:
        split = RandomSplit(0.5)
    elif chains_are_batches(layout):
        split = ChainSplit(0.5)
    else:
        split = BlockSplit(0.5, gap="auto")
    # 3. First look, in one pass. Copies of chains are errors. Ranks know no importance weights.
    screened, kept = ScreenedRows(layout), kept_rows(layout)
    to_rank = None if not layout.time_ordered or source.weighted else rows_to_rank(layout)
    beside: list[Accumulator] = [screened, kept, *([] if to_rank is None else [to_rank])]
    notes = Notes(source.facts.warnings)
    (rows,) = split_rows(source, split, rng, notes, standardise=True, beside=beside)
    if layout.time_ordered:
        notes.add(interleaved_warning(layout, screened))
    notes.add(*score_warnings(source, screened))
    return rows, kept, None if to_rank is None else ranked_rows(to_rank)


def _sum_and_judge(
    rows: DividedRows, kept: KeptRows, ranked: RankedRows | None, seed: int | str | None
) -> tuple[GofResult, Callable[[], tuple[Noticeable, ...]]]:
    """Sum what all arms need of the rows in one pass, then judge by one arm after the other.

    What would have been noticed is left to be computed when it is asked for.
    """
    source, names = rows.source, coordinate_names(rows.source)
    chains = source.layout.time_ordered
    shares = SHARES_OF_CHAINS if chains else SHARES_OF_ROWS

    # 4. Batches.
    batches = cut(source.layout, chains=chains)

    # 5. Sums, in one pass: over batches, of the training rows, and over parts of every chain.
    # Sums over batches are in the frame of all rows. The witnesses are trained and judged in that
    # of the training rows, `rows.frame`, which knows nothing of the test rows.
    frame = rows.frame_of_all()
    robust, orders = robust_frame(kept, frame), tuple(PAIR_ORDERS.values())
    new_sums = partial(BatchSums, source, frame, BASIS, batches, orders, TAILS, robust)
    sums = new_sums()
    training_sums = TrainingSums(source, rows.partition, BASIS, rows.frame)
    no_agreement = agreement_abstention(source)
    agreement_sums = (
        AgreementSums(source.layout, bounds_of(kept), draws_alone=source.facts.minibatch)
        if no_agreement is None
        else None
    )
    sums.take(training_sums, *([] if agreement_sums is None else [agreement_sums]))
    rows.notes.add(sums.deviations.warning())

    # 6. Left out, by the sign flips and the net: coordinates that are too slow beside the others,
    # whose chains disagree, or whose scale is too slow.
    left_out, convergence = np.zeros(len(names), dtype=np.bool_), None
    slow_scales = left_out if ranked is None else ranked.slow_scales()
    if chains:
        convergence = chain_convergence(sums)
        left_out = convergence.too_slow() | slow_scales
        if left_out.any():
            left = first_of([name for name, own in zip(names, left_out, strict=True) if own], 5)
            words = f"the sign flips left {left} out: too slow, or too different from chain to "
            words += "chain, to be judged. Look at the chains, and run the sampler longer"
            rows.notes.add(LowESSWarning(words))

    # 7. Trained witnesses.
    training_memory = memory_of_training(rows, sums) if chains else INDEPENDENT
    trained = trained_arm(rows, training_sums, training_memory, slow_scales=bool(slow_scales.any()))
    found: list[Arm | Abstention] = [trained.arm]

    # Stays at one row, for steps 8 and 11. Those of half a chain are of frozen chains.
    stays = rows.stays[2 * rows.stays < min(source.layout.lengths)]

    # 8. Agreement of chains.
    if agreement_sums is not None:
        found.append(agreement_arm(agreement_sums, names, int(stays.max(initial=1))))
    elif chains and no_agreement is not None:
        found.append(no_agreement)

    # 9. Sign flips.
    levels, rng = _open_levels(found, shares, FLIPS), rows.streams.resampling
    found += flip_signs(sums, names, rng, left_out=left_out, levels=levels)

    # 10. Kernel net, with a random stream of its own: no weights of `check` are drawn at random, so
    # that the stream of weights is free.
    levels, rng = _open_levels(found, shares, NET), rows.streams.weights
    if source.facts.minibatch:
        found.append(Abstention(NET, _NOISY))
    else:
        found.append(net_arm(kept, sums, rng, left_out=left_out, levels=levels))

    # 11. Stuck chains: whatever was found on them is no evidence. The arms have run nevertheless,
    # for the roles of the rows and the warnings are those of any call.
    stuck = stays_with_heavy_tail(stays)
    if stuck is not None:
        found = [Abstention(name, _STUCK) for name in shares]

    # 12. P-value.
    arms, abstained = combined(found, shares)
    pvalue = arms[0].pvalue if arms else 1.0

    # 13. Diagnostics.
    diagnostics = diagnosed(source, convergence, ranked)

    # 14. Reasons, which leave the question open if nothing was found.
    missing = [one for one in abstained if one.name not in LEAVES_NOTHING_OPEN]
    total = math.inf if chains else float(source.layout.total)
    independent = rows.estimates.get("weights_ess", total)
    reasons = [] if stuck is None else [stuck]
    reasons += doubts(diagnostics, missing if stuck is None else (), independent)
    reasons += dominant_rows(sums, names)

    # 15. Verdict: the result gives it by the p-value and the reasons. Its effective number of rows
    # is the least of those of importance weights, of draws and of scores.
    partition, ess = trained.partition, trained.ess
    if diagnostics is not None and diagnostics.of_chains is not None:
        worst = [one.worst_known().ess for one in diagnostics.of_chains]
        ess = min(rows.estimates.get("weights_ess", math.inf), *worst)
    result = GofResult(
        statistic=max(0.0, float(upper_normal(pvalue))),
        pvalue=pvalue,
        alternative="greater",
        method="check",
        dimension=source.layout.dimension,
        evidence=Evidence(arms, estimates=rows.estimates, abstained=abstained),
        ess=ess,
        n_chains=len(source.layout.lengths) if chains else 0,
        n_draws=max(source.layout.lengths) if chains else 0,
        n_train=partition.count(*TRAINING),
        n_gap=partition.count("gap"),
        n_test=partition.count("test"),
        settings={
            "iid": not chains,
            **({"minibatch": True} if source.facts.minibatch else {}),
            "rng": seed,
        },
        warnings=rows.notes.messages,
        reasons=tuple(reasons),
        diagnostics=diagnostics,
    )
    level = DEFAULT_LEVEL * shares[FLIPS]
    if source.facts.minibatch:  # how a fault moves features needs second moments of the scores
        return result, tuple
    return result, partial(noticeable_faults, new_sums, left_out=left_out, level=level)


#: Why no arm judges chains that get stuck.
_STUCK = "the chains stay at one row for long, so that their autocorrelation cannot be estimated"
#: Why the net does not judge scores of minibatches.
_NOISY = (
    "its kernel multiplies scores, and their noise hides what it sees. Scores without noise have it"
)


def _open_levels(
    found: Sequence[Arm | Abstention], shares: Mapping[str, float], name: str
) -> list[float]:
    """The levels that people use and that no arm has reached yet, as p-values of an arm.

    A level that has been reached needs no more flips.
    """
    arms, _ = combined(found, shares)
    reached = arms[0].pvalue if arms else 1.0
    return [level * shares[name] for level in USUAL_LEVELS if level < reached]


def combined(
    found: Sequence[Arm | Abstention], shares: Mapping[str, float]
) -> tuple[tuple[Arm, ...], tuple[Abstention, ...]]:
    """The arms with their shares of the level, smallest p-value first, and those that abstain.

    The first one's p-value is the p-value of all together (Bonferroni, with unequal shares
    fixed in advance). Where an arm abstains, the others keep their own shares.
    """
    arms = [one.with_level_share(shares[one.name]) for one in found if isinstance(one, Arm)]
    abstained = tuple(one for one in found if isinstance(one, Abstention))
    return tuple(sorted(arms, key=lambda arm: arm.pvalue)), abstained


def _circumstances(arms: Sequence[Arm], notes: Notes) -> Circumstances:
    """What a hint rests on beside the effects: suspect scores, and chains that do not agree."""
    # Scores of few digits are coarse, and not wrong.
    scores = " ".join(words for words in notes.of_kind(ScoreWarning) if "digits" not in words)
    for arm in arms:
        if arm.name == AGREEMENT and arm.pvalue <= DEFAULT_LEVEL:
            where, whole_chain = place_of(arm.leading)
            return Circumstances(scores, *((where, "") if whole_chain else ("", where)))
    return Circumstances(scores)
