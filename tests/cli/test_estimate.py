"""Files that are read in blocks, and what is said before long work."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polystein as ps
from polystein.cli import estimate, inputs
from polystein.cli.estimate import Estimate, announce, estimated, memory
from polystein.data.source import Layout
from tests.cli.files import Run


@pytest.fixture(autouse=True)
def _score_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "my_target", raising=False)
    Path("my_target.py").write_text("def score(x):\n    return -x\n")


def write_parquet(path: Path, values: np.ndarray) -> None:
    table = pa.table({f"x{index}": column for index, column in enumerate(values.T)})
    pq.write_table(table, path, row_group_size=100)


def test_large_files_and_folders_are_read_in_blocks(
    run: Run, bad: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("bad.npy", bad)
    np.save("scores.npy", -bad)
    write_parquet(Path("bad.parquet"), bad)
    Path("folder").mkdir()
    for number, part in enumerate(np.array_split(bad, 3)):
        write_parquet(Path("folder") / f"{number}.parquet", part)
    expected = json.loads(run("check", "bad.npy", "scores.npy", "--json").out)
    monkeypatch.setattr(inputs, "LARGE_FILE", 100)
    for arguments in (
        ["bad.npy", "scores.npy"],
        ["bad.npy", "--target", "my_target:score"],
        ["bad.npy", "--target", "my_target:score", "--cache", "."],
        ["bad.parquet", "--target", "my_target:score", "--jobs", "2"],
        ["folder", "--target", "my_target:score"],
    ):
        done = run("check", *arguments, "--json")
        assert done.code == 1
        found = json.loads(done.out)
        assert found["statistic"] == pytest.approx(expected["statistic"], abs=1e-9)


def test_a_cache_is_for_what_is_read_in_blocks(run: Run, bad: np.ndarray) -> None:
    np.save("bad.npy", bad)
    done = run("check", "bad.npy", "--target", "my_target:score", "--cache", ".")
    assert done.code == 2
    assert "`--cache` is for draws that are read in blocks" in done.err


def test_long_work_is_announced(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("good.npy", good)
    arguments = ("check", "good.npy", "--target", "my_target:score")
    assert "about" not in run(*arguments).err
    monkeypatch.setattr(estimate, "LONG_WORK", 10)
    said = run(*arguments).err
    assert "polystein: 400 draws, d=3: more than a few seconds, and about 1 MB of memory" in said


def test_memory_is_what_comes_on_top_of_draws_that_are_held(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("good.npy", good)
    monkeypatch.setattr(estimate, "LONG_WORK", 10)
    arguments = ("check", "good.npy", "--target", "my_target:score")
    assert "about 1 MB of memory beyond the draws and scores\n" in run(*arguments).err
    monkeypatch.setattr(inputs, "LARGE_FILE", 100)
    assert "about 1 MB of memory\n" in run(*arguments).err


@pytest.mark.parametrize(
    ("rows", "dimension", "long"),
    [
        (2**22, 4, True),
        (2**22 - 1, 4, False),
        (1000, 256, False),
        (5000, 256, False),
        (10_000, 256, True),
        (1000, 5000, True),
        (200, 5000, False),
    ],
)
def test_work_is_longer_in_many_dimensions(
    rows: int,
    dimension: int,
    long: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimate, "estimated", lambda source, iid: "so long")
    source: Any = SimpleNamespace(layout=Layout((rows,), dimension, time_ordered=False))
    announce(source, iid=False)
    assert ("so long" in capsys.readouterr().err) is long


def test_first_rows_that_cannot_be_checked_alone_give_no_estimate(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = np.random.default_rng(0).standard_normal((12_000, 3))
    draws[:3000, 1] = 0.5
    np.save("draws.npy", draws)
    np.save("scores.npy", -draws)
    arguments = ("check", "draws.npy", "scores.npy", "--iid")
    expected = run(*arguments)
    assert expected.code != 2
    monkeypatch.setattr(estimate, "LONG_WORK", 10)
    found = run(*arguments)
    assert (found.code, found.out) == (expected.code, expected.out)
    assert "more than a few seconds, and about" in found.err


def test_an_estimate_grows_with_the_rows() -> None:
    draws = np.random.default_rng(0).standard_normal((16_000, 3))
    sample = ps.Sample(draws, -draws)
    found = estimated(sample, iid=False)
    assert found.seconds is not None
    assert 0.0 < found.seconds < 60.0
    # Independent rows keep a few bytes each; chains keep nothing.
    assert memory(sample, iid=True) - memory(sample, iid=False) == 25.0 * 16_000


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "about 1 s"), (300, "about 5 min"), (9000, "about 2.5 h")]
)
def test_an_estimate_in_words(seconds: float, words: str) -> None:
    assert str(Estimate(seconds, 2**27)) == f"{words} on one core, and 128 MB of memory"


def test_ctrl_c_leaves_nothing_half_written(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("good.npy", good)
    before = set(os.listdir())

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "LARGE_FILE", 100)
    monkeypatch.setattr("polystein.methods.check.check._judged", interrupted)
    done = run(
        "check", "good.npy", "--target", "my_target:score", "--cache", ".", "--html", "a.htm"
    )
    assert done.code == 130
    assert set(os.listdir()) - before <= {"__pycache__"}
