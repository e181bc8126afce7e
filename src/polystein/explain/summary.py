"""Every parameter of the draws with its numbers, beside what is off about it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from polystein.data.selection import variable
from polystein.data.source import Source, coordinate_names
from polystein.explain.expectations import expectations
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
    come last then. They are known where the sample has a transform. A coordinate that has the name
    of its parameter, as those of NumPyro have, is called "sigma (unconstrained)".
    """
    iid, own = not source.layout.time_ordered, own_names(source)
    called = {
        name: f"{name} (unconstrained)" if own.get(name) == name else name
        for name in coordinate_names(source)
    }
    found = list(expectations(source, iid=iid))
    moments = {(called.get(row.name, row.name), row.what): row for row in found}
    shared = list(dict.fromkeys(variable(name) for name in own if own[name] == name))
    if shared:
        of_shared = list(expectations(source, shared, iid=iid))
        moments |= {(row.name, row.what): row for row in of_shared if row.name in own}
    ranks = _ranks(source, result, called)
    off = {called[name]: kinds for name, kinds in _off(result).items()}
    for name, label in own.items():
        kinds = ", ".join(off.get(called[name], ()))
        if kinds:
            of = "(unconstrained)" if label == name else f"of {name}"
            off.setdefault(label, (f"{kinds} {of}",))
    first = [own.get(name, name) for name in called]
    further = [row.name for row in found if row.name not in called]
    rows = []
    for name in dict.fromkeys([*first, *further, *called.values()]):
        if (name, "mean") not in moments:
            continue
        mean, sd = moments[name, "mean"], moments[name, "sd"]
        numbers = (mean.plain, mean.mcse, sd.plain, sd.mcse)
        rows.append(SummaryRow(name, *numbers, *ranks.get(name, _NOT_KNOWN), off.get(name, ())))
    return SummaryTable(tuple(rows))


def _off(result: GofResult) -> dict[str, tuple[str, ...]]:
    """Which properties of a coordinate are off; directions belong to none."""
    off: dict[str, tuple[str, ...]] = {}
    for row in result.effects.found:
        if not row.direction:
            for name in row.names:
                off[name] = tuple(dict.fromkeys((*off.get(name, ()), row.what)))
    return off


def _ranks(
    source: Source, result: GofResult, called: Mapping[str, str]
) -> dict[str, tuple[float, float, float]]:
    """Bulk ESS, tail ESS and R-hat of coordinates, and of the model's own numbers, on chains."""
    diagnostics = result.diagnostics
    if diagnostics is None or diagnostics.draws is None:
        return {}
    found = {
        called.get(one.name, one.name): (one.ess_bulk, one.ess_tail, one.rhat)
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
