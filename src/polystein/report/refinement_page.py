"""The page of a refinement: what moved, whether it matters, and how the runs went."""

from __future__ import annotations

from polystein._lib.notes import first_of
from polystein.report.page import (
    NOTHING_KNOWN,
    Block,
    Origin,
    Page,
    Section,
    effects_block,
    forest_block,
    listed,
    made_section,
    rendered,
    text,
)
from polystein.report.refinement import refine_call, runs_words, what_next
from polystein.report.result_page import MOST_SENTENCES
from polystein.report.seed import rng_in_call
from polystein.report.text import QUESTION, as_sentence, headline
from polystein.results.refinement import Refinement
from polystein.results.result import DEFAULT_LEVEL

_UNSEEN = (
    "A mode that neither the draws nor the pilots found.",
    "A mistake in the model: draws are moved by the log-density that was given.",
)


def refinement_page(
    refined: Refinement, alpha: float = DEFAULT_LEVEL, origin: Origin = NOTHING_KNOWN
) -> str:
    """A page on what short runs from the draws changed."""
    verdict = refined.verdict_at(alpha)
    found = refined.effects.found
    off: list[Block] = []
    if verdict == "inconclusive":
        off += [text("Why the question stays open:"), listed(refined.reasons)]
    if found:
        off.append(listed(row.sentence for row in found[:MOST_SENTENCES]))
    else:
        off.append(text("No mean and no sd moved beyond chance."))
    if not refined.settled:
        names = first_of([f"`{name}`" for name in refined.still_moving], 4)
        moving = f": {names} are still moving" if names else ""
        off.append(text(f"The runs have not settled{moving}. Sizes and signs are not told."))
    bound = refined.settings.get("tolerance")
    drawn = forest_block(refined.effects, None if bound is None else float(bound))
    off += [] if drawn is None else [drawn]
    matters = "No tolerance was given. `tolerance=0.1` says whether every mean is within 0.1 sd "
    matters += "and every sd within 10 %."
    if refined.tolerance is not None:
        matters = f"{refined.tolerance.capitalize()}: {refined.tolerance_reason}"
    after, line = what_next(refined, alpha, command_line=bool(origin.command))
    block = effects_block("All means and sds", refined.effects, "`refined.effects`")
    says = rng_in_call(refined.settings)[1]
    call = f"{refine_call(refined, refined.settings)}  # or model=model; functions as before"
    call += f"\n# {says}" if says else ""
    return rendered(
        Page(
            f"{verdict.capitalize()}: polystein, refine",
            QUESTION,
            verdict.replace(" ", "-"),
            " ".join(headline(refined, alpha)),
            f"refine, {refined.starts:,} draws moved, dimension {refined.dimension}",
            refined.warnings,
            [
                Section("What is off", off),
                Section("Does it matter?", [text(matters)]),
                Section("What next", [text(f"{as_sentence(after)}:"), Block("code", line)]),
                Section("What this cannot see", [listed(_UNSEEN)]),
                Section("All means and sds", [block]),
                made_section(
                    [("runs", runs_words(refined))],
                    refined.settings.items(),
                    f"import polystein as ps\n\n{call}",
                    origin,
                ),
            ],
        )
    )
