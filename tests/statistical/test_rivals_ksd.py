"""Size and power of the kernel Stein tests, judged by exact tests with fixed seeds."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binomtest, fisher_exact

import polystein as ps
from polystein.experiments import published
from polystein.experiments.samplers import EXPERIMENT_1, gaussian_score

pytestmark = pytest.mark.slow

LEVEL = 0.05
# What a correct test fails by chance: one seed in a thousand for size, three for power.
SIZE_CHANCE, POWER_CHANCE = 0.001, 0.003
TELLING = (0.1, 0.9)
TESTS: dict[str, Callable[..., ps.GofResult]] = {
    "ksd_imq": ps.ksd_test,
    "ksd_gauss": lambda *rows, rng: ps.ksd_test(*rows, kernel=ps.GaussianKernel(), rng=rng),
    # Fewer replicates than by default, which a study can afford and these tests cannot.
    "ksdagg": partial(ps.ksdagg_test, n_bootstrap=300, n_correction=150),
    "nystrom": ps.nystrom_ksd_test,
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
PUBLISHED = {
    Cell(row.method, row.sampler, row.n, row.dimension): row
    for row in published.experiment1()
    if row.method in TESTS and TELLING[0] <= row.rejection_rate <= TELLING[1]
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


def test_published_cells_are_four_of_each_kernel() -> None:
    methods = [cell.method for cell in PUBLISHED]
    assert (methods.count("ksd_imq"), methods.count("ksd_gauss")) == (4, 4)


@pytest.mark.parametrize("cell", PUBLISHED, ids=str)
def test_power_is_the_published_one(cell: Cell) -> None:
    row, replicates = PUBLISHED[cell], 100
    rejections = count_rejections(cell, replicates)
    table = [
        [rejections, replicates - rejections],
        [row.rejections, row.replicates - row.rejections],
    ]
    message = f"{rejections / replicates} here, {row.rejection_rate} published"
    assert fisher_exact(table).pvalue > POWER_CHANCE, message


@pytest.mark.parametrize("method", ["ksdagg", "nystrom"])
def test_the_newer_tests_find_a_wrong_variance(method: str) -> None:
    """Surely more often than not, though there are no published counts to compare with."""
    rejections = count_rejections(Cell(method, "perturbed", 500, 4), 40)
    assert binomtest(rejections, 40, 0.5, alternative="greater").pvalue < SIZE_CHANCE, rejections


def autoregressive_chains(seed: int, rho: float) -> Any:
    """Four stationary chains of 150 draws whose rows are N(0, I), d = 2."""
    rng = np.random.default_rng([seed, 77])
    start = rng.standard_normal((4, 1, 2))
    noise = np.sqrt(1 - rho**2) * rng.standard_normal((4, 149, 2))
    return lfilter([1.0], [1.0, -rho], np.concatenate([start, noise], axis=1), axis=1)


def chain_rejections(method: str, rho: float, replicates: int) -> int:
    test = TESTS[method]
    chains = (autoregressive_chains(seed, rho) for seed in range(replicates))
    return sum(
        test(draws, gaussian_score, rng=seed).pvalue <= LEVEL for seed, draws in enumerate(chains)
    )


@pytest.mark.parametrize("method", ["ksd_imq", "nystrom"])
def test_size_on_chains_is_not_above_the_level(method: str) -> None:
    """Signs instead of dependent multipliers would reject three of ten of these chains."""
    rejections = chain_rejections(method, 0.5, 300)
    above = binomtest(rejections, 300, LEVEL, alternative="greater")
    assert above.pvalue > SIZE_CHANCE, rejections / 300
