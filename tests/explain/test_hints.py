"""Hints by the pattern of what was found."""

import numpy as np
import pytest

import polystein as ps
from polystein.explain.hints import hint_for


def hint(draws: np.ndarray, precision: np.ndarray | None = None) -> str:
    scores = -draws if precision is None else -draws @ precision
    return ps.effects(draws, scores, iid=True).hint


WHITE = np.random.default_rng(4).standard_normal((4000, 4))


def test_mean_field_draws_of_a_correlated_posterior() -> None:
    covariance = 0.9 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    precision = np.linalg.inv(covariance)
    draws = WHITE / np.sqrt(np.diagonal(precision))
    assert "mean-field" in hint(draws, precision)


def test_spreads_that_are_off_alike() -> None:
    assert "step size" in hint(1.2 * WHITE)
    assert "too narrow" in hint(0.8 * WHITE)


def test_location_shape_and_dependence_alone() -> None:
    assert "warm-up" in hint(WHITE + np.array([0.3, 0.0, 0.0, 0.0]))
    draws = WHITE.copy()
    draws[:, 0] = (np.random.default_rng(5).standard_gamma(8.0, 4000) - 8.0) / np.sqrt(8.0)
    assert "shape" in hint(draws)
    draws = WHITE.copy()
    draws[:, 1] = 0.3 * draws[:, 0] + np.sqrt(0.91) * draws[:, 1]
    assert "dependence" in hint(draws)


def test_else_begin_with_the_first() -> None:
    draws = WHITE.copy()
    draws[:, 2] *= 1.5
    assert hint(draws).startswith("begin with `x[2]`")


@pytest.mark.parametrize("dimension", [1, 4])
def test_nothing_found_is_no_hint(dimension: int) -> None:
    assert hint_for(ps.effects(WHITE[:, :1], -WHITE[:, :1], iid=True), dimension) == ""
