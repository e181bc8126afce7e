"""Rows taken together are shifted and scaled as each of them is."""

import numpy as np
import pytest

from polystein._lib.columnwise import LONG_ROW, Columnwise


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
