"""The paper's central claim as numbers: SNR^2 of PSD falls with Q, that of lambda-PSD does not.

In the setting of Remark 3.6, p = N(0, I_d) and q = N(delta 1, sigma^2 I_d), everything is
known exactly (`polystein.theory`); the U-statistic is simulated beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Cell, Replicate, Row, number
from polystein.experiments.paper import reproduction
from polystein.experiments.paper.figures import clean, column
from polystein.experiments.paper.samplers import gaussian_score
from polystein.methods.discrepancy import psd
from polystein.report.canvas import BLUE, GREEN, PINK, VERMILION, new_figure
from polystein.theory import GaussianPair, corrected_law, printed_law
from polystein.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "snr"
PAIR = GaussianPair(dimension=1, delta=0.1, variance=1.2)
DRAWS = 10_000
ORDERS = range(12)
#: Beyond this order the variance depends on draws too rare for a simulation.
SIMULATED_ORDERS = range(9)
REPLICATES, QUICK_REPLICATES = 4000, 1000
#: Slopes are compared from the first of these odd orders to the second.
SLOPE = (5, 11)
_GROUPS = 20


class Slopes(NamedTuple):
    """log10 SNR^2 per order, between the orders of `SLOPE`."""

    exact: float
    corrected: float
    printed: float


def cells(replicates: int) -> list[Cell]:
    """One cell: every order sees the same draws."""
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=8.0,
            n=DRAWS,
            d=PAIR.dimension,
            delta=PAIR.delta,
            variance=PAIR.variance,
        )
    ]


def task(replicate: Replicate) -> list[Row]:
    """Return the U-statistic of every order on the same draws."""
    cell = replicate.cell
    rng = replicate.generator("draws")
    draws = rng.normal(cell["delta"], math.sqrt(cell["variance"]), (cell["n"], cell["d"]))
    sample = Sample(draws, gaussian_score(draws))
    return [
        {"order": order, "statistic": psd(sample, order=order, estimator="u")}
        for order in SIMULATED_ORDERS
    ]


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Everything that the picture shows, one row for each order.

    ``psd_u_*`` are SNR^2 of the U-statistic from `DRAWS` draws (Theorem 3.5), ``psd_z``
    and ``lambda_psd`` those of the z-statistics per draw (Remark 3.8, Proposition 4.3);
    the laws have a meaning up to a factor only.
    """
    return [
        {
            "order": order,
            "n": DRAWS,
            "psd_u_exact": PAIR.snr_squared_u(order, DRAWS),
            **_simulated([row for row in rows if row["order"] == order]),
            "psd_z_exact": PAIR.snr_squared_z(order),
            "printed_law": printed_law(order),
            "corrected_law": corrected_law(order),
            "lambda_psd_exact": PAIR.lambda_snr_squared(order),
            "chi_square_bound": PAIR.chi_square_divergence(),
        }
        for order in ORDERS
    ]


def slopes() -> Slopes:
    """Compare how fast the exact SNR^2 and the two laws fall."""

    def slope(first: float, last: float) -> float:
        return math.log10(last / first) / (SLOPE[1] - SLOPE[0])

    return Slopes(
        exact=slope(*(PAIR.snr_squared_z(order) for order in SLOPE)),
        corrected=slope(*(corrected_law(order) for order in SLOPE)),
        printed=slope(*(printed_law(order) for order in SLOPE)),
    )


def _simulated(rows: Sequence[Row]) -> Row:
    """SNR^2 over replicates, and the standard error of its log10 by a grouped jackknife."""
    if not rows:
        return {"psd_u_simulated": None, "psd_u_simulated_log10_se": None}
    values = np.array([row["statistic"] for row in rows], dtype=float)
    groups = np.arange(values.size) % min(_GROUPS, values.size)
    left_out = np.array(
        [math.log10(_snr_squared(values[groups != group])) for group in np.unique(groups)]
    )
    spread = math.sqrt((left_out.size - 1) * float(left_out.var()))
    return {"psd_u_simulated": _snr_squared(values), "psd_u_simulated_log10_se": spread}


def _snr_squared(values: FloatArray) -> float:
    return float(values.mean() ** 2 / values.var(ddof=1))


def run(options: reproduction.Options) -> None:
    """Show the central claim; `replicates` stands for twenty times as many."""
    given = None if options.replicates is None else 20 * options.replicates
    default = QUICK_REPLICATES if options.quick else REPLICATES
    rows = options.run(cells(given or default), task)
    summary = options.keep("snr.csv", summarise(rows))
    options.draw(snr_figure(summary), "snr.png")
    options.note(STUDY)


