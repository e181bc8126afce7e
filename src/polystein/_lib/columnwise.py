"""One number for each column of an array, combined with all of its rows.

NumPy works through such an operation row by row. On rows of a few numbers most of the time passes
between rows, so that several rows are taken as one.
"""

from __future__ import annotations

import numpy as np

from polystein.types import FloatArray

#: Rows are taken together up to so many numbers: then it matters no more how many there are.
LONG_ROW = 512


class Columnwise:
    """One number for each column, by which all rows are to be shifted or scaled."""

    def __init__(self, numbers: FloatArray) -> None:
        self._numbers = numbers
        self._together = max(1, LONG_ROW // numbers.size)
        self._long_row = np.tile(numbers, self._together)

    def apply(self, operation: np.ufunc, values: FloatArray, out: FloatArray) -> FloatArray:
        """The operation on every row and the numbers, written to `out`, which is contiguous."""
        count = len(values) // self._together
        if self._together == 1 or count == 0 or values.ndim != 2 or not values.flags.c_contiguous:
            return operation(values, self._numbers, out=out)  # type: ignore[no-any-return]
        done, shape = count * self._together, (count, self._long_row.size)
        operation(values[:done].reshape(shape), self._long_row, out=out[:done].reshape(shape))
        if done < len(values):
            operation(values[done:], self._numbers, out=out[done:])
        return out
