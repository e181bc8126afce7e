"""Files are there as a whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from polystein.experiments.engine.store import write_text
from polystein.report import plots
from tests.disk import small_disk


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


@pytest.mark.parametrize("write", [write_words, write_figure])
def test_a_disk_without_room_leaves_the_file_as_it_was(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"before")
    with small_disk(3), pytest.raises(OSError, match="File too large"):
        write(path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_words(pipe)
        assert os.read(reader, 10) == b"after"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_figure_that_cannot_be_drawn_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = plots.new_figure(1.0, 1.0)
    monkeypatch.setattr(figure, "draw", broken)
    with pytest.raises(KeyboardInterrupt):
        plots.save(figure, tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []
