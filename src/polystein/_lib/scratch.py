"""Memory for arrays that live no longer than a block of rows.

Arrays of a block's size are given back to the operating system when they are freed, and fetched
anew, page by page, when the next block needs them: that takes several times as long as the
arithmetic on them. Inside `reused`, `empty` hands out the same memory for every block. Small
arrays are not worth it: the allocator keeps their memory by itself.
"""

from __future__ import annotations

import math
import threading
from functools import cache

import numpy as np

from polystein.types import FloatArray

#: Arrays of up to so many numbers, 128 KiB, stay with the allocator of C when they are freed.
SMALL = 2**14
# The allocator is to keep twice so many numbers, 32 MiB, when they are freed.
_KEPT = 2**21


class _Pool(threading.local):
    """Arrays of one thread, each on a buffer of its own, and how many of them are taken.

    The first ``held`` belong to blocks of passes around this one.
    """

    def __init__(self) -> None:
        self.arrays: list[FloatArray] = []
        self.taken = self.held = 0
        self.depth = 0


_POOL = _Pool()


@cache
def keep_freed_memory() -> None:
    """Let the allocator keep what is freed, once for the whole process.

    Work between passes frees arrays, too. The allocator of glibc returns memory at its end as soon
    as that is twice as large as the largest array ever freed (mallopt(3), M_MMAP_THRESHOLD): one
    large array is freed for it. Its memory is never touched. Other allocators do not mind.
    """
    np.empty(_KEPT)


class reused:
    """A context in which `empty` reuses memory; it is released at the end."""

    def __enter__(self) -> None:
        keep_freed_memory()
        self._around, _POOL.held = _POOL.held, _POOL.taken
        _POOL.depth += 1

    def __exit__(self, *_: object) -> None:
        _POOL.depth -= 1
        _POOL.taken, _POOL.held = _POOL.held, self._around
        if _POOL.depth == 0:
            _POOL.arrays = []


class apart:
    """A context within `reused` in which arrays are their own, and outlive the block."""

    def __enter__(self) -> None:
        self._depth, _POOL.depth = _POOL.depth, 0

    def __exit__(self, *_: object) -> None:
        _POOL.depth = self._depth


def next_block() -> None:
    """Say that no array of the last block is needed any more."""
    _POOL.taken = _POOL.held


def mark() -> int:
    """Where the memory stands that has been handed out so far."""
    taken: int = _POOL.taken
    return taken


def rewind(to: int) -> None:
    """Say that no array handed out since that mark is needed any more: it is warm in the cache."""
    _POOL.taken = to


def empty(*shape: int) -> FloatArray:
    """An array that the next block will overwrite; outside `reused`, an array of its own."""
    return _handed_out(math.prod(shape), shape)


def _handed_out(size: int, shape: tuple[int, ...]) -> FloatArray:
    if size <= SMALL:
        return np.empty(shape)
    pool = _POOL.__dict__  # of this thread
    if pool["depth"] == 0:
        return np.empty(shape)
    taken, arrays = pool["taken"], pool["arrays"]
    pool["taken"] = taken + 1
    if taken == len(arrays):
        arrays.append(_view(np.empty(size), shape))
    elif arrays[taken].shape != shape:
        buffer = arrays[taken].base
        arrays[taken] = _view(buffer if buffer.size >= size else np.empty(size), shape)
    array: FloatArray = arrays[taken]
    return array


def _view(buffer: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The beginning of a buffer in some shape."""
    return buffer[: math.prod(shape)].reshape(shape)


def empty_like(array: FloatArray) -> FloatArray:
    """An array like that of `empty`, of the shape of another array."""
    return _handed_out(array.size, array.shape)


def product(first: FloatArray, second: FloatArray) -> FloatArray:
    """The matrix product of a block and a matrix, in memory of `empty`."""
    rows, columns = first.shape[0], second.shape[1]
    if rows * columns <= SMALL:
        return first @ second
    return np.matmul(first, second, out=empty(rows, columns))


def release(array: FloatArray) -> None:
    """Say that the array handed out last is needed no more: the next one has its memory."""
    if array.base is not None:
        _POOL.taken -= 1
