"""Does a reproduction differ from what was published? Fisher's test, cell by cell and pooled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import fisher_exact

from polystein.experiments.engine.cells import Row, Scalar, number
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper import published
from polystein.experiments.paper.methods import LABELS, LEVEL, Method, published_as
from polystein.experiments.paper.pooled import (
    POWER,
    Counts,
    Pooled,
    detectable_range,
    pool,
)
from polystein.inference.pvalues import holm
from polystein.types import FloatArray

#: According to the paper, Table 1 rests on 200 repetitions.
TABLE_REPLICATES = 200
#: The name of a pooling of all cells.
ALL = "all"

#: The methods that must not differ, and how little: shares of cells, and a difference of rates.
JUDGED = ("psd", "lambda_psd", "lambda_psd_published", "ksd_imq", "ksd_gauss")
LEAST_ALIKE = 0.98
MOST_UNCORRECTED = 0.08
LARGEST_MEAN_DIFFERENCE = 0.02

#: What is known to differ between the paper's runs and these, and what it does.
KNOWN_CAUSES = (
    "The published rates of Experiment 1 rest on 100 replicates, though the paper says 200.",
    "Experiment 2: the noise on B has the *standard deviation* 0.02, 0.04, 0.06. The heading of "
    "Table 1 says σ²; with a variance of 0.02 PSD of order 0, whose published rate is 0.23, always "
    "rejects (`pytest -m slow tests/statistical/test_paper_errata.py`).",
    "λ-PSD: the published figures were not made with Algorithm 2 as printed (T = 100, K = 10, "
    "ε = 1e-3) but with T = 50, K = 100 elites, ε = 1e-4 relative to the best SNR², σ_k ≥ 1e-6, "
    "and |λ_k| ≤ 1e-6 counted as inactive. Both have a row: `ps.CrossEntropy()` and "
    "`ps.CrossEntropy.published()`.",
    "RFSD (published calibration): 10 locations, γ = 1/4, and a null law of normal features with "
    "the uncentred second moments of the observed ones; in Experiment 1 c is 4 median distances, "
    "the t law of the locations has 1/2 degree of freedom and the level is 0.05/(0.8 + 0.2 d), in "
    "Experiment 2 these are 100, 2.6 and 0.1 · 0.05. The published code of RFSD draws the "
    "locations with scale 1 about the mean of the draws, and weights them by a t density of scale "
    "c′/√df all the same; so does this row. That code also loses the derivatives of the features "
    "to underflow in high dimension, which is not imitated. A p-value is (b + 1)/(B + 1) here and "
    "b/B there, with B = 3,000.",
    "RFSD (wild bootstrap): differs from the published runs on purpose. One setting serves all "
    "examples at the level 0.05, the locations come from the density that weights them, the null "
    "law comes from a wild bootstrap, and the features' scale is widened where their tails would "
    "spoil it, so rates differ in both directions.",
    "FSSD-opt: the published runs took 20 % of the draws for training, 10 locations, five "
    "bandwidths around the median heuristic and at most 40 optimiser steps. Its "
    "objective has many local maxima, and another optimiser ends in another one.",
    "PSD at order 3 and λ-PSD at order 4 reject true draws a little too often at d = 2 (0.08 and "
    "0.07 at n = 1000): the z-test's u is skewed. That is so in the paper and here.",
)


class Comparison(NamedTuple):
    """One cell: published and measured counts, and Fisher's p-value.

    The cells of one `group` are pooled: those of a sampler, in all dimensions.
    """

    where: str
    group: str
    method: str
    order: int | None
    published: int
    published_replicates: int
    measured: int
    measured_replicates: int
    pvalue: float

    @property
    def counts(self) -> Counts:
        """What is pooled."""
        return Counts(
            self.published, self.published_replicates, self.measured, self.measured_replicates
        )

    @property
    def difference(self) -> float:
        """The measured rate less the published one."""
        return self.measured / self.measured_replicates - self.published / self.published_replicates


@dataclass(frozen=True)
class Agreement:
    """A method's comparisons, taken together."""

    method: str
    comparisons: tuple[Comparison, ...]

    @property
    def adjusted(self) -> FloatArray:
        """Holm's p-values over the method's cells."""
        return holm([one.pvalue for one in self.comparisons])

    @property
    def not_different(self) -> int:
        """Cells that do not differ significantly after Holm's correction at the level 0.05."""
        return int(np.count_nonzero(self.adjusted > LEVEL))

    @property
    def uncorrected(self) -> int:
        """Cells with p < 0.05 before any correction."""
        return sum(one.pvalue < LEVEL for one in self.comparisons)

    @property
    def mean_difference(self) -> float:
        """Mean signed difference of the rates, measured less published."""
        return float(np.mean([one.difference for one in self.comparisons]))

    @property
    def criteria(self) -> dict[str, bool]:
        """What is asked of the methods in `JUDGED`, and whether it holds."""
        cells = len(self.comparisons)
        # A share or a mean that is just at its bound must not fall to rounding.
        slack = 1e-12
        return {
            f"at least {100 * LEAST_ALIKE:g} % not significantly different after Holm": (
                self.not_different / cells >= LEAST_ALIKE - slack
            ),
            f"at most {100 * MOST_UNCORRECTED:g} % uncorrected p < {LEVEL:g}": (
                self.uncorrected / cells <= MOST_UNCORRECTED + slack
            ),
            f"mean signed difference within {LARGEST_MEAN_DIFFERENCE:g}": (
                abs(self.mean_difference) <= LARGEST_MEAN_DIFFERENCE + slack
            ),
        }


