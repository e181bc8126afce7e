"""Exit codes, warnings as plain lines, and progress bars."""

import json
import os
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import polystein
from polystein.cli.app import app
from polystein.cli.session import ExitCode, progress_bar
from polystein.errors import StudyError, TaskError
from polystein.experiments.engine.cells import Row
from polystein.experiments.paper import reproduction
from polystein.types import ToleranceVerdict, Verdict
from tests.cli.files import Run, exit_codes, save_csv, save_pair


def test_0_where_the_draws_are_not_rejected(run: Run, good: np.ndarray) -> None:
    done = run("test", *save_pair(".npy", good))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Not rejected at the level 0.05")


def test_1_where_they_are(run: Run, bad: np.ndarray) -> None:
    done = run("test", *save_pair(".npy", bad))
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("Rejected at the level 0.05")
    assert "strong evidence against the draws" in done.out


def test_2_for_data_without_variance(run: Run) -> None:
    done = run("test", *save_pair(".npy", np.zeros((100, 2))))
    assert done.code == 2
    assert done.err.startswith("polystein: error: ")


@pytest.mark.parametrize("debug", [False, True])
def test_3_for_a_fault_of_ours(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the roof leaks")

    monkeypatch.setattr(polystein, "lambda_psd_test", broken)
    done = run("test", *save_pair(".npy", good), *(["--debug"] if debug else []))
    assert done.code == 3
    assert "internal error: RuntimeError: the roof leaks" in done.err
    assert "Please report it" in done.err
    assert ("Traceback" in done.err) is debug


def test_130_where_the_user_interrupts(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        # What Ctrl-C does.
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(polystein, "lambda_psd_test", interrupted)
    # A shell that starts the tests in the background has them ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = run("test", *save_pair(".npy", good))
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.code, done.out, done.err) == (130, "", "polystein: interrupted\n")


def test_2_where_memory_runs_out(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def huge(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(polystein, "lambda_psd_test", huge)
    done = run("test", *save_pair(".npy", good))
    assert (done.code, done.err) == (2, "polystein: error: not enough memory for this input\n")


def test_a_user_error_has_its_traceback_with_debug(run: Run) -> None:
    done = run("test", "missing.npz", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err


@pytest.mark.parametrize(
    ("error", "said", "unsaid"),
    [
        (StudyError("a worker process ended"), "polystein: error: a worker", "report it"),
        (
            TaskError("1 cells failed"),
            "internal error: TaskError: 1 cells failed",
            "polystein: err",
        ),
    ],
)
def test_want_of_memory_is_no_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str, unsaid: str
) -> None:
    def fails(*_: object, **__: object) -> list[Row]:
        raise error

    monkeypatch.setattr(reproduction, "run", fails)
    done = CliRunner().invoke(app, ["reproduce", "snr", "--out", str(tmp_path)])
    assert done.exit_code == 3
    assert said in done.output
    assert unsaid not in done.output


def test_warnings_are_plain_lines(run: Run, good: np.ndarray) -> None:
    chains = good[:300].reshape(3, 100, 3)
    np.savez("chains.npz", draws=chains, scores=-chains)
    done = run("test", "chains.npz", "--order", "1", "--json")
    lines = done.err.splitlines()
    assert lines
    assert all(line.startswith("polystein: warning: ") for line in lines)
    assert "`draws` are 3 time-ordered chains" in done.err
    assert json.loads(done.out)["warnings"] == [
        line.removeprefix("polystein: warning: ") for line in lines
    ]


def test_other_warnings_are_left_alone(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noisy(*_: object, **__: object) -> polystein.GofResult:
        warnings.warn("not ours", UserWarning, stacklevel=1)
        return polystein.GofResult(0.0, 1.0, "greater", "other", dimension=3)

    monkeypatch.setattr(polystein, "lambda_psd_test", noisy)
    with pytest.warns(UserWarning, match="not ours"):
        done = run("test", *save_pair(".npy", good))
    assert "polystein: warning" not in done.err


def test_no_bar_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with progress_bar("Work") as progress:
        assert progress is None


def test_a_bar_on_a_terminal(run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    done = run("test", *save_pair(".npy", good), "--method", "psd-bootstrap", "--json")
    assert "Bootstrap" in done.err
    assert "100%" in done.err
    assert "Bootstrap" not in done.out


@pytest.mark.parametrize(
    ("verdict", "tolerance", "code"),
    [
        ("rejected", None, 1),
        ("rejected", "within", 0),
        ("rejected", "beyond", 5),
        ("not rejected", "undecided", 6),
        ("inconclusive", "undecided", 4),
        ("inconclusive", None, 4),
    ],
)
def test_a_tolerance_comes_before_a_verdict_that_decides(
    verdict: Verdict, tolerance: ToleranceVerdict | None, code: int
) -> None:
    assert ExitCode.of(verdict, tolerance) == code


@pytest.mark.slow
@pytest.mark.processes
def test_a_reader_that_has_read_enough_is_no_fault(good: np.ndarray, tmp_path: Path) -> None:
    """As in `polystein check ... | head -1`: the pipe is closed before anything is printed.

    The exit code is that of other programs, and none that speaks of draws.
    """
    np.savez(tmp_path / "good.npz", draws=good, scores=-good)
    commands = ["check good.npz --iid", "--help", "--version", "demo --draws 400"]
    lines = [f"closed-pipe said{number} {line}" for number, line in enumerate(commands)]
    assert exit_codes(tmp_path, *lines) == [ExitCode.CLOSED_PIPE] * 4
    assert [(tmp_path / f"said{number}").read_text() for number in range(4)] == [""] * 4


def test_the_command_line_prints_no_escapes(run: Run, bad: np.ndarray) -> None:
    save_csv(Path("draws.csv"), bad, header="a\x1b[31m,b\x07,c\u202e")
    np.save("scores.npy", -bad)
    done = run("check", "draws.csv", "scores.npy", "--html", "page.html")
    assert done.code == 1
    assert r"`a\x1b[31m`" in done.out
    text = done.out + done.err + Path("page.html").read_text("utf-8")
    assert text.replace("\n", "").isprintable()
    done = run("check", "\x1b]0;title\x07.npz")
    assert done.code == 2
    assert r"got \x1b]0;title\x07.npz" in done.err
    assert done.err.replace("\n", "").isprintable()
