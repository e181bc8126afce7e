"""The summary of a result by parameter, as plain text."""

from __future__ import annotations

import math

from polystein.report.effects import MOST_ROWS
from polystein.results.summary import SummaryRow, SummaryTable

HEAD = ("parameter", "mean", "mcse", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat", "off")
#: Columns of the longest name that is not cut.
_LONGEST = 20
#: Columns of a line, whatever is off.
_WIDTH = 90


def summary_text(table: SummaryTable) -> str:
    """One line for each parameter; of many, those that are off and the worst R-hat first."""
    rows = shown_rows(table, MOST_ROWS)
    width = min(_LONGEST, max([len(HEAD[0]), *(len(row.name) for row in rows)]))
    lines = [_line(HEAD, width), *(_line(summary_cells(row), width) for row in rows)]
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


def _line(cells: tuple[str, ...], width: int) -> str:
    name, *numbers, off = cells
    name = name if len(name) <= width else f"..{name[2 - width :]}"
    line = f"{name:<{width}} " + " ".join(f"{one:>8}" for one in numbers) + f"  {off}"
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 2]}.."
