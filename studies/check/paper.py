"""`check` on the alternatives of the paper's Experiments 1 and 2, beside the published rates."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binomtest, fisher_exact

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper import experiment1, experiment2, published
from polystein.experiments.paper.methods import Method
from polystein.experiments.paper.verdict import TABLE_REPLICATES
from studies._table import Study, decision
from studies.check import SEED, milliseconds

REPLICATES = 200
#: A rate must not be significantly below this, nor below the best published, at this level.
LEAST_RATE, SIGNIFICANCE = 0.95, 0.01
SAMPLERS = {"perturbed": "perturbed", "student_t": "Student-t", "laplace": "Laplace"}


def cells() -> Iterator[Cell]:
    """The paper's cells in which the draws are wrong, by sampler and dimension."""
    first = experiment1.cells(REPLICATES)
    for sampler in SAMPLERS:
        for cell in first:
            if cell["sampler"] == sampler:
                cost = milliseconds(cell["n"], cell["d"], found=True)
                yield replace(cell, study="check-paper", cost=cost)
    for cell in experiment2.cells(REPLICATES):
        if cell["perturbation"] > 0.0:
            yield replace(cell, study="check-paper")


def is_machine(cell: Cell) -> bool:
    """Whether the draws come from a Boltzmann machine."""
    return "perturbation" in dict(cell.settings)


def name(cell: Cell) -> str:
    """The cell in the table."""
    if is_machine(cell):
        return f"RBM {cell['perturbation']:.2f}, d={cell['d']}"
    return f"{SAMPLERS[cell['sampler']]}, d={cell['d']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether `check` rejects one set of draws."""
    experiment = experiment2 if is_machine(replicate.cell) else experiment1
    sample = experiment.sample(replicate)
    return decision(ps.check(sample, iid=True, rng=replicate.stream("check")))


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(cells()),
    name,
    decide,
    SEED,
)


class Rate(NamedTuple):
    """How often a published method rejected."""

    method: Method
    rejections: int
    replicates: int

    @property
    def value(self) -> float:
        return self.rejections / self.replicates


def published_rates(cell: Cell) -> list[Rate]:
    """What the paper's methods came to in this cell."""
    if is_machine(cell):
        return [
            Rate(
                Method(one.method, one.order),
                round(one.rejection_rate * TABLE_REPLICATES),
                TABLE_REPLICATES,
            )
            for one in published.experiment2()
            if one.perturbation == cell["perturbation"]
        ]
    where = (cell["sampler"], cell["n"], cell["d"])
    return [
        Rate(Method(one.method, one.order), one.rejections, one.replicates)
        for one in published.experiment1()
        if (one.sampler, one.n, one.dimension) == where
    ]


class Judgement(NamedTuple):
    """A cell beside what was published, with the p-values of both one-sided comparisons."""

    name: str
    best: Rate
    lambda_psd: Rate
    rate: float
    below_least: float
    below_best: float

    @property
    def holds(self) -> bool:
        """Neither comparison is significant."""
        return min(self.below_least, self.below_best) >= SIGNIFICANCE


def judge(cell: Cell, rejections: int, replicates: int) -> Judgement:
    """Compare a count with 0.95 (binomial test) and with the best published (Fisher's test)."""
    rates = published_rates(cell)
    best = max(rates, key=lambda rate: rate.value)
    table = [
        [rejections, replicates - rejections],
        [best.rejections, best.replicates - best.rejections],
    ]
    return Judgement(
        name(cell),
        best,
        max((one for one in rates if one.method.name == "lambda_psd"), key=lambda one: one.value),
        rejections / replicates,
        float(binomtest(rejections, replicates, LEAST_RATE, alternative="less").pvalue),
        float(fisher_exact(table, alternative="less").pvalue),
    )


def judgements() -> list[Judgement]:
    """Every line of the committed table, judged."""
    rows = STUDY.stored()
    found = [(cell, rows[name(cell)]) for cell in STUDY.cells if name(cell) in rows]
    return [judge(cell, int(row["rejections"]), int(row["replicates"])) for cell, row in found]


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    heads = (
        "draws",
        "best published",
        "best λ-PSD published",
        "`check`",
        "p, below 0.95",
        "p, below best",
        "holds",
    )
    rows = [
        [
            one.name,
            f"{one.best.value:.2f} ({one.best.method.label})",
            f"{one.lambda_psd.value:.2f}",
            f"{one.rate:.3f}",
            f"{one.below_least:.2g}",
            f"{one.below_best:.2g}",
            "yes" if one.holds else "no",
        ]
        for one in judgements()
    ]
    return markdown_table(heads, rows)
