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