@cache
def fisher(published: int, published_of: int, measured: int, measured_of: int) -> float:
    """Two-sided p-value of Fisher's exact test for equal rates."""
    table = [[published, published_of - published], [measured, measured_of - measured]]
    return float(fisher_exact(table).pvalue)


def compare_experiment1(summary: Iterable[Row]) -> list[Comparison]:
    """Compare the cells of Experiment 1 that were run."""
    found = []
    for row in summary:
        cell = published_cell(row)
        where = f"{cell.sampler}, d={cell.dimension}"
        found.append(_comparison(where, cell.sampler, row, cell.rejections, cell.replicates))
    return found


def published_cell(row: Row) -> published.RejectionRate:
    """The published cell of Experiment 1 that a row of the summary measures."""
    key = row["sampler"], row["n"], row["d"], published_as(str(row["method"])), row["order"]
    return _cells_of_experiment1()[key]


@cache
def _cells_of_experiment1() -> dict[tuple[Scalar, ...], published.RejectionRate]:
    return {
        (cell.sampler, cell.n, cell.dimension, cell.method, cell.order): cell
        for cell in published.experiment1()
    }


def compare_experiment2(summary: Iterable[Row]) -> list[Comparison]:
    """Compare the cells of Table 1."""
    known: dict[tuple[Scalar, ...], float] = {
        (cell.perturbation, cell.method, cell.order): cell.rejection_rate
        for cell in published.experiment2()
    }
    found = []
    for row in summary:
        rate = known[row["perturbation"], published_as(str(row["method"])), row["order"]]
        where = f"σ={row['perturbation']}"
        count = round(rate * TABLE_REPLICATES)
        found.append(_comparison(where, ALL, row, count, TABLE_REPLICATES))
    return found


def _comparison(where: str, group: str, row: Row, count: int, replicates: int) -> Comparison:
    measured, of = int(number(row, "rejections")), int(number(row, "replicates"))
    order = None if row["order"] is None else int(number(row, "order"))
    pvalue = fisher(count, replicates, measured, of)
    method = str(row["method"])
    return Comparison(where, group, method, order, count, replicates, measured, of, pvalue)


def agreements(comparisons: Sequence[Comparison]) -> list[Agreement]:
    """Gather the comparisons of each method."""
    return [
        Agreement(method, tuple(one for one in comparisons if one.method == method))
        for method in LABELS
        if any(one.method == method for one in comparisons)
    ]


def comparison_rows(comparisons: Sequence[Comparison]) -> list[Row]:
    """Every cell with its p-values and what it could have found, as a table."""
    return [
        {
            **one._asdict(),
            "difference": one.difference,
            "holm_pvalue": float(adjusted),
            "detectable": detectable_range([one.counts])[0],
        }
        for agreement in agreements(comparisons)
        for one, adjusted in zip(agreement.comparisons, agreement.adjusted, strict=True)
    ]


def agreement_section(comparisons: Sequence[Comparison]) -> str:
    """Markdown: a line for each method and for all, the criteria, and the cells that differ."""
    found = agreements(comparisons)
    heads = (
        "Method",
        "Cells",
        "Replicates of a cell",
        "Not significantly different after Holm",
        f"p < {LEVEL:g} uncorrected",
        "Mean signed difference",
        "Detectable in a cell",
    )
    rows = [*(_line(LABELS[one.method], [one]) for one in found), _line("All", found)]
    words = (
        f"*Detectable in a cell* is the smallest difference that Fisher's test at the level "
        f"{LEVEL:g} finds with probability {POWER:g} at the cell's published rate and its numbers "
        "of replicates, over the cells of the method. Smaller differences may exist."
    )
    criteria = []
    for one in found:
        if one.method in JUDGED:
            answers = (f"{asked}: {'yes' if met else 'no'}" for asked, met in one.criteria.items())
            criteria.append(f"- {LABELS[one.method]}: {'; '.join(answers)}")
    differing = [
        f"- {one.where}, {Method(one.method, one.order).label}: published "
        f"{one.published / one.published_replicates:.2f}, measured "
        f"{one.measured / one.measured_replicates:.2f} (Holm p = {adjusted:.2g})"
        for agreement in found
        for one, adjusted in zip(agreement.comparisons, agreement.adjusted, strict=True)
        if adjusted <= LEVEL
    ]
    if differing:
        heading = "Cells that differ significantly after Holm's correction within their method:"
        differing = [heading, "", *differing]
    else:
        differing = ["No cell differs significantly after Holm's correction within its method."]
    return "\n".join([*markdown_table(heads, rows), "", words, "", *criteria, "", *differing])


