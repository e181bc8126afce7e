"""Appendix: Experiment 1 at d = 16 with orders up to 8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polystein.experiments.engine.cells import Cell, Row, number
from polystein.experiments.engine.store import read_csv
from polystein.experiments.engine.summary import markdown_table, summarise
from polystein.experiments.paper import experiment1, figures, reproduction
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
            cost=0.15 * experiment1.draws_of(sampler),
            sampler=sampler,
            n=experiment1.draws_of(sampler),
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


def run(options: reproduction.Options) -> None:
    """Orders up to 8 at d = 16; z-tests only, so the quick grid is the full one."""
    grid = cells(options.count(REPLICATES, REPLICATES))
    rows, names = options.run_methods(lambda _: grid, experiment1.task, {"": METHODS})
    summary = options.keep("appendix.csv", summarise(rows, experiment1.BY), METHODS)
    options.draw(figures.appendix_figure(summary), "appendix.png")
    options.note(STUDY, names)


def section(out: Path) -> str:
    """Orders up to 8 at d = 16."""
    summary = read_csv(out / "appendix.csv")
    return reproduction.section(
        "Appendix: orders up to 8 at d = 16",
        reproduction.how(out, "appendix"),
        reproduction.figure(
            "appendix.png",
            "Rejection rate and two forms of MSNR of PSD and λ-PSD against the order up to 8 at "
            "d = 16, one column for each sampler: PSD falls with the order, λ-PSD stays level",
            "The figure of the appendix: d = 16; n = 1000, and 2000 for Student-t; with standard "
            "errors.",
        ),
        power_table(summary),
    )
