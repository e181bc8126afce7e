"""Runtime of lambda-PSD (Section 5.3): against n at d = 16, and against d at n = 1000.

Timings differ from run to run; they are kept apart from the tables that do not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from polystein.experiments.engine.cells import Cell, Replicate, Row, Scalar, number
from polystein.experiments.engine.store import read_csv
from polystein.experiments.engine.summary import grouped, markdown_table
from polystein.experiments.paper import published, reproduction
from polystein.experiments.paper.figures import clean, column, order_colour
from polystein.experiments.paper.methods import ORDERS
from polystein.experiments.paper.samplers import gaussian, gaussian_score
from polystein.methods.gof import lambda_psd_test
from polystein.report.canvas import new_figure
from polystein.weights.rules import ClosedForm, CrossEntropy, Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = "runtime"
SIZES = (100, 300, 1000, 3000, 10_000)
DIMENSIONS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
QUICK_DIMENSIONS = (2, 16, 128, 1024)
REPLICATES, QUICK_REPLICATES = 100, 3
RULES: dict[str, Weights] = {"CrossEntropy": CrossEntropy(), "ClosedForm": ClosedForm()}
BY = ("sweep", "n", "d", "order", "weights")


def cells(replicates: int, dimensions: Sequence[int] = DIMENSIONS) -> list[Cell]:
    """One cell for each point of Figures 3 and 4 and each rule for the weights."""
    grid = [("vary_n", n, 16) for n in SIZES] + [("vary_d", 1000, d) for d in dimensions]
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=2.0 * (2.0 + (order + 1) * n * (d + 50) * 2e-5),
            sweep=sweep,
            n=n,
            d=d,
            order=order,
            weights=weights,
        )
        for sweep, n, d in grid
        for order in ORDERS
        for weights in RULES
    ]


def task(replicate: Replicate) -> list[Row]:
    """Seconds of one test, the second one on the same draws: the first warms the caches."""
    cell = replicate.cell
    draws = gaussian(replicate.generator("draws"), cell["n"], cell["d"])
    scores = gaussian_score(draws)

    def run() -> None:
        lambda_psd_test(
            draws,
            scores,
            order=cell["order"],
            weights=RULES[cell["weights"]],
            rng=replicate.stream("split"),
        )

    run()
    started = time.perf_counter()
    run()
    return [{"seconds": time.perf_counter() - started}]


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Median seconds of every point, beside the published ones."""
    known: dict[tuple[Scalar, ...], float] = {
        (point.sweep, point.n, point.dimension, point.order): point.median_seconds
        for point in published.runtimes()
    }
    return [
        {
            **dict(zip(BY, key, strict=True)),
            "replicates": len(group),
            "median_seconds": median(number(row, "seconds") for row in group),
            "published_median_seconds": known.get(key[:4]),
        }
        for key, group in grouped(rows, BY).items()
    ]


def run(options: reproduction.Options) -> None:
    """Figures 3 and 4; one process, so that timings do not disturb each other."""
    replicates = options.count(REPLICATES, QUICK_REPLICATES)
    dimensions = QUICK_DIMENSIONS if options.quick else DIMENSIONS
    rows = options.run(cells(replicates, dimensions), task, jobs=1)
    summary = options.keep("runtime.csv", summarise(rows))
    options.draw(runtime_figure(summary, "vary_d"), "figure3.png")
    options.draw(runtime_figure(summary, "vary_n"), "figure4.png")
    options.note(STUDY)


def section(out: Path) -> str:
    """Figures 3 and 4."""
    return reproduction.section(
        "Runtime of λ-PSD",
        reproduction.how(out, "runtime"),
        "The published times are medians of 20 runs on the authors' machine. They are on other "
        "hardware, so only their growth with n, d and Q can be compared.",
        reproduction.figure(
            "figure3.png",
            "Median seconds of one λ-PSD test against the dimension up to 1024, published, with "
            "the cross-entropy search and with closed-form weights: all grow slowly",
            "Figure 3. Runtime against d; n = 1000.",
        ),
        reproduction.figure(
            "figure4.png",
            "Median seconds of one λ-PSD test against the number of draws up to 10,000, published, "
            "with the cross-entropy search and with closed-form weights: all grow slowly",
            "Figure 4. Runtime against n; d = 16.",
        ),
        _speed(read_csv(out / "runtime.csv")),
    )


def runtime_figure(summary: Sequence[Row], sweep: str) -> Figure:
    """Figures 3 ("vary_d") and 4 ("vary_n"): runtime of lambda-PSD, beside the published one."""
    x = "d" if sweep == "vary_d" else "n"
    rows = [row for row in summary if row["sweep"] == sweep]
    figure = new_figure(11.0, 4.2)
    panels = figure.subplots(1, 3, sharey=True)
    fixed = "n = 1000" if x == "d" else "d = 16"
    drawn = (
        ("published, other hardware", "published_median_seconds", "CrossEntropy"),
        ("CrossEntropy", "median_seconds", "CrossEntropy"),
        ("ClosedForm", "median_seconds", "ClosedForm"),
    )
    for axes, (title, field, weights) in zip(panels, drawn, strict=True):
        chosen = [row for row in rows if row["weights"] == weights and row[field] is not None]
        for order in sorted({int(number(row, "order")) for row in chosen}):
            points = [row for row in chosen if row["order"] == order]
            axes.plot(
                column(points, x),
                column(points, field),
                marker="^",
                markersize=5,
                linestyle="--",
                color=order_colour(order),
                label=f"Q = {order}",
            )
        axes.set_xscale("log", base=2 if x == "d" else 10)
        axes.set_yscale("log")
        axes.set_xlabel(x)
        axes.set_title(f"{title}; {fixed}", fontsize=11)
        clean(axes)
    panels[0].set_ylabel("median seconds of one λ-PSD test")
    panels[-1].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _speed(summary: Sequence[Row]) -> str:
    """Slowest point of each rule, beside the slowest published one."""
    point = max(published.runtimes(), key=lambda point: point.median_seconds)
    rows = [["published", f"{point.median_seconds:.3g}", point.n, point.dimension, point.order]]
    for rule in RULES:
        row = max(
            (row for row in summary if row["weights"] == rule),
            key=lambda row: number(row, "median_seconds"),
        )
        seconds = f"{number(row, 'median_seconds'):.3g}"
        rows.append([rule, seconds, row["n"], row["d"], row["order"]])
    heads = ("Weights", "Slowest median, seconds", "n", "d", "Q")
    return "\n".join(markdown_table(heads, rows))
