"""The paper's central claim as numbers: SNR^2 of PSD falls with Q, that of lambda-PSD does not.

In the setting of Remark 3.6, p = N(0, I_d) and q = N(delta 1, sigma^2 I_d), everything is
known exactly (`polystein.theory`); the U-statistic is simulated beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.paper.samplers import gaussian_score
from polystein.methods.discrepancy import psd
from polystein.theory import GaussianPair, corrected_law, printed_law
from polystein.types import FloatArray

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
