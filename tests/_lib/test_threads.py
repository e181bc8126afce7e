"""BLAS on one thread during a pass, and on as many as before after it."""

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
