"""Faults of the user's own code and streams are told apart from verdicts and from ours."""

import sys
from pathlib import Path

import numpy as np
import pytest

from polystein.cli import app
from tests.cli.files import Run, exit_codes

CODE = """
import sys

def ends(draws):
    sys.exit(0)

def reads_no_pipe(draws):
    raise BrokenPipeError

def fills_a_disk(draws):
    raise OSError(28, "No space left on device")

def recurses(draws):
    return recurses(draws)

def interrupts(draws):
    raise KeyboardInterrupt

class Plain:
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
@pytest.mark.slow
@pytest.mark.processes
def test_a_full_standard_error_changes_no_exit_code(good: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", draws=good, scores=-good)
    codes = {
        "/dev/full /dev/full check good.npz --iid": 2,
        "/dev/null /dev/full check good.npz --iid": 0,
        "/dev/null /dev/full check missing.npz": 2,
        "/dev/null /dev/full no-such-command": 2,
    }
    assert exit_codes(tmp_path, *codes) == list(codes.values())


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("own_code:ends", "must not end the program; the score function of own_code:ends called"),
        ("own_end:score", "must not end the program; the module of own_end:score called sys.exit"),
        ("own_code:reads_no_pipe", "the score function of own_code:reads_no_pipe raised Broken"),
        ("own_code:fills_a_disk", "raised OSError: [Errno 28] No space left on device"),
        ("own_code:recurses", "raised RecursionError"),
        ("own_code:Plain", "raised TypeError: Plain() takes no arguments"),
        ("own_syntax:score", "the module of own_syntax:score raised SyntaxError"),
        ("os:system", "the score function of os:system raised TypeError"),
    ],
)
def test_what_the_score_function_raises_is_an_error_of_the_input(
    target: str, words: str, run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("draws.npy", good)
    Path("own_code.py").write_text(CODE)
    Path("own_end.py").write_text("import sys\nsys.exit(0)\n")
    Path("own_syntax.py").write_text("def score(:\n")
    for name in ("own_code", "own_end", "own_syntax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    done = run("check", "draws.npy", "--target", target)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("polystein: error: `--target` must ")
    assert words in done.err
    assert done.err.count("\n") == 1


def test_ctrl_c_in_a_score_function_is_no_fault_of_it(run: Run, good: np.ndarray) -> None:
    np.save("draws.npy", good)
    Path("own_code_2.py").write_text(CODE)
    done = run("check", "draws.npy", "--target", "own_code_2:interrupts")
    assert (done.code, done.err) == (130, "polystein: interrupted\n")


def test_the_answer_is_printed_before_the_page_is_written(
    run: Run,
    good: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A page that is a pipe waits until somebody reads it."""
    np.savez("run.npz", draws=good, scores=-good)
    before = []
    monkeypatch.setattr(app, "write_page", lambda *_, **__: before.append(capsys.readouterr().out))
    assert run("check", "run.npz", "--iid", "--html", "page.html").code == 0
    assert before[0].startswith("Not rejected at the level 0.05")


def test_the_demo_has_a_largest_number_of_draws(run: Run) -> None:
    done = run("demo", "--draws", "1000001")
    assert done.code == 2
    assert "`draws` must be at most 1,000,000; got 1000001" in done.err
