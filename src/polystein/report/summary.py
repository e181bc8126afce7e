"""The summary of a result by parameter, as plain text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from polystein.report.effects import MOST_ROWS
from polystein.results.summary import SummaryRow, SummaryTable

HEAD = ("parameter", "mean", "mcse", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat", "off")
#: Columns of the longest name that is never cut; longer ones are not where there is room.
_LONGEST = 24
#: Where the columns of chains are: ESS and R-hat.
_OF_CHAINS = slice(5, 8)
#: What stands below a table without them.
NOT_OF_CHAINS = "No ESS and R-hat: they are of chains, and say nothing of independent rows."
#: Columns of a line, and the least of them for what is off.
_WIDTH, _LEAST_OFF = 90, 25


def summary_text(table: SummaryTable) -> str:
    """A row for each parameter; of many, those that are off and the worst R-hat first."""
    rows = shown_rows(table, MOST_ROWS)
    cells = summary_grid(table, rows)
    first, *numbers, off = (max(map(len, column)) for column in zip(*cells, strict=True))
    room = _WIDTH - sum(numbers) - len(numbers) - 3 - min(off, _LEAST_OFF)
    lines = [_line(row, [min(max(_LONGEST, room), first), *numbers]) for row in cells]
    if len(table.rows) > len(rows):
        lines.append(f"... and {len(table.rows) - len(rows)} more, in `rows`")
    if not has_chains(table):
        lines.append(NOT_OF_CHAINS)
    return "\n".join(lines)


def shown_rows(table: SummaryTable, most: int) -> tuple[SummaryRow, ...]:
    """All rows; of more than ``most``, those that need a look."""
    if len(table.rows) <= most:
        return table.rows

    def concern(row: SummaryRow) -> tuple[bool, float]:
        return not row.off, -row.r_hat if math.isfinite(row.r_hat) else 0.0

    return tuple(sorted(table.rows, key=concern)[:most])


def has_chains(table: SummaryTable) -> bool:
    """Whether any parameter has an ESS or an R-hat."""
    return any(
        not math.isnan(value) for row in table for value in (row.ess_bulk, row.ess_tail, row.r_hat)
    )


def summary_grid(table: SummaryTable, rows: Sequence[SummaryRow]) -> list[tuple[str, ...]]:
    """The heads of the columns and the texts of these rows, without columns that are empty."""
    grid = [HEAD, *(_cells(row) for row in rows)]
    if has_chains(table):
        return grid
    return [(*cells[: _OF_CHAINS.start], *cells[_OF_CHAINS.stop :]) for cells in grid]


def _cells(row: SummaryRow) -> tuple[str, ...]:
    """The texts of one row."""
    sizes = (_number(value) for value in (row.mean, row.mcse_mean, row.sd, row.mcse_sd))
    effective = ("" if math.isnan(ess) else f"{ess:.0f}" for ess in (row.ess_bulk, row.ess_tail))
    rhat = "" if math.isnan(row.r_hat) else f"{row.r_hat:.2f}"
    return (row.name, *sizes, *effective, rhat, ", ".join(row.off) or "no")


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"


def _line(cells: tuple[str, ...], widths: Sequence[int]) -> str:
    """A row; what is off goes on below where it is long."""
    name, *numbers, off = cells
    width, *others = widths
    name = name if len(name) <= width else f"..{name[2 - width :]}"
    columns = " ".join(f"{one:>{own}}" for one, own in zip(numbers, others, strict=True))
    start = f"{name:<{width}}  {columns}  "
    if len(start) + len(off) <= _WIDTH:
        return f"{start}{off}".rstrip()
    room = max(_LEAST_OFF, _WIDTH - len(start))
    words = textwrap.wrap(off, room, break_on_hyphens=False)
    if len(start) + room > _WIDTH:
        words.insert(0, "")
    first, *further = words
    indent = " " * (_WIDTH - room)
    return "\n".join([f"{start}{first}".rstrip(), *(f"{indent}{one}" for one in further)])
