"""Arrays of NumPy and of a library that allows nothing but the array API standard."""

from types import ModuleType, SimpleNamespace
from typing import Any

import array_api_strict
import numpy as np
import pytest

from polystein._lib.arrays import (
    as_rows,
    holds_integers,
    holds_real_numbers,
    independent_copy,
    integer_range,
    is_array,
    library,
    to_numpy,
)

LIBRARIES = [np, array_api_strict]
each_library = pytest.mark.parametrize("xp", LIBRARIES, ids=["numpy", "array_api_strict"])
NUMBERS = [[1.0, -2.0, 3.0], [4.0, 0.0, -6.0]]
FLOATING = ["float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


class OnlyDLPack:
    """An array that can be exported in no other way, on a device of this code."""

    def __init__(self, values: Any, device: int = 1) -> None:
        self.values, self.device = np.asarray(values), device

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)


@each_library
def test_the_library_is_that_of_the_type(xp: ModuleType) -> None:
    assert library(xp.asarray(NUMBERS)) == xp.__name__
    assert library(3.0) == "builtins"


@each_library
def test_arrays_are_recognised(xp: ModuleType) -> None:
    assert is_array(xp.asarray(NUMBERS))


@pytest.mark.parametrize("value", [NUMBERS, 3.0, None, "x", lambda x: x])
def test_other_things_are_no_arrays(value: Any) -> None:
    assert not is_array(value)


@each_library
@pytest.mark.parametrize("name", [*FLOATING, "int8", "uint64"])
def test_every_precision_becomes_double(xp: ModuleType, name: str) -> None:
    values = np.abs(NUMBERS) if name == "uint64" else np.array(NUMBERS)
    found = to_numpy(xp.asarray(values.astype(name)))
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    assert found.tolist() == values.tolist()


@pytest.mark.parametrize("kind", [np.float16, np.longdouble])
def test_precisions_that_only_numpy_has_become_double(kind: type[np.floating[Any]]) -> None:
    found = to_numpy(np.array(NUMBERS, dtype=kind))
    assert found.dtype == np.float64
    assert found.tolist() == NUMBERS


def test_doubles_of_numpy_are_not_copied() -> None:
    values = np.array(NUMBERS)
    assert to_numpy(values) is values
    view = to_numpy(values[:, ::2])
    assert np.shares_memory(view, values)


def test_subclasses_become_plain_arrays() -> None:
    assert type(to_numpy(np.array(NUMBERS).view(np.recarray))) is np.ndarray


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
def test_what_knows_dlpack_alone_is_imported(kind: type[np.generic]) -> None:
    found = to_numpy(OnlyDLPack(np.array(NUMBERS, dtype=kind)))
    assert found.dtype == np.float64
    assert found.tolist() == NUMBERS


def test_what_is_on_a_device_is_copied_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def from_dlpack(array: OnlyDLPack, **options: Any) -> Any:
        asked.append(options)
        return array.values

    monkeypatch.setattr(np, "from_dlpack", from_dlpack)
    for device in (1, 2):
        assert to_numpy(OnlyDLPack(NUMBERS, device)).tolist() == NUMBERS
    assert asked == [{}, {"device": "cpu", "copy": True}]


@each_library
@pytest.mark.parametrize("name", FLOATING)
def test_floating_dtypes_hold_real_numbers(xp: ModuleType, name: str) -> None:
    array = xp.ones((2, 2), dtype=getattr(xp, name))
    assert holds_real_numbers(array)
    assert not holds_integers(array)


@each_library
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_dtypes_hold_both(xp: ModuleType, name: str) -> None:
    array = xp.ones((2, 2), dtype=getattr(xp, name))
    assert holds_real_numbers(array)
    assert holds_integers(array)


@each_library
@pytest.mark.parametrize("name", ["bool", "complex64", "complex128"])
def test_other_dtypes_hold_neither(xp: ModuleType, name: str) -> None:
    array = xp.ones((2, 2), dtype=getattr(xp, name))
    assert not holds_real_numbers(array)
    assert not holds_integers(array)


@pytest.mark.parametrize("kind", ["O", "U3", "M8[s]", "m8[s]", [("float64", "f8")], "V8"])
def test_dtypes_that_only_numpy_has_hold_neither(kind: Any) -> None:
    array = np.zeros(3, dtype=kind)
    assert not holds_real_numbers(array)
    assert not holds_integers(array)


@pytest.mark.parametrize(
    ("dtype", "real", "whole"),
    [
        ("torch.bfloat16", True, False),
        ("bfloat16", True, False),
        ("float8_e4m3fn", True, False),
        ("torch.float32", True, False),
        ("torch.uint8", True, True),
        ("torch.complex64", False, False),
        ("torch.bool", False, False),
        ("torch.quint8", False, False),
        ("interval64", False, False),
    ],
)
def test_dtypes_without_a_kind_are_known_by_name(dtype: str, real: bool, whole: bool) -> None:
    array = SimpleNamespace(dtype=dtype)
    assert holds_real_numbers(array) is real
    assert holds_integers(array) is whole


@each_library
def test_the_range_of_integers_is_exact(xp: ModuleType) -> None:
    array = xp.asarray(np.array([[5, -(2**62) - 1], [2**62 + 1, 0]]))
    assert integer_range(array) == (-(2**62) - 1, 2**62 + 1)
    assert all(type(value) is int for value in integer_range(array))
    largest = xp.asarray(np.array([2**64 - 1, 7], dtype=np.uint64))
    assert integer_range(largest) == (7, 2**64 - 1)


@each_library
@pytest.mark.parametrize("shape", [(6, 4), (2, 3, 4), (1, 6, 4)])
def test_rows_are_chains_one_after_another(xp: ModuleType, shape: tuple[int, ...]) -> None:
    values = np.arange(24.0)
    rows = as_rows(xp.asarray(values.reshape(shape)))
    assert library(rows) == xp.__name__
    assert tuple(rows.shape) == (6, 4)
    assert to_numpy(rows).ravel().tolist() == values.tolist()


@each_library
def test_a_copy_may_be_changed(xp: ModuleType) -> None:
    array = xp.asarray(np.array(NUMBERS))
    copy = independent_copy(array)
    assert library(copy) == xp.__name__
    copy[0, 0] = 99.0
    assert to_numpy(array).tolist() == NUMBERS
    assert to_numpy(copy)[0, 0] == 99.0
