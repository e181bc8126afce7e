"""How long a check of many rows will take and how much memory, said before it begins."""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import suppress
from typing import NamedTuple

import polystein
from polystein.data.sample import Sample
from polystein.data.source import Source
from polystein.methods.check.agreement import MOST_ROWS
from polystein.methods.check.batch_sums import MOST_PAIRED_DIMENSIONS, PAIR_NUMBERS
from polystein.methods.check.batches import MOST_BATCHES_OF_CHAINS
from polystein.methods.check.cross_fitting import FOLDS
from polystein.methods.check.families import BASIS, PAIR_ORDERS

#: Fewer numbers than this take a few seconds, in up to so many dimensions.
LONG_WORK, FEW_DIMENSIONS = 2**24, 32
#: In more of them, products of coordinates take most of the time; from here on, those of rows.
MANY_DIMENSIONS = 256
#: The first rows are checked alone, so many and a quarter of them, to see how long rows take.
FIRST_ROWS = 8_192
#: These are a small part of all rows, and enough of them for a check.
SMALL_PART, FEWEST_ROWS = 16, 400
#: A row is read for a first look, for sums, and to train or to test.
READS = 3.0
#: Bytes kept for a row that is independent of the others: role, key, and columns of test rows.
BYTES_OF_INDEPENDENT_ROW = 25.0


class Estimate(NamedTuple):
    """Seconds, and bytes beyond the rows themselves."""

    #: None where there are too few rows to extrapolate from some, or these say nothing alone.
    seconds: float | None
    memory: float

    def __str__(self) -> str:
        memory = f"{max(1.0, self.memory / 2**20):.0f} MB of memory"
        if self.seconds is None:
            return f"more than a few seconds, and about {memory}"
        return f"about {_duration(self.seconds)} on one core, and {memory}"


def announce(source: Source, *, iid: bool) -> None:
    """Say on standard error what is to be expected, where it is more than a few seconds."""
    if _work(source) >= LONG_WORK:
        held = " beyond the draws and scores" if isinstance(source, Sample) else ""
        expected = f"{estimated(source, iid=iid)}{held}"
        print(f"polystein: {source.layout}: {expected}", file=sys.stderr)


def _work(source: Source) -> float:
    """Numbers, each of which takes longer the more dimensions there are."""
    dimension = source.layout.dimension
    each = max(1.0, min(dimension, MANY_DIMENSIONS) / FEW_DIMENSIONS)
    return source.layout.total * dimension * each


def estimated(source: Source, *, iid: bool) -> Estimate:
    """Seconds, extrapolated from the first rows if these can be checked alone, and memory."""
    rows = min(FIRST_ROWS, source.layout.lengths[0] // 4, source.layout.total // SMALL_PART)
    seconds = None
    if rows >= FEWEST_ROWS:
        # What is wrong with the first rows alone may be right with all, and the check says it.
        with suppress(Exception):
            seconds = _extrapolated(source, rows, iid=iid)
    return Estimate(seconds, memory(source, iid=iid))


def _extrapolated(source: Source, rows: int, *, iid: bool) -> float:
    """Seconds a row, and the fixed part."""
    started = time.perf_counter()
    block = source.read(0, 0, rows)
    reading = (time.perf_counter() - started) / max(rows, min(source.grain, source.layout.total))
    few, many = (
        _seconds(block.draws[:part], block.scores[:part], iid=iid) for part in (rows // 4, rows)
    )
    working = max(0.0, many - few) / max(1, rows - rows // 4)
    return many + source.layout.total * (READS * reading + working)


def memory(source: Source, *, iid: bool) -> float:
    """Bytes that `check` holds at a time: a group of stored rows, and sums."""
    d, orders = source.layout.dimension, 1 + BASIS.order
    batches = MOST_BATCHES_OF_CHAINS
    pairs = 0
    if d <= MOST_PAIRED_DIMENSIONS:
        pairs = min(PAIR_NUMBERS, len(PAIR_ORDERS) * batches * d**2)
    sums = batches * (orders + 3) * d + FOLDS * BASIS.order * d**2 + 2 * MOST_ROWS * d
    blocks = 4 * max(source.grain, FIRST_ROWS) * d
    each = BYTES_OF_INDEPENDENT_ROW if iid else 0.0
    return 4.0 * pairs + 8.0 * (sums + blocks) + each * source.layout.total


def _seconds(draws: object, scores: object, *, iid: bool) -> float:
    """How long a check of these rows takes."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        polystein.check(draws, scores, iid=iid)
    return time.perf_counter() - started


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"{max(1.0, seconds):.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
