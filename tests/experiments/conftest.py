"""Fixtures of the experiments' tests."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from threadpoolctl import threadpool_limits

from polystein.experiments.engine import runner, store


@pytest.fixture(autouse=True, scope="package")
def _one_commit() -> Iterator[None]:
    """The same code for the whole of a test, even if a file is saved in the middle of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "package_commit", lambda: "tested")
        yield


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are threads of this process: to start a process takes longer than the toy study."""

    @contextmanager
    def workers(jobs: int) -> Iterator[ThreadPoolExecutor]:
        with threadpool_limits(1), ThreadPoolExecutor(jobs) as pool:
            yield pool

    monkeypatch.setattr(runner, "workers", workers)
