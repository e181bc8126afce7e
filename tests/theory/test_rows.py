"""Arrays of the theory's functions are checked before anything is computed with them."""

from typing import Any

import numpy as np
import pytest

from polystein.errors import InputError
from polystein.theory.rows import real_rows


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], [1.0, 2.0]], "`draws` must be an array of numbers; "),
        ([["a"]], "`draws` must hold real numbers; got dtype <U1"),
        (
            [[1.0], [np.inf]],
            r"`draws` must be finite; got 1 non-finite values, the first at \(1, 0\)",
        ),
        (np.full((3, 1), np.finfo("g").max), "`draws` must be finite; got 3"),
        ([1.0, 2.0], r"`draws` must have shape \(n, d\) with n >= 2, d >= 1; got \(2,\)"),
        ([[1.0]], r"n >= 2, d >= 1; got \(1, 1\)"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        real_rows("draws", values, least=2)


def test_rows_are_a_copy_in_double_precision() -> None:
    given = np.ones((3, 2), dtype=np.float32)
    found = real_rows("draws", given, least=2)
    found[0] = 2.0
    assert found.dtype == np.float64
    assert given[0, 0] == 1.0
