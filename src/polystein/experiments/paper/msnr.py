"""The published MSNR in numbers: mean log10 z^2 of every cell, beside the measured one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from polystein.experiments.engine.cells import Row, number
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper.methods import LABELS, LEVEL, Method
from polystein.experiments.paper.verdict import published_cell
from polystein.inference.pvalues import holm


class Difference(NamedTuple):
    """One cell: measured less published mean of log10 z^2, and the p-value of a z-test."""

    where: str
    method: str
    order: int
    published: float
    measured: float
    pvalue: float


def compare_msnr(summary: Sequence[Row]) -> list[Difference]:
    """Compare the cells of Experiment 1 that have a z-statistic.

    The published means come without standard errors. Each is given the measured spread of
    log10 z^2 over its own number of replicates.
    """
    found = []
    for row in summary:
        cell = published_cell(row)
        if cell.mean_log10_z2 is None or row["mean_log10_z2_se"] is None:
            continue
        measured, error = number(row, "mean_log10_z2"), number(row, "mean_log10_z2_se")
        ratio = number(row, "replicates") / cell.replicates
        z = (measured - cell.mean_log10_z2) / (error * math.sqrt(1.0 + ratio))
        found.append(
            Difference(
                f"{cell.sampler}, d={cell.dimension}",
                str(row["method"]),
                int(number(row, "order")),
                cell.mean_log10_z2,
                measured,
                float(2.0 * norm.sf(abs(z))),
            )
        )
    return found


def msnr_section(summary: Sequence[Row]) -> str:
    """Markdown: a line for each method, and the cells that differ."""
    differences = compare_msnr(summary)
    words = (
        "The published MSNR in numbers. The lower panels of the published Figure 2 show the mean "
        "of log₁₀ z², although the text calls MSNR the average absolute z-statistic. Their dotted "
        "line, at log₁₀ 1.96 = 0.29, belongs to the axis of the text: on theirs |z| = 1.96 is at "
        "2 log₁₀ 1.96 = 0.58. Means of log₁₀ z² are compared by z-tests, with the measured spread "
        "for both sides, since none was published:"
    )
    heads = (
        "Method",
        "Cells",
        "Not significantly different after Holm",
        f"p < {LEVEL:g} uncorrected",
        "Mean signed difference",
        "Largest absolute difference",
    )
    rows, different = [], list[str]()
    for method in dict.fromkeys(one.method for one in differences):
        own = [one for one in differences if one.method == method]
        adjusted = holm([one.pvalue for one in own])
        gaps = np.array([one.measured - one.published for one in own])
        alike = int(np.count_nonzero(adjusted > LEVEL))
        uncorrected = sum(one.pvalue < LEVEL for one in own)
        rows.append(
            [
                LABELS[method],
                len(own),
                f"{alike} ({alike / len(own):.1%})",
                f"{uncorrected} ({uncorrected / len(own):.1%})",
                f"{gaps.mean():+.3f}",
                f"{np.abs(gaps).max():.3f}",
            ]
        )
        different += [
            f"- {one.where}, {Method(method, one.order).label}: published {one.published:.2f}, "
            f"measured {one.measured:.2f} (Holm p = {one_adjusted:.2g})"
            for one, one_adjusted in zip(own, adjusted, strict=True)
            if one_adjusted <= LEVEL
        ]
    if different:
        different = ["", "Cells whose MSNR differs significantly:", "", *different]
    return "\n".join([words, "", *markdown_table(heads, rows), *different])
