"""When a large p-value of `check` says little: what leaves the question open, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polystein._lib.notes import first_of
from polystein._lib.numerics import TINY
from polystein.data.passes import uncounted, visit_blocks
from polystein.data.source import Block, Rows, Source
from polystein.inference.convergence import RankedConvergence
from polystein.inference.convergence_of_means import MeansConvergence
from polystein.inference.pareto import pareto_index
from polystein.methods.check.left_out import ChainConvergence, RankedRows
from polystein.methods.check.statistics import FAMILY_PREFIX, FEWEST_BATCHES
from polystein.methods.check.sums import BatchSums
from polystein.results.coded import CodedText
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.evidence import Abstention
from polystein.results.sampler import sampler_diagnostics
from polystein.types import FloatArray

#: Chains with a larger R-hat have not converged, and draws worth fewer are too few, to conclude
#: from a large p-value that nothing was found.
RHAT_OPEN, ESS_OPEN = 1.05, 100.0
#: More divergences than this share of the draws leave parts of the target unexplored.
LARGEST_DIVERGENT_SHARE = 0.001
#: An ESS below this is too uncertain to say how many more draws it takes.
_FEWEST_TOLD = 20.0
#: If one batch of rows holds more than this share of the squared scores of a coordinate, it hides
#: what the others show: one absurd score among thousands does.
MOST_OF_ONE_BATCH = 0.9
#: So do fewer than eight batches that hold most of them, if each has this many times as much
#: as any other. Heavy tails of right draws have no such gap (0 or 1 of 1,000 sets of rows).
MOST_OF_A_FEW, STANDS_OUT = 0.5, 100.0
#: An R-hat of ranked rows beyond this counts. Below it that of means of all rows is known better.
SUSPECT_RHAT = 1.03
#: Where R-hat is at most this and the ESS at least that of all coordinates, single statistics that
#: cannot judge leave nothing open: the others do. The bounds that are recommended, 1.01 and 400,
#: are those of all rows, and ranked rows are less certain.
HEALTHY_RHAT, HEALTHY_ESS = 1.02, 200.0
#: The rows of a stay have a geometric law, of Pareto index 0, where a chain moves everywhere with
#: about the same probability. Random walks and independence samplers that work have an index of up
#: to 0.2, and those that get stuck in the tails have 0.35 to 0.6. An index counts if it exceeds
#: this by its error. Stays of fewer rows than the second are no matter.
LARGEST_INDEX_OF_STAYS, LONG_STAY = 0.1, 10


def diagnosed(
    source: Source,
    means: ChainConvergence | None,
    ranked: RankedRows | None,
) -> Diagnostics | None:
    """The diagnostics of chains, by numbers that are the same wherever the rows are.

    Ranks of every k-th row decide, where there are any: they know no importance weights.
    Independent rows have k-hat at the most.
    """
    pareto_k = source.facts.pareto_k
    if means is None:
        return None if pareto_k is None else Diagnostics(pareto_k=pareto_k)
    of_draws, of_scores = means
    if ranked is not None:
        of_draws = _settled(of_draws, ranked.draws)
        of_scores = _settled(of_scores, ranked.scores)
    return Diagnostics(
        Convergence.of(source, "draws", of_draws),
        Convergence.of(source, "scores", of_scores),
        sampler_diagnostics(source.facts),
    )


def _settled(means: MeansConvergence, ranked: RankedConvergence) -> MeansConvergence:
    """R-hat by ranks where it is suspect, and the ESS by ranks where that is too small.

    Otherwise those of means of all rows count, which are known better: R-hat of some rows is
    larger by chance, and their ESS is at most their number. The ESS of distances from the median
    counts, too. Chains of fewer than four rows have no ranks.
    """
    # Constant chains that differ have an infinite R-hat, which ranks know only up to rounding.
    suspect = ~(np.maximum(means.rhat, ranked.rhat) <= SUSPECT_RHAT) & ~np.isinf(means.rhat)
    by_ranks = np.fmin(np.fmin(ranked.ess_bulk, ranked.ess_tail), ranked.ess_folded)
    ess = np.where(by_ranks < ESS_OPEN, by_ranks, np.fmax(means.ess, by_ranks))
    unknown = np.isnan(ranked.ess_bulk)
    return MeansConvergence(
        np.where(suspect & ~unknown, ranked.rhat, means.rhat), np.where(unknown, means.ess, ess)
    )


def stays_with_heavy_tail(stays: NDArray[np.intp]) -> CodedText | None:
    """Why chains cannot be judged that stay at one row for long, now and then.

    The long-run variance is then that of a few stays, or infinite, and no batches of rows are
    independent.
    """
    if stays.max(initial=1) < LONG_STAY:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # stays of equal length have no tail
        index, error = pareto_index(stays.astype(np.float64))
    if not index - error > LARGEST_INDEX_OF_STAYS:
        return None
    words = (
        f"The chains get stuck: they stay at one row for up to {stays.max()} rows, and the lengths "
        f"of stays have a heavy tail (Pareto index {index:.2f}), so that the autocorrelation "
        "cannot be estimated. Use smaller steps or a wider proposal, or run the sampler much "
        "longer."
    )
    return CodedText(words, "stuck-chains")


def dominant_rows(sums: BatchSums, names: Sequence[str]) -> tuple[CodedText, ...]:
    """A reason if a few rows have scores so large that sign flips cannot see beside them."""
    found = dominant_batches(sums.squares[:, 1])
    if found is None:
        return ()
    coordinate, batches, share = found
    name, places = names[coordinate], [_largest_in(sums, one, coordinate) for one in batches]
    hold = f"{100.0 * share:.3g} % of the squared scores of {name}"
    if len(places) == 1 and places[0].startswith("row "):
        words = f"One draw outweighs all others: {places[0]} holds {hold}, and hides"
    else:
        words = f"A few draws outweigh all others: {' and '.join(places)} hold {hold}, and hide"
    words += " what the others show. Look at these scores."
    return (CodedText(words, "dominant-draws", name),)


def dominant_batches(squares: FloatArray) -> tuple[int, list[int], float] | None:
    """The coordinate whose squared scores a few batches hold, which ones, and their share.

    One batch holds nearly all of them, or fewer batches than sign flips need hold most of them and
    stand out from all others. Their signs are then all that flips change, and what other rows
    show is lost in their spread.

    Examples
    --------
    >>> squares = np.ones((100, 2))
    >>> squares[7, 1] = 300.0
    >>> coordinate, batches, share = dominant_batches(squares)
    >>> coordinate, batches, round(share, 2)
    (1, [7], 0.75)
    """
    if len(squares) < FEWEST_BATCHES:
        return None
    largest = np.sort(np.partition(squares, -FEWEST_BATCHES, axis=0)[-FEWEST_BATCHES:], axis=0)
    own, next_largest = largest[:0:-1], largest[-2::-1]
    with np.errstate(over="ignore", invalid="ignore"):  # squares that overflow have no share
        shares = np.nan_to_num(own.cumsum(axis=0) / np.maximum(squares.sum(axis=0), TINY))
        hide = (shares > MOST_OF_A_FEW) & (own > STANDS_OUT * next_largest)
    hide[0] |= shares[0] > MOST_OF_ONE_BATCH
    if not hide.any():
        return None
    coordinate = int(np.argmax(np.where(hide, shares, 0.0).max(axis=0)))
    last = int(np.argmax(hide[:, coordinate]))
    batches = np.argsort(-squares[:, coordinate], kind="stable")[: last + 1].tolist()
    return coordinate, batches, float(shares[last, coordinate])


def _largest_in(sums: BatchSums, batch: int, coordinate: int) -> str:
    """The row of a batch that has most of its squared scores, or all its rows if none has."""
    own = [one for one in sums.batches.stretches if one.batch == batch]
    total, best, row = 0.0, -1.0, (0, 0)

    def look(block: Block) -> None:
        nonlocal total, best, row
        values = block.weights_or_ones * sums.frame.see(block).scores[:, coordinate] ** 2
        total += float(values.sum())
        for chain, start, low, high in block.chains:
            place = int(np.argmax(values[low:high]))
            if values[low + place] > best:
                best, row = float(values[low + place]), (chain, start + place)

    with uncounted():
        visit_blocks(sums.source, [Rows(*one[:3]) for one in own], look)
    chain, place = row
    where = next(one for one in own if one.chain == chain and one.start <= place < one.stop)
    rows = f"row {place}" if best > 0.5 * total else f"rows {where.start} to {where.stop - 1}"
    return rows + (f" of chain {chain}" if sums.source.layout.time_ordered else "")


def doubts(
    diagnostics: Diagnostics | None,
    abstained: Sequence[Abstention] = (),
    independent_rows: float = math.inf,
) -> tuple[CodedText, ...]:
    """Why a large p-value leaves the question open: one sentence or two for each reason.

    Parameters
    ----------
    diagnostics : Diagnostics or None
        Those of chains; None for independent rows.
    abstained : sequence of Abstention
        Arms whose judgement is missing.
    independent_rows : float
        The effective number of rows where they are independent.

    Returns
    -------
    tuple of CodedText
        Sentences with codes. Empty if a large p-value may be called "not rejected".

    Examples
    --------
    >>> doubts(None, independent_rows=60)
    ('60 independent draws are fewer than 100: large faults may go unseen. Take more draws.',)
    >>> doubts(None, [Abstention("sign flips", "there are fewer than eight batches of rows")])
    ('The sign flips did not judge: there are fewer than eight batches of rows.',)
    """
    reasons: list[CodedText] = []
    both: list[tuple[str, Convergence]] = []
    if diagnostics is not None and diagnostics.of_chains is not None:
        both += zip(("draws", "scores"), diagnostics.of_chains, strict=True)
    worst = [(what, one.worst_known()) for what, one in both]
    found = [(f"{one.rhat:.2f}", what, one.rhat_of) for what, one in worst if one.rhat > RHAT_OPEN]
    if found:
        words = (
            f"The chains disagree: R-hat is {_listed(found)}, above {RHAT_OPEN}. "
            "Run longer, with more warm-up, and look at each chain by itself."
        )
        reasons.append(CodedText(words, "chains-disagree", found[0][2]))
    few = [(one.ess, what, one.ess_of) for what, one in worst if not one.ess >= ESS_OPEN]
    if few:
        listed = _listed([(f"{ess:.0f}", what, name) for ess, what, name in few])
        fewest = min(ess for ess, _, _ in few)
        # Chains that hardly moved do not tell how much longer they would have to be.
        times = math.ceil(ESS_OPEN / fewest) if fewest >= _FEWEST_TOLD else 0
        longer = f": about {times} times as long would do" if times else ""
        words = (
            f"Too few effective draws: {listed}, fewer than {ESS_OPEN:.0f}. "
            f"Run the sampler longer{longer}."
        )
        reasons.append(CodedText(words, "few-effective-draws", min(few)[2]))
    for what, convergence in both:
        if names := convergence.constant():
            words = (
                f"The {what} of {first_of(names, 3)} never change, so that they cannot show "
                "whether the chains have converged. Leave such coordinates out, or look at why "
                "the sampler is stuck."
            )
            reasons.append(CodedText(words, "constant-coordinate", names[0]))
    healthy = bool(both) and all(
        one.rhat <= HEALTHY_RHAT and one.ess >= HEALTHY_ESS for _, one in worst
    )
    reasons += [
        CodedText(
            f"The {arm.name} did not judge: {arm.reason.strip()}"
            + ("" if arm.reason.strip().endswith((".", "!", "?")) else "."),
            "part-did-not-judge",
        )
        for arm in abstained
        if not (healthy and arm.name.startswith(FAMILY_PREFIX))
    ]
    if independent_rows < ESS_OPEN:
        words = (
            f"{independent_rows:.0f} independent draws are fewer than {ESS_OPEN:.0f}: large "
            "faults may go unseen. Take more draws."
        )
        reasons.append(CodedText(words, "few-draws"))
    sampler = diagnostics.sampler if diagnostics is not None and both else None
    if sampler is not None and sampler.divergent_share > LARGEST_DIVERGENT_SHARE:
        words = (
            f"{sampler.divergences} of {sampler.draws} draws diverged: parts of the target may "
            "not have been visited. Reparametrise the model, or take smaller steps."
        )
        reasons.append(CodedText(words, "divergences"))
    return tuple(reasons)


def _listed(found: list[tuple[str, str, str]]) -> str:
    """Return "1.20 for the draws of a and 1.10 for the scores of b", or shorter if they agree."""
    if len(found) == 2 and found[0][::2] == found[1][::2]:
        return f"{found[0][0]} for draws and scores of {found[0][2]}"
    return " and ".join(f"{number} for the {what} of {name}" for number, what, name in found)
