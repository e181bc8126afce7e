"""Are the draws good enough? Effects and their tolerance as parts of a result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polystein.data.source import Source
from polystein.errors import DegenerateError
from polystein.explain.effects import effects_of
from polystein.explain.hints import Circumstances
from polystein.explain.sentences import tolerance_reason
from polystein.explain.summary import summary_of
from polystein.results.result import GofResult
from polystein.results.tolerance import checked_bound


def checked_tolerance(tolerance: object, argument: str = "tolerance") -> float | None:
    """Return a tolerance between 0 and 1, or None; or name the argument that is neither."""
    return None if tolerance is None else checked_bound(tolerance, argument)


def with_effects(
    result: GofResult, source: Source, tolerance: float | None, known: Circumstances
) -> GofResult:
    """The result with effects and a summary when asked for; with a tolerance, effects now."""
    found = result if tolerance is None else _judged(result, source, tolerance, known)
    if found.effect_table is None:
        complete = tolerance is not None
        found.compute_effects_by(partial(effects_of, source, complete=complete, known=known))
    found.compute_summary_by(partial(summary_of, source))
    return found


def _judged(result: GofResult, source: Source, tolerance: float, known: Circumstances) -> GofResult:
    """The result with its effects and whether they are within the tolerance."""
    result = replace(result, settings={**result.settings, "tolerance": tolerance})
    try:
        table = effects_of(source, complete=True, known=known)
    except DegenerateError as error:
        # The verdict stands, also where nothing tells the size of an error.
        return replace(result, tolerance="undecided", tolerance_reason=str(error))
    if reason := _left_open(result, known):
        return replace(result, tolerance="undecided", tolerance_reason=reason, effect_table=table)
    found = table.within(tolerance)
    why = tolerance_reason(found)
    return replace(result, tolerance=found.verdict, tolerance_reason=why, effect_table=table)


def _left_open(result: GofResult, known: Circumstances) -> str:
    """Why no interval is to be trusted, whatever the verdict; empty where there is no reason."""
    if known.one_chain:
        return f"look at {known.one_chain}: the chains disagree"
    if known.starts:
        return f"{known.starts} differ from what follows"
    if result.reasons:
        first, _, _ = result.reasons[0].partition(". ")
        return f"no interval is to be trusted. {first.removesuffix('.')}"
    return ""
