"""`check` beside lambda-PSD, KSD and KSDAgg on alternatives that the paper does not have.

All methods see the same draws in the same replicate, with 200 replicates. KSDAgg takes far longer
than the others: it has the first 100 replicates only, and B1 = 500, B2 = 250 instead of 2000 and
500, which makes it more conservative (``docs/rivals.md``).
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
from studies.check.alternatives import ALTERNATIVES

ROWS, DIMENSIONS = 1000, (2, 16, 64)
#: `check` may be this much below the best of the others, in all but two of the 21 cells.
MARGIN, LEAST_CELLS = 0.05, 19


class Method(NamedTuple):
    """A test with its settings, its label on the page, its replicates and milliseconds."""

    label: str
    test: Callable[..., ps.GofResult]
    replicates: int
    cost: float


METHODS = {
    "check": Method(
        "`check`", partial(ps.check, iid=True), 200, milliseconds(ROWS, 16, found=True)
    ),
    "lambda_psd": Method("λ-PSD (Q=4)", partial(ps.lambda_psd_test, order=4), 200, 8.0),
    "ksd": Method("IMQ KSD", partial(ps.ksd_test, kernel=ps.IMQKernel()), 200, 32.0),
    "ksdagg": Method(
        "KSDAgg", partial(ps.ksdagg_test, n_bootstrap=500, n_correction=250), 100, 250.0
    ),
}


def cell_of(alternative: str, dimension: int, method: str) -> Cell:
    """One method on one alternative."""
    return Cell.of(
        "check-beyond",
        replicates=METHODS[method].replicates,
        cost=METHODS[method].cost,
        alternative=alternative,
        strength=ALTERNATIVES[alternative].strength,
        n=ROWS,
        d=dimension,
        method=method,
    )


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{ALTERNATIVES[cell['alternative']].label}, d={cell['d']}, {cell['method']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one method rejects one set of draws."""
    cell = replicate.cell
    shared = without_method(replicate)
    draw = ALTERNATIVES[cell["alternative"]].draw
    draws, scores = draw(shared.generator("draws"), cell["n"], cell["d"], cell["strength"])
    test = METHODS[cell["method"]].test
    return decision(test(draws, scores, rng=shared.stream(cell["method"])))


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        cell_of(alternative, dimension, method)
        for alternative in ALTERNATIVES
        for dimension in DIMENSIONS
        for method in METHODS
    ),
    name,
    decide,
    SEED,
)


class Comparison(NamedTuple):
    """The rates of all methods on one alternative in one dimension."""

    label: str
    dimension: int
    rates: dict[str, float]

    @property
    def best(self) -> str:
        """The method that rejects most often; `check` if it is one of several."""
        return max(self.rates, key=lambda method: (self.rates[method], method == "check"))

    @property
    def holds(self) -> bool:
        """`check` is best, or within the margin; rates at the margin must not fall to rounding."""
        return self.rates["check"] >= max(self.rates.values()) - MARGIN - 1e-12


def comparisons() -> list[Comparison]:
    """Alternatives and dimensions for which the committed table holds every method."""
    rows = STUDY.stored()
    found = []
    for alternative, (label, _, _) in ALTERNATIVES.items():
        for dimension in DIMENSIONS:
            names = {method: name(cell_of(alternative, dimension, method)) for method in METHODS}
            if all(one in rows for one in names.values()):
                rates = {method: float(rows[one]["rate"]) for method, one in names.items()}
                found.append(Comparison(label, dimension, rates))
    return found


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    heads = ["alternative", "d", *(method.label for method in METHODS.values())]
    rows = [
        [
            one.label,
            one.dimension,
            *(f"{one.rates[method]:.3f}" for method in METHODS),
            METHODS[one.best].label,
            "yes" if one.holds else "no",
        ]
        for one in comparisons()
    ]
    return markdown_table([*heads, "best", f"within {MARGIN:g}"], rows)
