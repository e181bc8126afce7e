"""Memory for arrays that live no longer than a block of rows.

Arrays of a block's size are given back to the operating system when they are freed, and fetched
anew, page by page, when the next block needs them: that takes several times as long as the
arithmetic on them. Inside `reused`, `empty` hands out the same memory for every block.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from polystein.types import FloatArray


class _Pool(threading.local):
    """Buffers of one thread, and how many of them are taken.

    The first ``held`` belong to blocks of passes around this one.
    """

    def __init__(self) -> None:
        self.buffers: list[FloatArray] = []
        self.taken = self.held = 0
        self.depth = 0


_POOL = _Pool()


@contextmanager
def reused() -> Iterator[None]:
    """A context in which `empty` reuses memory; it is released at the end."""
    around, _POOL.held = _POOL.held, _POOL.taken
    _POOL.depth += 1
    try:
        yield
    finally:
        _POOL.depth -= 1
        _POOL.taken, _POOL.held = _POOL.held, around
        if _POOL.depth == 0:
            _POOL.buffers = []


def next_block() -> None:
    """Say that no array of the last block is needed any more."""
    _POOL.taken = _POOL.held


def empty(*shape: int) -> FloatArray:
    """An array that the next block will overwrite; outside `reused`, an array of its own."""
    pool = _POOL.__dict__  # of this thread
    taken = pool["taken"]
    if pool["depth"] == 0:
        return np.empty(shape)
    buffers, size = pool["buffers"], math.prod(shape)
    if taken == len(buffers):
        buffers.append(np.empty(size))
    elif buffers[taken].size < size:
        buffers[taken] = np.empty(size)
    pool["taken"] = taken + 1
    array: FloatArray = buffers[taken][:size].reshape(shape)
    return array


def empty_like(array: FloatArray) -> FloatArray:
    """An array like that of `empty`, of the shape of another array."""
    return empty(*array.shape)
