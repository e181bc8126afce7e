"""The entry point without the packages that it needs, and without the streams."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.mark.slow
@pytest.mark.processes
def test_without_the_extra_one_line_names_it() -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom polystein.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        "polystein: the command line needs typer: pip install 'polystein[cli]'\n"
    )


CLOSED_STREAMS: list[Any] = [
    (">&-", 1, ""),
    ("1</dev/null", 2, "polystein: error: the output could not be written: Bad file"),
]
# NumPy 2.0 itself cannot be imported by SciPy without standard error.
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    CLOSED_STREAMS += [
        ("2>&-", 1, "Rejected at the level 0.05"),
        ("<&- >&- 2>&-", 1, ""),
    ]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(("redirection", "code", "words"), CLOSED_STREAMS)
def test_streams_that_are_closed_are_no_fault(
    tmp_path: Path, bad: np.ndarray, redirection: str, code: int, words: str
) -> None:
    """The exit code tells the verdict, and the page is written."""
    np.savez(tmp_path / "bad.npz", draws=bad, scores=-bad)
    command = f"{sys.executable} -m polystein test bad.npz --html page.html {redirection}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code
    said = done.stdout + done.stderr
    assert said.startswith(words)
    assert bool(said) == bool(words)
    assert "internal error" not in said
    assert (tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")


@pytest.mark.slow
@pytest.mark.processes
def test_names_that_the_terminal_cannot_show_are_written_out(
    tmp_path: Path, bad: np.ndarray
) -> None:
    np.savez(tmp_path / "bad.npz", draws=bad, scores=-bad, names=["α", "β", "γ"])
    done = subprocess.run(
        [sys.executable, "-m", "polystein", "check", "bad.npz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 1
    assert r"`\u03b1`" in done.stdout


#: In the place of a library that polystein imports: it says so, and then takes its time.
SLOW = "import pathlib, time; pathlib.Path('begun').touch(); time.sleep(60)"


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("options", [["-um", "polystein"], ["-mpolystein"], ["-Im", "polystein"]])
def test_python_may_be_given_its_options_in_one_word(options: list[str]) -> None:
    command = [sys.executable, *options, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("polystein ")


#: A shell lets what it runs in the background ignore interrupts.
BEGIN = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(
    ("start", "quiet"),
    [
        ("sys.argv = ['-m']; sys.orig_argv = ['python', '-m', 'polystein']", True),
        ("sys.argv = ['/usr/local/bin/polystein', '--help']", True),
        ("sys.argv = ['fit.py']", False),
    ],
)
def test_ctrl_c_during_the_imports_shows_no_traceback(
    start: str, quiet: bool, tmp_path: Path
) -> None:
    """The command ends by the signal, which shells show as 130; other programs are left alone."""
    (tmp_path / "threadpoolctl.py").write_text(SLOW)
    code = f"{BEGIN}{start}; import polystein.cli; polystein.cli.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60.0
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline, "the imports did not begin"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT
    assert ("KeyboardInterrupt" in errors) is not quiet
    assert bool(errors) is not quiet
