"""Files are there as a whole or not at all."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from polystein._lib import files
from polystein._lib.files import MARK, is_replaceable
from polystein.experiments.engine.store import write_text
from polystein.report import canvas
from polystein.results.result import GofResult
from tests.disk import small_disk

#: Writes a page again and again, under the same name as others do. The module that does so is
#: loaded alone: all of the package would take longer to load than the pages to write.
WRITER = """
import pathlib, sys, types

sys.modules["polystein"] = package = types.ModuleType("polystein")
package.__path__ = [sys.argv[1]]
from polystein._lib.files import write_whole

for _ in range(200):
    write_whole(pathlib.Path(sys.argv[2]), b"first line" + b"x" * 100_000 + b"last line")
"""


def broken(*_: object) -> None:
    raise KeyboardInterrupt


def write_figure(path: Path) -> None:
    canvas.save(canvas.new_figure(1.0, 1.0), path)


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
    figure = canvas.new_figure(1.0, 1.0)
    monkeypatch.setattr(figure, "draw", broken)
    with pytest.raises(KeyboardInterrupt):
        canvas.save(figure, tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_two_processes_write_the_same_page_and_a_reader_sees_whole_ones(tmp_path: Path) -> None:
    page, partial, seen = tmp_path / "page.html", 0, 0
    command = [sys.executable, "-c", WRITER, str(Path(files.__file__).parents[1]), str(page)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    deadline = time.monotonic() + 60.0
    while any(writer.poll() is None for writer in writers) and time.monotonic() < deadline:
        if page.exists():
            content = page.read_bytes()
            seen += 1
            partial += not (content.startswith(b"first line") and content.endswith(b"last line"))
        time.sleep(0.001)
    ended = [(writer.communicate(timeout=10)[1], writer.returncode) for writer in writers]
    assert ended == [("", 0), ("", 0)]
    assert seen > 0
    assert partial == 0
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_one(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    if exists:
        target.write_text("before")
    link.symlink_to(Path("folder") / "target")
    write_words(link)
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert list(folder.iterdir()) == [target]


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"):
        write_words(link)
    assert link.is_symlink()


def test_names_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127 + "x")
    assert len(os.fsencode(path.name)) == 255
    write_words(path)
    assert path.read_text() == "after"


#: How a page begins.
PAGE = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="generator" content="polystein 1.0">\n'
)


def test_files_of_others_are_told_from_ours(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert is_replaceable(path)
    assert is_replaceable(tmp_path)
    for content, ours in [
        ("", True),
        ("notes", False),
        ("x" * 20_000, False),
        (f"{MARK} 1.0", False),
        (f"%!PS a paper, {MARK} 1.0", False),
        (f"<!doctype html><p>{MARK} 1.0.</p>", False),
        (f"<!doctype html>\n<html><body><pre>{PAGE}</pre>", False),
        (PAGE + "x" * 20_000, True),
        ("%!PS-Adobe\n%%Creator: " + f"{MARK} 1.0" + "x" * 20_000, True),
        ("%PDF-1.4" + "x" * 20_000 + f"/Creator ({MARK} 1.0)", True),
        ("%PDF-1.4" + "x" * 20_000 + f"/Creator ({MARK} 1.0)" + "x" * 20_000, False),
    ]:
        path.write_text(content)
        assert is_replaceable(path) is ours


def test_pages_are_known_as_ours(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    GofResult(0.0, 1.0, "greater", "check", dimension=3).to_html(path)
    assert path.read_text("utf-8").startswith(PAGE.partition("1.0")[0])
    assert is_replaceable(path)


@pytest.mark.parametrize("kind", ["png", "PNG", "svg", "pdf", "eps"])
def test_pictures_are_known_as_ours(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"picture.{kind}"
    write_figure(path)
    assert is_replaceable(path)
