"""A refinement as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polystein._lib.notes import first_of
from polystein.report.lines import wrapped
from polystein.report.seed import rng_in_call
from polystein.report.text import HEIGHT, QUESTION, headline, labelled
from polystein.results.refinement import Refinement
from polystein.results.result import DEFAULT_LEVEL

#: Sentences on effects that are shown, the others are in `effects`; and lines of one fact.
MOST_SENTENCES, _MOST_LINES = 5, 2


def render_refinement(result: Refinement, alpha: float = DEFAULT_LEVEL) -> str:
    """One screen: verdict, what moved, tolerance, how it was found."""
    head = wrapped(" ".join(headline(result, alpha)))
    head.append(f"{QUESTION} refine, {result.starts} draws moved, dimension {result.dimension}")
    lines = [
        line
        for label, words in refinement_facts(result, alpha)
        for line in labelled(label, words)[:_MOST_LINES]
    ]
    return "\n".join([*head, "", *lines[: HEIGHT - len(head) - 1]])


def refinement_facts(
    result: Refinement, alpha: float = DEFAULT_LEVEL, most: int = MOST_SENTENCES
) -> list[tuple[str, str]]:
    """What there is to say below the verdict, label by label."""
    verdict, found = result.verdict_at(alpha), result.effects.found
    reasons = result.reasons if verdict == "inconclusive" else ()
    facts = [("" if place else "Why", f"- {words}") for place, words in enumerate(reasons)]
    facts += [("" if place else "Off", row.sentence) for place, row in enumerate(found[:most])]
    if len(found) > most:
        facts.append(("", f"... and {len(found) - most} more in `effects`"))
    if verdict == "rejected":
        # Before the runs have settled a direction may be the wrong one.
        t, shown = ("t", result.statistic) if result.settled else ("|t|", abs(result.statistic))
        facts.append(("Evidence", f"{result.leading} changed most ({t} = {shown:.1f})"))
    if result.tolerance is not None:
        facts.append(("Tolerance", f"{result.tolerance}: {result.tolerance_reason}"))
    if result.settled:
        facts.append(("Settled", "yes: the sizes compare the draws with the moved draws"))
    else:
        names = first_of([f"`{name}`" for name in result.still_moving], 4)
        moving = f"; still moving: {names}" if names else ""
        facts.append(("Settled", f"no: sizes and signs are not told{moving}"))
    if verdict == "rejected" or not result.settled:
        words, line = what_next(result, alpha)
        facts.append(("Run", f"{words}: `{line}`"))
    facts.append(
        ("Unseen", "if neither the draws nor the pilots found a mode, nothing tells of it")
    )
    facts.append(("Runs", runs_words(result)))
    return [*facts, *(("Warning", words) for words in result.warnings)]


def what_next(
    result: Refinement, alpha: float = DEFAULT_LEVEL, *, command_line: bool = False
) -> tuple[str, str]:
    """What to do with the draws that were moved, in words and as a line to run."""
    if not result.settled:
        longer = 4 * result.transitions
        words = "let the runs go on until they settle, and take the moved draws then"
        if command_line:
            return (
                words,
                f"polystein refine FILE --target module:log_density --transitions {longer}",
            )
        return words, refine_call(result, {"transitions": longer})
    # The command line keeps no draws: it takes the call in Python.
    call = f"{refine_call(result, result.settings)}\n" if command_line else ""
    rejected = result.verdict_at(alpha) == "rejected"
    words = f"the moved draws are {'better' if rejected else 'at least as good'}; check them, too"
    return words, f"{call}ps.check(refined.draws)"


def refine_call(result: Refinement, settings: Mapping[str, Any]) -> str:
    """A call of `refine` with these settings; the target is the reader's, as are functions."""
    scores = ", scores=scores" if result.kernel == "HMC" else ""
    options = [f"{name}={value!r}" for name, value in settings.items() if name != "rng"]
    options += [rng_in_call(settings)[0]] if "rng" in settings else []
    listed = "".join(f", {one}" for one in options)
    return f"refined = ps.refine(draws, log_density=log_density{scores}{listed})"


def runs_words(result: Refinement) -> str:
    """How many runs there were, of which kind, and what they cost."""
    groups = f", {result.groups} separate groups" if result.groups > 1 else ""
    return (
        f"{result.starts} starts, {result.transitions} transitions ({result.kernel}, "
        f"acceptance {result.acceptance:.2f}), {result.pilots} pilots{groups}; "
        f"{result.gradients:,} {'gradients' if result.kernel == 'HMC' else 'log-densities'}"
    )
