"""A refinement as plain text."""

from __future__ import annotations

from polystein._lib.notes import first_of
from polystein.report.text import QUESTION, headline
from polystein.results.refinement import Refinement
from polystein.results.result import DEFAULT_LEVEL

#: Sentences on effects that are shown; the others are in `effects`.
MOST_SENTENCES = 8


def render_refinement(result: Refinement, alpha: float = DEFAULT_LEVEL) -> str:
    """One screen: verdict, what moved, tolerance, how it was found."""
    verdict = result.verdict_at(alpha)
    lines = [" ".join(headline(result, alpha)), f"{QUESTION} refine, dimension {result.dimension}"]
    facts: list[tuple[str, str]] = []
    if verdict == "rejected":
        # Before the runs have settled a direction may be the wrong one.
        t, shown = ("t", result.statistic) if result.settled else ("|t|", abs(result.statistic))
        facts.append(("Most", f"{result.leading} changed most ({t} = {shown:.1f})"))
    facts += [("Open", reason) for reason in result.reasons if verdict != "rejected"]
    found = result.effects.found
    for place, row in enumerate(found[:MOST_SENTENCES]):
        facts.append(("Found" if place == 0 else "", row.sentence))
    if len(found) > MOST_SENTENCES:
        facts.append(("", f"... and {len(found) - MOST_SENTENCES} more in `effects`"))
    if result.settled:
        facts.append(("Settled", "yes: sizes are those of the draws beside the moved draws"))
    else:
        names = first_of([f"`{name}`" for name in result.still_moving], 4)
        moving = f"; still moving: {names}" if names else ""
        facts.append(("Settled", f"no: sizes and signs are not told{moving}"))
    if result.tolerance is not None:
        facts.append(("Tolerance", f"{result.tolerance}: {result.tolerance_reason}"))
    facts.append(("Runs", runs_words(result)))
    facts.append(("Unseen", "a mode that neither the draws nor the pilots found"))
    facts += [("Warning", words) for words in result.warnings]
    lines += [f"  {label:<10} {words}" for label, words in facts]
    return "\n".join(lines)


def runs_words(result: Refinement) -> str:
    """How many runs there were, of which kind, and what they cost."""
    groups = f", {result.groups} separate groups" if result.groups > 1 else ""
    return (
        f"{result.starts} starts, {result.transitions} transitions ({result.kernel}, "
        f"acceptance {result.acceptance:.2f}), {result.pilots} pilots{groups}; "
        f"{result.gradients:,} {'gradients' if result.kernel == 'HMC' else 'log-densities'}"
    )
