"""The rivals: KSD against the whole matrix, its memory, and time linear in the draws.

As a module of its own it prints the peak memory of `ksd_test` beyond its input:
``python -m benchmarks.rivals ROWS DIMENSION``.
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from benchmarks.harness import (
    PAIRS,
    QUICK_PAIRS,
    Case,
    Target,
    compared,
    in_subprocess,
    interleaved,
    peak_beyond,
)
from tests.reference import kernels

Array = NDArray[np.float64]
Line = Iterator[list[str]]

N_BOOTSTRAP = 500
ROWS, DIMENSION = 4000, 16
SMALL, LARGE = 10_000, 100_000
LINEAR_TESTS: dict[str, Callable[..., ps.GofResult]] = {
    "fssd": ps.fssd_test,
    "fssd-rand": partial(ps.fssd_test, optimise=False),
    "rfsd": ps.rfsd_test,
    "psd-l2": partial(ps.psd_l2_test, order=2),
}
# The same work on ten times the rows takes ten times as long; caches and steps of the
# search leave some room.
LINEAR = Target("at most", 1.5)


def normal(rows: int, dimension: int) -> tuple[Array, Array]:
    """Draws from N(0, I) and their scores, two arrays."""
    draws = np.random.default_rng(21).standard_normal((rows, dimension))
    return draws, -draws


def whole_matrix(quick: bool) -> Line:
    """`ksd_test` at n = 4000, d = 16 against the n x n matrix with a loop over replicates."""
    draws, scores = normal(ROWS, DIMENSION)

    def ours(seed: int) -> object:
        return ps.ksd_test(draws, scores, n_bootstrap=N_BOOTSTRAP, rng=seed)

    def theirs(seed: int) -> object:
        return kernels.whole_matrix_test(draws, scores, N_BOOTSTRAP, seed)

    title = f"ksd_test, IMQ, n={ROWS:,}, d={DIMENSION}, B={N_BOOTSTRAP}, against the whole matrix"
    # The whole matrix takes seconds, long enough for three readings of the clock.
    yield compared(title, ours, theirs, Target("at least", 8.0), quick=True)


def peak_memory(quick: bool) -> Line:
    """Memory of `ksd_test` beyond the input, in a fresh process."""
    peak = int(in_subprocess("benchmarks.rivals", str(ROWS), str(DIMENSION)))
    yield [
        f"memory beyond the input, ksd_test, IMQ, n={ROWS:,}, d={DIMENSION}, B={N_BOOTSTRAP}",
        f"{peak / 1e6:.1f} MB",
        f"{8e-6 * ROWS**2:.0f} MB the whole matrix",
        f"{peak / ROWS:.0f} bytes a row",
        "≤ 300 MB",
        "yes" if peak <= 300e6 else "no",
    ]


def nystrom(quick: bool) -> Line:
    """Time a row of `nystrom_ksd_test` at n = 10^5 and at 10^4, landmarks fixed."""
    landmarks, few, many = 100, normal(10_000, DIMENSION), normal(100_000, DIMENSION)

    def on(rows: tuple[Array, Array], seed: int) -> object:
        return ps.nystrom_ksd_test(*rows, n_landmarks=landmarks, rng=seed)

    pairs = interleaved(
        lambda seed: on(many, seed), lambda seed: on(few, seed), QUICK_PAIRS if quick else PAIRS
    )
    a_row = [[seconds / 100_000 for seconds in pairs.ours], [s / 10_000 for s in pairs.theirs]]
    ratios = [large / small for large, small in zip(*a_row, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    target = Target("at most", 1.3)
    yield [
        f"nystrom_ksd_test, {landmarks} landmarks, d={DIMENSION}, a row at n=10^5 against 10^4",
        f"{1e6 * statistics.median(a_row[0]):.3g} µs",
        f"{1e6 * statistics.median(a_row[1]):.3g} µs",
        f"{middle:.3g}× [{low:.3g}, {high:.3g}]",
        str(target),
        "yes" if target.met(middle) else "no",
    ]


def linear(name: str, test: Callable[..., ps.GofResult]) -> Case:
    """One test of ten times the rows against ten tests of the rows."""

    def rows(quick: bool) -> Iterator[list[str]]:
        draws = np.random.default_rng(20).standard_normal((LARGE, DIMENSION))
        large = ps.Sample(draws, -draws)
        parts = [ps.Sample(part, -part) for part in np.split(draws, LARGE // SMALL)]

        def once(seed: int) -> object:
            return test(large, rng=seed)

        def in_parts(seed: int) -> object:
            return [test(part, rng=seed) for part in parts]

        title = f"{name}, n={LARGE:,} against {LARGE // SMALL} times n={SMALL:,}, d={DIMENSION}"
        yield compared(title, once, in_parts, LINEAR, quick=quick)

    return Case(f"linear-{name}", rows)


CASES = [
    Case("ksd-whole-matrix", whole_matrix),
    Case("ksd-memory", peak_memory),
    Case("nystrom-linear", nystrom),
    *(linear(name, test) for name, test in LINEAR_TESTS.items()),
]


def main(rows: str, dimension: str) -> None:
    draws, scores = normal(int(rows), int(dimension))
    # A small call first: what a process allocates once is no part of the test's own memory.
    ps.ksd_test(draws[:100], scores[:100], n_bootstrap=N_BOOTSTRAP, rng=0)
    print(peak_beyond(lambda: ps.ksd_test(draws, scores, n_bootstrap=N_BOOTSTRAP, rng=0)))


if __name__ == "__main__":
    main(*sys.argv[1:])
