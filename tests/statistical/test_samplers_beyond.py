"""The samplers of ``studies/chains_beyond`` are right: every row is an exact draw of the target.

Many chains run side by side, so that what one row holds is an independent sample of its law. The
moments of the first, the middle and the last row are compared with the truth.
"""

import importlib
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm, t

from tests.statistical import (
    samplers,
    samplers_faults,
    samplers_kernels,
    samplers_memory,
    samplers_sticky,
)
from tests.statistical.samplers import Array, Gaussian

pytestmark = pytest.mark.slow

CHAINS, ROWS = 20_000, 41
# Over all comparisons of a test together; the seeds are fixed.
LEVEL = 1e-3

MEMORIES: dict[str, Callable[..., Array]] = {
    "two-scale": partial(samplers_memory.two_scale, share=0.1),
    "own memories": partial(samplers_memory.own_memories, largest=0.99),
    "slow radius": partial(samplers_memory.slow_radius, memory=0.95),
    "sticky": partial(samplers_memory.sticky, rate=0.05, stay=50),
    "rotating": partial(samplers_memory.rotating, memory=0.97, angle=0.3),
    "generalised HMC": partial(samplers_memory.generalised_hmc, angle=0.3, persistence=0.95),
    "Langevin": partial(samplers_memory.underdamped_langevin, size=0.1, friction=1.0),
    "AR": partial(samplers.autoregressive, memory=-0.9),
    "pseudo-marginal": partial(samplers_sticky.pseudo_marginal, noise=2.2, size=1.0),
    "independence": partial(samplers_sticky.independence_sampler, spread=0.7),
}
STUDENT: dict[str, tuple[float, Callable[..., Array]]] = {
    "hidden scale": (4.0, partial(samplers_sticky.hidden_scale, freedom=4, memory=0.998)),
    "walk": (3.0, partial(samplers_sticky.student_t_walk, freedom=3.0, size=1.0)),
}
CORRELATED = samplers.correlated_gaussian(4)
EQUICORRELATED = samplers_kernels.equicorrelated_gaussian(4, 0.8)
KERNELS: dict[str, tuple[Gaussian, samplers.Step]] = {
    "MALA": (CORRELATED, samplers.mala_step(1.0)),
    "HMC": (CORRELATED, samplers.hmc_step(0.5, 3)),
    "Metropolis": (CORRELATED, samplers.metropolis_step(2.3)),
    "Gibbs": (EQUICORRELATED, samplers_kernels.systematic_gibbs_step()),
}


def assert_standard_normal(rows: Array) -> None:
    """Moments up to the fourth, products of pairs, the radius, and the marginal laws.

    `rows` are independent. Every mean is compared with its expectation by its exact standard
    error, and the smallest of all p-values (Bonferroni) must not be below the level.
    """
    d = rows.shape[1]
    first, second = np.triu_indices(d, 1)
    pairs = rows[:, first] * rows[:, second]
    # Hermite polynomials have mean 0 and the variances 1, 2, 6 and 24 under N(0, 1).
    families = [
        rows,
        (rows**2 - 1.0) / 2.0**0.5,
        (rows**3 - 3.0 * rows) / 6.0**0.5,
        (rows**4 - 6.0 * rows**2 + 3.0) / 24.0**0.5,
        pairs,
        (pairs**2 - 1.0) / 8.0**0.5,
    ]
    z = np.concatenate([len(rows) ** 0.5 * one.mean(axis=0) for one in families])
    pvalues = [*(2.0 * norm.sf(np.abs(z))), kstest((rows**2).sum(axis=1), chi2(d).cdf).pvalue]
    pvalues += [kstest(column, norm.cdf).pvalue for column in rows.T]
    assert min(pvalues) * len(pvalues) > LEVEL


