"""`check` on three posteriors with strong correlations, beside `check` of whitened draws and the
single statistic that suits the fault."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study, decision, without_method
from studies.check import SEED, milliseconds
from studies.check.correlated import (
    HOTELLING,
    SQUARE,
    TRACE,
    Line,
    counted,
    marks,
    wanted_of,
    whitened,
    with_single,
)
from studies.check.posterior_targets import FAULTS, POSTERIORS

ROWS, REPLICATES = 1000, 200
METHODS = {"check": "`check`", "whitened": "whitened"}
#: The statistic that suits each fault.
SINGLE = {
    "mean-field approximation": SQUARE,
    "all sd × 0.95": TRACE,
    "mean 0.2, first axis": HOTELLING,
    "unadjusted Langevin, variances + 5 %": TRACE,
}


def cell_of(posterior: str, fault: str, method: str) -> Cell:
    """One method on one fault of one posterior."""
    settings = {"posterior": posterior, "fault": fault, "method": method}
    cost = milliseconds(ROWS, 10, found=True)
    return Cell.of("check-posteriors", replicates=REPLICATES, cost=cost, n=ROWS, **settings)


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['posterior']}: {cell['fault']}, {cell['method']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one method rejects one set of draws."""
    cell = replicate.cell
    replicate = without_method(replicate)
    draw = FAULTS[cell["fault"]]
    pair = draw(replicate.generator("draws"), cell["posterior"], cell["n"])
    test = partial(ps.check, iid=True, rng=replicate.stream("check"))
    if cell["method"] == "whitened":
        return decision(test(*whitened(*pair)))
    return with_single(test(*pair), SINGLE.get(cell["fault"]))


def rates_of(cell: Cell, decisions: str) -> Row:
    """How often the method rejected, and how often the single statistic did."""
    return counted(decisions, alone=cell["method"] == "check" and cell["fault"] in SINGLE)


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        cell_of(posterior, fault, method)
        for posterior in POSTERIORS
        for fault in FAULTS
        for method in METHODS
    ),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates_of,
)


def lines() -> list[Line]:
    """Every line of the committed table, by posterior and fault."""
    rows, found = STUDY.stored(), []
    for posterior in POSTERIORS:
        for fault in FAULTS:
            names = {method: name(cell_of(posterior, fault, method)) for method in METHODS}
            if all(one in rows for one in names.values()):
                rates = {method: float(rows[one]["rate"]) for method, one in names.items()}
                if fault in SINGLE:
                    rates["single"] = float(rows[names["check"]]["single"])
                holds = rates["check"] >= wanted_of(rates) - 1e-12
                found.append(Line(f"{posterior} | {fault}", rates, holds))
    return found


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = []
    for line in lines():
        single = f"{line.rates['single']:.3f}" if "single" in line.rates else ""
        verdict = ("yes" if line.holds else "no") if single else ""
        rates = [f"{line.rates[method]:.3f}" for method in METHODS]
        rows.append([line.label, *rates, single, verdict])
    heads = ["posterior", "draws", *METHODS.values(), "best single statistic", "holds"]
    return markdown_table(heads, rows)
