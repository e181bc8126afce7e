"""Passes on several threads: the same answer for any number of them, and clean ends."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block
from polystein.scale.threads import Threads, thread_count, working
from tests.scale.doubles import ChunkedArray
from tests.sources import CountingSample

CALLS: dict[str, Callable[..., Any]] = {
    "psd": lambda *a, **k: ps.psd(*a, order=3, **k),
    "psd u": lambda *a, **k: ps.psd(*a, order=2, estimator="u", **k),
    "lambda_psd": lambda *a, **k: ps.lambda_psd(*a, order=3, **k),
    "o_psd": lambda *a, **k: ps.o_psd(*a, order=1, **k),
    "psd_test": lambda *a, **k: ps.psd_test(*a, order=3, rng=1, **k).statistic,
    "lambda_psd_test": lambda *a, **k: ps.lambda_psd_test(*a, order=3, rng=1, **k).statistic,
    "check": lambda *a, **k: ps.check(*a, rng=1, **k).statistic,
    "check iid": lambda *a, **k: ps.check(*a, rng=1, iid=True, **k).statistic,
}


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Rows in many small blocks, for threads."""
    monkeypatch.setattr("polystein.scale.threads.can_fork", lambda source: False)
    monkeypatch.setattr("polystein.data.passes.BLOCK_ELEMENTS", 300)
    return 1.02 * np.random.default_rng(0).standard_normal((6_000, 3))


@pytest.mark.parametrize("name", CALLS)
def test_the_answer_does_not_depend_on_the_number_of_threads(name: str, draws: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        found = [CALLS[name](draws, -draws, n_jobs=n_jobs) for n_jobs in (None, 1, 3)]
    assert found[1] == found[2]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


class Noted:
    """Keeps the threads that blocks came on."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.threads: set[int] = set()
        self._fails_at = fails_at

    def zero(self) -> "Noted":
        return Noted(self._fails_at)

    def update(self, block: Block) -> None:
        if self._fails_at is not None and block.start >= self._fails_at:
            raise RuntimeError(f"row {block.start}")
        self.threads.add(threading.get_ident())

    def merge(self, other: "Noted") -> "Noted":
        self.threads |= other.threads
        return self


def test_rows_are_worked_on_by_other_threads(draws: np.ndarray) -> None:
    noted, sample = Noted(), ps.Sample(draws, -draws)
    with working(sample, 2):
        run_pass(sample, every_row(sample), noted)
    assert noted.threads
    assert threading.get_ident() not in noted.threads


def test_few_rows_stay_on_this_thread(draws: np.ndarray) -> None:
    noted, sample = Noted(), ps.Sample(draws[:300], -draws[:300])
    with working(sample, 2):
        run_pass(sample, every_row(sample), noted)
    assert noted.threads == {threading.get_ident()}


def test_an_error_in_one_range_ends_the_others(draws: np.ndarray) -> None:
    sample = CountingSample(draws, -draws)
    with pytest.raises(RuntimeError, match="row"):
        run_pass(sample, every_row(sample), Noted(fails_at=0), executor=Threads(2))
    assert sample.mean_reads < 0.5


def test_interrupting_leaves_no_thread_behind(draws: np.ndarray) -> None:
    sample, before = ps.Sample(draws, -draws), threading.active_count()

    def interrupted(done: int, total: int) -> None:
        if done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ps.psd(sample, order=2, n_jobs=2, progress=interrupted)
    assert threading.active_count() == before


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("check")])
def test_progress_goes_up_to_the_end(name: str, draws: np.ndarray) -> None:
    heard: list[tuple[int, int]] = []
    CALLS[name](draws, -draws, progress=lambda *told: heard.append(told))
    done = [told[0] for told in heard]
    assert done == sorted(done)
    assert heard[-1][0] == heard[-1][1] > 0
    assert len(heard) > 5


def test_numbers_of_threads_follow_the_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(4)))
    assert [thread_count(n) for n in (None, 1, 3, -1, -2, -9)] == [1, 1, 3, 4, 3, 1]
    for wrong in (0, 1.5, "2", True):
        with pytest.raises(ps.InputError, match="`n_jobs` must be a positive number of threads"):
            ps.psd(np.ones((30, 2)), lambda x: -x, order=1, n_jobs=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_decode_every_chunk_once(n_jobs: int, draws: np.ndarray) -> None:
    arrays = [ChunkedArray(values, 1700) for values in (draws, -draws)]
    found = ps.psd(ps.from_store(*arrays), order=2, n_jobs=n_jobs)
    assert found == pytest.approx(ps.psd(draws, -draws, order=2), rel=1e-12)
    for array in arrays:
        assert set(array.decoded.values()) == {1}
