"""The paper's published figures, as data.

The tables beside this file hold what the paper's figures and its Table 1 show.
The rates of Experiment 1 rest on 100 replicates (the paper's text says 200) at
level 0.05, and what its lower panels call MSNR is the mean of log10(z^2). The
perturbation of Experiment 2 is the standard deviation of the noise on B, though
the heading of Table 1 calls it a variance.

Methods are named ``psd``, ``lambda_psd``, ``ksd_imq``, ``ksd_gauss``, ``fssd_opt``
and ``rfsd``; only the first two have an order.
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

__all__ = [
    "BoltzmannRate",
    "RejectionRate",
    "Runtime",
    "experiment1",
    "experiment2",
    "runtimes",
]


class RejectionRate(NamedTuple):
    """One cell of Experiment 1: how often a test rejects a sampler.

    ``order`` is None for a method without one, ``mean_log10_z2`` for a method
    without a z-statistic.
    """

    sampler: str
    n: int
    dimension: int
    method: str
    order: int | None
    rejection_rate: float
    standard_error: float
    mean_log10_z2: float | None
    replicates: int

    @property
    def rejections(self) -> int:
        """The count behind the rate."""
        return round(self.rejection_rate * self.replicates)


class BoltzmannRate(NamedTuple):
    """One cell of Experiment 2 (Table 1): rejections at one perturbation of the RBM."""

    perturbation: float
    method: str
    order: int | None
    rejection_rate: float


class Runtime(NamedTuple):
    """One point of the runtime curves of lambda-PSD; `sweep` is "vary_n" or "vary_d"."""

    sweep: str
    n: int
    dimension: int
    order: int
    median_seconds: float


def experiment1() -> tuple[RejectionRate, ...]:
    """Rejection rates of N(0, I) as target against four samplers (Section 5.1).

    Examples
    --------
    >>> from polystein.experiments.paper import published
    >>> cell = published.experiment1()[3]
    >>> cell.sampler, cell.n, cell.dimension, cell.method, cell.order, cell.rejections
    ('student_t', 2000, 2, 'lambda_psd', 1, 99)
    """
    return tuple(
        RejectionRate(
            sampler=row["sampler"],
            n=int(row["n"]),
            dimension=int(row["d"]),
            method=row["method"],
            order=_order(row),
            rejection_rate=float(row["rejection_rate"]),
            standard_error=float(row["rejection_se"]),
            mean_log10_z2=float(row["mean_log10_z2"]) if row["mean_log10_z2"] else None,
            replicates=int(row["replicates"]),
        )
        for row in _rows("experiment1.csv")
    )


def experiment2() -> tuple[BoltzmannRate, ...]:
    """Rejection rates for the restricted Boltzmann machine (Table 1).

    Examples
    --------
    >>> from polystein.experiments.paper import published
    >>> published.experiment2()[1]
    BoltzmannRate(perturbation=0.02, method='rfsd', order=None, rejection_rate=0.28)
    """
    return tuple(
        BoltzmannRate(
            perturbation=float(row["perturbation"]),
            method=row["method"],
            order=_order(row),
            rejection_rate=float(row["rejection_rate"]),
        )
        for row in _rows("experiment2_rbm.csv")
    )


def runtimes() -> tuple[Runtime, ...]:
    """Median seconds of one lambda-PSD test on one core of the authors' machine (Section 5.3).

    Examples
    --------
    >>> from polystein.experiments.paper import published
    >>> max(point.median_seconds for point in published.runtimes())
    0.3834
    """
    return tuple(
        Runtime(
            sweep=row["sweep"],
            n=int(row["n"]),
            dimension=int(row["d"]),
            order=int(row["order"]),
            median_seconds=float(row["median_seconds"]),
        )
        for row in _rows("runtime.csv")
    )


def _order(row: dict[str, str]) -> int | None:
    return int(row["order"]) if row["order"] else None


def _rows(name: str) -> list[dict[str, str]]:
    table = resources.files(__name__).joinpath(name)
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
