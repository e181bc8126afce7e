"""Interleaved pairs, peak memory, and the Markdown table."""

import platform
import resource
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from operator import truediv
from pathlib import Path
from time import perf_counter
from typing import Literal, NamedTuple

import numpy as np

Side = Callable[[int], object]

PAIRS, QUICK_PAIRS = 15, 3
# A side that takes less than this is called several times in a row, each with its own seed.
LEAST_SECONDS = 0.02
HEADER = ["case", "ours", "against", "ratio [quartiles]", "target", "met"]


class Target(NamedTuple):
    """A bound on time(ours)/time(theirs) ("at most") or on its inverse ("at least")."""

    sense: Literal["at most", "at least"]
    bound: float

    def __str__(self) -> str:
        return f"{'≤' if self.sense == 'at most' else '≥'} {self.bound:g}×"

    def ratio(self, ours: float, theirs: float) -> float:
        return ours / theirs if self.sense == "at most" else theirs / ours

    def met(self, ratio: float) -> bool:
        return ratio <= self.bound if self.sense == "at most" else ratio >= self.bound


class Case(NamedTuple):
    """One line or a few of the table; `rows` takes whether the run is a quick one."""

    name: str
    rows: Callable[[bool], Iterator[list[str]]]


class Pairs(NamedTuple):
    """Seconds of both sides, taken in turn: ours, theirs, ours, theirs, ..."""

    ours: list[float]
    theirs: list[float]


def interleaved(ours: Side, theirs: Side, pairs: int) -> Pairs:
    """Time both sides in turn, so that what slows the machine slows both.

    A side gets a number to seed itself with, another one at every call.
    """
    repeats = [calls_needed(side) for side in (ours, theirs)]
    result = Pairs([], [])
    for pair in range(pairs):
        for side, calls, times in zip((ours, theirs), repeats, result, strict=True):
            times.append(seconds_per_call(side, range(pair * calls, (pair + 1) * calls)))
    return result


def calls_needed(side: Side) -> int:
    """Warm a side up, and find how often to call it for a reading of the clock."""
    side(0)
    return max(1, round(LEAST_SECONDS / seconds_per_call(side, range(3))))


def seconds_per_call(side: Side, seeds: range) -> float:
    start = perf_counter()
    for seed in seeds:
        side(seed)
    return (perf_counter() - start) / len(seeds)


def compared(
    title: str, ours: Side, theirs: Side, target: Target | None, *, quick: bool
) -> list[str]:
    """One line of the table: medians of both sides, and of the ratio of each pair.

    Without a target the ratio is ours over theirs, and only for information.
    """
    pairs = interleaved(ours, theirs, QUICK_PAIRS if quick else PAIRS)
    ratio = target.ratio if target else truediv
    ratios = [ratio(*pair) for pair in zip(*pairs, strict=True)]
    middle = statistics.median(ratios)
    return [
        title,
        milliseconds(statistics.median(pairs.ours)),
        milliseconds(statistics.median(pairs.theirs)),
        ratio_cell(ratios),
        str(target or ""),
        "" if target is None else "yes" if target.met(middle) else "no",
    ]


def ratio_cell(ratios: list[float]) -> str:
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:.3g}× [{low:.3g}, {high:.3g}]"


def milliseconds(value: float) -> str:
    return f"{1e3 * value:.3g} ms" if value < 1.0 else f"{value:.3g} s"


def peak_beyond(work: Callable[[], object]) -> int:
    """Bytes by which the resident set grows, at its peak, while `work` runs.

    Linux forgets an old peak on request; elsewhere the peak since the start of the
    process is all there is, so that a small growth may go unseen.
    """
    clear = Path("/proc/self/clear_refs")
    if not clear.exists():
        before = _peak()
        work()
        return _peak() - before
    clear.write_text("5")
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"the kernel does not report {field}")


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_subprocess(module: str, *options: str) -> str:
    """Run a module in a fresh process, which inherits the fixed threads; its last line."""
    command = [sys.executable, "-m", module, *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return output.splitlines()[-1]


def report(cases: list[Case], *, quick: bool, threads: int | None) -> None:
    """Print the table line by line, as the lines come."""
    print(f"{setting(quick=quick, threads=threads)}\n")
    print_header(HEADER)
    with warnings.catch_warnings():
        # What a verdict warns of is of no interest here, and its text would cut the table.
        warnings.simplefilter("ignore")
        for case in cases:
            for row in case.rows(quick):
                print_line(row)


def setting(*, quick: bool, threads: int | None) -> str:
    """What ran where, to be printed above a table; no number of threads is BLAS's own."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    pairs = QUICK_PAIRS if quick else PAIRS
    return (
        f"Python {platform.python_version()}, NumPy {np.__version__}, {blas['name']} "
        f"{blas['version']}, threads: {threads or 'default'}, {platform.machine()}. Times and "
        f"ratios are medians of {pairs} interleaved pairs."
    )


def print_header(cells: list[str]) -> None:
    print_line(cells)
    print_line(["---"] * len(cells))


def print_line(cells: list[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)
