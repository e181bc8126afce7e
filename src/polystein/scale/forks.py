"""Parts of a pass on forked processes, for rows of few columns that are in memory.

A block of few columns is dozens of calls of a few microseconds each. Threads wait for Python's lock
between them, and two are no faster than one. Forked processes see the arrays of this one without a
copy, and send their sums back.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

import numpy as np

from polystein.data.sample import Sample
from polystein.data.source import Rows, Source
from polystein.errors import ClusterError

#: In more dimensions blocks are long calls, on which threads do well, and sums are many numbers.
MOST_DIMENSIONS = 64
#: Fewer numbers than this are summed in the time that it takes to fork.
FEWEST_NUMBERS = 2**23
#: What a pipe holds; a mebibyte is what Linux allows to every user.
PIPE_BYTES = 2**20
#: Libraries with threads of their own, which do not allow it.
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
        and type(source) is Sample
        and all(isinstance(array, np.ndarray) for array in (source.draws, source.scores))
        and source.layout.dimension <= MOST_DIMENSIONS
    )


def forked(count: int, fold: Fold, parts: Sequence[list[Rows]]) -> Generator[Any, None, None]:
    """What every part is folded into, in their order, by `count` processes in turn.

    This process is the first of them: every fork costs the time of a copy of all page tables.
    """
    workers: list[_Worker] = []
    try:
        for number in range(1, min(count, len(parts))):
            try:
                with _interrupts_wait():
                    workers.append(_Worker(fold, parts[number::count], workers))
            except OSError:
                break  # no memory or no process is left: this one does what others would have done
        for number, part in enumerate(parts):
            turn = number % count
            yield workers[turn - 1].result() if 0 < turn <= len(workers) else fold(part)
    finally:
        with _interrupts_wait():
            for worker in workers:
                worker.end()


class _Worker:
    """A process that folds parts one after the other, and waits while nobody takes the results."""

    def __init__(
        self, fold: Fold, parts: Sequence[list[Rows]], earlier: Sequence[_Worker] = ()
    ) -> None:
        reading, writing = _wide_pipe()
        self._results = os.fdopen(reading, "rb")
        try:
            self._process = _fork()
            if self._process == 0:
                _work(fold, parts, writing, [worker._results for worker in (*earlier, self)])
        except OSError:
            self._results.close()
            raise
        finally:
            os.close(writing)

    def result(self) -> Any:
        """The next result; an error of the process is raised here."""
        try:
            done, found = pickle.load(self._results)
        except (EOFError, pickle.UnpicklingError):  # nothing came, or a part of a result
            raise ClusterError(
                "a process that worked on rows for `n_jobs` was lost; memory is the usual cause. "
                "Pass `n_jobs=1`, or `--jobs 1` on the command line."
            ) from None
        if not done:
            raise found
        return found

    def end(self) -> None:
        """Leave no process behind, whatever it is doing."""
        self._results.close()
        try:
            if os.waitpid(self._process, os.WNOHANG) == (0, 0):
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
        except ChildProcessError:
            pass  # the program waits for all its children by itself


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


def _wide_pipe() -> tuple[int, int]:
    """A pipe that takes many results, so that no process has to wait until another is ready."""
    ends = os.pipe()
    with suppress(ImportError, AttributeError, OSError):  # no Linux, or more than a user may have
        import fcntl

        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return ends


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of other threads, of which there are none but idle ones of BLAS.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _work(
    fold: Fold, parts: Sequence[list[Rows]], writing: int, readers: Sequence[IO[bytes]]
) -> None:
    """All that a forked process does. It ends here: what is behind belongs to the other one."""
    code = 1
    try:
        # Ctrl-C reaches all processes, and the first one ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # If the first one is gone, nobody reads: a process that still could would wait forever.
        for reader in readers:
            reader.close()
        with os.fdopen(writing, "wb") as results:
            for part in parts:
                results.write(_outcome(fold, part))
                results.flush()
        code = 0
    finally:
        os._exit(code)


def _outcome(fold: Fold, part: list[Rows]) -> bytes:
    """Whether a part was folded, and into what; or the error."""
    try:
        return pickle.dumps((True, fold(part)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
