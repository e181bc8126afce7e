"""Draws and scores as Dask arrays: every chunk is summed where it is, and only sums travel.

A pass becomes one task for each chunk, which reads draws and scores and feeds accumulators, a
tree of tasks that merge these, and one small result. It runs on whatever scheduler the caller
has chosen: threads, processes, or a `distributed` cluster.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from polystein._lib.threads import one_blas_thread
from polystein.data.passes import Accumulator, Executor, Serial, Tick
from polystein.data.source import (
    Block,
    CheckedSource,
    Layout,
    Rows,
    Source,
    checked_names,
    chosen_count,
)
from polystein.errors import ClusterError, InputError, PolysteinError
from polystein.scale.dask_graph import Reading, readings
from polystein.scale.stores import layout_of
from polystein.types import FloatArray, ScoreFunction

#: Accumulators that one task merges: few levels of tasks, each of which holds few sums at once.
MERGED_AT_ONCE = 8


class Extent(NamedTuple):
    """The chains and the rows of a chunk: where they start and stop."""

    chains: tuple[int, int]
    rows: tuple[int, int]

    def __str__(self) -> str:
        return f"rows {self.rows[0]}:{self.rows[1]} of chains {self.chains[0]}:{self.chains[1]}"


class DaskSource(Source):
    """Rows of Dask arrays, whose passes run on Dask's scheduler.

    ``draws`` and ``scores`` have the same chunks, with all coordinates in each.
    """

    validated = True

    def __init__(self, draws: Any, scores: Any, names: tuple[str, ...] | None = None) -> None:
        self.draws, self.scores, self.names = draws, scores, names
        self.layout = layout_of(draws, "draws")
        self.grain = max(draws.chunks[-2])
        self.executor = DaskExecutor()

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, computed and fetched."""
        fetched: Any = _Fetched(self.layout, self.draws, self.scores)
        return CheckedSource(fetched).read(chain, start, stop)

    def part_of_rows(self, start: int, stop: int) -> DaskSource:
        """Rows ``start:stop`` of every chain, which stay with Dask."""
        rows = (..., slice(start, stop), slice(None))
        found = DaskSource(self.draws[rows], self.scores[rows], self.names)
        found.layout = found.layout._replace(time_ordered=self.layout.time_ordered)
        return found

    def part_of_chains(self, start: int, stop: int) -> DaskSource:
        """Chains ``start:stop``, which stay with Dask."""
        return DaskSource(self.draws[start:stop], self.scores[start:stop], self.names)

    def extents(self) -> list[Extent]:
        """The chunks in the order of `keys`."""
        chunks = self.draws.chunks
        rows = _bounds(chunks[-2])
        chains = _bounds(chunks[0]) if len(chunks) == 3 else [(0, 1)]
        return [Extent(*pair) for pair in product(chains, rows)]

    def keys(self) -> list[tuple[Hashable, ...]]:
        """Keys of the draws and of the scores of every chunk."""
        flatten = importlib.import_module("dask.core").flatten
        both = (flatten(array.__dask_keys__()) for array in (self.draws, self.scores))
        return list(zip(*both, strict=True))

    def __repr__(self) -> str:
        return f"DaskSource({self.layout})"


class _Fetched(NamedTuple):
    """Rows computed by Dask and fetched, for what looks at few rows or cannot be merged."""

    layout: Layout
    draws: Any
    scores: Any

    def read(self, chain: int, start: int, stop: int) -> Block:
        rows = (chain, slice(start, stop)) if self.draws.ndim == 3 else (slice(start, stop),)
        dask = importlib.import_module("dask")
        draws, scores = _computed(lambda: dask.compute(self.draws[rows], self.scores[rows]))
        return Block(draws, scores, None, chain, start)


@dataclass(frozen=True)
class _Chunk:
    """One chunk in memory, as a source of the rows that it holds."""

    layout: Layout
    extent: Extent
    draws: FloatArray
    scores: FloatArray

    def read(self, chain: int, start: int, stop: int) -> Block:
        rows = slice(start - self.extent.rows[0], stop - self.extent.rows[0])
        if self.draws.ndim == 3:
            place = chain - self.extent.chains[0]
            return Block(self.draws[place, rows], self.scores[place, rows], None, chain, start)
        return Block(self.draws[rows], self.scores[rows], None, chain, start)


