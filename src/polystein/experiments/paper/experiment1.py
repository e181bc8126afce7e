"""Experiment 1 (Section 5.1): N(0, I) as target against four samplers, d = 2, ..., 128."""

from __future__ import annotations

from collections.abc import Sequence

from polystein.data.sample import Sample
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.paper.methods import ALL_METHODS, Method, judge
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
