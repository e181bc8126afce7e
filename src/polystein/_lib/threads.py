"""How many threads BLAS may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """The thread pools of the libraries that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController()


class _Limit:
    """A limit of the whole process: the first one in sets it, the last one out lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside, self._stack = Lock(), 0, ExitStack()

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._stack.enter_context(_controller().limit(limits=1, user_api="blas"))
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._stack.close()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread, also if several threads are inside at a time."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
