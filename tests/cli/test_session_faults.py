"""Disks that are full while results are written, and Ctrl-C in the middle of the work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polystein.cli.app import app
from polystein.experiments.engine import store
from tests.cli.files import Run, exit_codes, save_pair
from tests.disk import small_disk

ROOT = Path(__file__).parents[2]


def started(*arguments: str, **options: object) -> subprocess.Popen[str]:
    """The command in a process group of its own, in the current directory."""
    paths = os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "100"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
@pytest.mark.slow
@pytest.mark.processes
def test_an_output_without_room_is_an_error_of_one_line(
    bad: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_pair(".npy", bad)
    said = "polystein: error: the output could not be written: No space left on device\n"
    commands = {
        "check": "check draws.npy scores.npy --iid",
        "test": "test draws.npy scores.npy --json",
        "help": "--help",
    }
    lines = [f"/dev/full {name}.txt {arguments}" for name, arguments in commands.items()]
    assert exit_codes(tmp_path, *lines) == [2, 2, 2]
    assert [Path(f"{name}.txt").read_text() for name in commands] == [said] * 3


#: The page of the last run, as it begins.
PAGE = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="generator" content="polystein 1.0">\n'
)


@pytest.mark.parametrize("before", [None, PAGE])
def test_a_page_without_room_costs_nobody_the_answer(
    run: Run, bad: np.ndarray, before: str | None
) -> None:
    pair, page = save_pair(".npy", bad), Path("page.html")
    if before is not None:
        page.write_text(before)
    expected = run("check", *pair, "--iid", "--json")
    with small_disk(1000):
        done = run("check", *pair, "--iid", "--json", "--html", "page.html")
    assert done.out.replace(" --html page.html", "") == expected.out
    assert done.code == 2
    assert done.err == (
        "polystein: error: `--html` must be where files can be written; got page.html: "
        "File too large\n"
    )
    assert sorted(os.listdir()) == sorted([*pair, *(["page.html"] if before else [])])
    assert before is None or page.read_text() == before


def test_a_plot_without_room_is_an_error(run: Run) -> None:
    with small_disk(1000):
        done = run("demo", "--draws", "200")
    assert done.code == 2
    assert "200 draws from each sampler" in done.out
    assert "`--out` must be where files can be written; got polystein-demo.png" in done.err
    assert os.listdir() == []


@pytest.mark.usefixtures("small_snr")
def test_a_study_without_room_goes_on_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "package_commit", lambda: "tested")
    arguments = ["reproduce", "snr", "--replicates", "1", "--jobs", "1", "--out", str(tmp_path)]
    with small_disk(1000):
        done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert f"`--out` must be where files can be written; got {tmp_path}" in done.output
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "verdict.md").is_file()


#: A score function that says when it is called, and then takes its time.
SLOW = """
import pathlib, time

def score(draws):
    pathlib.Path("begun").touch()
    time.sleep(0.2)
    return -draws
"""
#: The command as the shell starts it; files of any size are read in blocks.
COMMAND = """
import signal
from polystein.cli import inputs, main

# A shell lets what it runs in the background ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
inputs.LARGE_FILE = 100
main()
"""


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_in_the_middle_leaves_no_file_and_no_half_of_an_answer(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("draws.npy", np.random.default_rng(0).standard_normal((200_000, 3)))
    Path("slow.py").write_text(SLOW)
    arguments = "check draws.npy --target slow:score --cache . --json --html page.html --jobs"
    process = started("-c", COMMAND, *arguments.split(), jobs, stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60.0
        while not Path("begun").exists():
            assert time.monotonic() < deadline, "the work did not begin"
            time.sleep(0.01)
        # A terminal sends Ctrl-C to all processes of the group.
        os.killpg(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, errors) == (130, "", "polystein: interrupted\n")
    assert set(os.listdir()) - {"__pycache__"} == {"begun", "draws.npy", "slow.py"}
