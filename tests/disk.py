"""A disk on which files cannot grow beyond a few bytes."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_disk(room: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes: the system refuses to write more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
