"""`check` on three posteriors with strong correlations, beside `check` of whitened draws."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from studies._table import Study, decision
from studies.check import SEED, milliseconds
from studies.check.correlated import whitened
from studies.check.posterior_targets import FAULTS, POSTERIORS

ROWS, REPLICATES = 1000, 200
METHODS = {"check": "`check`", "whitened": "whitened"}


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
    shared = tuple(one for one in cell.settings if one[0] != "method")
    replicate = replace(replicate, cell=replace(cell, settings=shared))
    draw = FAULTS[cell["fault"]]
    pair = draw(replicate.generator("draws"), cell["posterior"], cell["n"])
    test = partial(ps.check, iid=True, rng=replicate.stream("check"))
    return decision(test(*(whitened(*pair) if cell["method"] == "whitened" else pair)))


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
    lambda replicates: {"seed": SEED},
)


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = STUDY.stored()
    lines = [f"| posterior | draws | {' | '.join(METHODS.values())} |", "|---|---|---|---|"]
    for posterior in POSTERIORS:
        for fault in FAULTS:
            names = [name(cell_of(posterior, fault, method)) for method in METHODS]
            if all(one in rows for one in names):
                rates = " | ".join(f"{float(rows[one]['rate']):.3f}" for one in names)
                lines.append(f"| {posterior} | {fault} | {rates} |")
    return lines
