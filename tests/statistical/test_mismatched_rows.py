"""Draws that are merely wrong are not accused of standing beside the scores of other rows."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import polystein as ps
from polystein.data.guard.scores import score_warnings
from tests.data.targets import Generator, equicorrelated
from tests.rows import Array
from tests.statistical.samplers import autoregressive
from tests.statistical.samplers_faults import frozen_chain
from tests.statistical.samplers_memory import slow_radius, sticky

pytestmark = pytest.mark.slow
REPLICATES = 200
#: More accusations than this rate allows are too many.
RATE, LEAST_PVALUE = 0.001, 0.001

Score = Callable[[Array], Array]
PRECISION = np.linalg.inv(equicorrelated(8, 0.9))


def student(x: Array) -> Array:
    return -4.0 * x / (3.0 + x**2)


def log_gamma(x: Array) -> Array:
    return 2.0 - np.exp(x)


def two_modes(x: Array) -> Array:
    return -x + 2.5 * np.tanh(2.5 * x)


def kinked(x: Array) -> Array:
    return -np.sign(x)


def correlated(x: Array) -> Array:
    return -x @ PRECISION


def langevin(rng: Generator, score: Score, size: float, parallel: int, rows: int, d: int) -> Array:
    """Uncorrected Langevin steps so large that the law they leave is another one."""
    chain = np.empty((rows, parallel, d))
    chain[0] = rng.standard_normal((parallel, d))
    for row in range(1, rows):
        noise = np.sqrt(2.0 * size) * rng.standard_normal((parallel, d))
        chain[row] = chain[row - 1] + size * score(chain[row - 1]) + noise
    return chain.swapaxes(0, 1)


def student_chains(rng: Generator, df: float, memory: float) -> Array:
    return stats.t(df).ppf(stats.norm.cdf(autoregressive(rng, 4, 400, 4, memory)))


def stuck_halfway(rng: Generator) -> Array:
    x = autoregressive(rng, 4, 400, 3, 0.5)
    x[1:, 200:] = x[1:, 200:201]
    return frozen_chain(x, 0)


KINDS: dict[str, tuple[Callable[[Generator], Array], Score]] = {
    "mean-field": (lambda rng: 0.3 * rng.standard_normal((2000, 8)), correlated),
    "tempered": (lambda rng: 2.0 * autoregressive(rng, 4, 400, 4, 0.5), two_modes),
    "shifted": (lambda rng: 1.5 + autoregressive(rng, 4, 400, 4, 0.8), log_gamma),
    "far off": (lambda rng: 0.2 * autoregressive(rng, 4, 400, 4, 0.9) - 4.0, log_gamma),
    "uncorrelated": (lambda rng: autoregressive(rng, 4, 400, 8, 0.7), correlated),
    "heavy tails": (lambda rng: student_chains(rng, 1.5, 0.5), lambda x: -(x**3)),
    "Cauchy": (lambda rng: student_chains(rng, 1.0, 0.9), student),
    "stuck": (stuck_halfway, student),
    "sticky": (lambda rng: sticky(rng, 4, 300, 3, rate=0.5, stay=20), two_modes),
    "slow radius": (lambda rng: slow_radius(rng, 4, 400, 4, memory=0.9), kinked),
    "d near n": (lambda rng: autoregressive(rng, 4, 30, 100, 0.5), student),
    "AR(.99)": (lambda rng: autoregressive(rng, 4, 1000, 4, 0.99), two_modes),
    "AR(.99), short": (lambda rng: autoregressive(rng, 2, 100, 2, 0.99), student),
    "alternating": (lambda rng: autoregressive(rng, 4, 300, 3, -0.9), log_gamma),
    "random walk": (lambda rng: 0.1 * rng.standard_normal((4, 400, 3)).cumsum(axis=1), student),
    "Langevin": (lambda rng: langevin(rng, two_modes, 0.3, 4, 400, 3), two_modes),
    "Langevin, long steps": (lambda rng: langevin(rng, kinked, 2.0, 4, 400, 3), kinked),
    "separate modes": (
        lambda rng: 4.0 * rng.choice([-1, 1], (4, 1, 3)) + autoregressive(rng, 4, 400, 3, 0.9),
        two_modes,
    ),
    "constant scores": (lambda rng: rng.standard_normal((4, 400, 2)), lambda x: 0.0 * x + 1.0),
    "few rows": (lambda rng: rng.standard_normal((60, 2)), lambda x: expit(-x) - 0.5 * x**2),
    "even scores": (lambda rng: rng.standard_normal((4, 300, 3)), lambda x: x**2 - 1.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_mismatch_is_named(kind: str) -> None:
    draw, score = KINDS[kind]
    accused = 0
    for replicate in range(REPLICATES):
        x = draw(np.random.default_rng([23, replicate]))
        words = " ".join(map(str, score_warnings(ps.Sample(x, score(x)))))
        accused += "one row" in words or "chains were in another order" in words
    assert stats.binomtest(accused, REPLICATES, RATE, "greater").pvalue > LEAST_PVALUE
