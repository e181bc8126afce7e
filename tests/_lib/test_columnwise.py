"""Rows taken together are shifted and scaled as each of them is."""

import numpy as np
import pytest

from polystein._lib.columnwise import LONG_ROW, SHORTER_ROW, Columnwise, least_and_largest


@pytest.mark.parametrize("columns", [1, 3, 16, 300, LONG_ROW, LONG_ROW + 1])
@pytest.mark.parametrize("rows", [0, 1, 2, 31, 32, 33, 100, 1025])
@pytest.mark.parametrize("operation", [np.subtract, np.divide, np.multiply])
def test_the_result_is_that_of_numpy(operation: np.ufunc, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    values, numbers = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    out = np.empty_like(values)
    assert Columnwise(numbers).apply(operation, values, out) is out
    assert np.array_equal(out, operation(values, numbers))
    # In place, too.
    Columnwise(numbers).apply(operation, values, values)
    assert np.array_equal(out, values)


def test_rows_need_not_be_contiguous() -> None:
    values = np.random.default_rng(0).normal(size=(200, 8))[::2, ::2]
    numbers = np.arange(1.0, 5.0)
    found = Columnwise(numbers).apply(np.divide, values, np.empty(values.shape))
    assert np.array_equal(found, values / numbers)
    one = Columnwise(numbers).apply(np.divide, values[0], np.empty(4))
    assert np.array_equal(one, values[0] / numbers)


@pytest.mark.parametrize("columns", [1, 3, 16, SHORTER_ROW - 1, SHORTER_ROW, SHORTER_ROW + 1])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 16, 127, 1025])
def test_the_least_and_the_largest_are_those_of_numpy(rows: int, columns: int) -> None:
    """Also where they are in the last rows, and in rows that are not contiguous."""
    values = np.random.default_rng(0).normal(size=(rows, columns))
    values[-1, ::2], values[-1, 1::2] = 9.0, -9.0
    for own in (values, np.asfortranarray(values), values[::-1]):
        low, high = least_and_largest(own)
        assert np.array_equal(low, values.min(axis=0))
        assert np.array_equal(high, values.max(axis=0))
