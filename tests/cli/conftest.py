"""Fixtures of the command line's tests."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import typer.main

from polystein.cli import main
from polystein.experiments.paper.samplers import gaussian
from tests.cli.files import Outcome, Run

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True, scope="package")
def _commands_made_once() -> Iterator[None]:
    """Typer makes the commands at every call: as often as a test runs one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the entry point in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    # Rich asks these for the width of the screen and for colours.
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["polystein", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        # Typer decides on colours when it is imported, from the caller's environment.
        out, err = (COLOUR.sub("", text) for text in captured)
        return Outcome(int(stop.value.code or 0), out, err)

    return call


@pytest.fixture
def good() -> np.ndarray:
    return gaussian(np.random.default_rng(0), 400, 3)


@pytest.fixture
def bad() -> np.ndarray:
    return gaussian(np.random.default_rng(0), 400, 3) + 1.0
