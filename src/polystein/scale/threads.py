"""Passes on several cores: on threads, or on forked processes (`polystein.scale.forks`).

Rows are cut into ranges of blocks, the same ones for any number of cores. Each range has
accumulators of its own, and these are merged in time order: the answer does not depend on the
number of cores. One accumulator for all rows, as without `n_jobs`, rounds differently.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from threading import Event

import numpy as np

from polystein._lib.arguments import is_integer
from polystein.data.passes import (
    SERIAL,
    Accumulator,
    Executor,
    Serial,
    Tick,
    executed_by,
    into_blocks,
    read_at_once,
)
from polystein.data.source import Rows, Source, chosen_count
from polystein.errors import InputError
from polystein.scale.forks import FEWEST_NUMBERS, can_fork, forked
from polystein.types import Progress

#: Folds a range of rows into accumulators of its own, and counts the rows.
Fold = Callable[[list[Rows], Callable[[int], None]], list[Accumulator]]
#: The rows of a pass are cut into at most this many ranges, whatever the number of cores is.
RANGES = 32
#: Ranges of fewer blocks than this are not worth their accumulators.
FEWEST_BLOCKS = 4


@dataclass(frozen=True)
class Threads(Executor):
    """Ranges of rows on several cores, merged in time order."""

    count: int
    #: Least number of blocks of a range.
    fewest_blocks: int = FEWEST_BLOCKS

    def run(
        self,
        source: Source,
        rows: Sequence[Rows],
        accumulators: Sequence[Accumulator],
        tick: Callable[[int], None],
        size: int,
    ) -> None:
        """Feed every block, of at most `size` rows, to every accumulator."""
        blocks = list(into_blocks(rows, size, read_at_once(source)))
        # What is stored together is decoded by one thread.
        chunks = blocks if source.grain == 1 else list(into_blocks(rows, size, source.grain))
        ranges = min(RANGES, len(blocks) // self.fewest_blocks, len(chunks))
        if ranges < 2:
            Serial().run(source, rows, accumulators, tick, size)
            return
        bounds = np.linspace(0, len(chunks), ranges + 1).astype(int)
        starts = {one[:2] for one in rows}
        parts = [_joined(chunks[low:high], starts) for low, high in pairwise(bounds)]

        def fold(part: list[Rows], count: Callable[[int], None]) -> list[Accumulator]:
            own = [accumulator.zero() for accumulator in accumulators]
            Serial().run(source, part, own, count, size)
            return own

        # Whatever goes wrong here, or Ctrl-C, ends the work on the ranges, too.
        with closing(self._folded(source, fold, parts, tick)) as every:
            for folded in every:
                for accumulator, other in zip(accumulators, folded, strict=True):
                    accumulator.merge(other)

    def _folded(
        self, source: Source, fold: Fold, parts: list[list[Rows]], tick: Callable[[int], None]
    ) -> Generator[list[Accumulator], None, None]:
        """The accumulators of every range, in time order."""
        if self.count == 1 or not can_fork(source):
            yield from _on_threads(self.count, fold, parts, tick)
            return
        rows = [sum(map(chosen_count, part)) for part in parts]
        if sum(rows) * source.layout.dimension < FEWEST_NUMBERS:
            yield from (fold(part, tick) for part in parts)
            return
        with closing(forked(self.count, lambda part: fold(part, Tick()), parts)) as found:
            for folded, count in zip(found, rows, strict=True):
                tick(count)
                yield folded


def _on_threads(
    count: int, fold: Fold, parts: list[list[Rows]], tick: Callable[[int], None]
) -> Iterator[list[Accumulator]]:
    stopped = Event()

    def counted(done: int) -> None:
        if stopped.is_set():
            raise _Stopped
        tick(done)

    with ThreadPoolExecutor(count) as pool:
        try:
            yield from pool.map(lambda part: fold(part, counted), parts)
        except BaseException:
            # Whatever went wrong in one range ends the others, too.
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise


def _joined(blocks: list[Rows], starts: set[tuple[int, int]]) -> list[Rows]:
    """Consecutive blocks as the `Rows` that were asked for, which are cut again when they are read.

    ``starts`` has the chain and the first row of all `Rows` that were asked for. These stay apart,
    for an accumulator may tell one from the next.
    """
    first = [k for k, block in enumerate(blocks) if k == 0 or block[:2] in starts]
    joined = []
    for low, high in pairwise([*first, len(blocks)]):
        masks = [block.mask for block in blocks[low:high] if block.mask is not None]
        mask = np.concatenate(masks) if masks else None
        joined.append(Rows(*blocks[low][:2], blocks[high - 1].stop, mask))
    return joined


class _Stopped(Exception):
    """Another range failed first."""


@contextmanager
def working(
    source: Source, n_jobs: int | None, progress: Progress | None = None, reads: float = 1.0
) -> Iterator[None]:
    """A context whose passes run on `n_jobs` threads; each row is read about `reads` times."""
    executor: Executor = SERIAL if n_jobs is None else Threads(thread_count(n_jobs))
    tick = Tick(progress, round(reads * source.layout.total))
    with executed_by(executor, tick):
        yield
    tick.finish()


def thread_count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs, least=-(2**31)) or int(n_jobs) == 0:
        raise InputError(
            f"`n_jobs` must be a positive number of threads, -1 for all cores, -2 for all but one "
            f"and so on; got {n_jobs!r}"
        )
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
