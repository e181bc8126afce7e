"""Which tasks read a chunk of a Dask array, and which of them can be part of one task.

Draws and scores of a chunk are read in the task that sums them: as tasks of their own they would
travel from one worker to another. What several chunks share stays a task of its own, unless it is
small, such as a handle of a Zarr store.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

#: Most bytes of shared data that are copied into every task, and are no task of their own.
_SMALL = 2**16

Graph = Mapping[Hashable, Any]


@dataclass(frozen=True)
class Reading:
    """The tasks that give the arrays ``keys`` of one chunk; it is opaque to Dask.

    ``inputs`` are the keys of other tasks, whose values come from outside.
    """

    graph: Graph
    keys: tuple[Hashable, ...]
    inputs: tuple[Hashable, ...]

    def arrays(self, values: Iterable[Any]) -> list[Any]:
        """The arrays of the chunk, by running its tasks in this thread."""
        run = importlib.import_module("dask.local").get_sync
        known = dict(zip(self.inputs, values, strict=True))
        found = run({**self.graph, **known}, [key for key in self.keys if key not in known])
        rest = iter(found)
        return [known[key] if key in known else next(rest) for key in self.keys]


def readings(graph: Graph, chunks: list[tuple[Hashable, ...]]) -> tuple[list[Reading], Graph]:
    """How each chunk, given by the keys of its arrays, is read; and what stays outside."""
    dependencies = importlib.import_module("dask.core").get_dependencies

    @cache
    def needs(key: Hashable) -> list[Hashable]:
        return sorted(dependencies(graph, key), key=str)

    uses = Counter(key for keys in chunks for key in _reached(keys, needs))
    outside = {key for key, count in uses.items() if not _goes_along(graph[key], count)}
    found = []
    for keys in chunks:
        own = _reached(keys, lambda key: [] if key in outside else needs(key))
        inputs = tuple(key for key in own if key in outside)
        inside = {key: graph[key] for key in own if key not in outside}
        found.append(Reading(inside, keys, inputs))
    shared = {key for reading in found for key in reading.inputs}
    return found, {key: graph[key] for key in _reached(shared, needs)}


def _reached(
    keys: Iterable[Hashable], needs: Callable[[Hashable], list[Hashable]]
) -> dict[Hashable, None]:
    """All tasks that these need and these themselves, in a fixed order."""
    found: dict[Hashable, None] = {}
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = None
            waiting += needs(key)
    return found


def _goes_along(node: Any, uses: int) -> bool:
    """Whether a task or a value can be part of the task of every chunk that needs it."""
    value = getattr(node, "value", node)
    # Futures stand for what the workers of a cluster hold already.
    if type(value).__module__.startswith("distributed"):
        return False
    if uses == 1:
        return True
    if type(node).__name__ == "Task" or isinstance(node, tuple):
        return False
    return int(importlib.import_module("dask.sizeof").sizeof(value)) <= _SMALL
