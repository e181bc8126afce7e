"""Overflow, rounding, sums of products, and the effective size of weights."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from polystein.errors import ScaleError
from polystein.types import FloatArray

EPSILON = float(np.finfo(np.float64).eps)
#: The smallest normal float64, a lower bound for divisors and arguments of logarithms.
TINY = float(np.finfo(np.float64).tiny)
#: A mean of many equal numbers is off by a few units in the last place. A spread of no more
#: than this, relative to the mean, is rounding and not variation.
ROUNDING = 16 * EPSILON


def finite(value: float, what: str) -> float:
    """Return the value, or raise an error if it left the range of a float64."""
    if not math.isfinite(value):
        raise ScaleError(
            f"{what} overflows in the coordinates of `draws`; pass `standardise=True` "
            "where the function has that option, or rescale draws (x/c) and scores (c s) first"
        )
    return value


def is_constant(spread: FloatArray, mean: FloatArray) -> np.typing.NDArray[np.bool_]:
    """Whether each standard deviation is within rounding error of its mean; True for NaN."""
    constant: np.typing.NDArray[np.bool_] = ~(spread > ROUNDING * np.abs(mean))
    return constant


@lru_cache(maxsize=8)
def ones(count: int) -> FloatArray:
    """Ones by which rows or columns are summed in a product, faster than by `np.sum`.

    Blocks of a pass are mostly of one size, so that they are kept.
    """
    result = np.ones(count)
    result.flags.writeable = False
    return result


def summed_products(
    first: FloatArray, second: FloatArray, out: FloatArray | None = None
) -> FloatArray:
    """first' second, a sum over rows of numbers or of products.

    It is not `np.matmul`, which lets other threads work only if its result has 500 numbers or
    more, over however many rows it sums.
    """
    result: FloatArray = np.dot(first.T, second, out=out)
    return result


def kish_size(total: float, total_of_squares: float) -> float:
    """Kish's effective number of rows, (sum w)^2 / sum w^2, from the two sums."""
    return total**2 / total_of_squares


def is_single(values: FloatArray) -> bool:
    """Whether numbers have the digits of single precision, and are no round numbers.

    Infinity, NaN and 0 do not count. Numbers of at most 16 bits, such as the scores -1 and 1 of a
    Laplace prior, are of any precision; they must not be most of them.
    """
    known = values[np.isfinite(values) & (values != 0.0)]
    with np.errstate(over="ignore"):
        exact = known.astype(np.float32) == known
    digits = np.ldexp(np.frexp(known)[0], 16)
    return bool(len(known) and exact.all() and np.mean(digits != np.round(digits)) > 0.5)


def columnwise(
    operation: np.ufunc, values: FloatArray, numbers: FloatArray, out: FloatArray
) -> FloatArray:
    """``operation(values, numbers)`` with one number for each column, written to ``out``.

    NumPy works through broadcast rows one by one. Rows of a few numbers are therefore joined to
    rows of about 512 numbers: `check` takes 13 % less time on 4 chains of 100,000 draws of three
    coordinates. ``out`` is contiguous.
    """
    together = 512 // numbers.size
    done = len(values) - len(values) % max(1, together)
    if together < 2 or done == 0 or values.ndim != 2 or not values.flags.c_contiguous:
        return operation(values, numbers, out=out)  # type: ignore[no-any-return]
    shape = -1, together * numbers.size
    joined = np.tile(numbers, together)
    operation(values[:done].reshape(shape), joined, out=out[:done].reshape(shape))
    operation(values[done:], numbers, out=out[done:])
    return out
