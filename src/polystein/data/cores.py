"""Work beside passes on as many cores as these have. It must be work that frees Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from polystein.data.passes import cores

#: For fewer rows a thread is not worth the time that it takes to start.
MANY_ROWS = 2**20
_Part = TypeVar("_Part")
_Found = TypeVar("_Found")


def on_threads(work: Callable[[_Part], _Found], parts: Iterable[_Part]) -> list[_Found]:
    """What becomes of every part, on as many threads as passes have cores."""
    if cores() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, parts))


def side_by_side(first: Callable[[], _Found], second: Callable[[], object], rows: int) -> _Found:
    """What the first piece of work gives; the second one is done meanwhile if there are cores.

    Both go through so many rows; for few, they are done in turn. If both fail, the error is that
    of the first, as if they were done in turn. Passes belong into the second, which stays on this
    thread.
    """
    if cores() == 1 or rows < MANY_ROWS:
        found = first()
        second()
        return found
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(first)
        try:
            second()
        except Exception:
            begun.result()
            raise
        return begun.result()
