"""Passes on several cores: on threads, or on forked processes for rows of few columns in memory.

The rows of a pass are divided into parts, the same ones for any number of cores. Each part has
accumulators of its own, and these are merged in time order: the answer does not depend on the
number of cores. One accumulator for all rows, as without `n_jobs`, rounds differently.

A block of few columns is dozens of calls of a few microseconds each. Threads wait for Python's lock
between them, and two are no faster than one. Forked processes see the arrays of this one without a
copy, and send their sums back, each through a pipe of its own: the queue that the workers of a
`ProcessPoolExecutor` share would wait forever for the rest of a result whose sender was killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

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
from polystein.data.sample import Sample
from polystein.data.source import Rows, Source, chosen_count
from polystein.errors import ClusterError, InputError
from polystein.types import Progress

#: Most parts of the rows of a pass, whatever the number of cores is.
MOST_PARTS = 32
#: Parts of fewer blocks than this are not worth their accumulators.
FEWEST_BLOCKS = 4
#: Most coordinates of rows that forked processes work on. Blocks of more are long calls, on which
#: threads do well, and their sums are many numbers to send.
MOST_FORKED_DIMENSIONS = 64
#: Fewer numbers than this are summed in the time that it takes to fork.
FEWEST_FORKED_NUMBERS = 2**23
#: Libraries with threads of their own, which do not allow a fork.
_FORBIDDING = ("jax", "tensorflow")

#: Sums a part of the rows into accumulators of its own, and counts the rows.
Summed = Callable[[list[Rows], Callable[[int], None]], list[Accumulator]]


@dataclass(frozen=True)
class Threads(Executor):
    """Parts of the rows on several cores, merged in time order."""

    count: int
    #: Least number of blocks of a part.
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
        count = min(MOST_PARTS, len(blocks) // self.fewest_blocks, len(chunks))
        if count < 2:
            Serial().run(source, rows, accumulators, tick, size)
            return
        bounds = np.linspace(0, len(chunks), count + 1).astype(int)
        starts = {one[:2] for one in rows}
        parts = [_joined(chunks[low:high], starts) for low, high in pairwise(bounds)]

        def summed(part: list[Rows], counted: Callable[[int], None]) -> list[Accumulator]:
            own = [accumulator.zero() for accumulator in accumulators]
            Serial().run(source, part, own, counted, size)
            return own

        # An error here, or Ctrl-C, ends the work on all other parts.
        with closing(self._sums(source, summed, parts, tick)) as every:
            for found in every:
                for accumulator, other in zip(accumulators, found, strict=True):
                    accumulator.merge(other)

    def _sums(
        self, source: Source, summed: Summed, parts: list[list[Rows]], tick: Callable[[int], None]
    ) -> Generator[list[Accumulator], None, None]:
        """The accumulators of every part, in time order."""
        if self.count == 1 or not can_fork(source):
            yield from _on_threads(self.count, summed, parts, tick)
            return
        rows = [sum(map(chosen_count, part)) for part in parts]
        if sum(rows) * source.layout.dimension < FEWEST_FORKED_NUMBERS:
            yield from (summed(part, tick) for part in parts)
            return
        with closing(forked(self.count, lambda part: summed(part, Tick()), parts)) as every:
            for found, count in zip(every, rows, strict=True):
                tick(count)
                yield found


def _joined(blocks: list[Rows], starts: set[tuple[int, int]]) -> list[Rows]:
    """Consecutive blocks as the `Rows` that were asked for; reading divides them into blocks again.

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
    """Another part failed first."""


def _on_threads(
    count: int, summed: Summed, parts: list[list[Rows]], tick: Callable[[int], None]
) -> Iterator[list[Accumulator]]:
    """The accumulators of every part, by `count` threads; an error in one ends the others."""
    stopped = threading.Event()

    def counted(done: int) -> None:
        if stopped.is_set():
            raise _Stopped
        tick(done)

    with ThreadPoolExecutor(count) as pool:
        try:
            yield from pool.map(lambda part: summed(part, counted), parts)
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise


def can_fork(source: Source) -> bool:
    """Whether forked processes can work on these rows, and would gain something.

    A process that is forked while another thread is at work may wait for that thread's locks
    forever. Only arrays of NumPy are known to be safe.
    """
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and not any(name in sys.modules for name in _FORBIDDING)
        and not current_process().daemon  # a worker of a pool, which may have no children
        and type(source) is Sample
        and all(isinstance(array, np.ndarray) for array in (source.draws, source.scores))
        and source.layout.dimension <= MOST_FORKED_DIMENSIONS
    )


def forked(
    count: int, summed: Callable[[list[Rows]], Any], parts: Sequence[list[Rows]]
) -> Generator[Any, None, None]:
    """The sums of every part, in their order, by `count` processes in turn.

    This process is the first of them: every fork costs the time of a copy of all page tables.
    """
    workers: list[tuple[BaseProcess, Connection]] = []
    try:
        for number in range(1, min(count, len(parts))):
            try:
                with _interrupts_wait():
                    workers.append(_started(summed, parts[number::count], workers))
            except OSError:
                break  # no memory or no process is left: this one does the work of the others
        for number, part in enumerate(parts):
            turn = number % count
            yield _received(workers[turn - 1][1]) if 0 < turn <= len(workers) else summed(part)
    finally:
        with _interrupts_wait():
            for process, results in workers:
                results.close()
                process.kill()
                process.join()


def _started(
    summed: Callable[[list[Rows]], Any],
    parts: Sequence[list[Rows]],
    earlier: Sequence[tuple[BaseProcess, Connection]],
) -> tuple[BaseProcess, Connection]:
    """A worker, and the end of a pipe from which its results are read."""
    context = get_context("fork")
    reading, writing = context.Pipe(duplex=False)

    def work() -> None:
        # Ctrl-C reaches all processes, and the first one ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # A result that nobody reads ends a worker, as long as no other worker holds a reading end.
        for reader in (*(results for _, results in earlier), reading):
            reader.close()
        with suppress(BrokenPipeError):
            for part in parts:
                writing.send_bytes(_outcome(summed, part))

    process = context.Process(target=work, daemon=True)
    with writing, warnings.catch_warnings():
        # Python warns of other threads, of which there are none but idle ones of BLAS.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process, reading


def _outcome(summed: Callable[[list[Rows]], Any], part: list[Rows]) -> bytes:
    """Whether a part was summed, and its sums; or the error."""
    try:
        return pickle.dumps((True, summed(part)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _received(results: Connection) -> Any:
    """The next result of a worker; an error of the worker is raised here."""
    try:
        message = results.recv_bytes()
    except (EOFError, OSError):  # nothing came, or a part of a result
        raise ClusterError(
            "a process that worked on rows for `n_jobs` was lost; memory is the usual cause. "
            "Pass `n_jobs=1`, or `--jobs 1` on the command line."
        ) from None
    done, found = pickle.loads(message)
    if not done:
        raise found
    return found


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C waits until this process knows of all others that it has to end.

    A forked process begins in here, too, so that no interrupt makes it run on in the program. A
    mask of signals would not do: threads of BLAS take those that this thread does not.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield  # Python's handlers run on the main thread alone
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def working(
    source: Source, n_jobs: int | None, progress: Progress | None = None, reads: float = 1.0
) -> Iterator[None]:
    """A context whose passes run on `n_jobs` cores; each row is read about `reads` times."""
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
    if n_jobs > 0:
        return int(n_jobs)
    # Cores that this process may use.
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))
