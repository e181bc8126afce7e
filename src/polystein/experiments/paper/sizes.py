"""How often tests reject draws from the target: lambda-PSD at high orders, and RFSD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scipy.stats import binomtest

from polystein.experiments.engine.cells import Cell, Replicate, Row, number
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper import published
from polystein.experiments.paper.experiment1 import task as test_sampler
from polystein.experiments.paper.methods import Method, published_as

STUDY = "sizes"
ORDERS = (2, 4, 6, 8)
DRAWS, DIMENSION = 1000, 16
REPLICATES, QUICK_REPLICATES = 2000, 200
METHODS = tuple(Method("lambda_psd", order) for order in ORDERS)
BY = ("sampler", "n", "d", "method", "order")


def cells(replicates: int) -> list[Cell]:
    """One cell: every order sees the same draws."""
    return [
        Cell.of(
            STUDY, replicates=replicates, cost=30.0, sampler="gaussian", n=DRAWS, d=DIMENSION
        )
    ]  # fmt: skip


def task(replicate: Replicate) -> list[Row]:
    """Draw from the target, and ask lambda-PSD of every order."""
    return test_sampler(replicate, METHODS)


def sizes_lambda_psd(summary: Sequence[Row]) -> str:
    """Sizes in Markdown, with exact 95 % confidence intervals."""
    rows = []
    for row in summary:
        rejections, of = int(number(row, "rejections")), int(number(row, "replicates"))
        low, high = binomtest(rejections, of).proportion_ci()
        rate = f"{rejections / of:.4f}"
        rows.append([row["order"], f"{rejections} of {of}", rate, f"{low:.3f} to {high:.3f}"])
    return "\n".join(markdown_table(["Q", "Rejections", "Size", "95 % interval"], rows))


def sizes_experiment1(summary: Sequence[Row], methods: Sequence[Method]) -> str:
    """Sizes on the Gaussian sampler, which is the target."""
    known = {
        cell.dimension: cell.rejection_rate
        for cell in published.experiment1()
        if (cell.sampler, cell.method) == ("gaussian", "rfsd")
    }
    return size_table([row for row in summary if row["sampler"] == "gaussian"], methods, known)


def sizes_experiment2(summary: Sequence[Row], methods: Sequence[Method]) -> str:
    """Sizes on the machine without noise, which is the target."""
    null = [row for row in summary if row["perturbation"] == 0.0]
    (rate,) = (
        cell.rejection_rate
        for cell in published.experiment2()
        if (cell.perturbation, cell.method) == (0.0, "rfsd")
    )
    return size_table(null, methods, {int(number(row, "d")): rate for row in null})


def size_table(null: Sequence[Row], methods: Sequence[Method], known: Mapping[int, float]) -> str:
    """Markdown: a line for each dimension, level and measured size for each RFSD of `methods`.

    Parameters
    ----------
    null : sequence of dict
        Rows of the summary in which the sampler is the target.
    methods : sequence of Method
        Those that are not RFSD are left out.
    known : dict
        The published size in each dimension.
    """
    compared = [method for method in methods if published_as(method.name) == "rfsd"]
    heads, rows = ["d", "Size published"], []
    for method in compared:
        heads += [f"{method.label}: level claimed", "Size measured"]
    for dimension in sorted({int(number(row, "d")) for row in null}):
        there = {row["method"]: row for row in null if row["d"] == dimension}
        line = [str(dimension), f"{known[dimension]:.2f}"]
        for method in compared:
            row = there[method.name]
            rejections, of = int(number(row, "rejections")), int(number(row, "replicates"))
            line.append(f"{method.level(dimension):.4f}")
            line.append(f"{rejections / of:.3f} ({rejections} of {of})")
        rows.append(line)
    words = "How often RFSD rejects draws from the target, beside the level that it claims:"
    return "\n".join([words, "", *markdown_table(heads, rows)])
