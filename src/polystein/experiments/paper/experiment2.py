"""Experiment 2 (Section 5.2, Table 1): a restricted Boltzmann machine with a noisy B."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Cell, Replicate, Row, Scalar, number
from polystein.experiments.engine.store import read_csv
from polystein.experiments.engine.summary import decisions, markdown_table, summarise
from polystein.experiments.paper import published, reproduction, verdict
from polystein.experiments.paper.methods import (
    LEVEL,
    Method,
    PublishedRFSD,
    judge,
    published_as,
    size_table,
)
from polystein.experiments.paper.samplers import BoltzmannMachine

STUDY = "experiment2"
#: Standard deviations of the noise on B, though the heading of Table 1 says sigma^2.
PERTURBATIONS = (0.0, 0.02, 0.04, 0.06)
CHAINS, SWEEPS, DIMENSION = 1000, 2000, 50
REPLICATES, QUICK_REPLICATES = 200, 5
BY = ("perturbation", "n", "d", "method", "order")
#: The rows of Table 1. At order 0 lambda-PSD is PSD, and the table leaves it out.
METHODS = (
    PublishedRFSD(medians=100.0, degrees_of_freedom=2.6, fixed_level=0.1 * LEVEL),
    *(Method(name) for name in ("rfsd", "fssd_opt", "ksd_imq", "ksd_gauss")),
    *(Method("psd", order) for order in range(5)),
    *(Method("lambda_psd", order) for order in range(1, 5)),
    *(Method("lambda_psd_published", order) for order in range(1, 5)),
)


def cells(replicates: int, sweeps: int = SWEEPS) -> list[Cell]:
    """One cell for each perturbation."""
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=1.6 * sweeps + 400.0,
            perturbation=perturbation,
            n=CHAINS,
            d=DIMENSION,
            sweeps=sweeps,
        )
        for perturbation in PERTURBATIONS
    ]


def sample(replicate: Replicate) -> Sample:
    """Draw a machine, and draws from its perturbed copy, one from each Gibbs chain."""
    cell = replicate.cell
    target = BoltzmannMachine.random(replicate.generator("machine"), d=cell["d"])
    sampler = target.perturbed(cell["perturbation"], replicate.generator("noise"))
    draws = sampler.gibbs(replicate.generator("draws"), cell["n"], cell["sweeps"])
    return Sample(draws, target.score(draws))


def task(replicate: Replicate, methods: Sequence[Method] = METHODS) -> list[Row]:
    """Draw from the perturbed machine, and ask every method."""
    return judge(sample(replicate), methods, replicate)


def run(options: reproduction.Options) -> None:
    """Table 1: the methods share the draws, which take most of the time."""
    grid = cells(options.count(REPLICATES, QUICK_REPLICATES))
    rows, names = options.run_methods(lambda _: grid, task, {"": METHODS})
    summary = options.keep("experiment2.csv", summarise(rows, BY), METHODS)
    options.keep("experiment2-decisions.csv", decisions(rows, BY), METHODS)
    comparisons = verdict.compare_experiment2(summary)
    options.keep("experiment2-verdict.csv", verdict.comparison_rows(comparisons))
    options.note(STUDY, names)


def section(out: Path) -> str:
    """Table 1."""
    summary = read_csv(out / "experiment2.csv")
    comparisons = verdict.compare_experiment2(summary)
    return reproduction.section(
        "Experiment 2: a Gaussian–Bernoulli restricted Boltzmann machine",
        reproduction.how(out, "experiment2"),
        f"n = {CHAINS}, d = {DIMENSION}. A dash means that nothing was "
        "measured. *Replicates* counts the measured ones, and has one count for each standard "
        "deviation where they differ. The rows of a set are the last states of "
        f"{CHAINS} parallel Gibbs chains after {SWEEPS} sweeps. Chains do "
        "not influence each other, so the rows are independent, and tests for independent draws "
        "apply.",
        table1(summary),
        verdict.agreement_section(comparisons),
        verdict.pooled_section(comparisons),
        sizes_of_rfsd(summary),
    )


def table1(summary: Sequence[Row]) -> str:
    """Table 1 in Markdown, published / measured, with a dash where nothing was measured.

    Replicates that differ between the columns are listed in the order of the columns.
    """
    known = {(one.perturbation, one.method, one.order): one for one in published.experiment2()}
    measured: dict[tuple[Scalar, ...], Row] = {
        (row["perturbation"], row["method"], row["order"]): row for row in summary
    }
    rows = []
    for method in METHODS:
        column = published_as(method.name)
        rates, counts = [], []
        for perturbation in PERTURBATIONS:
            row = measured.get((perturbation, method.name, method.order))
            found = "–" if row is None else f"{number(row, 'rejection_rate'):.2f}"
            rate = known[perturbation, column, method.order].rejection_rate
            rates.append(f"{rate:.2f} / {found}")
            counts.append("–" if row is None else f"{row['replicates']}")
        replicates = counts[0] if len(set(counts)) == 1 else ", ".join(counts)
        rows.append([method.label, *rates, replicates])
    heads = ["Standard deviation", *(f"{p:.2f}" for p in PERTURBATIONS), "Replicates"]
    return "\n".join(["Rejection rates, published / measured:", "", *markdown_table(heads, rows)])


def sizes_of_rfsd(summary: Sequence[Row]) -> str:
    """Sizes of RFSD on the machine without noise, which is the target."""
    null = [row for row in summary if row["perturbation"] == 0.0]
    (rate,) = (
        cell.rejection_rate
        for cell in published.experiment2()
        if (cell.perturbation, cell.method) == (0.0, "rfsd")
    )
    return size_table(null, METHODS, {int(number(row, "d")): rate for row in null})
