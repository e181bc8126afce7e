"""A result as HTML: a fragment for notebooks, a self-contained page for files."""

from __future__ import annotations

import math
import os
from html import escape
from pathlib import Path

from polystein._lib.files import write_whole
from polystein._version import __version__
from polystein.report.effects import effect_facts
from polystein.report.text import (
    draws_words,
    found_words,
    headings,
    meaning,
    name_of_test,
    number_of,
    p_words,
    percent,
    statistic_words,
    verdict_words,
)
from polystein.results.evidence import Explanation
from polystein.results.result import DEFAULT_LEVEL, GofResult

# Readable on white and on black, and apart for colour-blind eyes.
_FOR, _AGAINST = "#2f86c8", "#d9641e"
_STYLE = """<style>
.polystein table { border-collapse: collapse; margin: 0.5em 0; }
.polystein tr, .polystein th, .polystein td { background: transparent; border: 0; }
.polystein th, .polystein td { padding: 0.2em 0.8em 0.2em 0; text-align: left; }
.polystein .number { text-align: right; }
.polystein .features { white-space: nowrap; }
</style>"""
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
footer { margin-top: 2rem; font-size: 0.85rem; opacity: 0.7; }
"""


def fragment(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """Return a compact summary that takes its text colour from the page around it.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    alpha : float
        Level at which the verdict is worded.
    """
    facts = [
        ("Test", name_of_test(result)),
        ("Statistic", statistic_words(result)),
        ("Draws", draws_words(result)),
    ]
    effects = effect_facts(result, alpha)
    if found := found_words(result, alpha):
        named = any(label == "Found" for label, _ in effects)
        facts.insert(2, ("By" if named else "Found", found))
    facts[1:1] = effects
    words = f"{verdict_words(result, alpha)}: {p_words(result.pvalue)}."
    return "\n".join(
        part
        for part in (
            '<div class="polystein">',
            _STYLE,
            f"<p><strong>Do these draws come from the target?</strong> {escape(words)}<br>"
            f"{escape(meaning(result, alpha))}</p>",
            _warning_list(result.warnings),
            _pairs(facts),
            _table(result, alpha),
            "</div>",
        )
        if part
    )


def write_page(
    result: GofResult, path: str | os.PathLike[str], alpha: float = DEFAULT_LEVEL
) -> None:
    """Write one page without scripts that loads nothing from anywhere.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    path : str or path-like
        File to write; one that exists is replaced.
    alpha : float
        Level at which the verdict is worded.
    """
    write_whole(Path(path), page(result, alpha).encode())


def page(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """Return the page that `write_page` writes."""
    options = [(key, str(value)) for key, value in result.settings.items()]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>polystein: {escape(name_of_test(result))}</title>
<style>{_PAGE_STYLE}</style>
</head>
<body>
<h1>polystein: a goodness-of-fit test</h1>
{fragment(result, alpha)}
<h2>Settings</h2>
<div class="polystein">
{_pairs(options)}
</div>
<footer>Written by polystein {escape(__version__)}.</footer>
</body>
</html>
"""


def _warning_list(warnings: tuple[str, ...]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{escape(message)}</li>" for message in warnings)
    return f"<p><strong>Warnings</strong></p>\n<ul>{items}</ul>"


def _pairs(rows: list[tuple[str, str]]) -> str:
    cells = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>\n{cells}\n</table>" if rows else ""


def _table(result: GofResult, alpha: float) -> str:
    """One row for each feature or part; shares only if the result is rejected."""
    rows = result.explain()
    if not rows:
        return ""
    found = result.rejected(alpha)
    name, number, shared = headings(result)
    share = f'<th scope="col" class="number">share of the {shared}</th><th></th>'
    head = (
        f'<tr><th scope="col">{name}</th><th scope="col">looks at</th>'
        f'<th scope="col" class="number">z</th><th scope="col" class="number">{number}</th>'
        f"<th></th>{share if found else ''}</tr>"
    )
    lines = (_row(row, found) for row in rows)
    return "\n".join(['<table class="features">', head, *lines, "</table>"])


def _row(row: Explanation, found: bool) -> str:
    number = number_of(row)
    share = f'<td class="number">{percent(row.share)}</td><td>{_bar(row.share)}</td>'
    return (
        f'<tr><th scope="row">{escape(row.name)}</th><td>{escape(row.words)}</td>'
        f'<td class="number">{row.z:.2f}</td>'
        f'<td class="number">{number:.3f}</td><td>{_bar(number)}</td>'
        f"{share if found else ''}</tr>"
    )


def _bar(value: float, width: int = 80) -> str:
    """Draw a value in [-1, 1] from the middle line; its number stands beside it."""
    if math.isnan(value):
        return ""
    middle = width / 2
    length = min(1.0, abs(value)) * middle
    start = middle if value >= 0.0 else middle - length
    return (
        f'<svg width="{width}" height="12" aria-hidden="true">'
        f'<rect x="{start:.1f}" y="1" width="{length:.1f}" height="10" '
        f'fill="{_FOR if value >= 0.0 else _AGAINST}"/>'
        f'<line x1="{middle:.1f}" y1="0" x2="{middle:.1f}" y2="12" stroke="currentColor"/></svg>'
    )
