"""Appendix: Experiment 1 at d = 16 with orders up to 8."""

from __future__ import annotations

from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.paper.experiment1 import draws_of
from polystein.experiments.paper.experiment1 import task as test_sampler
from polystein.experiments.paper.methods import z_tests
from polystein.experiments.paper.samplers import EXPERIMENT_1

STUDY = "appendix"
DIMENSION = 16
ORDERS = range(9)
REPLICATES, QUICK_REPLICATES = 200, 40


def cells(replicates: int) -> list[Cell]:
    """One cell for each sampler."""
    return [
        Cell.of(
            STUDY,
            replicates=replicates,
            cost=0.06 * draws_of(sampler),
            sampler=sampler,
            n=draws_of(sampler),
            d=DIMENSION,
        )
        for sampler in EXPERIMENT_1
    ]


def task(replicate: Replicate) -> list[Row]:
    """PSD and lambda-PSD of every order on the same draws."""
    return test_sampler(replicate, z_tests(ORDERS))
