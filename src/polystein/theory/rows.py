"""Arrays of rows, as the functions of this room take them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polystein.errors import InputError
from polystein.types import FloatArray


def real_array(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a copy in double precision of finite real numbers of any shape."""
    try:
        given = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` must be an array of numbers; {error}") from error
    if given.dtype.kind not in "fiu":
        raise InputError(f"`{name}` must hold real numbers; got dtype {given.dtype}")
    with np.errstate(over="ignore"):  # of long doubles; what overflows is not finite
        array = given.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"`{name}` must be finite; got {len(bad)} non-finite values, the first at "
            f"{tuple(map(int, bad[0]))}"
        )
    return array


def real_rows(name: str, values: npt.ArrayLike, *, least: int) -> FloatArray:
    """Return `real_array` of shape (n, d) with at least so many rows."""
    array = real_array(name, values)
    shape = array.shape
    if len(shape) != 2 or shape[0] < least or shape[1] < 1:
        raise InputError(f"`{name}` must have shape (n, d) with n >= {least}, d >= 1; got {shape}")
    return array
