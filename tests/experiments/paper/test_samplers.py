"""Samplers of Experiment 1, against moments known exactly."""

import math

import numpy as np
import pytest

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
