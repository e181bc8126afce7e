"""Files are there as a whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from polystein.experiments.engine.store import write_text
from polystein.report import plots


def broken(*_: object) -> None:
    raise KeyboardInterrupt


def write_figure(path: Path) -> None:
    plots.save(plots.new_figure(1.0, 1.0), path)


def write_words(path: Path) -> None:
    write_text(path, "after")


@pytest.mark.parametrize("write", [write_words, write_figure])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_is_whole_or_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], step: str
) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"before")
    with monkeypatch.context() as patch:
        patch.setattr(os, step, broken)
        with pytest.raises(KeyboardInterrupt):
            write(path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
    write(path)
    assert path.read_bytes() != b"before"


def test_a_figure_that_cannot_be_drawn_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = plots.new_figure(1.0, 1.0)
    monkeypatch.setattr(figure, "draw", broken)
    with pytest.raises(KeyboardInterrupt):
        plots.save(figure, tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []
