"""Which library an array belongs to, without paying for the question every time."""

from __future__ import annotations

from types import ModuleType

import array_api_compat
import numpy as np

from polystein.protocols import Array, FloatArray

# The code by which the DLPack protocol knows main memory.
_CPU = 1


def namespace(array: Array) -> ModuleType:
    """`array_api_compat.array_namespace`, but NumPy itself, which needs no wrapper."""
    if type(array) is np.ndarray:
        return np
    return array_api_compat.array_namespace(array)


def convert(values: FloatArray, like: Array) -> Array:
    """Bring a NumPy array into the library, dtype and device of another array."""
    if type(like) is np.ndarray:
        return values
    return namespace(like).asarray(values, dtype=like.dtype, device=array_api_compat.device(like))


def to_numpy(array: Array) -> FloatArray:
    """Bring an array of any library into NumPy, in double precision."""
    if type(array) is not np.ndarray:
        if array.__dlpack_device__()[0] != _CPU:
            array = array_api_compat.to_device(array, "cpu")
        array = np.from_dlpack(array)
    return np.asarray(array, dtype=np.float64)


def row_dots(first: Array, second: Array) -> Array:
    """Dot product of every row of two blocks.

    For NumPy by einsum, which is faster on short rows and, in `triple_sum`, makes no
    temporary array: what is allocated anew for every block costs page faults.
    """
    if type(first) is np.ndarray:
        return np.einsum("ij,ij->i", first, second)
    return namespace(first).vecdot(first, second)


def triple_sum(first: Array, second: Array, third: Array) -> Array:
    """Sum of all products of three blocks."""
    if type(first) is np.ndarray:
        return np.einsum("ij,ij,ij->", first, second, third)
    return namespace(first).sum(first * second * third)


def flat_dot(first: Array, second: Array) -> Array:
    """Sum of all products of two blocks, or of two vectors."""
    if type(first) is np.ndarray:
        return np.vdot(first, second)
    xp = namespace(first)
    return xp.vecdot(xp.reshape(first, (-1,)), xp.reshape(second, (-1,)))
