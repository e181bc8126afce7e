"""The features of a test of one statistic, as lines of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from polystein.report.lines import WIDTH, percent, shorten
from polystein.results.evidence import Explanation
from polystein.results.result import GofResult

#: Rows of the table, the largest shares first.
MOST_ROWS = 7
#: The bar of a share of 100 %.
_BAR = 22


def feature_table(result: GofResult, alpha: float, height: int) -> Iterator[str]:
    """One line for each feature; shares only if the result is rejected."""
    rows = result.explain() if result.components else []
    # A heading, and perhaps a line on what is left out and one on minus signs.
    most = min(MOST_ROWS, height - 3)
    if not rows or most < 1:
        return
    found, shown = result.rejected(alpha), rows[:most]
    title = "  share of the statistic" if found else ""
    bar = max(len(_bar(row.share)) for row in shown)
    widths = _widths(shown, max(len(title), 10 + bar) if found else 0)
    yield f"{'Feature':<{widths[0]}} {'looks at':<{widths[1]}} {'weight':>7} {'z':>8}{title}"
    yield from (_line(row, found, widths) for row in shown)
    if len(rows) > len(shown):
        yield f"... and {len(rows) - len(shown)} more"
    if found and any("-" in _bar(row.share) for row in shown):
        yield "Bars of minus signs: features that pulled the statistic the other way."


def _widths(rows: Iterable[Explanation], beside: int) -> tuple[int, int]:
    """Columns of names and of words: 16 and 20, and more where they need it and there is room.

    Between them and what stands ``beside`` the numbers take 18 columns.
    """
    names, words = zip(*((len(row.name), len(row.words)) for row in rows), strict=True)
    room = WIDTH - 18 - beside
    name = min(max(16, *names), room - 20)
    return name, min(max(20, *words), room - name)


def _line(row: Explanation, found: bool, widths: tuple[int, int]) -> str:
    name, words = widths
    names = f"{shorten(row.name, name):<{name}} {shorten(row.words, words):<{words}}"
    numbers = f"{row.weight or 0.0:>7.3f} {row.z:>8.2f}"
    share = f"  {percent(row.share):>6}  {_bar(row.share)}" if found else ""
    return f"{names} {numbers}{share}".rstrip()


def _bar(share: float) -> str:
    if math.isnan(share):
        return ""
    return ("#" if share >= 0.0 else "-") * min(_BAR, round(_BAR * abs(share)))
