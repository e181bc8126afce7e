"""How many threads BLAS may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

#: Held by the thread whose limit is in force.
_LIMITED = Lock()


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread.

    Most libraries have one limit for the whole process, and threadpoolctl 3.8 lets only the thread
    that set it lift it. So one thread at a time sets a limit, and lifts it itself. Other threads in
    this context share the limit while it lasts, and use BLAS's own threads after it. Answers are
    the same, and the next thread that enters the context sets the limit again.
    """
    if not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _LIMITED.release()
