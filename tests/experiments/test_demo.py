"""The demonstration: its posterior, its samplers, and its verdicts."""

import math

import numpy as np
import pytest

from polystein.errors import InputError
from polystein.experiments import demo


def test_score_of_the_demonstration_is_the_gradient() -> None:
    points = np.random.default_rng(0).normal(size=(10, 3))
    step = 1e-5
    numeric = np.stack(
        [
            (demo.log_posterior(points + step * unit) - demo.log_posterior(points - step * unit))
            / (2 * step)
            for unit in np.eye(3)
        ],
        axis=1,
    )
    np.testing.assert_allclose(demo.score(points), numeric, rtol=1e-7, atol=1e-7)


@pytest.fixture(scope="module")
def posterior() -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance by summing over a fine grid."""
    axis = np.linspace(-7.0, 7.0, 81)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.exp(demo.log_posterior(grid))
    weights /= weights.sum()
    mean = weights @ grid
    return mean, (grid - mean).T @ (weights[:, None] * (grid - mean))


@pytest.mark.slow
def test_the_exact_sampler_has_the_moments_of_the_posterior(
    posterior: tuple[np.ndarray, np.ndarray],
) -> None:
    mean, covariance = posterior
    n = 20_000
    draws = demo.exact(np.random.default_rng(2), n)
    assert draws.shape == (n, 3)
    errors = np.sqrt(np.diagonal(covariance) / n)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 4.0 * errors)
    centred = draws - mean
    products = centred[:, :, None] * centred[:, None, :]
    deviation = np.abs(products.mean(axis=0) - covariance)
    assert np.all(deviation < 4.0 * products.std(axis=0) / math.sqrt(n))


@pytest.mark.slow
def test_the_samplers_are_as_described(posterior: tuple[np.ndarray, np.ndarray]) -> None:
    mean, covariance = posterior
    spread = np.sqrt(np.diagonal(covariance))
    n = 80_000
    # Langevin steps of this size are worth a fifth of their draws or more.
    error = 4.0 / math.sqrt(n / 5)
    right = demo.mala(np.random.default_rng(3), n).reshape(-1, 3)
    assert np.all(np.abs(right.mean(axis=0) - mean) / spread < error)
    assert np.all(np.abs(right.std(axis=0) / spread - 1.0) < error)
    wide = demo.langevin(np.random.default_rng(4), n).reshape(-1, 3)
    assert np.all(np.abs(wide.std(axis=0) / spread - math.sqrt(1.25)) < error + 0.02)
    fit = demo.mean_field(np.random.default_rng(5), n)
    assert np.all(np.abs(np.corrcoef(fit.T) - np.eye(3)) < 4.0 / math.sqrt(n))
    assert np.all(fit.std(axis=0) < spread)
    assert covariance[0, 2] / (spread[0] * spread[2]) < -0.5
    approximate = demo.laplace_approximation(np.random.default_rng(6), n)
    assert np.max(np.abs(demo.score(approximate.mean(axis=0, keepdims=True)))) < 0.1
    assert np.all(approximate.std(axis=0) < spread)


def test_the_variational_fit_has_the_largest_bound() -> None:
    """Its ELBO falls if a mean or an sd changes."""
    points = np.random.default_rng(1).standard_normal((20_000, 3))
    fit = demo.mean_field(np.random.default_rng(2), 200_000)
    mean, sd = fit.mean(axis=0), fit.std(axis=0)

    def bound(mean: np.ndarray, sd: np.ndarray) -> float:
        return float(demo.log_posterior(mean + sd * points).mean() + np.log(sd).sum())

    best = bound(mean, sd)
    for unit in np.eye(3):
        assert max(bound(mean + step * unit, sd) for step in (-0.15, 0.15)) < best
        assert max(bound(mean, sd * (1.0 + step * unit)) for step in (-0.15, 0.15)) < best


def test_the_demonstration_finds_the_three_wrong_samplers() -> None:
    seen: list[tuple[int, int]] = []
    cases = demo.run(seed=0, progress=lambda done, total: seen.append((done, total)))
    assert [case.name for case in cases] == ["MALA", "Langevin", "mean-field", "Laplace"]
    assert [case.result.verdict for case in cases] == ["not rejected", *["rejected"] * 3]
    assert [case.result.n_chains for case in cases] == [4, 4, 0, 0]
    assert {case.result.method for case in cases} == {"check"}
    assert all(case.draws.shape == (2000, 3) for case in cases)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(("draws", "seed"), [(0, 0), (-5, 0), (100, -1)])
def test_the_demonstration_refuses_nonsense(draws: int, seed: int) -> None:
    with pytest.raises(InputError, match="`draws`" if draws < 1 else "`seed`"):
        demo.run(draws, seed)
