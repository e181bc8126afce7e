"""Size and power of the rivals, judged by exact tests with fixed seeds."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binomtest, fisher_exact

import polystein as ps
from polystein.experiments.paper import published
from polystein.experiments.paper.samplers import EXPERIMENT_1, gaussian_score
from tests.statistical.samplers import Array, autoregressive

pytestmark = pytest.mark.slow

LEVEL = 0.05
# What a correct test fails by chance: one seed in a thousand for size, three for power.
SIZE_CHANCE, POWER_CHANCE = 0.001, 0.003
TELLING = (0.1, 0.9)
TESTS: dict[str, Callable[..., ps.GofResult]] = {
    "ksd_imq": ps.ksd_test,
    "ksd_gauss": partial(ps.ksd_test, kernel=ps.GaussianKernel()),
    # Fewer replicates than by default, which a study can afford and these tests cannot.
    "ksdagg": partial(ps.ksdagg_test, n_bootstrap=300, n_correction=150),
    "nystrom": ps.nystrom_ksd_test,
    "fssd_opt": ps.fssd_test,
    "fssd_rand": partial(ps.fssd_test, optimise=False),
    "rfsd": ps.rfsd_test,
    "psd_l2": partial(ps.psd_l2_test, order=2),
    "psd_l2_free": partial(ps.psd_l2_test, order=3, basis="interaction-free"),
}
# Replicates for the methods whose power was published and is to be met.
POWER_REPLICATES = {"ksd_imq": 100, "ksd_gauss": 100, "fssd_opt": 200}


class Cell(NamedTuple):
    """One test of one sampler; the target is N(0, I)."""

    method: str
    sampler: str
    n: int
    dimension: int

    def __str__(self) -> str:
        return f"{self.method}-{self.sampler}-n{self.n}-d{self.dimension}"


NULL = [Cell(method, "gaussian", 300, d) for method in TESTS for d in (2, 16)]
# Every published cell in which a difference could show; of FSSD-opt up to d = 16.
PUBLISHED = {
    Cell(row.method, row.sampler, row.n, row.dimension): row
    for row in published.experiment1()
    if row.method in POWER_REPLICATES
    and TELLING[0] <= row.rejection_rate <= TELLING[1]
    and (row.method != "fssd_opt" or row.dimension <= 16)
}


def count_rejections(cell: Cell, replicates: int) -> int:
    return sum(rejects(cell, replicate) for replicate in range(replicates))


def rejects(cell: Cell, replicate: int) -> bool:
    """All methods see the same draws in the same replicate."""
    name = int.from_bytes(cell.sampler.encode())
    key = np.random.SeedSequence([name, cell.n, cell.dimension, replicate])
    for_draws, for_test = key.spawn(2)
    draws = EXPERIMENT_1[cell.sampler](np.random.default_rng(for_draws), cell.n, cell.dimension)
    return TESTS[cell.method](draws, gaussian_score, rng=for_test).rejected(LEVEL)


@pytest.mark.parametrize("cell", NULL, ids=str)
def test_size_is_not_above_the_level(cell: Cell) -> None:
    rejections = count_rejections(cell, 1000)
    above = binomtest(rejections, 1000, LEVEL, alternative="greater")
    assert above.pvalue > SIZE_CHANCE, rejections / 1000


def test_published_cells_are_as_many_as_could_tell() -> None:
    methods = [cell.method for cell in PUBLISHED]
    assert {name: methods.count(name) for name in POWER_REPLICATES} == {
        "ksd_imq": 4,
        "ksd_gauss": 4,
        "fssd_opt": 11,
    }
    samplers = {cell.sampler for cell in PUBLISHED if cell.method == "fssd_opt"}
    assert samplers == {"perturbed", "student_t", "laplace"}


@pytest.mark.parametrize("cell", PUBLISHED, ids=str)
def test_power_is_the_published_one(cell: Cell) -> None:
    row, replicates = PUBLISHED[cell], POWER_REPLICATES[cell.method]
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


@pytest.mark.parametrize("method", ["rfsd", "psd_l2", "psd_l2_free"])
def test_the_linear_tests_find_a_wrong_variance(method: str) -> None:
    rejections = count_rejections(Cell(method, "perturbed", 1000, 2), 50)
    assert binomtest(rejections, 50, 0.7, alternative="greater").pvalue < 0.05, rejections / 50


def test_the_published_calibration_of_rfsd_is_right_where_its_features_are_tame() -> None:
    """With the wide features of experiment 2 a normal null law holds."""
    tame = partial(
        ps.rfsd_test, calibration="published", medians=100.0, degrees_of_freedom=2.6,
        n_bootstrap=500,
    )  # fmt: skip
    rejections = 0
    for seed in range(1000):
        draws = np.random.default_rng([seed, 17]).standard_normal((300, 4))
        rejections += tame(draws, gaussian_score, rng=seed).pvalue <= LEVEL
    assert binomtest(rejections, 1000, LEVEL).pvalue > SIZE_CHANCE, rejections / 1000


@pytest.mark.parametrize("sampler", ["gaussian", "laplace"])
def test_the_published_calibration_of_rfsd_is_blind_in_high_dimension(sampler: str) -> None:
    """One row decides features and second moments: p-values are near P(chi^2 >= 1) = 0.32."""
    pvalues = []
    for seed in range(60):
        draws = EXPERIMENT_1[sampler](np.random.default_rng([seed, 18]), 1000, 64)
        result = ps.rfsd_test(draws, gaussian_score, calibration="published", rng=seed)
        pvalues.append(result.pvalue)
    near = sum(0.2 < pvalue < 0.5 for pvalue in pvalues)
    assert binomtest(near, 60, 0.7, alternative="greater").pvalue < 0.05, near / 60


# Four stationary chains of 150 draws whose rows are N(0, I), d = 2.


def filtered_chains(replicates: int, memory: float) -> Iterable[Array]:
    for seed in range(replicates):
        rng = np.random.default_rng([seed, 77])
        start = rng.standard_normal((4, 1, 2))
        noise = np.sqrt(1 - memory**2) * rng.standard_normal((4, 149, 2))
        yield lfilter([1.0], [1.0, -memory], np.concatenate([start, noise], axis=1), axis=1)


def parallel_chains(replicates: int, memory: float) -> Iterable[Array]:
    chains = autoregressive(np.random.default_rng(77), 4 * replicates, 150, 2, memory)
    return iter(chains.reshape(replicates, 4, 150, 2))


@pytest.mark.parametrize(
    ("method", "chains"),
    [("ksd_imq", filtered_chains), ("nystrom", filtered_chains), ("psd_l2", parallel_chains)],
)
def test_size_on_chains_is_not_above_the_level(
    method: str, chains: Callable[[int, float], Iterable[Array]]
) -> None:
    """Signs instead of dependent multipliers would reject several times as often."""
    rejections = sum(
        TESTS[method](draws, gaussian_score, rng=seed).rejected(LEVEL)
        for seed, draws in enumerate(chains(300, 0.5))
    )
    above = binomtest(rejections, 300, LEVEL, alternative="greater")
    assert above.pvalue > SIZE_CHANCE, rejections / 300
