"""Arrays of other libraries: recognised without importing those libraries, converted to NumPy.

All mathematics is done in NumPy in double precision. Arrays of PyTorch, JAX, CuPy and others
are converted when their rows are read, so that what is not NumPy costs nothing elsewhere.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from polystein.types import Array, FloatArray

# The code by which the DLPack protocol knows main memory.
_CPU = 1
_REAL_NUMBERS = re.compile(r"bfloat16|float\d+\w*|u?int\d+")
_INTEGERS = re.compile(r"u?int\d+")


def library(value: object) -> str:
    """The name of the library that a value's type comes from."""
    return type(value).__module__.partition(".")[0]


def is_array(value: object) -> bool:
    """Whether the value is an array that can be cut into rows without a conversion."""
    if not all(hasattr(value, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    # A dataset of a file has neither, and no rows of its own kind.
    return hasattr(value, "reshape") or hasattr(value, "__array_namespace__")


def to_numpy(array: Array) -> FloatArray:
    """Bring an array of any library and precision into NumPy, in double precision."""
    if type(array) is np.ndarray:
        return np.asarray(array, dtype=np.float64)
    if library(array) == "torch":
        # A tensor that requires gradients and one in bfloat16 cannot be exported as they are.
        return np.asarray(array.detach().cpu().double().numpy())
    if library(array) == "cupy":
        return np.asarray(array.get(), dtype=np.float64)
    if hasattr(array, "__array__"):
        return np.asarray(array, dtype=np.float64)
    return np.asarray(_from_dlpack(array), dtype=np.float64)


def _from_dlpack(array: Array) -> NDArray[np.generic]:
    """Import an array that knows no other way; one on a device is copied to the host first."""
    if array.__dlpack_device__()[0] == _CPU:
        return np.from_dlpack(array)
    return np.from_dlpack(array, device="cpu", copy=True)


def holds_real_numbers(array: Array) -> bool:
    """Whether the dtype is a floating or integer one."""
    kind = getattr(array.dtype, "kind", "V")
    # JAX has floating dtypes, bfloat16 among them, that NumPy files under "V".
    return kind in "fiu" or _REAL_NUMBERS.fullmatch(_dtype_name(array)) is not None


def holds_integers(array: Array) -> bool:
    """Whether the dtype is an integer one."""
    kind = getattr(array.dtype, "kind", "V")
    return kind in "iu" or _INTEGERS.fullmatch(_dtype_name(array)) is not None


def integer_range(array: Array) -> tuple[int, int]:
    """The smallest and the largest of an array of integers."""
    if hasattr(array, "min"):
        return int(array.min()), int(array.max())
    xp = array.__array_namespace__()
    return int(xp.min(array)), int(xp.max(array))


def _dtype_name(array: Array) -> str:
    """``float32`` of ``torch.float32`` or ``array_api_strict.float32``."""
    return str(array.dtype).rpartition(".")[2]


def as_rows(array: Array) -> Array:
    """The same array of shape (rows, d), in its own library."""
    shape = (-1, int(array.shape[-1]))
    if hasattr(array, "reshape"):
        return array.reshape(shape)
    return array.__array_namespace__().reshape(array, shape)


def independent_copy(array: Array) -> Array:
    """A copy in the array's own library, which a score function may change at will."""
    if library(array) == "torch":
        return array.detach().clone()
    if hasattr(array, "copy"):
        return array.copy()
    return array.__array_namespace__().asarray(array, copy=True)
