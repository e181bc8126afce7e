"""The summary of a result by parameter, as plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polystein.report.effects import MOST_ROWS
from polystein.results.summary import SummaryRow, SummaryTable

HEAD = ("parameter", "mean", "mcse", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat", "off")
#: Columns of the longest name that is not cut.
_LONGEST = 24
#: Columns of a line, whatever is off.
_WIDTH = 90


def summary_text(table: SummaryTable) -> str:
    """One line for each parameter; of many, those that are off and the worst R-hat first."""
    rows = shown_rows(table, MOST_ROWS)
    cells = [HEAD, *(summary_cells(row) for row in rows)]
    first, *numbers, _ = (max(len(text) for text in column) for column in zip(*cells, strict=True))
    lines = [_line(row, [min(_LONGEST, first), *numbers]) for row in cells]
    if len(table.rows) > len(rows):
        lines.append(f"... and {len(table.rows) - len(rows)} more, in `rows`")
    return "\n".join(lines)


def shown_rows(table: SummaryTable, most: int) -> tuple[SummaryRow, ...]:
    """All rows; of more than ``most``, those that need a look."""
    if len(table.rows) <= most:
        return table.rows

    def concern(row: SummaryRow) -> tuple[bool, float]:
        return not row.off, -row.r_hat if math.isfinite(row.r_hat) else 0.0

    return tuple(sorted(table.rows, key=concern)[:most])


def summary_cells(row: SummaryRow) -> tuple[str, ...]:
    """The texts of one row."""
    sizes = (_number(value) for value in (row.mean, row.mcse_mean, row.sd, row.mcse_sd))
    effective = ("" if math.isnan(ess) else f"{ess:.0f}" for ess in (row.ess_bulk, row.ess_tail))
    rhat = "" if math.isnan(row.r_hat) else f"{row.r_hat:.2f}"
    return (row.name, *sizes, *effective, rhat, ", ".join(row.off) or "no")


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"


def _line(cells: tuple[str, ...], widths: Sequence[int]) -> str:
    name, *numbers, off = cells
    width, *others = widths
    name = name if len(name) <= width else f"..{name[2 - width :]}"
    columns = " ".join(f"{one:>{own}}" for one, own in zip(numbers, others, strict=True))
    line = f"{name:<{width}}  {columns}  {off}"
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 2]}.."
