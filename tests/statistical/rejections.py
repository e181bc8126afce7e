"""Count how often a test rejects, with seeds that belong to the cell and not to the run."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import polystein as ps
from polystein.experiments.paper.samplers import EXPERIMENT_1, gaussian_score

LEVEL = 0.05
TESTS: dict[str, Callable[..., ps.GofResult]] = {
    "psd": ps.psd_test,
    "lambda_psd": ps.lambda_psd_test,
}


class Cell(NamedTuple):
    """One test of one sampler; the target is N(0, I)."""

    method: str
    order: int
    sampler: str
    n: int
    dimension: int

    def __str__(self) -> str:
        return f"{self.method}-order{self.order}-{self.sampler}-n{self.n}-d{self.dimension}"


def count_rejections(cell: Cell, replicates: int) -> int:
    """Rejections at level 0.05 by the paper's settings, which are the defaults."""
    return sum(rejects(cell, replicate) for replicate in range(replicates))


def rejects(cell: Cell, replicate: int) -> bool:
    """Both methods see the same draws and test rows in the same replicate."""
    name = int.from_bytes(cell.sampler.encode())
    key = np.random.SeedSequence([name, cell.n, cell.dimension, cell.order, replicate])
    for_draws, for_test = key.spawn(2)
    draws = EXPERIMENT_1[cell.sampler](np.random.default_rng(for_draws), cell.n, cell.dimension)
    result = TESTS[cell.method](draws, gaussian_score, order=cell.order, rng=for_test)
    return result.rejected(LEVEL)
