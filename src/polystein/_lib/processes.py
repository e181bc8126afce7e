"""Work in other processes, each with a pipe of its own: one that is killed loses its task alone."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

from polystein.errors import ClusterError


class Lost:
    """What stands for the answer to a task whose process ended."""


LOST: Final = Lost()
#: How often a task is sent: once more if the first process ended while it had nothing to do. A
#: second one that ends has ended over this task, which may be too large for its memory.
_ATTEMPTS = 2


def spread(
    work: Callable[[Any], Any], tasks: Sequence[Any], count: int
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each task and its answer, in the order in which they are done.

    Parameters
    ----------
    work : callable
        A function of a module, from a task to its answer. It must not raise.
    tasks : sequence
        What cannot be pickled, or not be read by another process, is worked on in this one.
    count : int
        How many processes. They are spawned, and end with this generator whatever ends it.
    """
    waiting = deque(enumerate(tasks))
    started: list[BaseProcess] = []
    busy: dict[Connection, int] = {}
    try:
        idle = [_start(work, started) for _ in range(min(count, len(tasks)))]
        for connection in idle:
            _await(connection)
        while waiting or busy:
            while waiting and idle:
                number, task = waiting.popleft()
                try:
                    message = ForkingPickler.dumps(task)
                except Exception:  # classes of others raise what they like
                    yield number, work(task)
                    continue
                for _ in range(_ATTEMPTS):
                    try:
                        idle[-1].send_bytes(message)
                    except OSError:
                        idle[-1] = _replaced(work, started)
                    else:
                        busy[idle.pop()] = number
                        break
                else:
                    yield number, LOST
                del message  # which may be as large as all draws
            ready = wait(list(busy))
            for connection in [one for one in busy if one in ready]:
                number = busy.pop(connection)
                try:
                    is_read, answer = connection.recv()
                except (EOFError, OSError):
                    yield number, LOST
                    if waiting:
                        idle.append(_replaced(work, started))
                    continue
                idle.append(connection)
                yield number, answer if is_read else work(tasks[number])
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.join()


def _start(work: Callable[[Any], Any], started: list[BaseProcess]) -> Connection:
    """Start a process, and return our end of its pipe."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_serve, args=(its, work), daemon=True)
    process.start()
    started.append(process)
    its.close()  # so that the pipe ends when the process does
    return ours


def _await(connection: Connection) -> None:
    """Wait until a process says that it is there."""
    try:
        connection.recv()
    except (EOFError, OSError):
        raise ClusterError(
            "processes that `n_jobs` asks for ended before they began to work. In a script, call "
            'this under `if __name__ == "__main__":`, or leave `n_jobs` out'
        ) from None


def _replaced(work: Callable[[Any], Any], started: list[BaseProcess]) -> Connection:
    connection = _start(work, started)
    _await(connection)
    return connection


def _serve(connection: Connection, work: Callable[[Any], Any]) -> None:
    """Answer one task after the other until the pipe ends."""
    end_with_parent()
    connection.send(None)
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:
            return
        try:
            task = pickle.loads(message)
        except Exception:  # a class or a function that this process does not know
            connection.send((False, None))
            continue
        connection.send((True, work(task)))


def end_with_parent() -> None:
    """Let this process end at once and silently on Ctrl-C, and when its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_outlive_no_parent, daemon=True).start()


def _outlive_no_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
