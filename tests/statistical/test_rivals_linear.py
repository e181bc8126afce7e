"""Size and power of the linear-time rivals, judged by exact tests with fixed seeds."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact

import polystein as ps
from polystein.experiments import published
from polystein.experiments.samplers import EXPERIMENT_1, gaussian_score
from tests.statistical.samplers import autoregressive

pytestmark = pytest.mark.slow

LEVEL = 0.05
# What a correct test fails by chance: one seed in a thousand for size, three for power.
SIZE_CHANCE, POWER_CHANCE = 0.001, 0.003
TELLING = (0.1, 0.9)
TESTS: dict[str, Callable[..., ps.GofResult]] = {
    "fssd_opt": ps.fssd_test,
    "fssd_rand": partial(ps.fssd_test, optimise=False),
    "rfsd": ps.rfsd_test,
    "psd_l2": partial(ps.psd_l2_test, order=2),
    "psd_l2_free": partial(ps.psd_l2_test, order=3, basis="interaction-free"),
}


class Cell(NamedTuple):
    """One test of one sampler; the target is N(0, I)."""

    method: str
    sampler: str
    n: int
    dimension: int

    def __str__(self) -> str:
        return f"{self.method}-{self.sampler}-n{self.n}-d{self.dimension}"


NULL = [Cell(method, "gaussian", 300, d) for method in TESTS for d in (2, 16)]
# Every published cell of FSSD-opt in which a difference could show, up to d = 16.
PUBLISHED = {
    Cell(row.method, row.sampler, row.n, row.dimension): row
    for row in published.experiment1()
    if row.method == "fssd_opt"
    and TELLING[0] <= row.rejection_rate <= TELLING[1]
    and row.dimension <= 16
}


def count_rejections(cell: Cell, replicates: int) -> int:
    return sum(rejects(cell, replicate) for replicate in range(replicates))


def rejects(cell: Cell, replicate: int) -> bool:
    """All methods see the same draws in the same replicate."""
    name = int.from_bytes(cell.sampler.encode())
    key = np.random.SeedSequence([name, cell.n, cell.dimension, replicate])
    for_draws, for_test = key.spawn(2)
    draws = EXPERIMENT_1[cell.sampler](np.random.default_rng(for_draws), cell.n, cell.dimension)
    return TESTS[cell.method](draws, gaussian_score, rng=for_test).pvalue <= LEVEL


@pytest.mark.parametrize("cell", NULL, ids=str)
def test_size_is_not_above_the_level(cell: Cell) -> None:
    rejections = count_rejections(cell, 1000)
    above = binomtest(rejections, 1000, LEVEL, alternative="greater")
    assert above.pvalue > SIZE_CHANCE, rejections / 1000


def test_published_cells_cover_three_samplers() -> None:
    assert len(PUBLISHED) == 11
    assert {cell.sampler for cell in PUBLISHED} == {"perturbed", "student_t", "laplace"}


@pytest.mark.parametrize("cell", PUBLISHED, ids=str)
def test_power_is_the_published_one(cell: Cell) -> None:
    row, replicates = PUBLISHED[cell], 200
    rejections = count_rejections(cell, replicates)
    table = [
        [rejections, replicates - rejections],
        [row.rejections, row.replicates - row.rejections],
    ]
    message = f"{rejections / replicates} here, {row.rejection_rate} published"
    assert fisher_exact(table).pvalue > POWER_CHANCE, message


@pytest.mark.parametrize("method", ["rfsd", "psd_l2", "psd_l2_free"])
def test_a_wrong_variance_is_found(method: str) -> None:
    rejections = count_rejections(Cell(method, "perturbed", 1000, 2), 50)
    assert binomtest(rejections, 50, 0.7, alternative="greater").pvalue < 0.05, rejections / 50


def chain_rejections(memory: float, replicates: int) -> int:
    """Four stationary chains of 150 draws whose rows are N(0, I), d = 2."""
    chains = autoregressive(np.random.default_rng(77), 4 * replicates, 150, 2, memory)
    groups = chains.reshape(replicates, 4, 150, 2)
    return sum(
        ps.psd_l2_test(draws, -draws, order=2, rng=seed).pvalue <= LEVEL
        for seed, draws in enumerate(groups)
    )


def test_size_on_chains_is_not_above_the_level() -> None:
    """Signs instead of dependent multipliers would reject several times as often."""
    rejections = chain_rejections(0.5, 300)
    above = binomtest(rejections, 300, LEVEL, alternative="greater")
    assert above.pvalue > SIZE_CHANCE, rejections / 300
