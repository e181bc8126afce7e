"""Settings that all tests share. The helpers of `tests.rows` can be imported from here, too."""

import gc
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from tests.rows import Array, RecordingSplit, arbitrary_rows, arbitrary_weights, row_numbers

__all__ = ["Array", "RecordingSplit", "arbitrary_rows", "arbitrary_weights", "row_numbers"]

# The same examples in every run, on fast machines and slow ones, few enough for the fast tests, and
# no files left behind.
settings.register_profile(
    "polystein", max_examples=25, deadline=None, derandomize=True, database=None
)
settings.load_profile("polystein")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without a search for garbage, which takes a fifth of the time.

    Later it is searched for less often than every 700 objects. (`gc.freeze` would hide modules from
    old releases of Hypothesis, which then warn.)
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(10_000)
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Statistical tests are all slow: without slow ones they are not imported, unless named."""
    unwanted = collection_path.name == "statistical" and config.option.markexpr == "not slow"
    return (unwanted and not any("statistical" in one for one in config.args)) or None


@contextmanager
def threads(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Workers of a study in this process."""
    with threadpool_limits(1), ThreadPoolExecutor(jobs) as pool:
        yield pool


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies run in threads of this process: to start others takes longer than a small study."""
    monkeypatch.setattr("polystein.experiments.engine.runner.workers", threads)


@pytest.fixture
def empty_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of pictures hold no picture: to draw one takes longer than a small study."""
    savefig = "matplotlib.figure.Figure.savefig"
    monkeypatch.setattr(savefig, lambda figure, stream, **_: stream.write(b"\x89PNG"))


@pytest.fixture
def small_snr(in_threads: None, empty_pictures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The study `snr` of a few orders, in this process: the highest take most of its time."""
    study = "polystein.experiments.paper.snr"
    monkeypatch.setattr(f"{study}.ORDERS", range(6))
    monkeypatch.setattr(f"{study}.SIMULATED_ORDERS", range(2))
    monkeypatch.setattr(f"{study}.SLOPE", (3, 5))
