"""Which tasks read a chunk of a Dask array, and which of them can be part of one task.

Draws and scores of a chunk are read in the task that sums them: as tasks of their own they would
travel from one worker to another. What several chunks share stays a task of its own, unless it is
small, such as a handle of a Zarr store.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Most bytes of shared data that go along with every task.
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
        """Run the tasks here and now."""
        run = importlib.import_module("dask.local").get_sync
        known = dict(zip(self.inputs, values, strict=True))
        found = run({**self.graph, **known}, [key for key in self.keys if key not in known])
        rest = iter(found)
        return [known[key] if key in known else next(rest) for key in self.keys]


def readings(graph: Graph, chunks: list[tuple[Hashable, ...]]) -> tuple[list[Reading], Graph]:
    """How each chunk, given by the keys of its arrays, is read; and what stays outside."""
    dependencies = importlib.import_module("dask.core").get_dependencies
    needed = [_needed(graph, keys, dependencies) for keys in chunks]
    uses = Counter(key for part in needed for key in part)
    outside = {key for key, count in uses.items() if not _goes_along(graph[key], count)}
    found = []
    for keys, part in zip(chunks, needed, strict=True):
        own = _reached(part, keys, outside)
        inputs = tuple(key for key in own if key in outside)
        inside = {key: graph[key] for key in own if key not in outside}
        found.append(Reading(inside, keys, inputs))
    shared = {key for reading in found for key in reading.inputs}
    return found, {key: graph[key] for key in _needed(graph, tuple(shared), dependencies)}


def _needed(
    graph: Graph, keys: tuple[Hashable, ...], dependencies: Any
) -> dict[Hashable, set[Hashable]]:
    """All tasks that these need, each with those it needs itself."""
    found: dict[Hashable, set[Hashable]] = {}
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = set(dependencies(graph, key))
            waiting += found[key]
    return found


def _reached(
    part: dict[Hashable, set[Hashable]], keys: tuple[Hashable, ...], outside: set[Hashable]
) -> dict[Hashable, None]:
    """The tasks of a chunk down to those that stay outside, in a fixed order."""
    found: dict[Hashable, None] = {}
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = None
            waiting += [] if key in outside else sorted(part[key], key=str)
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
