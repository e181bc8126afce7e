"""Parts of a pass on forked processes: the same answer, errors that come back, nothing left."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block
from polystein.scale import threads
from polystein.scale.threads import Threads, can_fork
from tests.scale.test_threads import CALLS
from tests.sources import CountingSample

HERE = os.getpid()
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Iterator[np.ndarray]:
    """Rows in many small blocks, which are worth a fork; no process is left behind."""
    monkeypatch.setattr("polystein.data.passes.BLOCK_ELEMENTS", 300)
    monkeypatch.setattr("polystein.scale.threads.FEWEST_FORKED_NUMBERS", 0)
    monkeypatch.setattr("polystein.scale.threads.can_fork", lambda source: True)
    children, fork = list[int](), os.fork

    def remembered() -> int:
        child = fork()
        children.append(child)
        return child

    monkeypatch.setattr(os, "fork", remembered)
    yield 1.02 * np.random.default_rng(0).standard_normal((20_000, 3))
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


@pytest.mark.parametrize("name", ["psd u", "o_psd", "lambda_psd_test", "check"])
def test_the_answer_does_not_depend_on_the_number_of_processes(
    name: str, draws: np.ndarray
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        some = draws[:6000]
        one, three = (CALLS[name](some, -some, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert one == three


class Noted:
    """Keeps the processes that blocks came to, and the order of the rows."""

    def __init__(self, fault: Any = None) -> None:
        self.processes: set[int] = set()
        self.starts: list[int] = []
        self._fault = fault

    def zero(self) -> "Noted":
        return Noted(self._fault)

    def update(self, block: Block) -> None:
        if self._fault is not None and os.getpid() != HERE and block.start > 10_000:
            self._fault()
        self.processes.add(os.getpid())
        self.starts.append(block.start)

    def merge(self, other: "Noted") -> "Noted":
        self.processes |= other.processes
        self.starts += other.starts
        return self


def passed(draws: np.ndarray, noted: Noted) -> None:
    sample = ps.Sample(draws, -draws)
    run_pass(sample, every_row(sample), noted, executor=Threads(2))


def test_rows_are_worked_on_by_other_processes_and_merged_in_order(draws: np.ndarray) -> None:
    noted = Noted()
    passed(draws, noted)
    assert len(noted.processes) == 2
    assert os.getpid() in noted.processes
    assert noted.starts == list(range(0, 20_000, 100))


def fails() -> None:
    raise ps.InputError("row 10100 is wrong")


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Unsendable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError


def fails_badly() -> None:
    raise Unsendable("as it is")


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (fails, ps.InputError, "row 10100 is wrong"),
        (fails_badly, RuntimeError, "Unsendable: as it is"),
        (is_killed, ps.ClusterError, r"a process .* was lost; .* Pass `n_jobs=1`"),
    ],
)
def test_what_goes_wrong_in_a_process_is_an_error_here(
    fault: Any, error: type[Exception], message: str, draws: np.ndarray
) -> None:
    with pytest.raises(error, match=message):
        passed(draws, Noted(fault))


def test_where_no_process_can_be_forked_this_one_does_all(
    draws: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise OSError("no memory")

    monkeypatch.setattr(os, "fork", refused)
    noted = Noted()
    passed(draws, noted)
    assert noted.processes == {HERE}
    assert noted.starts == list(range(0, 20_000, 100))


def test_an_interrupt_ends_the_processes(draws: np.ndarray) -> None:
    def interrupted(done: int, total: int) -> None:
        if done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ps.psd(draws, -draws, order=2, n_jobs=2, progress=interrupted)


def test_a_process_that_is_killed_while_it_sends_is_an_error_here(
    draws: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = threads._outcome

    def half_sent(fold: Any, part: Any) -> Any:
        found = made(fold, part)
        os.write(writing[0], struct.pack("!i", len(found)) + found[: len(found) // 2])
        is_killed()

    writing, pipe = list[int](), os.pipe

    def remembered() -> tuple[int, int]:
        ends = pipe()
        writing.append(ends[1])
        return ends

    monkeypatch.setattr(threads, "_outcome", half_sent)
    monkeypatch.setattr(os, "pipe", remembered)
    with pytest.raises(ps.ClusterError, match=r"`n_jobs=1`, or `--jobs 1` on the command line"):
        passed(draws, Large())


class Large(Noted):
    """A result that does not fit into the buffer of a pipe."""

    def __init__(self) -> None:
        super().__init__()
        self.sums = np.zeros(4000)

    def zero(self) -> "Large":
        return Large()


#: Draws whose processes send more than a pipe holds; what they are is written to the first line.
PROGRAM = """
import os, signal, sys, time
import numpy as np
import polystein as ps
from polystein.scale import threads