def section(out: Path) -> str:
    """Show the central claim."""
    found = slopes()
    low, high = SLOPE
    return reproduction.section(
        "Signal-to-noise ratio against the order",
        reproduction.how(out, "snr"),
        reproduction.figure(
            "snr.png",
            "SNR² against the order: that of PSD falls by powers of ten, as exact values and a "
            "simulation show; that of λ-PSD rises to its bound",
            f"p = N(0, I), q = N({PAIR.delta:g}, {PAIR.variance:g} I), "
            f"d = {PAIR.dimension}. Left: the U-statistic of n = {DRAWS} "
            "draws. Right: per draw.",
        ),
        f"Between Q = {low} and {high} log₁₀ of PSD's exact SNR² per draw falls by "
        f"{-found.exact:.3f} per order, the corrected law by {-found.corrected:.3f}, the "
        f"printed one by {-found.printed:.3f}. λ-PSD's does not fall and stays below its bound.",
    )


def snr_figure(summary: Sequence[Row]) -> Figure:
    """SNR^2 against the order: what PSD loses, and lambda-PSD keeps."""
    figure = new_figure(11.5, 4.6)
    figure.suptitle(
        f"Target N(0, I), sampler N({PAIR.delta:g}, {PAIR.variance:g} I)",
        fontsize=11,
    )
    left, right = figure.subplots(1, 2)
    for axes, field, label in (
        (left, "psd_u_exact", "exact (Theorem 3.5)"),
        (right, "psd_z_exact", "PSD, exact (Remark 3.8)"),
    ):
        orders, values = column(summary, "order"), column(summary, field)
        axes.plot(orders, values, color="black", marker="o", markersize=4, label=label)
    _draw_u_statistic(left, summary)
    _draw_per_draw(right, summary)
    for axes in (left, right):
        axes.set_yscale("log")
        axes.set_xticks(column(summary, "order"))
        axes.set_xlabel("order Q")
        clean(axes)
        axes.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def _draw_u_statistic(axes: Axes, summary: Sequence[Row]) -> None:
    """The simulation beside Theorem 3.5."""
    seen = [row for row in summary if row["psd_u_simulated"] is not None]
    values = column(seen, "psd_u_simulated")
    errors = column(seen, "psd_u_simulated_log10_se")
    below = [value * (1 - 10 ** (-2 * error)) for value, error in zip(values, errors, strict=True)]
    above = [value * (10 ** (2 * error) - 1) for value, error in zip(values, errors, strict=True)]
    axes.errorbar(
        [order + 0.12 for order in column(seen, "order")],
        values,
        yerr=[below, above],
        linestyle="none",
        marker="s",
        markersize=5,
        color=VERMILION,
        capsize=3,
        label="simulated (± 2 standard errors)",
    )
    axes.set_title(
        f"PSD: SNR² of the U-statistic; n = {summary[0]['n']}, d = {PAIR.dimension}", fontsize=11
    )
    axes.set_ylabel("SNR²")


def _draw_per_draw(axes: Axes, summary: Sequence[Row]) -> None:
    """Both laws beside Remark 3.8, Proposition 4.3 and the bound of Theorem 4.4."""
    anchor = next(row for row in summary if row["order"] == SLOPE[0])
    odd = [row for row in summary if number(row, "order") % 2]
    laws = (
        ("printed_law", "((Q+1)!!)²/(2Q+1)!!, as printed", PINK, ":"),
        ("corrected_law", "(Q!!)²/(2Q+1)!!, corrected", GREEN, "--"),
    )
    for law, label, colour, style in laws:
        factor = number(anchor, "psd_z_exact") / number(anchor, law)
        axes.plot(
            column(odd, "order"),
            [factor * value for value in column(odd, law)],
            color=colour,
            linestyle=style,
            linewidth=2,
            label=f"{label} (odd Q, scaled at Q = {SLOPE[0]})",
        )
    axes.plot(
        column(summary, "order"),
        column(summary, "lambda_psd_exact"),
        color=BLUE,
        linestyle="--",
        marker="^",
        label="λ-PSD, exact (Proposition 4.3)",
    )
    bound = number(summary[0], "chi_square_bound")
    axes.axhline(bound, color=BLUE, linestyle=":", label="χ² bound (Theorem 4.4)")
    axes.set_title(f"SNR² of the z-statistics, per draw; d = {PAIR.dimension}", fontsize=11)