@dataclass(frozen=True)
class _Work:
    """What one task does: read a chunk and feed chosen rows of it. It is opaque to Dask."""

    layout: Layout
    extent: Extent
    rows: tuple[Rows, ...]
    size: int
    reading: Reading

    def summed(self, empty: list[Accumulator], *inputs: Any) -> list[Accumulator]:
        """Accumulators of the chosen rows of the chunk."""
        held: Any = _Chunk(self.layout, self.extent, *self._arrays(inputs))
        chunk = CheckedSource(held)
        own = [accumulator.zero() for accumulator in empty]
        with one_blas_thread():
            Serial().run(chunk, self.rows, own, Tick(), self.size)
        return own

    def _arrays(self, inputs: Sequence[Any]) -> list[FloatArray]:
        try:
            found = self.reading.arrays(inputs)
        except (PolysteinError, MemoryError):
            raise
        except Exception as error:
            raise InputError(
                f"`draws` and `scores` must be readable; {self.extent} are not: "
                f"{type(error).__name__}: {error}"
            ) from error
        (first, last), (start, stop) = self.extent
        leading = (last - first, stop - start) if found[0].ndim == 3 else (stop - start,)
        expected = (*leading, self.layout.dimension)
        for name, array in zip(("draws", "scores"), found, strict=True):
            if tuple(array.shape) != expected:
                raise InputError(
                    f"`{name}` must have the shape {expected} in {self.extent}, as their chunks "
                    f"say; got {tuple(array.shape)}"
                )
        return found


def _merged(parts: list[list[Accumulator]]) -> list[Accumulator]:
    """All rows of several lists of accumulators, which are left as they are.

    A task may run again where a worker was lost: what it is given must not change.
    """
    together = [accumulator.zero() for accumulator in parts[0]]
    for part in parts:
        for accumulator, other in zip(together, part, strict=True):
            accumulator.merge(other)
    return together


@dataclass(frozen=True)
class DaskExecutor(Executor):
    """Runs a pass on the scheduler that Dask is set to: chunks, a tree of merges, one result."""

    def run(
        self,
        source: Source,
        rows: Sequence[Rows],
        accumulators: Sequence[Accumulator],
        tick: Callable[[int], None],
        size: int,
    ) -> None:
        """Feed every block, of at most `size` rows, to every accumulator."""
        if not isinstance(source, DaskSource):
            raise TypeError(f"a DaskExecutor runs passes over a DaskSource; got {source!r}")
        empty = [accumulator.zero() for accumulator in accumulators]
        graph, last = pass_graph(source, rows, empty, size)
        if last is None:
            return
        delayed = importlib.import_module("dask.delayed").Delayed
        found = _computed(delayed(last, graph).compute)
        for accumulator, other in zip(accumulators, found, strict=True):
            accumulator.merge(other)
        tick(sum(map(chosen_count, rows)))


def pass_graph(
    source: DaskSource, rows: Sequence[Rows], empty: list[Accumulator], size: int
) -> tuple[dict[Hashable, Any], Hashable | None]:
    """The tasks of a pass, and the key of the last one; None if no row is chosen."""
    extents, keys = source.extents(), source.keys()
    parts = assigned(rows, extents, source.draws.numblocks[-2])
    wanted = sorted(parts)
    whole = {**source.draws.__dask_graph__(), **source.scores.__dask_graph__()}
    found, graph = readings(whole, [keys[index] for index in wanted])
    name = f"polystein-{uuid4().hex}"
    tasks: dict[Hashable, Any] = {**graph, f"{name}-empty": _Opaque(empty)}
    level: list[Hashable] = []
    for number, (index, reading) in enumerate(zip(wanted, found, strict=True)):
        work = _Work(source.layout, extents[index], tuple(parts[index]), size, reading)
        level.append((f"{name}-sums", number))
        tasks[level[-1]] = (_summed, _Opaque(work), f"{name}-empty", list(reading.inputs))
    for depth in range(64):
        if len(level) <= 1:
            break
        groups = [level[low : low + MERGED_AT_ONCE] for low in range(0, len(level), MERGED_AT_ONCE)]
        level = [(f"{name}-merge-{depth}", number) for number in range(len(groups))]
        tasks.update({key: (_merged, group) for key, group in zip(level, groups, strict=True)})
    return tasks, level[0] if level else None


@dataclass(frozen=True)
class _Opaque:
    """A value that Dask does not look into for tasks."""

    value: Any


def _summed(work: _Opaque, empty: _Opaque, inputs: list[Any]) -> list[Accumulator]:
    found: list[Accumulator] = work.value.summed(empty.value, *inputs)
    return found


