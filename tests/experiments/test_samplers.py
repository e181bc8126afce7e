"""Samplers of Experiment 1 and of the demonstration, against moments known exactly."""

import math

import numpy as np
import pytest

from polystein.errors import InputError
from polystein.experiments import demo
from polystein.experiments.paper.samplers import EXPERIMENT_1, gaussian_score

N = 200_000

# Variance of the first and second coordinate, E x^2, and E x^4 / (E x^2)^2 of the second, which
# is 3 for the Gaussian, 9 for t with 5 degrees of freedom and 6 for the Laplace distribution.
EXACT = {
    "gaussian": (1.0, 1.0, 3.0),
    "perturbed": (1.7, 1.0, 3.0),
    "student_t": (5.0 / 3.0, 5.0 / 3.0, 9.0),
    "laplace": (1.0, 1.0, 6.0),
}


@pytest.mark.parametrize("name", EXPERIMENT_1)
def test_moments_of_experiment_1(name: str) -> None:
    draws = EXPERIMENT_1[name](np.random.default_rng(1), N, 2)
    first, second, kurtosis = EXACT[name]
    assert draws.shape == (N, 2)
    for column, variance in zip(draws.T, (first, second), strict=True):
        spread = column.std()
        assert abs(column.mean()) < 4.0 * spread / math.sqrt(N)
        error = np.std(column**2) / math.sqrt(N)
        assert abs(np.mean(column**2) - variance) < 4.0 * error
    # E |x| is exact too, and unlike E x^4 it has a finite variance under t with 5 degrees.
    mean_absolute = {
        3.0: math.sqrt(2.0 / math.pi),
        9.0: 2.0 * math.sqrt(5.0) * math.gamma(3.0) / (math.sqrt(math.pi) * math.gamma(2.5) * 4.0),
        6.0: math.sqrt(0.5),
    }[kurtosis]
    absolute = np.abs(draws[:, 1])
    assert abs(absolute.mean() - mean_absolute) < 4.0 * absolute.std() / math.sqrt(N)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 4.0 / math.sqrt(N)


def test_a_seed_reproduces_the_draws() -> None:
    for sampler in EXPERIMENT_1.values():
        once, again, other = (sampler(np.random.default_rng(s), 5, 3) for s in (7, 7, 8))
        np.testing.assert_array_equal(once, again)
        assert not np.any(once == other)


def test_score_of_the_standard_gaussian() -> None:
    np.testing.assert_array_equal(gaussian_score(np.array([[1.0, -2.0]])), [[-1.0, 2.0]])


def log_posterior(coefficients: np.ndarray) -> np.ndarray:
    return demo.log_likelihood(coefficients) - (coefficients**2).sum(axis=1) / (2 * 1.5**2)


def test_score_of_the_demonstration_is_the_gradient() -> None:
    points = np.random.default_rng(0).normal(size=(10, 3))
    step = 1e-5
    numeric = np.stack(
        [
            (log_posterior(points + step * unit) - log_posterior(points - step * unit)) / (2 * step)
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
    weights = np.exp(log_posterior(grid))
    weights /= weights.sum()
    mean = weights @ grid
    return mean, (grid - mean).T @ (weights[:, None] * (grid - mean))


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


def test_the_wrong_samplers_are_wrong_as_described(
    posterior: tuple[np.ndarray, np.ndarray],
) -> None:
    mean, covariance = posterior
    spread = np.sqrt(np.diagonal(covariance))
    n = 20_000
    error = 4.0 / math.sqrt(n)
    moved = (demo.shifted(np.random.default_rng(3), n).mean(axis=0) - mean) / spread
    assert np.all(np.abs(moved - 0.15) < error + 0.02)
    unrelated = np.corrcoef(demo.mean_field(np.random.default_rng(4), n).T)
    assert np.all(np.abs(unrelated - np.eye(3)) < error)
    assert covariance[0, 2] / (spread[0] * spread[2]) < -0.5
    approximate = demo.laplace_approximation(np.random.default_rng(5), n)
    assert np.max(np.abs(demo.score(approximate.mean(axis=0, keepdims=True)))) < 0.1
    assert np.all(approximate.std(axis=0) < spread)


def test_the_demonstration_finds_the_three_wrong_samplers() -> None:
    seen: list[tuple[int, int]] = []
    cases = demo.run(seed=0, progress=lambda done, total: seen.append((done, total)))
    assert [case.name for case in cases] == ["exact", "shifted", "mean-field", "Laplace"]
    pvalues = [case.result.pvalue for case in cases]
    assert pvalues[0] > 0.05
    assert max(pvalues[1:]) < 0.001
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(("draws", "seed"), [(0, 0), (-5, 0), (100, -1)])
def test_the_demonstration_refuses_nonsense(draws: int, seed: int) -> None:
    with pytest.raises(InputError, match="`draws`" if draws < 1 else "`seed`"):
        demo.run(draws, seed)
