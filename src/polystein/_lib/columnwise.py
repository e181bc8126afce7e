"""One number for each column of an array: combined with all of its rows, or found from them.

NumPy works through such an operation row by row. On rows of a few numbers most of the time passes
between rows, so that several rows are taken as one.
"""

from __future__ import annotations

import numpy as np

from polystein.types import FloatArray

#: Rows are taken together up to so many numbers: then it matters no more how many there are.
LONG_ROW = 512
#: The same for what is found from rows, where the rows that are left over count, too.
SHORTER_ROW = 128


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


def least_and_largest(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest number of each column."""
    return _reduced(np.minimum, values), _reduced(np.maximum, values)


def _reduced(operation: np.ufunc, values: FloatArray) -> FloatArray:
    """What an operation in any order makes of each column."""
    rows, columns = values.shape
    together = max(1, SHORTER_ROW // columns)
    count = rows // together
    if together == 1 or count < 2 or not values.flags.c_contiguous:
        return operation.reduce(values, axis=0)  # type: ignore[no-any-return]
    done = count * together
    several = operation.reduce(values[:done].reshape(count, together * columns), axis=0)
    result: FloatArray = operation.reduce(several.reshape(together, columns), axis=0)
    return operation(result, operation.reduce(values[done:], axis=0)) if done < rows else result
