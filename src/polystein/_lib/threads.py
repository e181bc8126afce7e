"""How many threads BLAS may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """The thread pools of the libraries that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread."""
    limits: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limits
