"""Experiment 1 (Section 5.1): N(0, I) as target against four samplers, d = 2, ..., 128."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.store import read_csv
from polystein.experiments.engine.summary import decisions, summarise
from polystein.experiments.paper import figures, msnr, published, reproduction, verdict
from polystein.experiments.paper.methods import (
    ALL_METHODS,
    RIVALS,
    Z_TESTS,
    Method,
    judge,
    size_table,
)
from polystein.experiments.paper.samplers import EXPERIMENT_1, gaussian_score

STUDY = "experiment1"
DIMENSIONS = (2, 4, 8, 16, 32, 64, 128)
QUICK_DIMENSIONS = (2, 8, 32)
#: z-tests cost milliseconds: the quick grid has all of their replicates.
REPLICATES, QUICK_REPLICATES = 200, 20
#: What tells the rows of the summary apart.
BY = ("sampler", "n", "d", "method", "order")


def draws_of(sampler: str) -> int:
    """Return n: 1000, and 2000 for the Student-t sampler."""
    return 2000 if sampler == "student_t" else 1000


def cells(replicates: int, dimensions: Sequence[int] = DIMENSIONS) -> list[Cell]:
    """One cell for each sampler and dimension; all methods see the same draws in it."""
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=_milliseconds(draws_of(sampler), dimension),
            sampler=sampler,
            n=draws_of(sampler),
            d=dimension,
        )
        for sampler in EXPERIMENT_1
        for dimension in dimensions
    ]


def sample(replicate: Replicate) -> Sample:
    """Draw from the sampler, and take the target's scores there."""
    cell = replicate.cell
    sampler = EXPERIMENT_1[cell["sampler"]]
    draws = sampler(replicate.generator("draws"), cell["n"], cell["d"])
    return Sample(draws, gaussian_score(draws))


def task(replicate: Replicate, methods: Sequence[Method] = ALL_METHODS) -> list[Row]:
    """Draw from the sampler, and ask every method."""
    return judge(sample(replicate), methods, replicate)


def _milliseconds(n: int, dimension: int) -> float:
    """Fit to measured times: the kernels' n^2 pairs, and what grows with the dimension."""
    return 1.2e-4 * n**2 + 5e-3 * n * dimension + 1.6 * dimension


def run(options: reproduction.Options) -> None:
    """Tables and figures 1 and 2; the quick grid has all replicates of the z-tests."""
    dimensions = QUICK_DIMENSIONS if options.quick else DIMENSIONS

    def cells_of(part: str) -> list[Cell]:
        quick = QUICK_REPLICATES if part == "rivals" else REPLICATES
        return cells(options.count(REPLICATES, quick), dimensions)

    parts = {"z-tests": Z_TESTS, "rivals": RIVALS}
    rows, names = options.run_methods(cells_of, task, parts)
    summary = options.keep("experiment1.csv", summarise(rows, BY), ALL_METHODS)
    options.keep("experiment1-decisions.csv", decisions(rows, BY), ALL_METHODS)
    comparisons = verdict.compare_experiment1(summary)
    options.keep("experiment1-verdict.csv", verdict.comparison_rows(comparisons))
    options.draw(figures.figure1(summary), "figure1.png")
    options.draw(figures.figure2(summary), "figure2.png")
    options.note(STUDY, names)


def section(out: Path) -> str:
    """Figures 1 and 2."""
    summary = read_csv(out / "experiment1.csv")
    comparisons = verdict.compare_experiment1(summary)
    return reproduction.section(
        "Experiment 1: a standard Gaussian target",
        reproduction.how(out, "experiment1"),
        reproduction.figure(
            "figure1.png",
            "Rejection rates of λ-PSD and of the kernel tests against the dimension, one panel for "
            "each sampler. On the target all are near 0.05. In high dimension the kernel tests "
            "lose their power on the perturbed Gaussian and on Laplace, and λ-PSD of orders 3 and "
            "4 keeps most of it",
            "Figure 1. Rejection rates at the level 0.05 against the dimension d, with standard "
            "errors; n = 1000, and 2000 for Student-t. λ-PSD as printed.",
        ),
        reproduction.figure(
            "figure2.png",
            "Rejection rate and two forms of MSNR of PSD and λ-PSD against the dimension, one "
            "column for each sampler: PSD of order 4 has less power than PSD of lower orders, "
            "λ-PSD of order 4 has not",
            "Figure 2. PSD and λ-PSD as printed, with standard errors; n = 1000, and 2000 for "
            "Student-t. The middle row is what the published figure shows, the lower one what the "
            "text describes; each has its line at |z| = 1.96.",
        ),
        verdict.agreement_section(comparisons),
        verdict.pooled_section(comparisons),
        msnr.msnr_section(summary),
        sizes_of_rfsd(summary),
    )


def sizes_of_rfsd(summary: Sequence[Row]) -> str:
    """Sizes of RFSD on the Gaussian sampler, which is the target."""
    known = {
        cell.dimension: cell.rejection_rate
        for cell in published.experiment1()
        if (cell.sampler, cell.method) == ("gaussian", "rfsd")
    }
    null = [row for row in summary if row["sampler"] == "gaussian"]
    return size_table(null, ALL_METHODS, known)
