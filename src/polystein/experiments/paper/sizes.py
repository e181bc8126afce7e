"""How often lambda-PSD of high orders rejects draws from the target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scipy.stats import binomtest

from polystein.experiments.engine.cells import Cell, Replicate, Row, number
from polystein.experiments.engine.store import read_csv
from polystein.experiments.engine.summary import decisions, markdown_table, summarise
from polystein.experiments.paper import experiment1, reproduction
from polystein.experiments.paper.methods import Method

STUDY = "sizes"
ORDERS = (2, 4, 6, 8)
DRAWS, DIMENSION = 1000, 16
REPLICATES, QUICK_REPLICATES = 2000, 200
METHODS = tuple(Method("lambda_psd", order) for order in ORDERS)
BY = experiment1.BY


def cells(replicates: int) -> list[Cell]:
    """One cell: every order sees the same draws."""
    return [
        Cell.of(
            STUDY, replicates=replicates, cost=30.0, sampler="gaussian", n=DRAWS, d=DIMENSION
        )
    ]  # fmt: skip


def task(replicate: Replicate) -> list[Row]:
    """Draw from the target, and ask lambda-PSD of every order."""
    return experiment1.task(replicate, METHODS)


def sizes_lambda_psd(summary: Sequence[Row]) -> str:
    """Sizes in Markdown, with exact 95 % confidence intervals."""
    rows = []
    for row in summary:
        rejections, of = int(number(row, "rejections")), int(number(row, "replicates"))
        low, high = binomtest(rejections, of).proportion_ci()
        rate = f"{rejections / of:.4f}"
        rows.append([row["order"], f"{rejections} of {of}", rate, f"{low:.3f} to {high:.3f}"])
    return "\n".join(markdown_table(["Q", "Rejections", "Size", "95 % interval"], rows))


def run(options: reproduction.Options) -> None:
    """Size of lambda-PSD over many sets of exact draws."""
    grid = cells(options.count(REPLICATES, QUICK_REPLICATES))
    rows = options.run(grid, task)
    options.keep("sizes.csv", summarise(rows, BY))
    options.keep("sizes-decisions.csv", decisions(rows, BY))
    options.note(STUDY)


def section(out: Path) -> str:
    """Size of lambda-PSD over many sets of exact draws."""
    return reproduction.section(
        "Size of λ-PSD at high orders",
        reproduction.how(out, "sizes"),
        f"How often `lambda_psd_test` with its default weights, which are Algorithm 2 as printed, "
        f"rejects exact draws from N(0, I) at the level 0.05; n = {DRAWS}, "
        f"d = {DIMENSION}:",
        sizes_lambda_psd(read_csv(out / "sizes.csv")),
    )
