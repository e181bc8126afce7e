"""Tables of effects and of expectations as plain text."""

from __future__ import annotations

import math

from polystein._lib.notes import first_and_more
from polystein.errors import PolysteinError
from polystein.explain.own_names import own_words
from polystein.explain.sentences import reliability_words, tolerance_reason
from polystein.report.pvalues import p_words
from polystein.results.effect_rows import LEVEL, RELIABLE, TRUSTED, EffectRow, ExpectationRow
from polystein.results.effects import EffectTable, ExpectationTable
from polystein.results.result import GofResult
from polystein.results.tolerance import Tolerance

#: Rows that a table shows: those of two screens. The others are in `rows`.
MOST_ROWS = 40
#: Rows below the line, which may be chance: enough to see what was looked at.
MOST_BELOW = 5
#: Sentences in the report of a result, which has 24 lines for everything.
MOST_SENTENCES = 3
#: Names of what has no size that are told.
_MOST_UNSIZED = 3
#: Where a reader finds a field of a result in full.
PLACE = "`result.{}`"
#: Why a result of `check` that was read back may have no effects.
NOT_STORED = "they were not stored with the result. Check the draws again."


def expectation_table(table: ExpectationTable) -> str:
    """One line for each expectation."""
    width = max([len("parameter"), *(len(row.name) for row in table.rows[:MOST_ROWS])])
    head = (
        f"{'parameter':<{width}}  {'what':<11} {'plain':>10} {'mcse':>9} {'corrected':>10} "
        f"{'error':>9} {'bias':>10} {'interval (95 %)':>23}  R2"
    )
    lines = [head, *(_expectation_line(row, width) for row in table.rows[:MOST_ROWS])]
    if len(table.rows) > MOST_ROWS:
        lines.append(f"... and {len(table.rows) - MOST_ROWS} more, in `rows`")
    if any(TRUSTED <= row.reliability < RELIABLE for row in table.rows):
        lines.append(
            f"* R2 below {RELIABLE:g}: if the draws are wrong, the corrected value may be off by "
            "more than its error says."
        )
    if any(row.reliability < TRUSTED for row in table.rows):
        lines.append(
            f"- not corrected: the scores do not tell the value (reliability below {TRUSTED:g})."
        )
    return "\n".join(lines)


def _expectation_line(row: ExpectationRow, width: int) -> str:
    name, what, plain, mcse, corrected, error, bias, interval, reliability = expectation_cells(row)
    return (
        f"{name:<{width}}  {what:<11} {plain:>10} {mcse:>9} {corrected:>10} {error:>9} {bias:>10} "
        f"{interval:>23}  {reliability}"
    )


def expectation_cells(row: ExpectationRow) -> tuple[str, ...]:
    """The texts of one expectation; a star marks a low reliability, a dash what is missing."""
    return (
        row.name,
        row.what,
        *map(_number, (row.plain, row.mcse, row.corrected, row.error, row.bias)),
        "-" if math.isnan(row.corrected) else f"{_number(row.lower)} to {_number(row.upper)}",
        reliability_words(row.reliability)
        + (" *" if TRUSTED <= row.reliability < RELIABLE else ""),
    )


def shown_name(table: EffectTable, row: EffectRow) -> str:
    """The name of a row, or both of a pair, as they are shown."""
    return ", ".join(shown_names(table, row))


def shown_names(table: EffectTable, row: EffectRow) -> tuple[str, ...]:
    """The names of a row with those of the model's parameters, "tau_log__ (unconstrained tau)"."""
    return tuple(
        f"{name} (unconstrained{'' if own == name else f' {own}'})"
        if (own := table.own_names.get(name))
        else name
        for name in row.names
    )


def effect_table(table: EffectTable) -> str:
    """What was found in sentences, then a line, then what was not found."""
    found, rest = table.found, [row for row in table.judged if not row.found]
    unknown = [row for row in table.rows if not row.judged and not row.found]
    lines = [f"Found at the level {LEVEL:g}, allowing for all {table.looks} properties looked at:"]
    told = list(dict.fromkeys(row.sentence for row in found))
    lines += [f"  {sentence}" for sentence in told[:MOST_ROWS]] or ["  nothing"]
    if len(told) > MOST_ROWS:
        lines.append(f"  ... and {len(told) - MOST_ROWS} more, in `rows`")
    if table.hint:
        lines.append(f"What next: {table.hint}")
    if rest:
        lines.append("-" * 24)
        lines.append("Not found, the clearest first; these may be chance:")
        lines += [f"  {row.sentence} ({p_words(row.pvalue)})" for row in rest[:MOST_BELOW]]
    if len(rest) > MOST_BELOW:
        lines.append(f"  ... and {len(rest) - MOST_BELOW} more, in `rows`")
    if unknown:
        lines.append("-" * 24)
        lines.append(f"Not judged, {len(unknown)} of {len(table.rows)}:")
        lines += [f"  {row.sentence}" for row in unknown[:MOST_BELOW]]
    if len(unknown) > MOST_BELOW:
        lines.append(f"  ... and {len(unknown) - MOST_BELOW} more, in `rows`")
    return "\n".join(lines)


