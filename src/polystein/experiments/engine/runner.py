"""Run a study: replicates spread over processes, resumable, the same for any number of them.

Only the parent process writes, and only finished cells: an interrupted or killed run
leaves nothing half-written and can be continued.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from polystein._lib.processes import end_with_parent
from polystein.errors import InputError, PolysteinWarning, StudyError, TaskError
from polystein.experiments.engine.cells import Cell, Replicate, Row, Task
from polystein.experiments.engine.store import Finished, Store
from polystein.types import Progress

# Work is handed out in chunks of about this many milliseconds.
_CHUNK = 3000.0
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Chunk(NamedTuple):
    """Consecutive replicates of a cell, for one worker."""

    cell: Cell
    start: int
    stop: int


class Done(NamedTuple):
    """What a worker hands back: rows of every replicate, or what went wrong."""

    replicates: list[list[Row]]
    seconds: float
    failure: str | None = None


def run(
    cells: Sequence[Cell],
    task: Task,
    *,
    out: Path,
    seed: int,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Run every replicate of every cell that `out` does not hold yet.

    Parameters
    ----------
    cells : sequence of Cell
        The grid, all of one study; the table keeps this order.
    task : callable
        A function of a module (or a `functools.partial` of one) from a `Replicate` to
        rows of plain Python values.
    out : Path
        Directory of this study; finished cells found there are not run again.
    seed : int
        Non-negative; the same seed gives the same table, byte by byte.
    jobs : int, optional
        Number of processes, by default one for each core. They use one BLAS thread
        each, even if there is one process only.
    progress : callable, optional
        Called as ``progress(done, total)`` in units of expected milliseconds; what was
        finished before does not count.

    Returns
    -------
    list of dict
        The rows of ``replicates.csv``, which is written to `out` with ``run.json``.
    """
    _validate(cells, task, seed, jobs)
    study = _Study(Store(Path(out), seed), task, progress)
    study.resume(cells)
    if study.chunks:
        study.work(min(jobs or os.cpu_count() or 1, len(study.chunks)))
    return study.store.write_table(cells, study.finished)


def _validate(cells: Sequence[Cell], task: Task, seed: int, jobs: int | None) -> None:
    if not cells or len({cell.study for cell in cells}) > 1:
        raise InputError(
            "`cells` must be at least one cell, all of one study; got studies "
            f"{sorted({cell.study for cell in cells})}"
        )
    if len({cell.key for cell in cells}) < len(cells):
        raise InputError("`cells` must differ in their keys; got one key twice")
    if seed < 0:
        raise InputError(f"`seed` must be a non-negative integer; got {seed}")
    if jobs is not None and jobs < 1:
        raise InputError(f"`jobs` must be a positive integer; got {jobs}")
    # Workers import the task by its name, which a lambda or a closure does not have.
    try:
        pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            "`task` must be a function of a module, or a functools.partial of one; "
            f"got {task!r}: {error}"
        ) from error


