"""Every parameter of the draws with its numbers, beside what is off about it."""

from __future__ import annotations

import math

import numpy as np

from polystein.corrections.expectations import expectations
from polystein.data.source import Source, coordinate_names
from polystein.explain.own_names import own_names, own_parameters
from polystein.inference.convergence import ranked_convergence
from polystein.results.diagnostics import RowsOf
from polystein.results.result import GofResult
from polystein.results.summary import SummaryRow, SummaryTable

#: R-hat, bulk and tail ESS of a parameter, or that there are none.
_NOT_KNOWN = (math.nan, math.nan, math.nan)


def summary_of(source: Source, result: GofResult) -> SummaryTable:
    """The summary of a result whose draws are at hand.

    Parameters on the model's own scale stand where their unconstrained coordinates would, which
    come last then. They are known where the sample has a transform.
    """
    found = expectations(source, iid=not source.layout.time_ordered)
    moments = {(row.name, row.what): row for row in found}
    ranks, off, own = _ranks(source, result), _off(result), own_names(source)
    for name, label in own.items():
        if label != name and name in off:
            kinds = ", ".join(dict.fromkeys(off[name]))
            off.setdefault(label, [f"{kinds} of {name}"])
    coordinates = coordinate_names(source)
    elsewhere = [name for name in coordinates if own.get(name, name) != name]
    first = [own.get(name, name) for name in coordinates]
    further = [row.name for row in found if row.name not in coordinates]
    rows = []
    for name in dict.fromkeys([*first, *further, *elsewhere]):
        if (name, "mean") not in moments:
            continue
        mean, sd = moments[name, "mean"], moments[name, "sd"]
        numbers = (mean.plain, mean.mcse, sd.plain, sd.mcse)
        shown = f"{name} (unconstrained)" if own.get(name) == name else name
        properties = tuple(dict.fromkeys(off.get(name, ())))
        rows.append(SummaryRow(shown, *numbers, *ranks.get(name, _NOT_KNOWN), properties))
    return SummaryTable(tuple(rows))


def _off(result: GofResult) -> dict[str, list[str]]:
    """Which properties of a coordinate are off; directions belong to none."""
    off: dict[str, list[str]] = {}
    for row in result.effects.found:
        if not row.direction:
            for name in row.names:
                off.setdefault(name, []).append(row.what)
    return off


def _ranks(source: Source, result: GofResult) -> dict[str, tuple[float, float, float]]:
    """Bulk ESS, tail ESS and R-hat of coordinates, and of the model's own numbers, on chains."""
    diagnostics = result.diagnostics
    if diagnostics is None or diagnostics.draws is None:
        return {}
    found = {
        one.name: (one.ess_bulk, one.ess_tail, one.rhat)
        for one in diagnostics.draws.by_coordinate() or ()
    }
    target = source.facts.target
    if target is None or target.transform is None:
        return found
    chains = RowsOf(source, "draws").chains(range(source.layout.dimension))
    values = [own_parameters(target, np.asarray(chain)) for chain in chains]
    labels = [label for label in values[0] if label not in found]
    if labels:
        columns = [np.stack([one[label] for label in labels], axis=1) for one in values]
        ranked = ranked_convergence(columns)
        numbers = zip(*(part.tolist() for part in ranked[:3]), strict=True)
        for label, (rhat, bulk, tail) in zip(labels, numbers, strict=True):
            found[label] = (bulk, tail, rhat)
    return found
