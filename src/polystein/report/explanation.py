"""What a test looked at, part by part, and on which rows: the long answer to "why"."""

from __future__ import annotations

from polystein.report.lines import percent, shorten, wrapped
from polystein.report.noticed import least_visible_words, power_words
from polystein.report.pvalues import p_number, p_words
from polystein.report.text import (
    as_sentence,
    draws_words,
    name_of_test,
    needed_words,
    statistic_words,
)
from polystein.results.result import DEFAULT_LEVEL, GofResult

#: Columns of the longest name and of the longest words that are not cut.
_NAME, _WORDS = 24, 40


def explanation_text(result: GofResult) -> str:
    """Features or parts with their numbers, the largest share first, and the rows used."""
    lines = [f"{name_of_test(result)}: {result.verdict}, {p_words(result.pvalue)}"]
    rows = result.explain()
    name = min(_NAME, max([7, *(len(row.name) for row in rows)]))
    words = min(_WORDS, max([8, *(len(row.words) for row in rows)]))
    texts = [
        f"{shorten(row.name, name):<{name}} {shorten(row.words, words):<{words}}" for row in rows
    ]
    if result.components:
        lines.append(statistic_words(result))
        lines.append(f"{'Feature':<{name}} {'looks at':<{words}} {'weight':>7} {'z':>8}  share")
        lines += [
            f"{text} {row.weight or 0.0:>7.3f} {row.z:>8.2f}  {percent(row.share)}".rstrip()
            for text, row in zip(texts, rows, strict=True)
        ]
    elif rows:
        lines.append(f"{'Part':<{name}} {'looks at':<{words}} {'p':>8} {'needed':>8}  evidence")
        lines += [
            f"{text} {p_number(row.pvalue or 0.0):>8} "
            f"{needed_words(row.level_share or 0.0):>8}  "
            f"{percent(row.share):>8}".rstrip()
            for text, row in zip(texts, rows, strict=True)
        ]
        lines += wrapped(
            f"needed: the part's share of the level {DEFAULT_LEVEL:g}; a larger p-value does not "
            "reject. evidence: the part's share in the sum of all."
        )
    if power := power_words(result):
        lines += wrapped(f"{as_sentence(power)}.")
        for fault in least_visible_words(result):
            lines += wrapped(f"- {fault}", "", "  ")
    lines += wrapped(f"Rows: {draws_words(result)}.")
    for one in result.evidence.abstained:
        lines += wrapped(f"The {one.name} did not judge: {one.reason}.")
    return "\n".join(lines)
