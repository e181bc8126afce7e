"""Rows taken together are shifted and scaled as each of them is."""

import numpy as np
import pytest

from polystein._lib.numerics import columnwise


@pytest.mark.parametrize("columns", [1, 3, 512, 513])
@pytest.mark.parametrize("rows", [0, 1, 31, 32, 33, 1025])
@pytest.mark.parametrize("operation", [np.subtract, np.divide])
def test_the_result_is_that_of_numpy(operation: np.ufunc, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    values, numbers = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    out = np.empty_like(values)
    assert columnwise(operation, values, numbers, out) is out
    assert np.array_equal(out, operation(values, numbers))
    # In place, too.
    columnwise(operation, values, numbers, values)
    assert np.array_equal(out, values)


def test_rows_need_not_be_contiguous() -> None:
    values = np.random.default_rng(0).normal(size=(200, 8))[::2, ::2]
    numbers = np.arange(1.0, 5.0)
    found = columnwise(np.divide, values, numbers, np.empty(values.shape))
    assert np.array_equal(found, values / numbers)
    one = columnwise(np.divide, values[0], numbers, np.empty(4))
    assert np.array_equal(one, values[0] / numbers)
