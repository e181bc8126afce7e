"""Seconds and peak memory of one piece of work on many rows, in a process of its own.

``python -m benchmarks.scale_work NAME ROWS DIMENSION`` prints seconds, seconds of the CPU,
bytes beyond what was there before, and the bytes of the whole process.
"""

import statistics
import sys
import warnings
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np

import polystein as ps
from benchmarks.harness import _peak, peak_beyond
from polystein.data.source import Block, Layout, Source

ORDER = 4
GAP = 50
MOST_TIMES, SHORT_SECONDS = 50, 3.0


class GeneratedRows:
    """Rows of N(0, I) that are made when they are read, always the same: any number of them.

    Making them is a part of the time, and takes as long for every row however many there are. A
    read from the middle of a group makes its rows from the first one on, which adds to what a
    call costs.
    """

    #: As many as the library takes for a block in 16 dimensions.
    grain = 1_536

    def __init__(self, rows: int, dimension: int, seed: int) -> None:
        self.layout, self.seed = Layout((rows,), dimension, time_ordered=False), seed

    def read(self, chain: int, start: int, stop: int) -> Block:
        first, last = start // self.grain, -(-stop // self.grain)
        parts = [self._group(number, stop) for number in range(first, last)]
        draws = parts[0] if len(parts) == 1 else np.concatenate(parts)
        draws = draws[start - first * self.grain :]
        return Block(draws, -draws, None, chain, start)

    def _group(self, number: int, stop: int) -> np.ndarray:
        """The rows of a group, none of them beyond ``stop``."""
        rows = min(self.grain, stop - number * self.grain)
        shape = (rows, self.layout.dimension)
        return np.random.default_rng([self.seed, number]).standard_normal(shape)


def generated(rows: int, dimension: int, seed: int) -> Source:
    return GeneratedRows(rows, dimension, seed)  # type: ignore[return-value]


def in_memory(rows: int, dimension: int, seed: int) -> Source:
    draws = np.empty((rows, dimension))
    np.random.default_rng(seed).standard_normal(out=draws)
    return ps.Sample(draws, np.negative(draws))


Work = tuple[Callable[[int, int, int], Source], Callable[[Source], object]]
WORK: dict[str, Work] = {
    "psd": (generated, lambda source: ps.psd(source, order=ORDER)),
    "lambda_psd_test": (
        generated,
        lambda source: ps.lambda_psd_test(
            source, order=ORDER, split=ps.BlockSplit(gap=GAP), variance=ps.BatchMeans(), rng=0
        ),
    ),
    "check": (generated, lambda source: ps.check(source)),
    "check, many dimensions": (in_memory, lambda source: ps.check(source)),
    "lambda_psd_test, many dimensions": (
        in_memory,
        lambda source: ps.lambda_psd_test(source, order=3, rng=0),
    ),
}


def main(name: str, rows: str, dimension: str) -> None:
    warnings.simplefilter("ignore")
    make, work = WORK[name]
    # What is imported when it is first used is no part of the work.
    work(make(200, 2, 0))
    times: list[tuple[float, float]] = []

    def timed() -> None:
        start, cpu = perf_counter(), process_time()
        work(source)
        times.append((perf_counter() - start, process_time() - cpu))

    source = make(int(rows), int(dimension), 0)
    beyond = peak_beyond(timed)
    # Short work is timed again and again: other programs disturb it more than long work. It has
    # other rows each time, because `check` flips more signs where a p-value is near a level.
    while len(times) < MOST_TIMES and sum(wall for wall, _ in times) < SHORT_SECONDS:
        source = make(int(rows), int(dimension), len(times))
        timed()
    wall, cpu = (statistics.median(part) for part in zip(*times, strict=True))
    print(wall, cpu, beyond, _peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
