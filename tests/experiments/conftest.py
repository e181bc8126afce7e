"""Fixtures of the experiments' tests."""

from collections.abc import Iterator

import pytest

from polystein.experiments.engine import store


@pytest.fixture(autouse=True, scope="package")
def _one_commit() -> Iterator[None]:
    """The same code for the whole of a test, even if a file is saved in the middle of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "package_commit", lambda: "tested")
        yield
