"""`check` beside KSDAgg and KSD on targets that are not Gaussian: 500 independent rows.

All methods see the same draws in the same replicate, with their default settings. KSDAgg takes far
longer than the others and has the first 60 replicates only.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study, decision, without_method
from studies.check import SEED, milliseconds
from studies.check.head_to_head_targets import FAULTS, padded

ROWS, DIMENSIONS = 500, (2, 6)
#: A kernel test that is ahead by more than this is ahead.
MARGIN = 0.1


class Method(NamedTuple):
    """A test, its label on the page, its milliseconds and its replicates."""

    label: str
    test: Callable[..., ps.GofResult]
    cost: float
    replicates: int = 200


METHODS = {
    "check": Method("`check`", partial(ps.check, iid=True), milliseconds(ROWS, 6, found=True)),
    "ksdagg": Method("KSDAgg", ps.ksdagg_test, 300.0, 60),
    "ksd": Method("IMQ KSD", partial(ps.ksd_test, kernel=ps.IMQKernel()), 10.0),
}


def cell_of(fault: str, dimension: int, method: str) -> Cell:
    """One method on one fault."""
    settings = {"fault": fault, "n": ROWS, "d": dimension, "method": method}
    how = METHODS[method]
    return Cell.of("check-head-to-head", replicates=how.replicates, cost=how.cost, **settings)


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['fault']}, d={cell['d']}, {cell['method']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one method rejects one set of draws."""
    method = replicate.cell["method"]
    replicate = without_method(replicate)
    cell = replicate.cell
    pair = padded(FAULTS[cell["fault"]], replicate.generator("draws"), cell["n"], cell["d"])
    return decision(METHODS[method].test(*pair, rng=replicate.stream(method)))


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        cell_of(fault, dimension, method)
        for fault in FAULTS
        for dimension in DIMENSIONS
        for method in METHODS
    ),
    name,
    decide,
    SEED,
)


class Comparison(NamedTuple):
    """The rates of all methods on one fault in one dimension."""

    label: str
    dimension: int
    rates: dict[str, float]

    @property
    def ahead(self) -> str | None:
        """The kernel test that is ahead of `check` by more than the margin, if there is one.

        Rates at the margin must not fall to rounding.
        """
        best = max((one for one in self.rates if one != "check"), key=lambda one: self.rates[one])
        behind = self.rates[best] > self.rates["check"] + MARGIN + 1e-12
        return best if behind else None


def comparisons() -> list[Comparison]:
    """Faults and dimensions for which the committed table holds every method."""
    rows, found = STUDY.stored(), []
    for fault in FAULTS:
        for dimension in DIMENSIONS:
            names = {method: name(cell_of(fault, dimension, method)) for method in METHODS}
            if all(one in rows for one in names.values()):
                rates = {method: float(rows[one]["rate"]) for method, one in names.items()}
                found.append(Comparison(fault, dimension, rates))
    return found


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    heads = ["target and draws", "d", *(method.label for method in METHODS.values())]
    rows = []
    for one in comparisons():
        rates = [f"{one.rates[method]:.3f}" for method in METHODS]
        ahead = "" if one.ahead is None else METHODS[one.ahead].label
        rows.append([one.label, one.dimension, *rates, ahead])
    return markdown_table([*heads, f"ahead of `check` by more than {MARGIN:g}"], rows)
