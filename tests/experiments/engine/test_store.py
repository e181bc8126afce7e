"""What is on disk, and which commit every cell comes from."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import polystein
from polystein.errors import InputError, PolysteinWarning
from polystein.experiments.engine import store
from polystein.experiments.engine.cells import Cell, Row
from polystein.experiments.engine.runner import run
from polystein.experiments.engine.store import Finished, Store
from tests.experiments.engine import tasks

# Before the fixture of this package takes its place.
original_commit = store.package_commit
# Where the store is in the package, from which it finds the checkout.
MODULE = Path(store.__file__).relative_to(Path(polystein.__file__).parent)


CELLS = tasks.grid(2)[:2]


MORE = tasks.grid(3)[:2]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Begin at the commit "old"; `as_commit` moves on."""
    as_commit(monkeypatch, "old")
    return monkeypatch


def as_commit(patch: pytest.MonkeyPatch, commit: str | None) -> None:
    patch.setattr(store, "package_commit", lambda: commit)


def metadata(folder: Path) -> dict[str, object]:
    saved: dict[str, object] = json.loads((folder / "run.json").read_text("utf-8"))
    return saved


def commits_of(folder: Path, cell: Cell) -> list[str]:
    saved = json.loads((folder / "cells" / cell.file_name).read_text("utf-8"))
    assert saved["schema_version"] == 2
    return list(saved["commits"])


@pytest.mark.usefixtures("in_threads")
def test_a_cell_that_is_run_on_keeps_both_commits(tmp_path: Path, at: pytest.MonkeyPatch) -> None:
    run(CELLS[:1], tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert metadata(tmp_path)["commits"] == ["old"]
    assert metadata(tmp_path)["of_other_code"] is None
    as_commit(at, "new")
    with pytest.warns(PolysteinWarning, match="1 cell comes from commit old, this is new"):
        run(MORE, tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert commits_of(tmp_path, MORE[0]) == ["new", "old"]
    assert commits_of(tmp_path, MORE[1]) == ["new"]
    assert metadata(tmp_path)["commits"] == ["new", "old"]
    assert metadata(tmp_path)["of_other_code"] == "1 cell comes from commit old, this is new"


@pytest.mark.usefixtures("in_threads")
def test_finished_cells_of_other_code_are_said_once(tmp_path: Path, at: pytest.MonkeyPatch) -> None:
    run(CELLS, tasks.numbers, out=tmp_path, seed=5, jobs=1)
    as_commit(at, None)
    with pytest.warns(PolysteinWarning) as caught:
        run(CELLS, tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert [str(one.message) for one in caught] == [
        f"2 cells come from commit old, this is unknown; remove {tmp_path} to rerun"
    ]
    assert metadata(tmp_path)["commits"] == ["old"]


def test_the_commit_is_that_of_the_start(tmp_path: Path, at: pytest.MonkeyPatch) -> None:
    one = Store(tmp_path, 0)
    as_commit(at, "new")
    assert one.commit == "old"


def test_cells_of_the_old_layout_are_refused(tmp_path: Path) -> None:
    one = Store(tmp_path, 0)
    one.save(CELLS[0], Finished([[{"value": 1}]], 0.5, ("a", "b")))
    assert one.load(CELLS[0]) == Finished([[{"value": 1}]], 0.5, ("a", "b"))
    path = tmp_path / "cells" / CELLS[0].file_name
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "schema_version": 1}))
    with pytest.raises(InputError, match="with schema_version 2; got 1"):
        one.load(CELLS[0])


@pytest.mark.parametrize(
    "content",
    [
        "[1, 2]",
        "{",
        "7",
        {"replicates": 3},
        {"replicates": [{"value": 1}]},
        {"replicates": [[1]]},
        {"seconds": "long"},
        {"seconds": None},
        {"commits": "old"},
        {"commits": [1]},
        {"replicates": None, "seconds": None, "commits": None},
    ],
    ids=str,
)
def test_damaged_cells_are_refused_by_name(tmp_path: Path, content: str | dict[str, Any]) -> None:
    one = Store(tmp_path, 0)
    one.save(CELLS[0], Finished([[{"value": 1}]], 0.5, ("a",)))
    path = tmp_path / "cells" / CELLS[0].file_name
    whole = json.loads(path.read_text("utf-8"))
    path.write_text(content if isinstance(content, str) else json.dumps({**whole, **content}))
    with pytest.raises(InputError, match=f"got {re.escape(str(path))}, which is damaged"):
        one.load(CELLS[0])


def checkout(folder: Path) -> Path:
    """A repository with one module, committed."""
    module = folder / "src" / "polystein" / MODULE
    module.parent.mkdir(parents=True)
    module.write_text("ONE = 1\n")
    who = [
        "-c",
        "user.name=Nobody",
        "-c",
        "user.email=nobody@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "One"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=60)
    return module


@pytest.mark.processes
def test_changes_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = checkout(tmp_path.resolve())
    monkeypatch.setattr(store, "__file__", str(module))
    clean = original_commit()
    assert clean is not None
    assert len(clean) == 40
    module.write_text("ONE = 2\n")
    second = original_commit()
    module.write_text("ONE = 3\n")
    third = original_commit()
    assert second is not None
    assert third is not None
    assert second.startswith(f"{clean}+changes-")
    assert third.startswith(f"{clean}+changes-")
    assert second != third
    monkeypatch.setattr(store, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    assert original_commit() is None


def test_a_table_reads_back_as_it_was_written(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"name": "a, b", "count": 3, "value": 0.1 + 0.2, "none": None},
        {"name": "x.", "count": -1, "value": 1e-300, "none": None},
    ]
    store.write_csv(tmp_path / "table.csv", rows)
    read = store.read_csv(tmp_path / "table.csv")
    assert read == rows
    assert [type(value) for value in read[0].values()] == [str, int, float, type(None)]
