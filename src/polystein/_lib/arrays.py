"""Arrays of other libraries: recognised without importing those libraries, converted to NumPy.

All mathematics is done in NumPy in double precision. Arrays of PyTorch, JAX, CuPy and others
are converted when their rows are read, and no other code has to know about them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.types import Array, FloatArray

_REAL_NUMBERS = re.compile(r"bfloat16|float\d+\w*|u?int\d+")
_INTEGERS = re.compile(r"u?int\d+")


def library(value: object) -> str:
    """The name of the library that a value's type comes from."""
    return type(value).__module__.partition(".")[0]


def is_array(value: object) -> bool:
    """Whether the value is an array that can be cut into rows without a conversion."""
    if not all(hasattr(value, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    # A dataset in a file has neither method, and slicing it gives an array of another kind.
    return hasattr(value, "reshape") or hasattr(value, "__array_namespace__")


def to_numpy(array: Array) -> FloatArray:
    """Convert an array of any library and precision to NumPy in double precision.

    Masked values become NaN.
    """
    if type(array) is np.ndarray:
        return np.asarray(array, dtype=np.float64)
    if isinstance(array, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(array), np.nan, array.data)
    if library(array) == "torch":
        # A tensor that requires gradients and one in bfloat16 cannot be exported as they are.
        return np.asarray(array.detach().cpu().double().numpy())
    if library(array) == "cupy":
        return np.asarray(array.get(), dtype=np.float64)
    if hasattr(array, "__array__"):
        return np.asarray(array, dtype=np.float64)
    # It offers DLPack alone, in which 1 stands for main memory; from a device it is copied.
    in_memory = array.__dlpack_device__()[0] == 1
    found = np.from_dlpack(array) if in_memory else np.from_dlpack(array, device="cpu", copy=True)
    return np.asarray(found, dtype=np.float64)


def holds_real_numbers(array: Array) -> bool:
    """Whether the dtype is a floating-point or an integer type."""
    kind = getattr(array.dtype, "kind", "V")
    # Some floating-point dtypes of JAX, such as bfloat16, have the kind "V" in NumPy.
    return kind in "fiu" or _REAL_NUMBERS.fullmatch(_dtype_name(array)) is not None


def holds_integers(array: Array) -> bool:
    """Whether the dtype is an integer type."""
    kind = getattr(array.dtype, "kind", "V")
    return kind in "iu" or _INTEGERS.fullmatch(_dtype_name(array)) is not None


def integer_range(array: Array) -> tuple[int, int]:
    """The smallest and the largest value of an array of integers."""
    if hasattr(array, "min"):
        return int(array.min()), int(array.max())
    xp = array.__array_namespace__()
    return int(xp.min(array)), int(xp.max(array))


def _dtype_name(array: Array) -> str:
    """The dtype's name without its library: ``float32`` for ``torch.float32``."""
    return str(array.dtype).rpartition(".")[2]


def as_rows(array: Array) -> Array:
    """The same array of shape (rows, d), in its own library."""
    shape = (-1, int(array.shape[-1]))
    if hasattr(array, "reshape"):
        return array.reshape(shape)
    return array.__array_namespace__().reshape(array, shape)


def independent_copy(array: Array) -> Array:
    """A copy in the array's own library, which a score function may modify."""
    if library(array) == "torch":
        return array.detach().clone()
    if hasattr(array, "copy"):
        return array.copy()
    return array.__array_namespace__().asarray(array, copy=True)


def in_double(rows: NDArray[Any]) -> FloatArray:
    """Rows in double precision; a ValueError if that would change their values."""
    if not holds_real_numbers(rows):
        raise ValueError(f"it must hold real numbers; got dtype {rows.dtype}")
    if rows.dtype.kind in "iu" and rows.size and int(np.abs(rows).max()) > 2**53:
        raise ValueError("it holds integers beyond 2**53, which no float64 represents")
    return to_numpy(rows)
