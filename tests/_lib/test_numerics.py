"""Where floating-point numbers end."""

import math

import numpy as np
import pytest

from polystein._lib.numerics import (
    EPSILON,
    ROUNDING,
    TINY,
    finite,
    is_constant,
    is_single,
    kish_size,
)
from polystein.errors import ScaleError


@pytest.mark.parametrize("value", [0.0, -1.5, 1.7e308, TINY])
def test_finite_numbers_are_returned(value: float) -> None:
    assert finite(value, "a sum") == value


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_left_the_range_is_named_with_a_remedy(value: float) -> None:
    with pytest.raises(ScaleError, match=r"^a sum overflows .*`standardise=True`.*rescale"):
        finite(value, "a sum")


def test_a_spread_within_rounding_of_the_mean_is_none() -> None:
    spread = np.array([ROUNDING, 2.0 * ROUNDING, 8.0 * ROUNDING, 0.0, 0.0, TINY])
    mean = np.array([1.0, 1.0, -8.0, 5.0, 0.0, 0.0])
    assert is_constant(spread, mean).tolist() == [True, False, True, True, True, False]


def test_a_spread_that_is_not_a_number_is_none() -> None:
    spread, mean = np.array([np.nan, 1.0, np.nan]), np.array([1.0, np.nan, np.nan])
    assert is_constant(spread, mean).tolist() == [True, True, True]


@pytest.mark.parametrize("value", [0.1, -1e100, 3e-200])
def test_the_spread_of_equal_numbers_is_rounding(value: float) -> None:
    numbers = np.full(1000, value)
    mean = np.array([numbers.mean()])
    spread = np.array([abs(value - mean[0])])
    assert is_constant(spread, mean).tolist() == [True]
    assert EPSILON < ROUNDING


def test_the_size_of_equal_weights_is_their_number() -> None:
    for weight in (1.0, 0.125, 1024.0):
        assert kish_size(8 * weight, 8 * weight**2) == 8.0


def test_sizes_by_hand() -> None:
    # Weights 1, 2, 3: 36/14. One row that has all the weight is one row.
    assert kish_size(6.0, 14.0) == pytest.approx(18.0 / 7.0, rel=1e-15)
    assert kish_size(0.5, 0.25) == 1.0


def test_numbers_of_single_precision() -> None:
    numbers = np.random.default_rng(0).standard_normal(100)
    single = numbers.astype(np.float32).astype(np.float64)
    assert not is_single(numbers)
    assert is_single(single)
    assert is_single(np.append(single, [np.nan, np.inf, 0.0, 2.0]))
    assert not is_single(np.append(single, 0.1))
    for none in (np.sign(numbers), np.zeros(3), np.empty(0), np.round(64.0 * numbers), [1e300]):
        assert not is_single(np.asarray(none))