def _line(label: str, found: Sequence[Agreement]) -> list[str]:
    """One line of the table: methods together, each with a Holm correction of its own."""
    comparisons = [one for agreement in found for one in agreement.comparisons]
    cells = len(comparisons)
    alike = sum(one.not_different for one in found)
    uncorrected = sum(one.uncorrected for one in found)
    counts = sorted({one.measured_replicates for one in comparisons})
    least, largest = detectable_range([one.counts for one in comparisons])
    return [
        label,
        str(cells),
        ", ".join(str(count) for count in counts),
        f"{alike} ({alike / cells:.1%})",
        f"{uncorrected} ({uncorrected / cells:.1%})",
        f"{np.mean([one.difference for one in comparisons]):+.3f}",
        f"{least:.3f} to {largest:.3f}",
    ]


def pooled_section(comparisons: Sequence[Comparison]) -> str:
    """Markdown: the cells of each method and order pooled, for each sampler and over all."""
    poolings, columns = pooled_tests(comparisons), _poolings_of(comparisons)
    rows = []
    for method, order in dict.fromkeys((method, order) for method, order, _ in poolings):
        cells = [_pooled_cell(poolings.get((method, order, column))) for column in columns]
        detectable = f"{poolings[method, order, ALL].detectable:.3f}"
        rows.append([Method(method, order).label, *cells, detectable])
    heading = (
        "Pooled: the cells of a method and an order together, by the Cochran–Mantel–Haenszel test. "
        "Each entry is the common difference of the rates, measured less published, with its "
        f"uncorrected p-value. The last column is the common difference that the pooling of all "
        f"cells finds with probability {POWER:g}."
    )
    table = markdown_table(["Method", *columns, f"Detectable ({columns[-1]})"], rows)

    judged = [name for name in dict.fromkeys(key[0] for key in poolings) if name in JUDGED]
    total, different, smallest = 0, list[str](), list[str]()
    for name in judged:
        own = {key: one for key, one in poolings.items() if key[0] == name}
        adjusted = dict(zip(own, holm([one.pvalue for one in own.values()]), strict=True))
        total += len(own)
        different += [
            f"{Method(name, order).label}, {group} (Holm p = {pvalue:.2g})"
            for (_, order, group), pvalue in adjusted.items()
            if pvalue <= LEVEL
        ]
        key, least = min(own.items(), key=lambda item: item[1].pvalue)
        smallest.append(
            f"- {LABELS[name]}, {len(own)} pooling{'s' * (len(own) > 1)}: smallest p-value "
            f"{least.pvalue:.2g}, and {adjusted[key]:.2g} after Holm "
            f"({Method(name, key[1]).label}, {key[2]}: {least.difference:+.3f})"
        )
    names = ", ".join(LABELS[name] for name in judged)
    after = "significantly after Holm's correction over the poolings of each method"
    words = f"None of the {total} poolings of {names} differs {after}."
    if different:
        listed = "; ".join(different)
        words = f"Of the {total} poolings of {names}, {len(different)} differ {after}: {listed}."
    return "\n".join([heading, "", *table, "", words, "", *smallest])


def pooled_tests(comparisons: Sequence[Comparison]) -> dict[tuple[str, int | None, str], Pooled]:
    """Pool each method and order over the cells of each group, and over all of them."""
    found = {}
    for agreement in agreements(comparisons):
        for order in dict.fromkeys(one.order for one in agreement.comparisons):
            own = [one for one in agreement.comparisons if one.order == order]
            for group in _poolings_of(comparisons):
                cells = [one.counts for one in own if group in (ALL, one.group)]
                if cells:
                    found[agreement.method, order, group] = pool(cells)
    return found


def _poolings_of(comparisons: Sequence[Comparison]) -> list[str]:
    """The groups that are pooled, and all cells together as the last."""
    groups = list(dict.fromkeys(one.group for one in comparisons))
    return [*groups, ALL] if len(groups) > 1 else [ALL]


def _pooled_cell(one: Pooled | None) -> str:
    """A dash where nothing was measured."""
    return "–" if one is None else f"{one.difference:+.3f} (p = {one.pvalue:.2g})"


def known_causes() -> str:
    """Markdown: what is known to differ."""
    return "\n".join(f"- {cause}" for cause in KNOWN_CAUSES)
