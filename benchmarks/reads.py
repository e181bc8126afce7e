"""How often `check` and `lambda_psd_test` read a row: a count, the same on every machine."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from benchmarks.cases import autoregressive, white
from benchmarks.harness import Case

CHAINS, DRAWS = 4, 2000
ROWS = CHAINS * DRAWS
ORDER = 4


class CountingSample(ps.Sample):
    """A sample that counts, for every row, how often `read` delivers it.

    The look at every value when the sample is made is no read.
    """

    def __init__(self, draws: NDArray[np.float64]) -> None:
        super().__init__(draws, -draws)
        self.counts = [np.zeros(length, dtype=int) for length in self.layout.lengths]

    def read(self, chain: int, start: int, stop: int) -> Any:
        self.counts[chain][start:stop] += 1
        return super().read(chain, start, stop)


class Reads(NamedTuple):
    """Rows read over n, and how often the rows read least and most were delivered."""

    mean: float
    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.least}, {self.most}]"


def counted(test: Callable[[CountingSample], object], draws: NDArray[np.float64]) -> Reads:
    sample = CountingSample(draws)
    test(sample)
    counts = np.concatenate(sample.counts)
    if not counts.any():
        raise RuntimeError("no row was read through `Sample.read`")
    return Reads(float(counts.mean()), int(counts.min()), int(counts.max()))


def check_chains(draw: Callable[[tuple[int, ...]], NDArray[np.float64]], dimension: int) -> Reads:
    return counted(lambda sample: ps.check(sample, rng=0), draw((CHAINS, DRAWS, dimension)))


def check_independent(dimension: int) -> Reads:
    return counted(lambda sample: ps.check(sample, iid=True, rng=0), white((ROWS, dimension)))


def weighted(dimension: int) -> Reads:
    return counted(
        lambda sample: ps.lambda_psd_test(sample, order=ORDER, rng=0), white((ROWS, dimension))
    )


GROUPS: dict[str, Callable[[int], Reads]] = {
    "check-white": partial(check_chains, white),
    "check-ar": partial(check_chains, autoregressive),
    "check-iid": check_independent,
    "lambda": weighted,
}
COUNTS: dict[str, Callable[[], Reads]] = {
    f"reads-{group}-{dimension}": partial(count, dimension)
    for group, count in GROUPS.items()
    for dimension in (3, 40, 200)
}


def lines(quick: bool) -> Iterator[list[str]]:
    for name, count in COUNTS.items():
        yield [f"{name}, n={ROWS:,}", f"{count()} reads per row", "", "", "", ""]


CASES = [Case("reads", lines)]