def assigned(
    rows: Sequence[Rows], extents: Sequence[Extent], columns: int
) -> dict[int, list[Rows]]:
    """The chosen rows of each chunk; chunks without any are left out.

    There are ``columns`` chunks for the rows of a chain, one after the other.
    """
    first_rows = [extent.rows[0] for extent in extents[:columns]]
    first_chains = [extent.chains[0] for extent in extents[::columns]]
    parts: dict[int, list[Rows]] = {}
    for chain, start, stop, mask in rows:
        line = int(np.searchsorted(first_chains, chain, side="right")) - 1
        column = int(np.searchsorted(first_rows, start, side="right")) - 1
        while start < stop:
            index = line * columns + column
            end = min(stop, extents[index].rows[1])
            part = None if mask is None else mask[: end - start]
            if end > start and (part is None or part.any()):
                parts.setdefault(index, []).append(Rows(chain, start, end, part))
            mask = None if mask is None else mask[end - start :]
            start, column = end, column + 1
    return parts


def _computed(compute: Callable[[], Any]) -> Any:
    """Run Dask; what goes wrong with the cluster becomes an error of ours."""
    try:
        return compute()
    except PolysteinError:
        raise
    except Exception as error:
        # Work is cancelled where the scheduler is gone, and a pool is broken where a process died.
        lost = isinstance(error, CancelledError | BrokenExecutor)
        if lost or type(error).__module__.startswith("distributed"):
            raise ClusterError(
                "the cluster lost workers more often than its scheduler allows, or could not be "
                f"reached: {type(error).__name__}: {error}. Look into the workers' logs (memory "
                "is the usual cause: use smaller chunks), or raise "
                "`distributed.scheduler.allowed-failures`."
            ) from error
        raise


def from_dask(draws: Any, scores: Any = None, names: Sequence[str] | None = None) -> DaskSource:
    """The source of Dask arrays of draws and scores, or of draws and a score function.

    One of them may be another array, which gets the chunks of the Dask array.
    """
    array = importlib.import_module("dask.array")
    if not isinstance(draws, array.Array):
        draws = array.from_array(draws, chunks=_chunks_for(draws, scores))
    draws = _whole_rows(draws, "draws")
    named = checked_names(names, int(draws.shape[-1]))
    if scores is None:
        raise InputError(
            "`scores` must be an array of the shape of `draws` or a callable; got None"
        )
    if callable(scores) and not hasattr(scores, "dtype"):
        # Without `meta` Dask would try the function on no rows.
        meta = np.empty((0,) * draws.ndim)
        return DaskSource(draws, draws.map_blocks(_Scored(scores), meta=meta), named)
    if not isinstance(scores, array.Array):
        scores = array.from_array(scores, chunks=_chunks_for(scores, draws))
    scores = _whole_rows(scores, "scores")
    if scores.shape != draws.shape:
        raise InputError(
            f"`scores` must have the shape of `draws`, {draws.shape}; got {scores.shape}"
        )
    return DaskSource(draws, scores.rechunk(draws.chunks), named)


def _chunks_for(array: Any, other: Any) -> Any:
    """The chunks of the other array; where shapes differ, any, for an error to come."""
    return other.chunks if tuple(array.shape) == tuple(other.shape) else "auto"


@dataclass(frozen=True)
class _Scored:
    """A score function of (n, d) draws, applied to a chunk of any shape."""

    score: ScoreFunction

    def __call__(self, draws: FloatArray) -> FloatArray:
        rows = draws.reshape(-1, draws.shape[-1])
        scores: FloatArray = np.asanyarray(self.score(rows.copy()))
        if scores.shape != rows.shape:
            raise InputError(
                f"`scores` must return an array of the shape of its argument, {rows.shape}; the "
                f"callable returned {scores.shape}"
            )
        return scores.reshape(draws.shape)


def _whole_rows(array: Any, argument: str) -> Any:
    """The array with all coordinates of a row in one chunk; an error if it is no array of rows."""
    if np.isnan(array.shape).any():
        raise InputError(
            f"`{argument}` must have chunks of known sizes; got {array.shape}. Call "
            "`compute_chunk_sizes()` on it first."
        )
    layout_of(array, argument)
    return array.rechunk({array.ndim - 1: -1}) if array.numblocks[-1] > 1 else array


def _bounds(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Where chunks of these sizes start and stop."""
    return list(pairwise(np.cumsum([0, *sizes]).tolist()))