threads.FEWEST_FORKED_NUMBERS, fork, first = 0, os.fork, os.getpid()
threads.can_fork = lambda source: True
# A shell lets what it runs in the background ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

def noted():
    child = fork()
    {at_fork}
    if child:
        print(child, flush=True)
    return child

os.fork = noted
draws = np.random.default_rng(0).standard_normal((60_000, 40))
try:
    ps.psd(draws, -draws, order=4, n_jobs=3, progress=lambda done, total: {at_progress})
except BaseException as error:
    print(type(error).__name__, "in the", "first" if os.getpid() == first else "other", flush=True)
"""


def program(*, at_fork: str = "", at_progress: str = "None") -> subprocess.Popen[str]:
    source = PROGRAM.format(at_fork=at_fork or "pass", at_progress=at_progress)
    return subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)


def is_gone(process: int, patience: float = 20.0) -> bool:
    """Whether a process ends soon; if it does not, it is ended here."""
    stop = time.monotonic() + patience
    while time.monotonic() < stop:
        try:
            # One that has ended stays in the table until somebody waits for it.
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.slow
@pytest.mark.processes
def test_processes_end_if_the_first_one_is_killed() -> None:
    with program(at_progress="time.sleep(60)") as first:
        assert first.stdout is not None
        children = [int(first.stdout.readline()) for _ in range(2)]
        first.kill()
        first.wait()
    assert [is_gone(child) for child in children] == [True, True]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("whose", ["child == 0", "child != 0"])
def test_an_interrupt_right_after_the_fork_ends_all_and_runs_on_nowhere(whose: str) -> None:
    with program(at_fork=f"({whose}) and os.kill(os.getpid(), signal.SIGINT)") as first:
        said = first.communicate(timeout=60)[0].split("\n")[:-1]
    children = [int(line) for line in said if line.isdigit()]
    words = [line for line in said if not line.isdigit()]
    assert words == ([] if whose == "child == 0" else ["KeyboardInterrupt in the first"])
    assert len(children) == (2 if whose == "child == 0" else 1)
    assert all(is_gone(child) for child in children)


def test_progress_goes_up_to_the_end(draws: np.ndarray) -> None:
    heard: list[tuple[int, int]] = []
    ps.psd(draws, -draws, order=2, n_jobs=2, progress=lambda *told: heard.append(told))
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1] == (20_000, 20_000)
    assert len(heard) > 30


def test_only_arrays_of_few_columns_without_other_threads_are_forked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    narrow, wide = np.ones((30, 2)), np.ones((30, 65))
    monkeypatch.setattr("polystein.scale.threads.sys.platform", "linux")
    monkeypatch.setattr("polystein.scale.threads._FORBIDDING", ())
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert can_fork(ps.Sample(narrow, narrow))
    assert not can_fork(ps.Sample(wide, wide))
    assert not can_fork(CountingSample(narrow, narrow))
    monkeypatch.setattr("polystein.scale.threads._FORBIDDING", ("numpy",))
    assert not can_fork(ps.Sample(narrow, narrow))
    monkeypatch.setattr("polystein.scale.threads._FORBIDDING", ())
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not can_fork(ps.Sample(narrow, narrow))
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(
        "polystein.scale.threads.current_process", lambda: SimpleNamespace(daemon=True)
    )
    assert not can_fork(ps.Sample(narrow, narrow))
    monkeypatch.undo()
    monkeypatch.setattr("polystein.scale.threads.sys.platform", "win32")
    assert not can_fork(ps.Sample(narrow, narrow))
