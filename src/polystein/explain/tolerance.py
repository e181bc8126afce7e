"""Are the draws good enough? Effects and their tolerance as parts of a result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polystein._lib.arguments import is_finite_number
from polystein.data.source import Source
from polystein.errors import InputError
from polystein.explain.effects import effects_of
from polystein.explain.hints import Circumstances
from polystein.results.result import GofResult


def checked_tolerance(tolerance: object, argument: str = "tolerance") -> float | None:
    """Return a tolerance between 0 and 1, or None; or name the argument that is neither."""
    if tolerance is None:
        return None
    if not is_finite_number(tolerance) or not 0.0 < float(tolerance) < 1.0:  # type: ignore[arg-type]
        raise InputError(
            f"`{argument}` must be a number strictly between 0 and 1, such as 0.1 for means within "
            f"0.1 sd and sds within 10 %, or None; got {tolerance!r}"
        )
    return float(tolerance)  # type: ignore[arg-type]


def with_effects(
    result: GofResult, source: Source, tolerance: float | None, known: Circumstances
) -> GofResult:
    """The result with effects that are computed when asked for, or now for a tolerance."""
    if tolerance is None:
        result.compute_effects_by(partial(effects_of, source, known=known))
        return result
    table = effects_of(source, complete=True, known=known)
    # Chains that leave the verdict open leave the intervals open, too.
    open_question = result.verdict == "inconclusive"
    return replace(
        result,
        tolerance="undecided" if open_question else table.within(tolerance).verdict,
        effect_table=table,
        settings={**result.settings, "tolerance": tolerance},
    )
