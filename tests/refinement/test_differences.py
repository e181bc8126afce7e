"""What is compared, and sign flips of differences."""

from typing import Any

import numpy as np
import pytest

from polystein.data.target import Target
from polystein.errors import InputError
from polystein.refinement.differences import (
    SHARES,
    functions_by,
    judged_by_flips,
    own_values,
    parameters,
    shown_parameters,
)
from tests.reference.refinement import all_sign_flips
from tests.refinement.laws import gaussian, kernel, state

RNG = np.random.default_rng(0)


def test_the_pvalue_is_that_of_all_patterns() -> None:
    before, after = RNG.standard_normal((2, 10, 3))
    before += 0.8
    names = ("a", "b")
    given = [
        {"location": dict(zip(names, rows[:, :2].T, strict=True)), "log-density": {"": rows[:, 2]}}
        for rows in (before, after)
    ]
    found = judged_by_flips(given[0], given[1], np.arange(10), np.random.default_rng(1))
    shares = np.array([SHARES["location"] / 2, SHARES["location"] / 2, SHARES["log-density"]])
    exact = all_sign_flips(before - after, shares)
    # 2,000 random patterns out of 1,024: the binomial error is at most 0.011.
    assert found.pvalue == pytest.approx(exact, abs=0.04)
    assert found.looks == 3


def test_batches_are_flipped_as_a_whole() -> None:
    before = {"log-density": {"": np.array([1.0, 1.0, 1.0, 1.0])}}
    after = {"log-density": {"": np.zeros(4)}}
    rng = np.random.default_rng(2)
    whole = judged_by_flips(before, after, np.array([0]), rng)
    halves = judged_by_flips(before, after, np.array([0, 2]), rng)
    assert whole.pvalue == 1.0
    assert halves.pvalue == pytest.approx(0.5, abs=0.05)
    assert halves.statistic == pytest.approx(np.sqrt(2.0))


def test_rows_that_did_not_move_say_nothing() -> None:
    rows = {"location": {"a": RNG.standard_normal(50)}}
    assert judged_by_flips(rows, rows, np.arange(50), np.random.default_rng(3)).pvalue == 1.0


def test_infinite_values_say_nothing() -> None:
    before = {"parameter": {"a": np.array([np.inf, 1.0]), "b": np.array([1.0, 2.0])}}
    after = {"parameter": {"a": np.zeros(2), "b": np.zeros(2)}}
    found = judged_by_flips(before, after, np.arange(2), np.random.default_rng(4))
    assert found.words == "`b`"


def test_all_families_are_there() -> None:
    target = Target(2, None, transform=lambda x: {"x": x[:, 0], "tau": np.exp(x), "mu": x[:, 1]})
    rows = RNG.standard_normal((40, 2))
    shown = shown_parameters(target, ("x", "y"), rows)
    compared = functions_by(target, ("x", "y"), rows, rows, shown, {"first": lambda x: x[:, 0]})
    values = compared.values(state(kernel(gaussian()), rows))
    assert set(values) == set(SHARES)
    assert list(values["parameter"]) == ["tau[0]", "tau[1]", "mu"]  # x is a coordinate itself
    assert list(values["product"]) == ["x, y"]
    z = (rows - np.median(rows, axis=0)) / rows.std(axis=0)
    assert values["spread"]["y"] == pytest.approx(z[:, 1] ** 2)
    assert values["product"]["x, y"] == pytest.approx(z[:, 0] * z[:, 1])
    assert np.mean(values["tail"]["x"]) == pytest.approx(0.05, abs=0.03)
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_of_many_coordinates_the_pairs_that_changed_are_taken() -> None:
    before = RNG.standard_normal((400, 20))
    after = RNG.standard_normal((400, 20))
    after[:, 17] = after[:, 3]
    names = tuple(f"x[{place}]" for place in range(20))
    pairs = functions_by(gaussian(), names, before, after, {}, {}).pairs
    assert len(pairs) == 40
    assert [3, 17] in pairs.tolist()


def test_parameters_are_named_by_their_places() -> None:
    target = Target(1, None, transform=lambda x: {"m": np.ones((len(x), 2, 2))})
    shown = shown_parameters(target, ["a"], np.ones((3, 1)))
    assert list(parameters(target, shown, np.ones((3, 1)))) == [
        "m[0, 0]",
        "m[0, 1]",
        "m[1, 0]",
        "m[1, 1]",
    ]


@pytest.mark.parametrize(
    ("names", "transform", "expected"),
    [
        # Stan: coordinates have the names of constrained parameters, some of which they are.
        (
            ("tau", "mu"),
            lambda x: {"tau": np.exp(x[:, 0]), "mu": x[:, 1]},
            {"tau": "tau (constrained)"},
        ),
        (
            ("tau", "mu"),
            lambda x: {"tau": np.exp(x[:, 0]), "mu": x[:, 1].astype(np.float32)},
            {"tau": "tau (constrained)"},
        ),
        # PyStan counts coordinates from 1; a vector and a simplex of three.
        (("m[1]", "m[2]"), lambda x: {"m": x}, {}),
        (
            ("p[1]", "p[2]"),
            lambda x: {"p": np.column_stack([x**2, x[:, 0]])},
            {"p[0]": "p[0] (constrained)", "p[1]": "p[1] (constrained)"},
        ),
        # PyMC names coordinates by their transform.
        (("tau_log__", "mu"), lambda x: {"tau": np.exp(x[:, 0]), "mu": x[:, 1]}, {"tau": "tau"}),
    ],
)
def test_values_tell_which_parameters_are_coordinates(
    names: tuple[str, ...], transform: Any, expected: dict[str, str]
) -> None:
    rows = RNG.standard_normal((50, 2))
    target = Target(2, None, transform=transform)
    assert shown_parameters(target, names, rows) == expected
    assert list(parameters(target, expected, rows)) == list(expected.values())


@pytest.mark.parametrize("transform", [lambda x: 1 / 0, lambda x: 3, lambda x: {"a": np.ones(7)}])
def test_a_transform_that_fails_is_named(transform: Any) -> None:
    with pytest.raises(InputError, match="`transform` raised"):
        shown_parameters(Target(1, None, transform=transform), ["a"], np.ones((3, 1)))


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(InputError, match=r"`functions\['f'\]` raised ZeroDivisionError"):
        own_values({"f": lambda x: 1 / 0}, np.ones((5, 1)))


@pytest.mark.parametrize("value", [np.ones((5, 2)), np.full(5, np.nan), 3.0])
def test_functions_give_a_number_for_each_row(value: object) -> None:
    with pytest.raises(InputError, match=r"`functions\['f'\]` must give a finite number"):
        own_values({"f": lambda x: value}, np.ones((5, 1)))
