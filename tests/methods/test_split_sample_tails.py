"""The warning that a heavy tail of the test column leads to."""

import warnings
from typing import Any

import numpy as np
import pytest

import polystein as ps
from tests.statistical.samplers import correlated_gaussian, metropolis_step
from tests.statistical.samplers import run as run_sampler


def student(rng: np.random.Generator, n: int, d: int) -> Any:
    return rng.standard_t(5.0, size=(n, d))


def student_score(draws: Any) -> Any:
    return -6.0 * draws / (5.0 + draws**2)


def test_a_student_target_at_order_four_is_warned_about() -> None:
    """x^4 s has a tail like |x|^3, of index 3/5; most samples of 4000 show it."""
    warned = 0
    for seed in range(20):
        draws = student(np.random.default_rng(seed), 4000, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ps.HeavyTailWarning)
            result = ps.psd_test(draws, student_score, order=4, rng=seed)
        warned += any("heavy tail (Pareto index" in text for text in result.warnings)
    assert warned >= 15, warned


def test_the_warning_says_what_to_do() -> None:
    draws = student(np.random.default_rng(1), 4000, 4)
    with pytest.warns(
        ps.HeavyTailWarning, match="Use a lower `order` where there is one, more"
    ) as caught:
        result = ps.psd_test(draws, student_score, order=4, rng=1)
    assert [str(item.message) for item in caught] == list(result.warnings)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("order", [0, 1])
def test_a_normal_target_at_low_order_is_not(order: int) -> None:
    for seed in range(100):
        draws = np.random.default_rng(seed).standard_normal((1000, 4))
        result = ps.psd_test(draws, lambda x: -x, order=order, rng=seed)
        assert result.warnings == ()


@pytest.mark.slow
def test_a_normal_target_by_metropolis_is_seldom_warned_about() -> None:
    """Rows repeat and remember; the tail of u is still that of a polynomial."""
    target = correlated_gaussian()
    rng = np.random.default_rng(3)
    chains = run_sampler(rng, target, metropolis_step(1.0), 400, 1000, thin=2, burn=100)
    warned = 0
    for draws in chains.reshape(100, 4, 1000, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ps.HeavyTailWarning)
            warned += ps.check(draws, target.score).warnings != ()
    assert warned <= 5, warned
