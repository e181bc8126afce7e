"""The museum in its short form."""

import importlib
import sys
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def museum(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The museum, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module("examples.museum.__main__")


def test_the_short_form_catches_its_exhibits(
    museum: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["museum", "--short"])
    museum.main()
    printed = capsys.readouterr().out
    assert printed.count("  failed  ") == len(museum.SHORT)
    assert "MALA (correct): passed" in printed
