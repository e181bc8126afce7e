"""Every parameter of the draws with its numbers, beside what is off about it."""

from __future__ import annotations

import math

from polystein.corrections.expectations import expectations
from polystein.data.source import Source, coordinate_names
from polystein.explain.own_names import own_names
from polystein.results.result import GofResult
from polystein.results.summary import SummaryRow, SummaryTable


def summary_of(source: Source, result: GofResult) -> SummaryTable:
    """The summary of a result whose draws are at hand.

    Mean and sd are those of the draws, of parameters on the model's own scale as well where the
    sample knows their transform.
    """
    found = expectations(source, iid=not source.layout.time_ordered)
    off: dict[str, list[str]] = {}
    for row in result.effects.found:
        if not row.direction:
            for name in row.name.split(", ") if row.what == "correlation" else [row.name]:
                off.setdefault(name, []).append(row.what)
    for name, own in own_names(source).items():
        if name in off and own != name:
            off[own] = [f"{what} of {name}" for what in off[name]]
    ranks: dict[str, tuple[float, float, float]] = {}
    chains = None if result.diagnostics is None else result.diagnostics.draws.by_coordinate()
    for one in chains or ():
        ranks[one.name] = (one.ess_bulk, one.ess_tail, one.rhat)
    unknown = (math.nan, math.nan, math.nan)
    moments = {(row.name, row.what): row for row in found}
    names = dict.fromkeys([*coordinate_names(source), *(row.name for row in found)])
    rows = []
    for name in names:
        mean, sd = moments[name, "mean"], moments[name, "sd"]
        kinds = tuple(dict.fromkeys(off.get(name, ())))
        numbers = (mean.plain, mean.mcse, sd.plain, sd.mcse)
        rows.append(SummaryRow(name, *numbers, *ranks.get(name, unknown), kinds))
    return SummaryTable(tuple(rows))
