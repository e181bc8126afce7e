"""Outcomes of commands, and files for them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
#: Runs commands in forks of one process: to import the package takes longer than most of them.
FORKS = """
import os, sys
from polystein.cli import app, main

for line in sys.argv[1:]:
    out, err, *arguments = line.split()
    child = os.fork()
    if not child:
        for number, path in enumerate((out, err), 1):
            if path == "closed-pipe":
                reader, opened = os.pipe()
                os.close(reader)
            else:
                opened = os.open(path, os.O_WRONLY | os.O_CREAT)
            os.dup2(opened, number)
        sys.argv = ["polystein", *arguments]
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def exit_codes(folder: Path, *commands: str) -> list[int]:
    """Exit codes of commands in this folder.

    A command is the files that standard output and standard error go to, and the arguments. A file
    ``closed-pipe`` is a pipe that nobody reads.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORKS, *commands],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    return [int(code) for code in done.stdout.split()]


def save_csv(path: Path, array: np.ndarray, header: str = "") -> None:
    np.savetxt(path, array, delimiter=",", header=header, comments="")


def save_parquet(path: Path, array: np.ndarray) -> None:
    columns = {f"p{index}": column for index, column in enumerate(array.T)}
    pyarrow.parquet.write_table(pa.table(columns), path)


SAVERS: dict[str, Callable[[Path, np.ndarray], None]] = {
    ".npy": np.save,
    ".csv": save_csv,
    ".parquet": save_parquet,
}


def save_pair(suffix: str, draws: np.ndarray) -> tuple[str, str]:
    """Write draws and the scores of N(0, I) into the current directory."""
    SAVERS[suffix](Path(f"draws{suffix}"), draws)
    SAVERS[suffix](Path(f"scores{suffix}"), -draws)
    return f"draws{suffix}", f"scores{suffix}"
