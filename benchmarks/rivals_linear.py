"""The linear-time rivals: seconds a row at n = 10^5 against n = 10^4."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import polystein as ps
from benchmarks.harness import Case, Target, compared

SMALL, LARGE = 10_000, 100_000
DIMENSION = 16
TESTS: dict[str, Callable[..., ps.GofResult]] = {
    "fssd": ps.fssd_test,
    "fssd-rand": partial(ps.fssd_test, optimise=False),
    "rfsd": ps.rfsd_test,
    "psd-l2": partial(ps.psd_l2_test, order=2),
}
# The same work on ten times the rows takes ten times as long; caches and steps of the
# search leave some room.
LINEAR = Target("at most", 1.5)


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


CASES = [linear(name, test) for name, test in TESTS.items()]
