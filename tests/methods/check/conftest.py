"""Fixtures of the tests of `check`: fewer flips, and shorter stages of them."""

import pytest

from polystein.methods.check import flips as sign_flips


@pytest.fixture
def few_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over 39 flips are quick enough."""
    monkeypatch.setattr(sign_flips, "FIRST_PATTERNS", 40)


@pytest.fixture
def short_stages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(sign_flips, "FIRST_PATTERNS", 50)
    monkeypatch.setattr(sign_flips, "FURTHER_PATTERNS", (80, 170))
    monkeypatch.setattr(sign_flips, "_PATTERNS_AT_ONCE", 1_000)
    return [50, 80, 170]
