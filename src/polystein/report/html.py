"""A result as a fragment of HTML, for notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape

from polystein.report.effects import effect_facts
from polystein.report.text import (
    facts_of_test,
    headings,
    headline,
    meaning,
    name_of_test,
    number_of,
    percent,
)
from polystein.results.evidence import Explanation
from polystein.results.result import DEFAULT_LEVEL, GofResult

#: A page has room for more sentences on what is wrong than a screen, and for longer names.
MOST_SENTENCES, MOST_LETTERS = 20, 100
# Readable on white and on black, and apart for colour-blind eyes.
_FOR, _AGAINST = "#2f86c8", "#d9641e"
STYLE = """<style>
.polystein table { border-collapse: collapse; margin: 0.5em 0; }
.polystein tr, .polystein th, .polystein td { background: transparent; border: 0; }
.polystein th, .polystein td { padding: 0.2em 0.8em 0.2em 0; text-align: left;
                               vertical-align: top; }
.polystein td.number, .polystein th.number { text-align: right; }
.polystein .features { white-space: nowrap; }
.polystein .features th[scope=col] { white-space: normal; }
.polystein .verdict { font-size: 1.15em; font-weight: normal; padding-left: 0.6em;
                      border-left: 0.4em solid; }
.polystein .rejected { border-color: #d9641e; }
.polystein .not-rejected { border-color: #2f86c8; }
.polystein .inconclusive { border-color: #b8860b; }
</style>"""


def fragment(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """Return a compact summary that takes its text colour from the page around it.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    alpha : float
        Level at which the verdict is worded.
    """
    verdict, rest = headline(result, alpha)
    name = result.verdict_at(alpha).replace(" ", "-")
    reasons = result.reasons if name == "inconclusive" else ()
    effects = effect_facts(result, alpha, MOST_SENTENCES)
    test = facts_of_test(result, alpha, effects, reasons, MOST_LETTERS)
    return "\n".join(
        part
        for part in (
            '<div class="polystein">',
            STYLE,
            f'<p class="verdict {name}"><strong>{verdict}</strong> {escape(rest)}</p>',
            f"<p>Do these draws come from the target? {escape(meaning(result, alpha))}</p>",
            _listed("Reasons", reasons),
            _listed("Warnings", result.warnings),
            _pairs([*effects, ("Test", name_of_test(result)), *test]),
            _table(result, alpha),
            "</div>",
        )
        if part
    )


def _listed(title: str, sentences: tuple[str, ...]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<p><strong>{title}</strong></p>\n<ul>{items}</ul>"


def _pairs(rows: list[tuple[str, str]]) -> str:
    cells = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{with_names(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>\n{cells}\n</table>" if rows else ""


def with_names(text: str) -> str:
    """A text whose names of parameters, between backticks, are set as names."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _table(result: GofResult, alpha: float) -> str:
    """One row for each feature or part; shares only if the result is rejected."""
    rows = result.explain()
    if not rows:
        return ""
    found = result.rejected(alpha)
    name, number, shared = headings(result)
    share = f'<th scope="col" colspan="2">share of the {shared}</th>'
    head = (
        f'<tr><th scope="col">{name}</th><th scope="col">looks at</th>'
        f'<th scope="col" class="number">z</th><th scope="col" colspan="2">{number}</th>'
        f"{share if found else ''}</tr>"
    )
    # Levels and evidence are never negative, and each has its own longest bar.
    parts = bool(result.evidence.arms)
    draw = _bars([number_of(row) for row in rows]) if parts else _bar
    draw_share = _bars([row.share for row in rows]) if parts else _bar
    lines = (_row(row, draw, draw_share if found else None) for row in rows)
    return "\n".join(['<table class="features">', head, *lines, "</table>"])


def _row(
    row: Explanation, draw: Callable[[float], str], draw_share: Callable[[float], str] | None
) -> str:
    number, share = number_of(row), ""
    if draw_share is not None:
        share = f'<td class="number">{percent(row.share)}</td><td>{draw_share(row.share)}</td>'
    return (
        f'<tr><th scope="row">{escape(row.name)}</th><td>{escape(row.words)}</td>'
        f'<td class="number">{row.z:.2f}</td>'
        f'<td class="number">{number:.3f}</td><td>{draw(number)}</td>{share}</tr>'
    )


def _bars(column: Sequence[float]) -> Callable[[float], str]:
    """How to draw the values of a column that has none below 0: the largest is a whole bar."""
    largest = max((value for value in column if value > 0.0), default=1.0)
    return lambda value: _bar(value / largest, width=56, middle=0.0)


def _bar(value: float, width: int = 80, middle: float = 40.0) -> str:
    """Draw a value in [-1, 1] from the line at the middle; its number stands beside it."""
    if math.isnan(value):
        return ""
    length = min(1.0, abs(value)) * (width - middle)
    start = middle if value >= 0.0 else middle - length
    return (
        f'<svg width="{width}" height="12" aria-hidden="true">'
        f'<rect x="{start:.1f}" y="1" width="{length:.1f}" height="10" '
        f'fill="{_FOR if value >= 0.0 else _AGAINST}"/>'
        f'<line x1="{middle:.1f}" y1="0" x2="{middle:.1f}" y2="12" stroke="currentColor"/></svg>'
    )