@dataclass
class _Study:
    """The state of one run: what is finished, what is under way, what failed."""

    store: Store
    task: Task
    progress: Progress | None
    finished: dict[Cell, Finished] = field(default_factory=dict)
    chunks: list[Chunk] = field(default_factory=list)
    before: dict[Cell, Finished] = field(default_factory=dict)
    parts: dict[Cell, dict[int, Done]] = field(default_factory=dict)
    failures: dict[Cell, str] = field(default_factory=dict)

    def resume(self, cells: Sequence[Cell]) -> None:
        """Take over what is finished and cut the rest into chunks, the heaviest cells first."""
        for cell in sorted(cells, key=lambda cell: -cell.cost * cell.replicates):
            found = self.store.load(cell)
            if found is not None:
                self.before[cell] = found
            there = 0 if found is None else len(found.replicates)
            if found is not None and there >= cell.replicates:
                self.finished[cell] = found
                continue
            self.parts[cell] = {}
            size = max(1, int(_CHUNK / cell.cost))
            for start in range(there, cell.replicates, size):
                self.chunks.append(Chunk(cell, start, min(start + size, cell.replicates)))
        words = self.store.of_other_code(self.before.values())
        if words is not None:
            message = f"{words}; remove {self.store.folder} to rerun"
            warnings.warn(message, PolysteinWarning, stacklevel=3)

    def work(self, jobs: int) -> None:
        """Hand the chunks to worker processes; keep each cell when its last chunk is back."""
        total, done = sum(map(_milliseconds, self.chunks)), 0
        with workers(jobs) as pool:
            futures = {
                pool.submit(_work, self.task, chunk, self.store.seed): chunk
                for chunk in self.chunks
            }
            for future in as_completed(futures):
                chunk = futures[future]
                if not future.cancelled():
                    self._collect(chunk, future, futures)
                done += _milliseconds(chunk)
                if self.progress is not None:
                    self.progress(done, total)
        if self.failures:
            cell, failure = next(iter(self.failures.items()))
            raise TaskError(
                f"{len(self.failures)} cells failed, {len(self.finished)} are finished and kept. "
                f"The first failure was in {cell.key}:\n{failure}"
            )

    def _collect(
        self, chunk: Chunk, future: Future[Done], futures: Mapping[Future[Done], Chunk]
    ) -> None:
        cell = chunk.cell
        try:
            done = future.result()
        except (BrokenProcessPool, MemoryError) as error:
            what = "ran out of memory" if isinstance(error, MemoryError) else "ended"
            raise StudyError(
                f"a worker process {what} while it ran {cell.key}, replicates {chunk.start} to "
                f"{chunk.stop - 1}, or a cell beside it. Was there enough memory? Finished cells "
                "are kept; run the same command again to go on"
            ) from error
        if done.failure is not None:
            self.failures.setdefault(cell, done.failure)
            for other, its_chunk in futures.items():
                if its_chunk.cell == cell:
                    other.cancel()
            return
        self.parts[cell][chunk.start] = done
        self._keep_if_complete(cell)

    def _keep_if_complete(self, cell: Cell) -> None:
        parts = [part for _, part in sorted(self.parts[cell].items())]
        before = self.before.get(cell, Finished([], 0.0, ()))
        replicates = [*before.replicates, *(one for part in parts for one in part.replicates)]
        if len(replicates) < cell.replicates:
            return
        seconds = before.seconds + sum(part.seconds for part in parts)
        commits = tuple(sorted({*before.commits, self.store.commit}))
        self.finished[cell] = Finished(replicates, seconds, commits)
        self.store.save(cell, self.finished[cell])
        del self.parts[cell]


def _milliseconds(chunk: Chunk) -> int:
    return max(1, round(chunk.cell.cost * (chunk.stop - chunk.start)))


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes of one BLAS thread each that end with this block, whatever ends it."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with _one_thread_each():
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_parent)
        try:
            yield pool
        except BaseException:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """BLAS reads these when a worker first loads it; this process has loaded its own."""
    saved = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(task: Task, chunk: Chunk, seed: int) -> Done:
    """Run some replicates, in a worker."""
    # The time of the processor: a busy machine does not change it.
    started, replicates = time.process_time(), []
    for index in range(chunk.start, chunk.stop):
        try:
            with warnings.catch_warnings():
                # A warning concerns one set of draws; here thousands are tested on purpose.
                warnings.simplefilter("ignore", PolysteinWarning)
                rows = [dict(row) for row in task(Replicate(chunk.cell, index, seed))]
            # Rows that cannot be stored are reported here, where the replicate is known.
            json.dumps(rows, allow_nan=False)
        except MemoryError as error:
            # A fault of the machine, not of the cell.
            raise MemoryError(f"replicate {index}: {error}") from None
        except Exception:
            return Done([], 0.0, f"replicate {index}: {traceback.format_exc()}")
        replicates.append(rows)
    return Done(replicates, time.process_time() - started)
