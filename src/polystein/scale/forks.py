"""Parts of a pass on forked processes, for rows of few columns that are in memory.

A block of few columns is dozens of calls of a few microseconds each. Threads wait for Python's lock
between them, and two are no faster than one. Forked processes see the arrays of this one without a
copy, and send their sums back, each through a pipe of its own: the queue that the workers of a
`ProcessPoolExecutor` share would wait forever for the rest of a result whose sender was killed.
"""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from polystein.data.sample import Sample
from polystein.data.source import Rows, Source
from polystein.errors import ClusterError

#: In more dimensions blocks are long calls, on which threads do well, and sums are many numbers.
MOST_DIMENSIONS = 64
#: Fewer numbers than this are summed in the time that it takes to fork.
FEWEST_NUMBERS = 2**23
#: Libraries with threads of their own, which do not allow a fork.
_FORBIDDING = ("jax", "tensorflow")

#: What one part of the rows is folded into.
Fold = Callable[[list[Rows]], Any]


def can_fork(source: Source) -> bool:
    """Whether forked processes can work on these rows, and would gain something.

    A process that is forked while another thread is at work may wait for that thread's locks
    forever. Arrays of NumPy are all that is known to bear it.
    """
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and not any(name in sys.modules for name in _FORBIDDING)
        and not current_process().daemon  # a worker of a pool, which may have no children
        and type(source) is Sample
        and all(isinstance(array, np.ndarray) for array in (source.draws, source.scores))
        and source.layout.dimension <= MOST_DIMENSIONS
    )


def forked(count: int, fold: Fold, parts: Sequence[list[Rows]]) -> Generator[Any, None, None]:
    """What every part is folded into, in their order, by `count` processes in turn.

    This process is the first of them: every fork costs the time of a copy of all page tables.
    """
    workers: list[tuple[BaseProcess, Connection]] = []
    try:
        for number in range(1, min(count, len(parts))):
            try:
                with _interrupts_wait():
                    workers.append(_started(fold, parts[number::count], workers))
            except OSError:
                break  # no memory or no process is left: this one does what others would have done
        for number, part in enumerate(parts):
            turn = number % count
            yield _received(workers[turn - 1][1]) if 0 < turn <= len(workers) else fold(part)
    finally:
        with _interrupts_wait():
            for process, results in workers:
                results.close()
                process.kill()
                process.join()


def _started(
    fold: Fold, parts: Sequence[list[Rows]], earlier: Sequence[tuple[BaseProcess, Connection]]
) -> tuple[BaseProcess, Connection]:
    """A worker, and the end of a pipe from which its results are read."""
    context = get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    readers = [*(results for _, results in earlier), reading]
    process = context.Process(target=_work, args=(fold, parts, writing, readers), daemon=True)
    with writing, warnings.catch_warnings():
        # Python warns of other threads, of which there are none but idle ones of BLAS.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process, reading


def _work(
    fold: Fold, parts: Sequence[list[Rows]], writing: Connection, readers: Sequence[Connection]
) -> None:
    """Worker main: fold the parts one after the other and send the results."""
    # Ctrl-C reaches all processes, and the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A result that nobody reads ends a worker, as long as no other worker holds a reading end.
    for reader in readers:
        reader.close()
    with suppress(BrokenPipeError):
        for part in parts:
            writing.send_bytes(_outcome(fold, part))


def _outcome(fold: Fold, part: list[Rows]) -> bytes:
    """Whether a part was folded, and into what; or the error."""
    try:
        return pickle.dumps((True, fold(part)), pickle.HIGHEST_PROTOCOL)
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
