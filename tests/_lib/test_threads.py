"""BLAS on one thread during a pass, and on as many as before after it."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import polystein as ps
from polystein._lib.threads import one_blas_thread
from polystein.data.passes import SERIAL, Executor, every_row, run_pass, visit_blocks
from polystein.data.source import Block
from polystein.scale.threads import Threads
from tests.data.blocks import Recorder
from tests.rows import arbitrary_rows


def blas_threads() -> set[int]:
    """How many threads each BLAS that is loaded may use."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Two threads to begin with, whatever the environment says."""
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def test_blas_has_one_thread_inside_and_its_own_after() -> None:
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_threads_are_given_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {2}


class Noted(Recorder):
    """Notes how many threads BLAS has at every block."""

    found: list[set[int]]

    def __init__(self) -> None:
        super().__init__()
        self.found = []

    def zero(self) -> "Noted":
        return Noted()

    def update(self, block: Block) -> None:
        self.found.append(blas_threads())

    def merge(self, other: "Noted") -> "Noted":  # type: ignore[override]
        self.found += other.found
        return self


@pytest.mark.parametrize("executor", [SERIAL, Threads(2, 1)], ids=repr)
def test_passes_use_one_thread(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    noted, sample = Noted(), ps.Sample(*arbitrary_rows(30, 2))
    monkeypatch.setattr("polystein.data.passes._WORTH_A_LIMIT", 60)
    run_pass(sample, every_row(sample), noted, executor=executor, most=10)
    visit_blocks(sample, every_row(sample), noted.update, most=10)
    assert noted.found == [{1}] * 6
    assert blas_threads() == {2}


def test_a_pass_over_few_numbers_leaves_threads_alone() -> None:
    """Setting a limit takes longer than the pass."""
    noted, sample = Noted(), ps.Sample(*arbitrary_rows(30, 2))
    run_pass(sample, every_row(sample), noted)
    assert noted.found == [{2}]


#: A process of its own, as the fixture's limit is that of a thread. What sets two threads for BLAS
#: here is a thread that ends, and nobody's limit is in force when the work begins.
POOL = """
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import polystein as ps
from polystein._lib.threads import one_blas_thread


def blas_threads(_=None):
    return sorted(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


first = threading.Thread(target=lambda: threadpool_limits(2, user_api="blas"))
first.start()
first.join()
before = blas_threads()
assert set(before) == {2}, before
entered, left = threading.Event(), threading.Event()


def in_first():
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        assert entered.wait(60)
    left.set()


def out_last():
    with one_blas_thread():
        entered.set()
        assert left.wait(60)
        raise ZeroDivisionError


draws = np.random.default_rng(0).standard_normal((4, 500, 3))


def check(seed):
    try:
        return ps.check(draws, (-draws if seed % 4 else draws[:, :-1]), rng=seed).pvalue
    except ps.InputError:
        return None


with ThreadPoolExecutor(8) as pool:
    inside = pool.submit(in_first)
    while set(blas_threads()) == {2}:
        pass
    assert isinstance(pool.submit(out_last).exception(60), ZeroDivisionError)
    inside.result(60)
    assert blas_threads() == before, blas_threads()
    answers = list(pool.map(check, range(16)))
    assert answers.count(None) == 4
    assert list(pool.map(blas_threads, range(8))) == [before] * 8
assert blas_threads() == before, blas_threads()
"""


@pytest.mark.slow
@pytest.mark.processes
def test_a_pool_of_threads_leaves_blas_as_it_was() -> None:
    subprocess.run([sys.executable, "-c", POOL], check=True, timeout=60)
