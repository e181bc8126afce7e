"""Targets that agree wherever both have a density, and have it at different places."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import polystein as ps
from polystein.data.target import Target
from tests.workflows.models import Array

DRAWS = np.random.default_rng(0).standard_normal((100, 2))
BEYOND = int((DRAWS[:, 0] > 1.5).sum())


def density(x: Array) -> Array:
    return -0.5 * (x**2).sum(axis=1)


def minus(x: Array) -> Array:
    return -x


def cut(x: Array, beyond: float = -np.inf) -> Array:
    """A prior with a bound, whose gradient knows nothing of it."""
    return np.where(x[:, 0] > 1.5, beyond, density(x))


@pytest.mark.parametrize("first", [True, False])
def test_a_density_of_zero_is_a_difference(first: bool) -> None:
    pair = ((density, minus), (cut, minus))
    (row,) = ps.same_target(*(pair if first else pair[::-1]), draws=DRAWS)
    assert (row.parameter, row.pattern, row.size) == ("", "support", BEYOND / 100)
    own, other = ("b", "a") if first else ("a", "b")
    assert row.text == (
        f"the log-density of {own} is -inf at {BEYOND} of 100 draws, and that of {other} is finite "
        "there"
    )


def test_draws_at_which_both_are_zero_do_not_count() -> None:
    found = ps.same_target((cut, minus), (lambda x: cut(x) + 3.0, minus), draws=DRAWS)
    assert found.same
    assert found.constant == pytest.approx(3.0)
    nowhere = (lambda x: np.full(len(x), -np.inf), minus)
    found = ps.same_target(nowhere, nowhere, draws=DRAWS)
    assert found.same
    assert found.constant is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_log_density_that_is_no_number_is_an_error(value: float) -> None:
    with pytest.raises(ps.InputError, match=f"`b` must have log-densities.*got {value} at draw"):
        ps.same_target((density, minus), (lambda x: cut(x, value), minus), draws=DRAWS)


def exponential(kind: str, high: float = 1.0) -> Target:
    """A standard exponential of the parameter s: above 0, or truncated at a bound."""

    def bounded(x: Array) -> Array:
        return -high * expit(x) + np.log(expit(x) * expit(-x))

    def slope(x: Array) -> Array:
        return -high * expit(x) * expit(-x) + 1.0 - 2.0 * expit(x)

    if kind == "bounded":
        return Target.of_functions(
            1, lambda x: bounded(x)[:, 0], slope, ("s",), lambda x: {"s": high * expit(x[:, 0])}
        )
    return Target.of_functions(
        1,
        lambda x: (x - np.exp(x))[:, 0],
        lambda x: 1.0 - np.exp(x),
        ("s",),
        lambda x: {"s": np.exp(x[:, 0])},
    )


def test_a_truncated_prior_is_a_difference() -> None:
    draws = DRAWS[:, :1] - 0.5
    outside = int((draws > 0.0).sum())
    found = ps.same_target(exponential("positive"), exponential("bounded"), draws=draws)
    (row,) = found
    assert (row.parameter, row.pattern, row.size) == ("s", "support", outside / 100)
    assert row.text == (
        "the parameter is between 0 and inf in a, and between 0 and 1 in b; "
        f"{outside} of 100 draws are outside of b"
    )
    assert found.draws == 100 - outside
    assert found.mapping[1].startswith(f"{outside} of 100 draws are left out")


def test_other_bounds_are_a_difference_at_draws_within_both() -> None:
    pair = exponential("bounded"), exponential("positive")
    (row,) = ps.same_target(*pair, draws=DRAWS[:, :1])
    assert (row.pattern, row.size) == ("support", 0.0)
    assert "between 0 and 1 in a, and between 0 and inf in b; 0 of 100 draws" in row.text
    found = ps.same_target(exponential("bounded", 3.0), exponential("bounded"), draws=DRAWS[:, :1])
    assert [one.pattern for one in found] == ["support"]


def test_bounds_and_other_differences_are_both_told() -> None:
    def steeper(x: Any) -> Any:
        return 1.0 - 2.0 * np.exp(x)

    wrong = Target.of_functions(
        1,
        lambda x: (x - 2.0 * np.exp(x))[:, 0],
        steeper,
        ("s",),
        lambda x: {"s": np.exp(x[:, 0])},
    )
    found = ps.same_target(wrong, exponential("bounded"), draws=DRAWS[:, :1] - 0.5)
    assert [one.pattern for one in found] == ["support", "prior scale"]
    assert found.constant is None
