"""Another commit against the working tree: ``python -m benchmarks --against REV``.

Two workers, one on each tree, run the same cases in turn: before, after, before, after, ...
"""

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.cases import CASES, Timed
from benchmarks.harness import (
    LEAST_SECONDS,
    PAIRS,
    QUICK_PAIRS,
    milliseconds,
    print_header,
    print_line,
    ratio_cell,
    setting,
)
from benchmarks.reads import COUNTS

ROOT = Path(__file__).resolve().parents[1]
TIMED_HEADER = [
    "case", "before (wall, CPU)", "after (wall, CPU)", "after/before wall [quartiles]",
    "after/before CPU [quartiles]",
]  # fmt: skip
COUNTED_HEADER = ["case", "reads per row before [least, most]", "after"]
NOT_AVAILABLE = "not available"


class NotAvailableError(Exception):
    """A side cannot run a case; which side, and why."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(f"{label}: {reason}")
        self.label = label


class Reading(NamedTuple):
    """Seconds per call."""

    wall: float
    cpu: float


class Worker:
    """A process that runs cases with the polystein of one tree; started again if it ends."""

    def __init__(self, label: str, source: Path) -> None:
        self.label, self.source = label, source
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        # The cases are always those of the working tree: ROOT has no polystein, the
        # other commit's `src` has no benchmarks. Ctrl-C is left to the parent.
        path = os.pathsep.join([str(self.source), str(ROOT)])
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", str(self.source)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
        )  # fmt: skip

    def ask(self, **request: Any) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None:
            self.process = self.start()
        line = self._exchange(self.process, json.dumps(request))
        answer: dict[str, Any] = json.loads(line) if line else {"error": "its worker ended"}
        if "error" in answer:
            raise NotAvailableError(self.label, answer["error"])
        return answer

    def _exchange(self, process: subprocess.Popen[str], request: str) -> str:
        """The answer to a request; empty if the process ends instead."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(request, file=process.stdin, flush=True)
        except BrokenPipeError:
            return ""
        line = process.stdout.readline()
        if not line:
            process.wait()
        return line

    def reading(self, name: str, quick: bool, first: int, calls: int) -> Reading:
        return Reading(**self.ask(case=name, quick=quick, first=first, calls=calls))

    def count(self, name: str) -> str:
        return str(self.ask(count=name)["count"])

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


Sides = tuple[Worker, Worker]


def git(*arguments: str) -> str:
    command = ["git", *arguments]
    result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return result.stdout.strip()


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """The files of a commit in a temporary folder, which goes away however the run ends."""
    with TemporaryDirectory(prefix="polystein-before-") as folder:
        tree = Path(folder) / commit
        try:
            git("worktree", "add", "--detach", str(tree), commit)
            yield tree
        finally:
            # Twice by force: a tree that was interrupted in the making is locked.
            if tree.exists():
                git("worktree", "remove", "--force", "--force", str(tree))


@contextmanager
def workers(commit: str) -> Iterator[Sides]:
    with tree_of(commit) as tree:
        sides = Worker("before", tree / "src"), Worker("after", ROOT / "src")
        try:
            yield sides
        finally:
            for side in sides:
                side.stop()


def pairs_of(case: Timed, sides: Sides, quick: bool) -> Iterator[tuple[Reading, Reading]]:
    """Readings of both sides in turn, with the same seeds and equally many calls."""
    before, after = sides
    calls = calls_needed(case.name, sides, quick)
    for pair in range(QUICK_PAIRS if quick else PAIRS):
        asked = case.name, quick, pair * calls, calls
        yield before.reading(*asked), after.reading(*asked)


def calls_needed(name: str, sides: Sides, quick: bool) -> int:
    """Warm both sides up, and find how often to call for a reading long enough on either."""
    for side in sides:
        side.reading(name, quick, 0, 1)
    shortest = min(side.reading(name, quick, 0, 1).wall for side in sides)
    return max(1, round(LEAST_SECONDS / shortest))


def timed_line(case: Timed, sides: Sides, quick: bool) -> list[str]:
    """Medians of both sides, and of the ratios of each pair, wall and CPU apart."""
    before, after = zip(*pairs_of(case, sides, quick), strict=True)
    ratios = [
        [new / old for new, old in zip(new_seconds, old_seconds, strict=True)]
        for new_seconds, old_seconds in zip(columns(after), columns(before), strict=True)
    ]
    return [seconds_cell(before), seconds_cell(after), *map(ratio_cell, ratios)]


def columns(readings: Sequence[Reading]) -> tuple[list[float], list[float]]:
    return [reading.wall for reading in readings], [reading.cpu for reading in readings]


def seconds_cell(readings: Sequence[Reading]) -> str:
    return ", ".join(milliseconds(median(seconds)) for seconds in columns(readings))


def counted_line(name: str, sides: Sides) -> list[str]:
    return [side.count(name) for side in sides]


def print_case(header: list[str], title: str, cells: Callable[[], list[str]]) -> None:
    """One line of the table, also where a side cannot run the case; the reason goes to stderr."""
    try:
        print_line([title, *cells()])
    except NotAvailableError as error:
        print(f"{title}, {error}", file=sys.stderr)
        missing = [NOT_AVAILABLE if error.label == label else "" for label in ("before", "after")]
        print_line([title, *missing, *[""] * (len(header) - 3)])


def print_timed(cases: list[Timed], sides: Sides, quick: bool) -> None:
    print_header(TIMED_HEADER)
    for case in cases:
        title = f"{case.name}, {'×'.join(map(str, case.size(quick)))}"
        print_case(TIMED_HEADER, title, partial(timed_line, case, sides, quick))


def print_counted(names: list[str], sides: Sides) -> None:
    print_header(COUNTED_HEADER)
    for name in names:
        print_case(COUNTED_HEADER, name, partial(counted_line, name, sides))


def report(cases: list[Timed], counts: list[str], options: Namespace) -> None:
    """Both tables, or the one that has lines, below what was compared where."""
    commit = git("rev-parse", "--short", "--verify", f"{options.against}^{{commit}}")
    now = git("describe", "--always", "--dirty", "--exclude=*")
    print(f"Before: {commit}. After: the working tree, {now}.", end=" ")
    print(f"{setting(quick=options.quick, threads=options.threads)}\n")
    with workers(commit) as sides:
        if cases:
            print_timed(cases, sides, options.quick)
        if cases and counts:
            print()
        if counts:
            print_counted(counts, sides)


def main(options: Namespace) -> int:
    only = options.only or ""
    cases = [case for case in CASES if case.name.startswith(only)]
    counts = [name for name in COUNTS if name.startswith(only)]
    if not cases and not counts:
        print(f"no case begins with {only!r}; see --list", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join([*(case.name for case in cases), *counts]))
        return 0
    # Whoever ends the run, the temporary tree has to go.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        report(cases, counts, options)
    except subprocess.CalledProcessError as error:
        print(error.stderr.strip(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
