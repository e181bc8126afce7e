"""Tails: their index by the scores, and right draws of heavy ones of which nothing is found."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

import polystein as ps
from polystein.explain.heavy_tails import MOST, tail_indices, too_heavy
from polystein.types import Array


def student(nu: float) -> Callable[[Array], Array]:
    return lambda x: -(nu + 1.0) * x / (nu + x**2)


def index(draws: Array, scores: Array) -> Array:
    return tail_indices(ps.Sample(draws, scores))


def test_the_index_of_a_students_tail_is_near_one_over_its_degrees_of_freedom() -> None:
    for nu in (2.0, 3.0, 5.0, 20.0):
        draws = np.random.default_rng(0).standard_t(nu, size=(20_000, 2))
        found = index(draws, student(nu)(draws))
        assert np.all(found < 1.0 / nu + 0.03)
        assert np.all(found > (0.5 / nu if nu <= 5.0 else -0.2))


@pytest.mark.parametrize("rows", [100, 1000, 4000])
def test_light_tails_are_light(rows: int) -> None:
    rng = np.random.default_rng(1)
    covariance = 0.7 + 0.3 * np.eye(5)
    for _ in range(10):
        draws = rng.multivariate_normal(np.zeros(5), covariance, size=rows)
        assert np.all(index(draws, -draws @ np.linalg.inv(covariance)) < MOST["sd"])
    exponential = rng.laplace(size=(rows, 2))
    assert np.all(index(exponential, -np.sign(exponential)) < MOST["tail"])


@pytest.mark.parametrize("rows", [200, 1000, 4000])
def test_a_light_tail_beside_a_steep_one_is_light(rows: int) -> None:
    """The logarithm of Gamma(2), the logit of Beta(1, 10): one side falls off exponentially."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        logs = np.log(rng.gamma(2.0, size=(rows, 2)))
        assert np.all(index(logs, 2.0 - np.exp(logs)) < MOST["tail"])
        parts = rng.beta(1.0, 10.0, size=(rows, 2))
        logits = np.log(parts / (1.0 - parts))
        assert np.all(index(logits, 1.0 - 11.0 * parts) < MOST["tail"])


def test_a_direction_of_many_coordinates_has_their_tails() -> None:
    assert too_heavy(np.full(50, 0.33), "direction sd", (), np.full(50, 50.0**-0.5))


def test_of_few_rows_nothing_is_said() -> None:
    draws = np.random.default_rng(2).standard_t(2.0, size=(30, 2))
    assert np.all(index(draws, student(2.0)(draws)) == -np.inf)


def test_a_direction_is_judged_by_the_coordinates_in_it() -> None:
    tails, none = np.array([0.3, -0.1, 0.12]), np.empty(0)
    assert too_heavy(tails, "sd", (0,), none)
    assert not too_heavy(tails, "mean", (0,), none)
    assert too_heavy(tails, "skew", (2,), none)
    assert not too_heavy(tails, "sd", (2,), none)
    assert too_heavy(tails, "correlation", (0, 1), none)
    assert too_heavy(tails, "direction sd", (), np.array([0.7, 0.7, 0.0]))
    assert not too_heavy(tails, "direction sd", (), np.array([0.1, 0.7, 0.7]))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 1000, 3), (4000, 3)])
def test_of_right_draws_with_heavy_tails_little_is_found(shape: tuple[int, ...]) -> None:
    found = 0
    for seed in range(60):
        draws = np.random.default_rng([4, seed]).standard_t(3.0, size=shape)
        found += bool(ps.effects(draws, student(3.0)(draws), iid=len(shape) == 2).found)
    assert binomtest(found, 60, 0.05, alternative="greater").pvalue > 0.01


def test_no_sd_of_a_heavy_tailed_target_is_found_or_sized() -> None:
    draws = np.random.default_rng([4, 5]).standard_t(3.0, size=(4, 1000, 3))
    table = ps.effects(draws, student(3.0)(draws))
    for row in table.rows:
        if row.what in ("sd", "skew", "tail", "correlation", "direction sd"):
            assert not row.found
            assert not row.judged
            assert row.sentence.endswith("the target's tails are too heavy")
    assert any(row.judged for row in table.rows if row.what == "mean")


def test_draws_with_heavy_tails_of_a_light_target_are_still_found() -> None:
    draws = np.random.default_rng(3).standard_t(3.0, size=(4, 1000, 3))
    table = ps.effects(draws, -draws)
    assert {row.name for row in table.found if row.what == "sd"} == {"x[1]", "x[2]"}
    assert not any("target's tails" in row.sentence for row in table.rows)
