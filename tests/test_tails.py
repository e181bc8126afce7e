"""The Pareto index of the test column, and the warning that it leads to."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polystein as ps
from polystein.inference.pareto import pareto_index
from tests.statistical.samplers import correlated_gaussian, metropolis_step
from tests.statistical.samplers import run as run_sampler


def generalised_pareto(rng: np.random.Generator, index: float, size: int) -> Any:
    """Quantiles (u^-k - 1)/k of uniform u."""
    uniform = rng.random(size)
    return -np.log(uniform) if index == 0.0 else (uniform**-index - 1.0) / index


def index_of(values: Any) -> float:
    return pareto_index(values)[0]


@pytest.mark.parametrize("index", [-0.2, 0.0, 0.3, 0.5, 0.8, 1.2])
@pytest.mark.parametrize("n", [400, 5000])
def test_index_of_generalised_pareto_values(index: float, n: int) -> None:
    """A tail of a generalised Pareto law is one too, with the same index."""
    rng = np.random.default_rng(0)
    found = np.array([index_of(generalised_pareto(rng, index, n)) for _ in range(200)])
    error = float(found.std()) / np.sqrt(200)
    assert abs(float(found.mean()) - index) < 0.06 + 3.3 * error
    # A maximum likelihood estimate from m values has a spread of (1 + k)/sqrt(m).
    count = min(0.2 * n, 3.0 * np.sqrt(n))
    assert float(found.std()) < 1.5 * (1.0 + index) / np.sqrt(count)


@pytest.mark.parametrize("index", [0.0, 0.5, 1.0])
def test_error_of_the_index(index: float) -> None:
    """(1 + k)/sqrt(m) is how far the fits of many samples spread."""
    rng = np.random.default_rng(0)
    fits = np.array([pareto_index(generalised_pareto(rng, index, 3000)) for _ in range(300)])
    assert float(fits[:, 0].std()) / float(fits[:, 1].mean()) == pytest.approx(1.0, abs=0.2)


@given(scale=st.floats(1e-100, 1e100))
def test_index_does_not_depend_on_units(scale: float) -> None:
    values = generalised_pareto(np.random.default_rng(1), 0.4, 500)
    assert index_of(scale * values) == pytest.approx(index_of(values), rel=1e-6)


def test_index_looks_at_the_largest_values_only() -> None:
    values = generalised_pareto(np.random.default_rng(1), 0.4, 2000)
    other = values.copy()
    small = values < np.quantile(values, 0.9)
    other[small] = np.random.default_rng(2).uniform(0.0, other[small].max(), small.sum())
    assert pareto_index(other) == pareto_index(values)
    assert pareto_index(values[::-1].copy()) == pareto_index(values)


@pytest.mark.parametrize("values", [np.arange(10.0), np.ones(1000), np.zeros(1000)])
def test_nothing_to_fit(values: Any) -> None:
    assert pareto_index(values) == (-np.inf, 0.0)


@pytest.mark.parametrize("repeats", [1, 10, 34, 60, 100])
def test_repeated_values_give_a_moderate_number(repeats: int) -> None:
    """A Metropolis chain repeats its rows, at the threshold too; here of an exponential tail."""
    quantiles = -np.log1p(-(np.arange(1900) + 0.5) / 1900)
    at = 1900 - 100
    values = np.concatenate([quantiles[:at], np.full(repeats, quantiles[at]), quantiles[at:]])
    assert abs(index_of(values)) < 0.5


# The warning


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
