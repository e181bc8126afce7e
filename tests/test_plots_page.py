"""docs/plots.md: its example runs, and its pictures are there and small."""

import re
from pathlib import Path

import pytest

from tests.pages import run

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "plots.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(PAGE.read_text("utf-8"))
    assert (tmp_path / "effects.png").read_bytes().startswith(b"\x89PNG")


def test_every_picture_is_there_and_below_60_kilobytes() -> None:
    pictures = re.findall(r"!\[.+?\]\((images/\w+\.png)\)", PAGE.read_text("utf-8"))
    assert len(pictures) == 6
    sizes = {name: (DOCS / name).stat().st_size for name in pictures}
    assert {name: size for name, size in sizes.items() if size >= 60_000} == {}
