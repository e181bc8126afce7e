"""Options that are not what they should be are named."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import polystein as ps
from polystein._lib.arguments import (
    finite_number,
    integer,
    is_finite_number,
    is_integer,
    one_of,
    order_of,
    path_of,
    require_rule,
)
from polystein.errors import InputError

DRAWS = np.random.default_rng(0).standard_normal((200, 2))
Colour = Literal["red", "green", "blue"]


# Integers


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers_of_any_kind_become_ints(value: Any) -> None:
    found = integer(value, "size", least=3)
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize("value", [True, np.True_, 2.0, "2", None, [2], math.nan, Fraction(2)])
def test_what_is_no_integer_is_refused(value: Any) -> None:
    assert not is_integer(value, least=0)
    with pytest.raises(InputError, match=r"^`size` must be an integer >= 0; got ") as caught:
        integer(value, "size", least=0)
    assert str(caught.value).endswith(repr(value))


@pytest.mark.parametrize(
    ("least", "expected"),
    [(0, "an integer >= 0"), (1, "a positive integer"), (2, "an integer >= 2")],
)
def test_the_least_integer_is_named(least: int, expected: str) -> None:
    assert is_integer(least, least=least)
    with pytest.raises(InputError, match=f"^`size` must be {expected}; got {least - 1}$"):
        integer(least - 1, "size", least=least)


# Numbers


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1.0), np.int16(1), Fraction(1)])
def test_real_numbers_of_any_kind_become_floats(value: Any) -> None:
    found = finite_number(value, "level")
    assert found == 1.0
    assert type(found) is float


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, np.float32(np.inf), True, "1", None, 1j, [1.0], 10**400],
)
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    assert not is_finite_number(value)
    with pytest.raises(InputError, match=r"^`level` must be a finite real number; got ") as caught:
        finite_number(value, "level")
    assert str(caught.value).endswith(repr(value))


# Closed choices


@pytest.mark.parametrize("value", ["red", "green", "blue"])
def test_each_choice_is_one(value: str) -> None:
    one_of(value, Colour, "colour")


@pytest.mark.parametrize("value", ["Red", "", None, 1, ["red"], np.array(["red"])])
def test_what_is_no_choice_is_refused_with_all_of_them(value: Any) -> None:
    message = "^`colour` must be 'red', 'green' or 'blue'; got "
    with pytest.raises(InputError, match=message) as caught:
        one_of(value, Colour, "colour")
    assert str(caught.value).endswith(repr(value))


def test_two_choices_are_joined_by_or() -> None:
    with pytest.raises(InputError, match=r"^`estimator` must be 'u' or 'v'; got 'w'$"):
        one_of("w", Literal["u", "v"], "estimator")


# Rules


def test_an_object_with_the_method_is_a_rule() -> None:
    require_rule(ps.IID(), "accumulator", "variance", "IID()")


@pytest.mark.parametrize("value", [None, 3, "random", b"random", object()])
def test_an_object_without_the_method_is_none(value: Any) -> None:
    with pytest.raises(InputError, match=r"^`split` must be RandomSplit\(\); got ") as caught:
        require_rule(value, "partition", "split", "RandomSplit()")
    assert str(caught.value).endswith(repr(value))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "random"}, r"`split` must be RandomSplit\(\), .*; got 'random'"),
        ({"split": ps.RandomSplit}, r"`split` must be .* a class: call it, `RandomSplit\(\)`"),
        ({"variance": "iid"}, r"`variance` must be IID\(\), .*; got 'iid'"),
        ({"variance": ps.IID}, r"`variance` must be .* call it, `IID\(\)`"),
        ({"weights": "closed"}, r"`weights` must be CrossEntropy\(\), .*; got 'closed'"),
        ({"repeats": True}, "`repeats` must be a positive integer; got True"),
    ],
)
def test_rules_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ps.lambda_psd_test(DRAWS, -DRAWS, order=1, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.ClosedForm("a"), "`ridge` must be a finite number >= 0; got 'a'"),
        (lambda: ps.CrossEntropy(tolerance=None), "`tolerance` must be a finite number >= 0"),
        (lambda: ps.CrossEntropy(elites=True), "`elites` must be a positive integer; got True"),
        (lambda: ps.BlockSplit(gap=True), "`gap` must be an integer >= 0 or 'auto'; got True"),
        (lambda: ps.BatchMeans(length=True), "`length` must be a positive integer or 'auto'"),
        (lambda: ps.RandomSplit(True), "`train` must be a fraction strictly between 0 and 1"),
    ],
)
def test_parameters_of_rules(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_numbers_of_numpy_are_numbers() -> None:
    assert ps.RandomSplit(np.float32(0.5)).train == 0.5
    assert ps.BlockSplit(gap=np.int64(3)).gap == 3


# Paths


@pytest.mark.parametrize("value", ["a.npz", Path("a.npz")])
def test_strings_and_paths_are_paths(value: Any) -> None:
    assert path_of(value, "path") == Path("a.npz")


@pytest.mark.parametrize("value", [1, True, None, b"a.npz", "a\0.npz", ["a.npz"]])
def test_what_is_no_path_is_named(value: Any) -> None:
    with pytest.raises(InputError, match="`path` must be a path"):
        path_of(value, "path")
    with pytest.raises(InputError, match="`path` must be a path"):
        ps.from_file(value)
    with pytest.raises(InputError, match="`path` must be a path"):
        ps.psd_test(DRAWS, -DRAWS, order=1, rng=0).to_html(value)


def test_a_folder_for_scores_is_a_path() -> None:
    with pytest.raises(InputError, match="`cache` must be a path"):
        ps.from_store(DRAWS, lambda x: -x, cache=1)  # type: ignore[arg-type]


# Orders


@pytest.mark.parametrize("value", [-1, 1001, 10**400, 2.0, np.uint64(2**64 - 1)])
def test_what_is_no_order_is_refused_before_anything_is_computed(value: Any) -> None:
    for call in (
        lambda: order_of(value, least=0),
        lambda: ps.psd(DRAWS, -DRAWS, order=value),
        lambda: ps.psd_l2_test(DRAWS, -DRAWS, order=value, rng=0),
        lambda: ps.theory.GaussianPair(2, 0.5, 1.0).psd(order=value),
        lambda: ps.theory.corrected_law(order=value),
    ):
        with pytest.raises(InputError, match="`order` must be"):
            call()


# Replicates


@pytest.mark.parametrize("count", [10**6 + 1, 10**9, 10**400])
@pytest.mark.parametrize(
    ("argument", "function", "options"),
    [
        ("n_bootstrap", ps.psd_bootstrap_test, {"order": 1}),
        ("n_bootstrap", ps.psd_l2_test, {"order": 1}),
        ("n_bootstrap", ps.ksd_test, {}),
        ("n_bootstrap", ps.ksdagg_test, {}),
        ("n_correction", ps.ksdagg_test, {}),
        ("n_bootstrap", ps.nystrom_ksd_test, {}),
        ("n_bootstrap", ps.rfsd_test, {}),
        ("n_features", ps.rfsd_test, {}),
        ("n_simulations", ps.fssd_test, {}),
        ("n_locations", ps.fssd_test, {}),
        ("max_steps", ps.fssd_test, {}),
        ("repeats", ps.psd_test, {"order": 1}),
        ("repeats", ps.lambda_psd_test, {"order": 1}),
    ],
)
def test_counts_that_would_run_for_days_are_refused(
    count: int, argument: str, function: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"`{argument}` must be at most 1,000,000; got 10"):
        function(DRAWS, -DRAWS, **options, **{argument: count})


@pytest.mark.parametrize("argument", ["iterations", "candidates", "elites", "patience"])
def test_searches_that_would_run_for_days_are_refused(argument: str) -> None:
    with pytest.raises(InputError, match=f"`{argument}` must be at most 1,000,000; got 10"):
        ps.CrossEntropy(**{argument: 10**9})
