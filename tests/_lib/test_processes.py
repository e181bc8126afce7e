"""Work in other processes: every task is answered, whatever becomes of the processes."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polystein._lib import processes
from polystein._lib.processes import Lost, spread

HERE = os.getpid()


def work(task: Any) -> Any:
    """Say in which process a task was answered; one task ends its process."""
    number = task() if callable(task) else task
    if number == "end":
        os._exit(3)
    return number, os.getpid()


class OfThisProcess:
    """Pickles, but not for others."""

    def __reduce__(self) -> Any:
        return _refuse, (HERE,)

    def __call__(self) -> int:
        return 7


def _refuse(process: int) -> None:
    if os.getpid() != process:
        raise RuntimeError("cannot be read elsewhere")


class Unpicklable:
    """Raises whatever it is told to when it is pickled."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        raise self.error

    def __call__(self) -> str:
        return type(self.error).__name__


@pytest.mark.slow
@pytest.mark.processes
def test_what_cannot_be_pickled_is_worked_on_here() -> None:
    """Pointers of ctypes raise a ValueError; an OSError is no sign of a process that ended."""
    errors = [
        ValueError("pointers"),
        RuntimeError("no"),
        OSError("closed"),
        MemoryError(),
        KeyError(),
    ]
    answers = dict(spread(work, [0, *map(Unpicklable, errors)], 2))
    assert [answers[number] for number in range(1, 6)] == [
        (type(error).__name__, os.getpid()) for error in errors
    ]


def end_while_receiving(self: Any) -> bytes:
    """Stand in for a process that is killed before all of a large message is there."""
    size = int.from_bytes(os.read(self.fileno(), 4), "big")
    if size > 100_000:
        os._exit(3)
    return os.read(self.fileno(), size)


def serve_small(connection: Any, work: Any) -> None:
    type(connection).recv_bytes = end_while_receiving
    HONEST(connection, work)


HONEST = processes._serve


@pytest.mark.slow
@pytest.mark.processes
def test_a_task_that_no_process_can_receive_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    start = processes._start

    def counted(*arguments: Any) -> Any:
        started.append(arguments)
        if len(started) > 12:
            raise AssertionError("the task is sent for ever")
        return start(*arguments)

    monkeypatch.setattr(processes, "_serve", serve_small)
    monkeypatch.setattr(processes, "_start", counted)
    answers = dict(spread(work, [0, b"x" * 10_000_000, 2, 3], 2))
    assert isinstance(answers.pop(1), Lost)
    assert {number: answer[0] for number, answer in answers.items()} == {0: 0, 2: 2, 3: 3}
    assert len(started) == 4


@pytest.mark.slow
@pytest.mark.processes
def test_a_process_that_ends_while_it_waits_is_replaced() -> None:
    rest = spread(work, [0, 1, 2], 1)
    assert next(rest)[1][0] == 0
    first = multiprocessing.active_children()
    for process in first:
        process.kill()
        process.join()
    assert [answer[0] for _, answer in rest] == [1, 2]


@pytest.mark.slow
@pytest.mark.processes
def test_a_process_that_ends_loses_its_task_alone() -> None:
    tasks = [0, "end", 2, lambda: 3, OfThisProcess(), 5, 6]
    answers = dict(spread(work, tasks, 2))
    assert sorted(answers) == list(range(7))
    assert isinstance(answers.pop(1), Lost)
    assert [answers[number][0] for number in (0, 2, 3, 4, 5, 6)] == [0, 2, 3, 7, 5, 6]
    here = os.getpid()
    assert [answers[number][1] == here for number in (0, 2, 3, 4, 5, 6)] == [
        *(False, False, True, True, False, False)
    ]


SCRIPT = """
import polystein as ps
import numpy as np
draws = np.random.default_rng(0).standard_normal((4, 100, 2))
ps.check_many({"a": (draws, -draws), "b": (draws, -draws)}, n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("polystein.errors.ClusterError: processes that `n_jobs` asks for")
    assert '`if __name__ == "__main__":`' in last
