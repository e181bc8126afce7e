"""The demonstration: its posterior, its samplers, and its verdicts."""

import math

import numpy as np
import pytest

from polystein.errors import InputError
from polystein.experiments import demo
from polystein.report.side_by_side import plot_results


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


def test_labels_of_the_demos_plot_have_room() -> None:
    cases = demo.run(400)
    figure = plot_results({case.name: case.result for case in cases})
    figure.draw_without_rendering()
    left, right = figure.axes
    # The dashed line is the only one.
    critical = left.transData.transform((left.lines[0].get_xdata()[0], 0.0))[0]
    for text in left.texts:
        box = text.get_window_extent()
        assert box.x0 > critical
        assert box.x1 < left.get_window_extent().x1 < right.get_window_extent().x0
