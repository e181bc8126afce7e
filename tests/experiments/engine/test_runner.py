"""The runner: the same table for any number of processes, and after any interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from polystein.errors import InputError, StudyError, TaskError
from polystein.experiments.engine.cells import Cell
from polystein.experiments.engine.runner import run
from tests.conftest import threads
from tests.experiments.engine import tasks

ROOT = Path(__file__).parents[3]


def table(folder: Path) -> bytes:
    return (folder / "replicates.csv").read_bytes()


def finished(folder: Path) -> set[str]:
    return {path.name for path in (folder / "cells").glob("*.json")}


def start(folder: Path) -> subprocess.Popen[str]:
    """A run of the toy study in a process group of its own."""
    paths = os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.experiments.engine.tasks", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_a_cell(folder: Path) -> None:
    deadline = time.monotonic() + 60.0
    while not finished(folder):
        assert time.monotonic() < deadline, "no cell was finished"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupts, in a thread."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polystein.experiments.engine.runner.workers", threads)
        run(tasks.grid(), tasks.numbers, out=folder, seed=5, jobs=1)
    return folder


@pytest.mark.slow
@pytest.mark.processes
def test_the_table_is_the_same_for_any_number_of_processes(whole: Path, tmp_path: Path) -> None:
    rows = run(tasks.grid(), tasks.numbers, out=tmp_path, seed=5, jobs=2)
    assert table(tmp_path) == table(whole)
    assert len(rows) == 6 * 6 * 2
    assert len(finished(tmp_path)) == 6


@pytest.mark.processes
@pytest.mark.usefixtures("in_threads")
def test_the_order_of_cells_changes_no_number(whole: Path, tmp_path: Path) -> None:
    run(tasks.grid()[::-1], tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert table(tmp_path) != table(whole)
    assert sorted(table(tmp_path).split(b"\n")) == sorted(table(whole).split(b"\n"))


@pytest.mark.processes
@pytest.mark.usefixtures("in_threads")
def test_another_seed_gives_another_table(whole: Path, tmp_path: Path) -> None:
    run(tasks.grid(), tasks.numbers, out=tmp_path, seed=6, jobs=1)
    assert table(tmp_path) != table(whole)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_killed_run_goes_on_to_the_same_bytes(
    whole: Path, tmp_path: Path, number: signal.Signals, request: pytest.FixtureRequest
) -> None:
    process = start(tmp_path)
    try:
        wait_for_a_cell(tmp_path)
        if number == signal.SIGINT:
            # A terminal sends Ctrl-C to all processes of the group.
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        # Reading to the end waits for the workers too, which hold the same pipe.
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "Process SpawnProcess" not in errors
    before = finished(tmp_path)
    assert 1 <= len(before) < 6, "the run was not stopped in the middle"
    assert not (tmp_path / "replicates.csv").exists()
    times = {name: (tmp_path / "cells" / name).stat().st_mtime_ns for name in before}
    request.getfixturevalue("in_threads")
    run(tasks.grid(), tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert table(tmp_path) == table(whole)
    after = {name: (tmp_path / "cells" / name).stat().st_mtime_ns for name in before}
    assert after == times, "a finished cell was computed again"
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.processes
def test_a_finished_run_is_not_run_again(whole: Path) -> None:
    before = table(whole)
    # This task would fail.
    run(tasks.grid(), tasks.not_a_number, out=whole, seed=5, jobs=2)
    assert table(whole) == before


@pytest.mark.processes
@pytest.mark.usefixtures("in_threads")
def test_more_replicates_keep_the_first(whole: Path, tmp_path: Path) -> None:
    run(tasks.grid(4), tasks.numbers, out=tmp_path, seed=5, jobs=1)
    short = table(tmp_path).splitlines()
    assert set(short) < set(table(whole).splitlines())
    run(tasks.grid(6), tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert table(tmp_path) == table(whole)
    run(tasks.grid(4), tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert table(tmp_path).splitlines() == short


@pytest.mark.slow
@pytest.mark.processes
def test_workers_are_processes_with_one_thread(tmp_path: Path) -> None:
    before = dict(os.environ)
    rows = run(tasks.grid(1), tasks.threads, out=tmp_path, seed=0, jobs=1)
    assert dict(os.environ) == before
    assert {row["process"] for row in rows}.isdisjoint({os.getpid()})
    for name in tasks.THREADS:
        assert {row[name] for row in rows} == {"1"}


@pytest.mark.processes
@pytest.mark.usefixtures("in_threads")
def test_a_failure_names_its_cell_and_keeps_the_others(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(TaskError) as failure:
        run(tasks.grid(), tasks.fails_at_two, out=tmp_path, seed=5, jobs=2)
    message = str(failure.value)
    assert "1 cells failed, 5 are finished" in message
    assert 'toy|sampler="a"|d=2' in message
    assert "replicate 4" in message
    assert "the sky is falling" in message
    assert len(finished(tmp_path)) == 5
    run(tasks.grid(), tasks.numbers, out=tmp_path, seed=5, jobs=1)
    assert table(tmp_path) == table(whole)


@pytest.mark.usefixtures("in_threads")
def test_nan_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="Out of range float values"):
        run(tasks.grid(1), tasks.not_a_number, out=tmp_path, seed=0, jobs=1)
    assert finished(tmp_path) == set()


@pytest.mark.slow
@pytest.mark.processes
def test_a_worker_that_dies_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="a worker process ended while it ran toy") as failure:
        run(tasks.grid(), tasks.dies, out=tmp_path, seed=5, jobs=1)
    assert not isinstance(failure.value, TaskError)


@pytest.mark.usefixtures("in_threads")
def test_want_of_memory_is_no_fault_of_the_task(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="a worker process ran out of memory") as failure:
        run(tasks.grid(1)[:1], tasks.hungry, out=tmp_path, seed=5, jobs=1)
    assert not isinstance(failure.value, TaskError)
    assert "run the same command again" in str(failure.value)


@pytest.mark.usefixtures("in_threads")
def test_progress_counts_what_is_left(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    run(tasks.grid()[:2], tasks.numbers, out=tmp_path, seed=5, jobs=1)
    run(
        tasks.grid(), tasks.numbers, out=tmp_path, seed=5, jobs=2,
        progress=lambda *pair: seen.append(pair),
    )  # fmt: skip
    left = sum(round(cell.cost * 3) * 2 for cell in tasks.grid()[2:])
    assert {total for _, total in seen} == {left}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (left, left)


@pytest.mark.processes
def test_metadata_says_how_and_not_where(whole: Path) -> None:
    saved = json.loads((whole / "run.json").read_text("utf-8"))
    assert (saved["study"], saved["seed"], saved["cells"], saved["replicates"]) == (
        "toy", 5, 6, [6],
    )  # fmt: skip
    assert saved["versions"].keys() == {"polystein", "python", "numpy", "scipy"}
    text = json.dumps(saved)
    assert os.uname().nodename not in text
    assert str(Path.home()) not in text


@pytest.mark.processes
def test_another_seeds_directory_is_refused(whole: Path) -> None:
    with pytest.raises(InputError, match=r"`out` must be another directory .* with seed 6; got 5"):
        run(tasks.grid(), tasks.numbers, out=whole, seed=6, jobs=1)


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        ([], {}, "`cells` must be at least one cell"),
        ([*tasks.grid(), Cell.of("other", replicates=1)], {}, "all of one study"),
        (tasks.grid() * 2, {}, "one key twice"),
        (tasks.grid(), {"seed": -1}, "`seed` must be a non-negative integer; got -1"),
        (tasks.grid(), {"jobs": 0}, "`jobs` must be a positive integer; got 0"),
    ],
)
def test_what_cannot_be_run_is_refused(
    tmp_path: Path, cells: list[Cell], options: dict[str, int], message: str
) -> None:
    go = partial(run, cells, tasks.numbers, out=tmp_path)
    with pytest.raises(InputError, match=message):
        go(**{"seed": 0, "jobs": 1, **options})


def test_a_task_that_workers_cannot_import_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`task` must be a function of a module"):
        run(tasks.grid(), lambda replicate: [], out=tmp_path, seed=0, jobs=1)
