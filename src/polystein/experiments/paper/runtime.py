"""Runtime of lambda-PSD (Section 5.3): against n at d = 16, and against d at n = 1000.

Timings differ from run to run; they are kept apart from the tables that do not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from polystein.experiments.engine.cells import Cell, Replicate, Row, Scalar, number
from polystein.experiments.engine.summary import grouped
from polystein.experiments.paper import published
from polystein.experiments.paper.methods import ORDERS
from polystein.experiments.paper.samplers import gaussian, gaussian_score
from polystein.methods.gof import lambda_psd_test
from polystein.weights.rules import ClosedForm, CrossEntropy, Weights

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
