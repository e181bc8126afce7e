"""Appendix: Experiment 1 at d = 16 with orders up to 8."""

from __future__ import annotations

from collections.abc import Sequence

from polystein.experiments.engine.cells import Cell, Row, number
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper.experiment1 import draws_of
from polystein.experiments.paper.methods import LABELS, z_tests
from polystein.experiments.paper.samplers import EXPERIMENT_1

STUDY = "appendix"
DIMENSION = 16
ORDERS = range(9)
METHODS = z_tests(ORDERS)
REPLICATES = 200


def cells(replicates: int) -> list[Cell]:
    """One cell for each sampler."""
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=0.15 * draws_of(sampler),
            sampler=sampler,
            n=draws_of(sampler),
            d=DIMENSION,
        )
        for sampler in EXPERIMENT_1
    ]


def power_table(summary: Sequence[Row]) -> str:
    """Rejection rates in Markdown, a line for each sampler and method, a column for each order."""
    rates = {
        (row["sampler"], row["method"], row["order"]): f"{number(row, 'rejection_rate'):.3f}"
        for row in summary
    }
    lines = [
        [sampler, LABELS[name], *(rates[sampler, name, order] for order in ORDERS)]
        for sampler in EXPERIMENT_1
        for name in dict.fromkeys(method.name for method in METHODS)
    ]
    heads = ["Sampler", "Method", *(f"Q = {order}" for order in ORDERS)]
    return "\n".join(["Rejection rates:", "", *markdown_table(heads, lines)])
