"""The page of many checks: a table of all fits, and below it those that are not right."""

from __future__ import annotations

from polystein._lib.notes import shown_name
from polystein.report.effects import effects_to_tell
from polystein.report.lines import shorten
from polystein.report.many import MANY_QUESTION, many_headline, row_words, size_words
from polystein.report.page import (
    MOST_LETTERS,
    NOTHING_KNOWN,
    Block,
    Origin,
    Page,
    Section,
    made_section,
    rendered,
    table,
    text,
)
from polystein.report.pvalues import p_number
from polystein.report.result_page import answer_sections
from polystein.report.text import headline
from polystein.results.many import CheckRow, CheckTable, count_of_fits

#: Fits that are told in full, the worst ones: with these the page of any number is below 500 KB.
MOST_TOLD = 20
MOST_WARNINGS = 50
_HEAD = [
    ("fit", ""),
    ("verdict", ""),
    ("p", "number"),
    ("adjusted p", "number"),
    ("chains × draws × d", "number"),
    ("largest effect, or reason", "words"),
]


def many_page(checks: CheckTable, origin: Origin = NOTHING_KNOWN) -> str:
    """A page with the table, and below it every fit that is rejected or inconclusive by itself."""
    fits = [row for row in checks.worst_first if row.result is not None]
    wrong = [row for row in fits if row.verdict != "not rejected"]
    alone = [_by_itself(row, checks.alpha) for row in wrong[:MOST_TOLD]]
    if len(wrong) > MOST_TOLD:
        words = (
            f"{len(wrong) - MOST_TOLD:,} more are rejected or inconclusive. `table[name].result`"
        )
        alone.append(Section("Further fits", [text(f"{words} has each of them.")]))
    where = "`table.rows`"
    sections = [
        Section("All fits", [table("All fits", _HEAD, [*map(_cells, checks.worst_first)], where)]),
        *alone,
        made_section(
            [("test", f"check_many, {count_of_fits(len(checks))}")],
            [("adjust", checks.adjust), ("alpha", checks.alpha)],
            f"import polystein as ps\n\ntable = ps.check_many(fits, adjust={checks.adjust!r}, "
            f"alpha={checks.alpha:g})",
            origin,
        ),
    ]
    warned = [
        f"{shown_name(row.name)}: {words}"
        for row in fits
        if row.result is not None
        for words in row.result.warnings
    ]
    if len(warned) > MOST_WARNINGS:
        further = f"... and {len(warned) - MOST_WARNINGS:,} more, in `table[name].result.warnings`"
        warned = [*warned[:MOST_WARNINGS], further]
    kind = {"error": "inconclusive"}.get(checks.verdict, checks.verdict.replace(" ", "-"))
    return rendered(
        Page(
            f"polystein, {count_of_fits(len(checks))}: {checks.verdict}",
            "Do the draws of each fit come from its target?",
            kind,
            many_headline(checks),
            MANY_QUESTION,
            warned,
            sections,
        )
    )


def _cells(row: CheckRow) -> tuple[str, ...]:
    tolerance = row.result.tolerance if row.result is not None else None
    return (
        shown_name(row.name),
        row.verdict + (f", {tolerance} the tolerance" if tolerance else ""),
        *("" if p is None else p_number(p) for p in (row.pvalue, row.adjusted)),
        size_words(row).replace("x", "×"),
        row_words(row),
    )


def _by_itself(row: CheckRow, alpha: float) -> Section:
    """What the page of one fit begins with, under one title."""
    result = row.result
    assert result is not None
    verdict, rest = headline(result, alpha)
    effects, why_not = effects_to_tell(result, alpha)
    blocks = [text(f"By itself: {verdict} {rest} This does not allow for the other fits.")]
    rest = f"in `table[{row.name!r}].result.effects`"
    for section in answer_sections(result, alpha, effects, why_not, rest=rest):
        blocks += [Block("heading", section.title), *section.blocks]
    name = shorten(shown_name(row.name), MOST_LETTERS)
    return Section(f"{name}: {row.verdict}", blocks)
