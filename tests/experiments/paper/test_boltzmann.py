"""The restricted Boltzmann machine: its density, its score, its Gibbs sampler."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from polystein.experiments.paper.samplers import BoltzmannMachine


@pytest.fixture
def machine() -> BoltzmannMachine:
    return BoltzmannMachine.random(np.random.default_rng(1), d=5, m=4)


def joint_log_density(machine: BoltzmannMachine, x: np.ndarray, h: np.ndarray) -> float:
    """The definition, written out."""
    return float(
        0.5 * x @ machine.coupling @ h + machine.visible @ x + machine.hidden @ h - 0.5 * x @ x
    )


def test_density_is_the_joint_one_summed_over_hidden_states(machine: BoltzmannMachine) -> None:
    draws = np.random.default_rng(2).normal(size=(3, 5))
    states = [np.array(signs) for signs in itertools.product([-1.0, 1.0], repeat=4)]
    expected = [
        np.log(sum(np.exp(joint_log_density(machine, x, h)) for h in states)) for x in draws
    ]
    assert machine.log_density(draws) == pytest.approx(expected, rel=1e-12)


def test_score_is_the_gradient_of_the_log_density(machine: BoltzmannMachine) -> None:
    draws = np.random.default_rng(3).normal(scale=2.0, size=(20, 5))
    step = 1e-5
    gradient = np.column_stack(
        [
            (machine.log_density(draws + step * e) - machine.log_density(draws - step * e))
            / (2.0 * step)
            for e in np.eye(5)
        ]
    )
    assert machine.score(draws) == pytest.approx(gradient, rel=1e-7, abs=1e-7)


def test_score_and_density_survive_large_draws(machine: BoltzmannMachine) -> None:
    far = np.full((1, 5), 1e6)
    with np.errstate(over="raise", invalid="raise"):
        score, density = machine.score(far), machine.log_density(far)
    signs = np.sign(machine.field(far))
    assert score == pytest.approx(machine.visible - far + signs @ (0.5 * machine.coupling.T))
    assert np.isfinite(density).all()


def test_machines_are_as_the_experiment_says() -> None:
    rng = np.random.default_rng(4)
    machine = BoltzmannMachine.random(rng)
    assert machine.coupling.shape == (50, 40)
    assert set(np.unique(machine.coupling)) == {-1.0, 1.0}
    noise = machine.perturbed(0.02, rng).coupling - machine.coupling
    # 2000 entries: the sum of squares over the variance is chi-square.
    assert chi2.cdf(float(np.sum(noise**2)) / 0.02**2, noise.size) == pytest.approx(0.5, abs=0.499)
    same = machine.perturbed(0.0, rng)
    assert np.array_equal(same.coupling, machine.coupling)


def test_one_sweep_draws_from_the_conditionals() -> None:
    """From the chain's own start, h | x and x | h: their exact moments against 200,000 chains."""
    machine = BoltzmannMachine.random(np.random.default_rng(5), d=2, m=1)
    chains = 200_000
    start = np.random.default_rng(6).standard_normal((chains, 2))
    draws = machine.gibbs(np.random.default_rng(6), chains, 1)
    states = [-1.0, 1.0]
    weights = np.array(
        [[np.exp(joint_log_density(machine, x, np.array([h]))) for h in states] for x in start[:50]]
    )
    # The conditional of h by its definition, on a few starts, against tanh.
    probability = weights[:, 1] / weights.sum(axis=1)
    assert 0.5 * (1.0 + np.tanh(machine.field(start[:50])[:, 0])) == pytest.approx(probability)
    expected_sign = np.tanh(machine.field(start)[:, 0])
    expected = machine.visible + 0.5 * np.outer(expected_sign, machine.coupling[:, 0])
    z = np.sqrt(chains) * (draws - expected).mean(axis=0) / (draws - expected).std(axis=0)
    assert np.abs(z).max() < 3.5
    # Also in step with the start: a sampler that forgot x would have the right mean only.
    residual = (draws - expected) * expected_sign[:, None]
    z = np.sqrt(chains) * residual.mean(axis=0) / residual.std(axis=0)
    assert np.abs(z).max() < 3.5


@pytest.mark.slow
def test_the_sampler_reaches_the_target() -> None:
    """Exact mean and covariance of x, by summing over all 16 states of h."""
    machine = BoltzmannMachine.random(np.random.default_rng(7), d=3, m=4)
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    means = machine.visible + 0.5 * states @ machine.coupling.T
    # x | h is N(means, I), so that h has weight exp(c'h + |means|^2/2).
    weights = np.exp(states @ machine.hidden + 0.5 * np.sum(means**2, axis=1))
    weights /= weights.sum()
    mean = weights @ means
    second = np.eye(3) + (means * weights[:, None]).T @ means
    chains = 40_000
    draws = machine.gibbs(np.random.default_rng(8), chains, 100)
    z = np.sqrt(chains) * (draws.mean(axis=0) - mean) / draws.std(axis=0)
    products = np.einsum("ni,nj->nij", draws, draws).reshape(chains, 9)
    z2 = np.sqrt(chains) * (products.mean(axis=0) - second.ravel()) / products.std(axis=0)
    assert np.abs(np.concatenate([z, z2])).max() < 4.0


def test_chains_are_reproducible_and_apart(machine: BoltzmannMachine) -> None:
    one, two = (machine.gibbs(np.random.default_rng(9), 50, 10) for _ in range(2))
    assert np.array_equal(one, two)
    assert np.unique(one, axis=0).shape == (50, 5)
