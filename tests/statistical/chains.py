"""What is asked of tests on Markov chains: cells, each a sampler, a target and a test."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from tests.statistical import samplers
from tests.statistical.samplers import Array

LEVEL = 0.05
# Replicates whose chains run side by side; a cell's draws depend on it.
TOGETHER = 20
LEAST_ESS = 100.0

Sampler = Callable[[np.random.Generator, int], Array]
Score = Callable[[Array], Array]
Test = Callable[[Array, Score, int], ps.GofResult]


def check(draws: Array, score: Score, seed: int) -> ps.GofResult:
    return ps.check(draws, score, rng=seed)


class Cell(NamedTuple):
    """One line of the table. `low` and `high` bound the rejection rate where one was promised."""

    name: str
    sampler: Sampler
    score: Score
    replicates: int = 500
    chains: int = 4
    test: Test = check
    low: float | None = None
    high: float | None = None
    least_ess: float = 0.0

    def __str__(self) -> str:
        return self.name


class Outcome(NamedTuple):
    """What a cell came to, replicate by replicate.

    ``ess`` is what the results say; of `check` on chains, the least of draws and scores.
    """

    rejected: NDArray[np.bool_]
    ess: Array
    heavy_tails: int

    @property
    def replicates(self) -> int:
        return len(self.rejected)

    @property
    def rejections(self) -> int:
        return int(self.rejected.sum())

    @property
    def rate(self) -> float:
        return self.rejections / self.replicates


def outcome(cell: Cell, replicates: int | None = None) -> Outcome:
    """Run the first replicates of a cell, all of them unless told otherwise."""
    count = cell.replicates if replicates is None else replicates
    results = [
        cell.test(draws, cell.score, replicate)
        for replicate, draws in zip(range(count), chains_of(cell), strict=False)
    ]
    ess = np.array([result.ess for result in results])
    known = ess[~np.isnan(ess)]
    return Outcome(
        # As in the committed table, in which `rejected` would change five decisions: those of
        # the wild bootstrap whose p-value is 0.05 itself.
        np.array([result.pvalue < LEVEL for result in results]),
        known if known.size else ess,
        sum(any("heavy tail" in text for text in result.warnings) for result in results),
    )


def chains_of(cell: Cell) -> Iterator[Array]:
    """The draws of one replicate after the other, seeded by the cell's name."""
    for group in range(-(-cell.replicates // TOGETHER)):
        seed = np.random.SeedSequence([int.from_bytes(cell.name.encode()), group])
        draws = cell.sampler(np.random.default_rng(seed), TOGETHER * cell.chains)
        yield from draws.reshape(TOGETHER, cell.chains, *draws.shape[1:])


def normal_score(draws: Array) -> Array:
    return -draws


# Tests other than `check`


def paper(draws: Array, score: Score, seed: int) -> ps.GofResult:
    """lambda-PSD with the paper's settings, which hold for independent rows."""
    return ps.lambda_psd_test(draws, score, order=3, rng=seed)


def bootstrap(draws: Array, score: Score, seed: int) -> ps.GofResult:
    return ps.psd_bootstrap_test(draws, score, order=3, n_bootstrap=199, rng=seed)


def shuffled(draws: Array, score: Score, seed: int) -> ps.GofResult:
    """Chains whose rows were shuffled and called independent."""
    rows = draws.reshape(-1, draws.shape[-1])
    return ps.check(np.random.default_rng(seed).permutation(rows), score, iid=True, rng=seed)


def reweighted(spread: float) -> Test:
    """Draws of N(0, spread^2 I) with the weights that make them draws of N(0, I)."""

    def test(draws: Array, score: Score, seed: int) -> ps.GofResult:
        log_weights = -0.5 * (1.0 - spread**-2) * np.vecdot(draws, draws)
        return ps.check(ps.Sample(draws, score, log_weights=log_weights), rng=seed)

    return test


# The cells

GAUSSIAN, LOGISTIC = samplers.correlated_gaussian(), samplers.logistic_regression()
TARGETS: dict[str, Any] = {"correlated Gaussian": GAUSSIAN, "logistic regression": LOGISTIC}
STEPS = {
    "random-walk Metropolis": (samplers.metropolis_step(1.0), 3, 400),
    "MALA": (samplers.mala_step(1.0), 1, 200),
    "HMC": (samplers.hmc_step(0.4, 4), 1, 100),
}


def ar1(memory: float, rows: int = 1000, dimension: int = 8) -> Sampler:
    return lambda rng, parallel: samplers.autoregressive(rng, parallel, rows, dimension, memory)


def sampled(target: samplers.Target, step: samplers.Step, thin: int, burn: int) -> Sampler:
    return lambda rng, parallel: samplers.run(
        rng, target, step, parallel, 1000, thin=thin, burn=burn
    )


def scaled(sampler: Sampler, spread: float) -> Sampler:
    return lambda rng, parallel: spread * sampler(rng, parallel)


# Chains may be rejected less often than the level: where memory is uncertain, `check` is cautious.
SIZES = [
    *(
        Cell(f"AR(1) {memory}, 4 x 1000, d=8", ar1(memory), normal_score, 500, low=low, high=high)
        for memory, low, high in (
            (0.0, 0.015, 0.07),
            (0.5, 0.015, 0.07),
            (0.9, 0.015, 0.07),
            (0.97, None, 0.09),
        )
    ),
    Cell("AR(1) 0.9, 4 x 1000, d=50", ar1(0.9, 1000, 50), normal_score, 500, high=0.08),
    *(
        Cell(
            f"AR(1) {memory}, 1 x 4000, d=8",
            ar1(memory, 4000),
            normal_score,
            500,
            chains=1,
            low=0.015,
            high=0.07,
        )
        for memory in (0.0, 0.5, 0.9)
    ),
    *(
        Cell(
            f"{sampler}, {target}, 4 x 1000, d=5",
            sampled(TARGETS[target], step, thin, burn),
            TARGETS[target].score,
            high=0.08,
            least_ess=LEAST_ESS,
        )
        for target in TARGETS
        for sampler, (step, thin, burn) in STEPS.items()
    ),
]

FAULTS = [
    Cell(
        "unadjusted Langevin, h=0.8, 4 x 2000, d=6",
        partial(samplers.unadjusted_langevin, rows=2000, dimension=6, size=0.8),
        normal_score,
        low=0.95,
    ),
    Cell(
        "unadjusted Langevin, h=0.4, 4 x 2000, d=6",
        partial(samplers.unadjusted_langevin, rows=2000, dimension=6, size=0.4),
        normal_score,
    ),
    Cell(
        "SGLD, h=0.02, 10 of 100 rows, logistic regression, 4 x 2000, d=5",
        lambda rng, parallel: samplers.stochastic_gradient_langevin(
            rng, LOGISTIC, parallel, 2000, size=0.02, batch=10, burn=200
        ),
        LOGISTIC.score,
        low=0.95,
    ),
    Cell(
        "all chains in one of two modes 3 sd apart, 4 x 2000, d=6",
        ar1(0.5, 2000, 6),
        samplers.two_modes_score(3.0),
        low=0.95,
    ),
    Cell(
        "Laplace approximation of log Gamma(5), 4 x 2000, d=4",
        partial(samplers.laplace_of_log_gamma, rows=2000, dimension=4, shape=5.0),
        samplers.log_gamma_score(5.0),
        low=0.95,
    ),
]

# What goes wrong elsewhere, what nobody can see, and what else there is: reported, not promised.
OTHERS = [
    *(
        Cell(f"the paper's test, AR(1) {memory}, 4 x 1000, d=8", ar1(memory), normal_score,
             test=paper)
        for memory in (0.0, 0.5, 0.9)
    ),
    Cell("rows shuffled, iid=True, AR(1) 0.9, 4 x 1000, d=8", ar1(0.9), normal_score,
         test=shuffled),
    Cell("Exp(1) on the constrained scale, 4 x 1000, d=2",
         lambda rng, parallel: rng.exponential(size=(parallel, 1000, 2)),
         lambda draws: -np.ones_like(draws)),
    Cell("Exp(1) on the log scale, 4 x 1000, d=2",
         lambda rng, parallel: np.log(rng.exponential(size=(parallel, 1000, 2))),
         samplers.log_gamma_score(1.0)),
    Cell("all chains in one of two modes 10 sd apart, 4 x 2000, d=6", ar1(0.5, 2000, 6),
         samplers.two_modes_score(10.0)),
    Cell("importance weights, AR(1) 0.9 of N(0, 1.2^2), 4 x 1000, d=4",
         scaled(ar1(0.9, 1000, 4), 1.2), normal_score, test=reweighted(1.2)),
    *(
        Cell(f"wild bootstrap, AR(1) {memory}, 4 x 1000, d=8", ar1(memory), normal_score,
             test=bootstrap)
        for memory in (0.0, 0.5, 0.9)
    ),
]  # fmt: skip

CELLS = [*SIZES, *FAULTS, *OTHERS]