def effect_facts(
    result: GofResult,
    alpha: float = LEVEL,
    most: int = MOST_SENTENCES,
    *,
    place: str = PLACE,
) -> list[tuple[str, str]]:
    """At most `most` labelled lines on what is wrong, what to do next, and whether it matters.

    Effects are computed for a rejected result only, unless they are there already. ``place``
    says where a reader finds a field of the result, here the effects that are left out.
    """
    table, why_not = effects_to_tell(result, alpha)
    matters = [] if result.tolerance is None else [("Tolerance", matters_words(result, table))]
    facts: list[tuple[str, str]] = []
    if why_not and why_not != result.tolerance_reason:
        facts.append(("Effects", f"not told: {why_not}"))
    if table is None or not result.rejected(alpha):
        return [*matters, *facts]
    unsized = unsized_words(table)
    rows = [row for row in table.found if not unsized or row.judged]
    # Several properties of a parameter that have no size have one sentence.
    rows = list({row.sentence: row for row in reversed(rows)}.values())[::-1]
    if not rows:
        facts.append(("Effects", nothing_found_words(table, rejected=True)))
    shown = list(rows)
    if len(shown) > most:
        # A direction shows what single parameters show, if these show anything.
        shown = ([row for row in rows if not row.direction] or shown)[:most]
    for row in shown:
        facts.append(("Off" if row is shown[0] else "", row.sentence))
    if len(rows) > len(shown):
        facts.append(("", f"... and {len(rows) - len(shown)} more in {place.format('effects')}"))
    if unsized:
        facts.append(("Unsized", unsized))
    facts += matters
    if hint := hint_words(result, table):
        facts.append(("Next", hint))
    return facts


def unsized_words(table: EffectTable) -> str:
    """Which parameters are off by an unknown amount; empty if there are none, or no others.

    They are named without a property: that of the row may be right.
    """
    if not table.unsized or not any(row.judged for row in table.found):
        return ""
    own = own_words(table.own_names)
    alone = {row.names for row in table.unsized if len(row.names) == 1}
    # What is off by itself is off in its pairs, too.
    rows = [row for row in table.unsized if len(row.names) == 1]
    rows += [row for row in table.unsized if not any((name,) in alone for name in row.names)]
    named = list(
        dict.fromkeys(
            " with ".join(own.get(name, f"`{name}`") for name in row.names) for row in rows
        )
    )
    off = "off by an unknown amount, which may be the largest"
    if len(named) > _MOST_UNSIZED:
        return f"{len(named)} are {off}: {first_and_more(named, _MOST_UNSIZED)}"
    return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} {off}"


def hint_words(result: GofResult, table: EffectTable) -> str:
    """What to do about effects: nothing where they are within the tolerance."""
    if result.tolerance == "within":
        return (
            "the faults are real but within the tolerance, as far as the draws have been: they are "
            "good enough for it."
        )
    return table.hint


def nothing_found_words(table: EffectTable, *, rejected: bool) -> str:
    """That no effect was found, and how many could be judged if not all."""
    judged, rows = len(table.judged), len(table.rows)
    if rows and not judged:
        return "no property that was measured can be judged"
    part = f"the properties that can be judged, {judged:,} of {rows:,}"
    if rejected:
        among = part if judged < rows else "all looked at"
        return f"no single mean, sd, correlation or shape stands out among {among}"
    among = f"{part}," if judged < rows else f"the {table.looks:,} properties looked at"
    return f"none of {among} is off beyond chance"


def effects_to_tell(result: GofResult, alpha: float) -> tuple[EffectTable | None, str]:
    """The effects, if they are there or the result is rejected, or why there are none."""
    if result.effect_table is not None:
        return result.effect_table, ""
    if not result.rejected(alpha):
        return None, ""
    if not result.can_tell_effects:  # only `check` computes any, from draws that it was given
        return None, NOT_STORED if result.method == "check" else ""
    try:
        return result.effects, ""
    except Exception as error:
        # The verdict stands even if the effects cannot be computed.
        own = isinstance(error, PolysteinError)
        return None, str(error) if own else f"{type(error).__name__}: {error}"


def matters_words(result: GofResult, table: EffectTable | None) -> str:
    """Whether the draws of a result with a tolerance are good enough."""
    bound = float(result.settings["tolerance"])
    if table is None:
        return tolerance_words(Tolerance("undecided", bound, 0.0, None), result.tolerance_reason)
    left_open = result.tolerance_reason if result.tolerance == "undecided" else ""
    return tolerance_words(table.within(bound), left_open, unconstrained=table.unconstrained)


def tolerance_words(
    tolerance: Tolerance, left_open: str = "", *, unconstrained: bool = False
) -> str:
    """Whether the draws are good enough, and what that rests on, or why it is left open.

    The scale is told where the model has another one: what is within on one is not on the other.
    """
    bound = f"{tolerance.bound:g}"
    sizes = f"{bound} posterior sd", f"{100.0 * tolerance.bound:g} %"
    scale = " on the unconstrained scale" if unconstrained else ""
    if left_open or tolerance.verdict == "undecided":
        scope = f"all means are within {sizes[0]} and all sds within {sizes[1]}{scale}"
        return f"not decided whether {scope}: {left_open or tolerance_reason(tolerance)}"
    explained = reliability_words(tolerance.reliability)
    if tolerance.verdict == "within":
        rests = "" if explained == "1.0000" else f" (R2 at least {explained})"
        how = "as far as the draws have been, by simultaneous 95 % intervals"
        scope = f"all means within {sizes[0]} and sds within {sizes[1]}{scale}"
        return f"within {bound}: {scope}, {how}{rests}"
    rests = "" if explained == "1.0000" else f"; R2 {explained}"
    return f"beyond {bound}: {tolerance_reason(tolerance)}{rests}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4g}" if math.isfinite(value) else ("inf" if value > 0.0 else "-inf")