@pytest.mark.parametrize("name", MEMORIES)
def test_chains_of_the_standard_normal_are_so_at_any_time(name: str) -> None:
    chains = MEMORIES[name](np.random.default_rng(1), CHAINS, ROWS, 4)
    assert chains.shape == (CHAINS, ROWS, 4)
    for row in (0, ROWS // 2, ROWS - 1):
        assert_standard_normal(chains[:, row])


@pytest.mark.parametrize("name", STUDENT)
def test_chains_of_students_t_are_so_at_any_time(name: str) -> None:
    """The normal quantiles of t variables are standard normal."""
    freedom, sampler = STUDENT[name]
    chains = sampler(np.random.default_rng(12), CHAINS, ROWS, 4)
    for row in (0, ROWS // 2, ROWS - 1):
        assert_standard_normal(norm.ppf(t.cdf(chains[:, row], freedom)))


def test_a_hidden_scale_is_slow_and_its_draws_are_not() -> None:
    chains = samplers_sticky.hidden_scale(
        np.random.default_rng(13), 2000, ROWS, 2, freedom=4, memory=0.998
    )
    sizes = np.log(np.abs(chains))
    first, last = chains[:, 0, 0], chains[:, -1, 0]
    assert abs(np.corrcoef(first, last)[0, 1]) < 4.0 / 2000**0.5
    assert np.corrcoef(sizes[:, : ROWS // 2, 0].mean(axis=1), sizes[:, -1, 0])[0, 1] > 0.2


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_leave_their_target_as_it_is(name: str) -> None:
    target, step = KERNELS[name]
    chains = samplers.run(np.random.default_rng(2), target, step, CHAINS, ROWS, thin=1, burn=0)
    for row in (0, ROWS // 2, ROWS - 1):
        assert_standard_normal(np.linalg.solve(target.scale, chains[:, row].T).T)


def test_the_ensemble_leaves_its_target_as_it_is() -> None:
    """Walkers of one ensemble depend on each other: the first and the last one are looked at."""
    rng = np.random.default_rng(3)
    chains = samplers_kernels.stretch_move(rng, CORRELATED, CHAINS // 4, 16, ROWS)
    ensembles = chains.reshape(CHAINS // 4, 16, ROWS, 4)
    for walker in (0, 15):
        rows = ensembles[:, walker, ROWS - 1]
        assert_standard_normal(np.linalg.solve(CORRELATED.scale, rows.T).T)


def test_a_sampler_that_is_slightly_wrong_would_be_noticed() -> None:
    """Langevin without its correction, at a step that widens the spread by 2.6 %."""
    chains = samplers.unadjusted_langevin(np.random.default_rng(4), CHAINS, 2, 4, 0.2)
    with pytest.raises(AssertionError):
        assert_standard_normal(chains[:, 1])


def test_a_stretch_without_its_factor_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stretch move without its factor z^(d-1) does not leave the target as it is."""
    real = np.log
    monkeypatch.setattr(samplers_kernels.np, "log", lambda x: 0.0 * x if x.min() > 0.4 else real(x))
    rng = np.random.default_rng(5)
    chains = samplers_kernels.stretch_move(rng, CORRELATED, CHAINS // 4, 16, ROWS)
    rows = chains.reshape(CHAINS // 4, 16, ROWS, 4)[:, 0, ROWS - 1]
    with pytest.raises(AssertionError):
        assert_standard_normal(np.linalg.solve(CORRELATED.scale, rows.T).T)


# Their memory is the one that their names promise


def autocorrelations(chains: Array, lags: range) -> Array:
    """By lag and coordinate, of chains whose mean is 0 and whose variance is 1."""
    rows = chains.shape[1]
    return np.stack([(chains[:, : rows - k] * chains[:, k:]).mean(axis=(0, 1)) for k in lags])


EXPECTED: dict[str, Callable[[Array], Array]] = {
    "two-scale": lambda k: np.where(k == 0, 1.0, 0.1 * 0.98**k),
    "slow radius": lambda k: np.where(k == 0, 1.0, 0.0),
    "rotating": lambda k: 0.97**k * np.cos(0.3 * k),
    "AR": lambda k: (-0.9) ** k,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_autocorrelations_are_as_they_should_be(name: str) -> None:
    """Products of two rows have a variance of at most 2; five standard errors, 64 comparisons."""
    chains = MEMORIES[name](np.random.default_rng(6), CHAINS, ROWS, 4)
    lags = range(16)
    expected = EXPECTED[name](np.array(lags))[:, None]
    assert np.abs(autocorrelations(chains, lags) - expected).max() < 5.0 * (2.0 / CHAINS) ** 0.5


def test_the_flow_of_generalised_hmc_is_exact() -> None:
    """Without refreshment of the momentum x_t = x_0 cos(t a) + p_0 sin(t a)."""
    rng = np.random.default_rng(7)
    chains = samplers_memory.generalised_hmc(rng, 10, 50, 3, angle=0.3, persistence=1.0)
    time = np.arange(50)
    momentum = (chains[:, 1] - np.cos(0.3) * chains[:, 0]) / np.sin(0.3)
    expected = np.cos(0.3 * time)[:, None] * chains[:, :1]
    expected = expected + np.sin(0.3 * time)[:, None] * momentum[:, None]
    np.testing.assert_allclose(chains, expected, atol=1e-6)


def test_underdamped_langevin_forgets_as_its_equation_says() -> None:
    """At friction 1 the autocorrelation is exp(-t/2) (cos wt + sin wt/(2w)), w = sqrt(3)/2."""
    chains = MEMORIES["Langevin"](np.random.default_rng(8), CHAINS, ROWS, 4)
    t, w = 0.1 * np.arange(16.0), 0.75**0.5
    expected = np.exp(-0.5 * t) * (np.cos(w * t) + np.sin(w * t) / (2.0 * w))
    found = autocorrelations(chains, range(16))
    assert np.abs(found - expected[:, None]).max() < 5.0 * (2.0 / CHAINS) ** 0.5


def test_sticky_chains_stay_for_so_many_rows() -> None:
    moves = samplers_memory.moves_of_sticky(np.random.default_rng(9), 2000, 500, 0.005, 50)
    stays = np.diff(np.flatnonzero(moves.ravel())) - 1
    inside = stays[(stays > 0) & (stays != 50)]
    # Episodes that are cut by the end of a chain, about one in eight of 2,000 chains, are shorter.
    assert len(inside) < 1000
    assert (stays == 50).sum() > 3000
    share = 1.0 - moves.mean(axis=1)
    assert abs(share.mean() - 0.2) < 5.0 * share.std() / 2000**0.5


def test_one_proposal_in_twenty_is_accepted() -> None:
    large_step = importlib.import_module("studies.chains_beyond.correct").LARGE_STEP
    target = samplers.correlated_gaussian()
    step = samplers.metropolis_step(large_step)
    chains = samplers.run(np.random.default_rng(10), target, step, 2000, 100, thin=1, burn=0)
    moved = np.any(chains[:, 1:] != chains[:, :-1], axis=2)
    assert 0.045 < moved.mean() < 0.055


# The faults are where they should be


def test_faults_are_planted_where_they_should_be() -> None:
    chains = np.random.default_rng(11).standard_normal((2, 4, 10, 3))
    before, one = chains.copy(), slice(1)
    late = samplers_faults.late_start(chains, 3, 8.0, one) - chains
    np.testing.assert_allclose(late[..., :3, 0], 8.0)
    assert not late[..., 3:, :].any()
    assert not late[..., 1:].any()
    far = samplers_faults.far_start(chains, 0.5, 20.0, slice(None)) - chains
    np.testing.assert_allclose(far[..., 0, :], 20.0)
    np.testing.assert_allclose(far[..., 2, :], 5.0)
    shifted = samplers_faults.shifted_chain(chains, 2, 3.0, slice(None)) - chains
    np.testing.assert_allclose(shifted[:, 2], 3.0)
    assert not shifted[:, [0, 1, 3]].any()
    frozen = samplers_faults.frozen_chain(chains, 2)
    assert not np.ptp(frozen[:, 2], axis=1).any()
    np.testing.assert_array_equal(frozen[:, [0, 1, 3]], chains[:, [0, 1, 3]])
    np.testing.assert_array_equal(chains, before)
