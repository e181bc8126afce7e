"""When a large p-value of `check` says little: what leaves the question open, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from polystein._lib.notes import first_of
from polystein.data.source import Source
from polystein.inference.convergence import (
    MeansConvergence,
    RankedConvergence,
    ranked_convergence,
)
from polystein.methods.check.agreement import ThinnedRows
from polystein.results.coded import CodedText
from polystein.results.diagnostics import (
    Convergence,
    Diagnostics,
    RowsOf,
    SamplerDiagnostics,
    sampler_diagnostics,
)
from polystein.results.evidence import Abstention
from polystein.types import FloatArray

#: Chains with a larger R-hat have not converged, and draws worth fewer are too few, to conclude
#: from a large p-value that nothing was found.
LARGEST_RHAT, LEAST_ESS = 1.05, 100.0
#: More divergences than this share of the draws leave parts of the target unexplored.
LARGEST_DIVERGENT_SHARE = 0.001
#: An ESS below this is too uncertain to say how many more draws it takes.
_FEWEST_TOLD = 20.0
#: A first ranking takes at least this many rows, evenly spaced, and this many of each chain ...
FEWEST_ROWS, FEWEST_ROWS_OF_CHAIN = 1_000, 50
#: ... and coordinates beyond these bounds are then ranked whole.
_SUSPECT_RHAT, _SUSPECT_ESS = 1.03, 2.0 * LEAST_ESS


def diagnosed(
    source: Source,
    of_draws: MeansConvergence,
    of_scores: MeansConvergence,
    thinned: ThinnedRows | None = None,
) -> Diagnostics:
    """The diagnostics of chains, known well enough for a verdict.

    If rows are in memory, every coordinate is ranked on evenly spaced rows. Those near the
    bounds are then ranked on all rows. Of other sources the ``thinned`` rows are ranked, and the
    worse of ranks and means decides. Ranks know no importance weights.
    """
    if thinned is not None and not RowsOf(source, "draws").in_memory:
        of_draws = _worse(of_draws, thinned.chains("draws"))
        of_scores = _worse(of_scores, thinned.chains("scores"))
    draws = Convergence.of(source, "draws", of_draws)
    scores = Convergence.of(source, "scores", of_scores)
    if source.weighted:
        return Diagnostics(draws, scores, sampler_diagnostics(source.facts))
    rank_suspects(draws, scores)
    return Diagnostics(draws, scores, sampler_diagnostics(source.facts))


def _worse(means: MeansConvergence, chains: list[FloatArray]) -> MeansConvergence:
    """The larger R-hat, and the ESS of ranks where it is too small.

    Ranks of a part of the rows have a smaller ESS than those of all. A few rows of every chain
    say nothing.
    """
    if min(len(chain) for chain in chains) < FEWEST_ROWS_OF_CHAIN:
        return means
    ranked = ranked_convergence(chains)
    ess = np.fmin(ranked.ess_bulk, ranked.ess_tail)
    few = np.where(ess < LEAST_ESS, ess, np.inf)
    return MeansConvergence(np.fmax(means.rhat, ranked.rhat), np.fmin(means.ess, few))


def rank_suspects(*convergences: Convergence) -> None:
    """Rank those coordinates on all rows whose R-hat is the largest, or whose ESS the smallest.

    The convergences are of one source, whose draws and scores are ranked together.
    """
    found = [one for one in convergences if one.ranked.rows and one.ranked.rows.in_memory]
    kept = [one.ranked.rows for one in found if one.ranked.rows]
    if not kept:
        return
    every, step = range(len(found[0].names)), _step(kept[0])
    chains = np.concatenate([rows.chains(every, step) for rows in kept], axis=2)
    ranked = ranked_convergence(chains)
    for place, one in enumerate(found):
        own = slice(place * len(every), (place + 1) * len(every))
        numbers = RankedConvergence(*(part[own] for part in ranked))
        if step == 1:
            one.ranked.put(every, numbers)
        else:
            one.ranked.learn(_suspects(one, numbers))


def _suspects(convergence: Convergence, ranked: RankedConvergence) -> list[int]:
    """The coordinates near the bounds, by means or by ranks of some rows; NaN is not."""
    means = np.array([convergence.rhat_of_means, convergence.ess_of_means])
    apart = (ranked.rhat > _SUSPECT_RHAT) | (means[0] > _SUSPECT_RHAT)
    few = (ranked.ess_bulk < _SUSPECT_ESS) | (ranked.ess_tail < _SUSPECT_ESS)
    found: list[int] = np.flatnonzero(apart | few | (means[1] < _SUSPECT_ESS)).tolist()
    return found


def _step(rows: RowsOf) -> int:
    """Every how many rows are ranked first."""
    layout = rows.source.layout
    return max(1, min(layout.total // FEWEST_ROWS, min(layout.lengths) // FEWEST_ROWS_OF_CHAIN))


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
    reasons = [
        CodedText(f"The {arm.name} did not judge: {_sentence(arm.reason)}", "part-did-not-judge")
        for arm in abstained
    ]
    if independent_rows < LEAST_ESS:
        words = (
            f"{independent_rows:.0f} independent draws are fewer than {LEAST_ESS:.0f}: large "
            "faults may go unseen. Take more draws."
        )
        reasons.append(CodedText(words, "few-draws"))
    if diagnostics is not None:
        both = (("draws", diagnostics.draws), ("scores", diagnostics.scores))
        reasons = [*_of_rhat(both), *_of_ess(both), *_of_constants(both), *reasons]
        reasons += _of_sampler(diagnostics.sampler)
    return tuple(reasons)


Both = tuple[tuple[str, Convergence], ...]


def _of_rhat(both: Both) -> Iterator[CodedText]:
    found = [
        (f"{worst.rhat:.2f}", what, worst.rhat_of)
        for what, convergence in both
        if (worst := convergence.worst_known()).rhat > LARGEST_RHAT
    ]
    if found:
        words = (
            f"The chains disagree: R-hat is {_listed(found)}, above {LARGEST_RHAT}. "
            "Run longer, with more warm-up, and look at each chain by itself."
        )
        yield CodedText(words, "chains-disagree", found[0][2])


def _of_ess(both: Both) -> Iterator[CodedText]:
    few = [
        (worst.ess, what, worst.ess_of)
        for what, convergence in both
        if not (worst := convergence.worst_known()).ess >= LEAST_ESS
    ]
    if few:
        listed = _listed([(f"{ess:.0f}", what, name) for ess, what, name in few])
        fewest = min(ess for ess, _, _ in few)
        # Chains that hardly moved do not tell how much longer they would have to be.
        times = math.ceil(LEAST_ESS / fewest) if fewest >= _FEWEST_TOLD else 0
        longer = f": about {times} times as long would do" if times else ""
        words = (
            f"Too few effective draws: {listed}, fewer than {LEAST_ESS:.0f}. "
            f"Run the sampler longer{longer}."
        )
        yield CodedText(words, "few-effective-draws", min(few)[2])


def _listed(found: list[tuple[str, str, str]]) -> str:
    """Return "1.20 for the draws of a and 1.10 for the scores of b", or shorter if they agree."""
    if len(found) == 2 and found[0][::2] == found[1][::2]:
        return f"{found[0][0]} for draws and scores of {found[0][2]}"
    return " and ".join(f"{number} for the {what} of {name}" for number, what, name in found)


def _of_constants(both: Both) -> Iterator[CodedText]:
    for what, convergence in both:
        if names := convergence.constant():
            words = (
                f"The {what} of {first_of(names, 3)} never change, so that they cannot show "
                "whether the chains have converged. Leave such coordinates out, or look at why "
                "the sampler is stuck."
            )
            yield CodedText(words, "constant-coordinate", names[0])


def _of_sampler(sampler: SamplerDiagnostics | None) -> Iterator[CodedText]:
    if sampler is not None and sampler.divergent_share > LARGEST_DIVERGENT_SHARE:
        words = (
            f"{sampler.divergences} of {sampler.draws} draws diverged: parts of the target may "
            "not have been visited. Reparametrise the model, or take smaller steps."
        )
        yield CodedText(words, "divergences")


def _sentence(text: str) -> str:
    """The text with a full stop at its end."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
