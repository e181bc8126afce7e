"""Work in other processes: every task is answered, whatever becomes of the processes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polystein._lib.processes import Lost, spread

HERE = os.getpid()


def work(task: Any) -> Any:
    """Say in which process a task was answered; one task ends its process."""
    number = task() if callable(task) else task
    if number == "end":
        os._exit(3)
    return number, os.getpid()


class OfThisProcess:
    """Pickles, but not for others."""

    def __reduce__(self) -> Any:
        return _refuse, (HERE,)

    def __call__(self) -> int:
        return 7


def _refuse(process: int) -> None:
    if os.getpid() != process:
        raise RuntimeError("cannot be read elsewhere")


@pytest.mark.slow
@pytest.mark.processes
def test_a_process_that_ends_loses_its_task_alone() -> None:
    tasks = [0, "end", 2, lambda: 3, OfThisProcess(), 5, 6]
    answers = dict(spread(work, tasks, 2))
    assert sorted(answers) == list(range(7))
    assert isinstance(answers.pop(1), Lost)
    assert [answers[number][0] for number in (0, 2, 3, 4, 5, 6)] == [0, 2, 3, 7, 5, 6]
    here = os.getpid()
    assert [answers[number][1] == here for number in (0, 2, 3, 4, 5, 6)] == [
        *(False, False, True, True, False, False)
    ]


SCRIPT = """
import polystein as ps
import numpy as np
draws = np.random.default_rng(0).standard_normal((4, 100, 2))
ps.check_many({"a": (draws, -draws), "b": (draws, -draws)}, n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("polystein.errors.ClusterError: processes that `n_jobs` asks for")
    assert '`if __name__ == "__main__":`' in last
