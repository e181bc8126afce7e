"""Many rows, many coordinates, several cores: time and memory against size, in one run."""

import os
import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import polystein as ps
from benchmarks.growth import Growth, farthest_above, fitted_growth, plain_slope, worst_step
from benchmarks.harness import (
    Case,
    Side,
    Target,
    compared,
    in_subprocess,
    milliseconds,
    ratio_cell,
    seconds_per_call,
)

Line = Iterator[list[str]]
ORDER = 4
#: Time of work whose cost is linear grows with this power of the rows.
EXPONENTS = (0.95, 1.05)
#: Coordinates of the generated rows.
DIMENSION = 16
#: Numbers of generated rows: three in every decade, for a fit of three numbers.
SIZES = (*(digit * 10**power for power in range(4, 8) for digit in (1, 2, 5)), 10**8)
#: Numbers of coordinates, and those around the most of which `check` looks at pairs.
DIMENSIONS = (16, 32, 64, 128, 250, 256, 257, 512, 1000, 2000, 5000)
#: Pairs of runs on two cores and on one.
PAIRS = 3
MOST_RESIDENT = 500 * 2**20
MOST_BEYOND, MOST_SECONDS = 300 * 2**20, 30.0
#: No time is more than so many times that of the trend.
MOST_CLIFF = 3.0


class Measured(NamedTuple):
    """Seconds, those of the CPU, bytes beyond the input, and bytes of the whole process."""

    seconds: float
    cpu: float
    beyond: float
    resident: float


def measured(name: str, rows: int, dimension: int) -> Measured:
    words = in_subprocess("benchmarks.scale_work", name, str(rows), str(dimension)).split()
    return Measured(*map(float, words))


def load() -> str:
    """What else the machine is doing, without which a speed-up says little."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def cores(name: str) -> Callable[[bool], Line]:
    """Two cores against one, d = 16."""

    def lines(quick: bool) -> Line:
        rows = 10**6 if quick else 10**7
        draws = np.empty((rows, 16))
        np.random.default_rng(0).standard_normal(out=draws)
        sample = ps.Sample(draws, np.negative(draws))
        sides = {
            "lambda_psd_test": lambda jobs: (
                lambda seed: ps.lambda_psd_test(sample, order=ORDER, rng=seed, n_jobs=jobs)
            ),
            "check": lambda jobs: lambda seed: ps.check(sample, rng=seed, n_jobs=jobs),
        }
        title = f"{name}, n={rows:,}, d=16, two cores, {PAIRS} pairs ({load()})"
        yield taken_in_turn(title, sides[name](2), sides[name](1), Target("at least", 1.7))

    return lines


def taken_in_turn(title: str, ours: Side, theirs: Side, target: Target) -> list[str]:
    """One line of a few pairs without a warm-up, for work that takes many seconds."""
    pairs = [(seconds_per_call(ours, range(1)), seconds_per_call(theirs, range(1)))
             for _ in range(PAIRS)]  # fmt: skip
    ratios = [target.ratio(*pair) for pair in pairs]
    sides = [milliseconds(statistics.median(side)) for side in zip(*pairs, strict=True)]
    met = yes(target.met(statistics.median(ratios)))
    return [title, *sides, ratio_cell(ratios), str(target), met]


def rows(name: str, most: int) -> Callable[[bool], Line]:
    """Time against rows that are generated on the fly, and memory that stays where it is."""

    def lines(quick: bool) -> Line:
        sizes = [size for size in SIZES if size <= (most // 10 if quick else most)]
        found = [measured(name, size, DIMENSION) for size in sizes]
        for size, one in zip(sizes, found, strict=True):
            memory = f"{one.resident / 2**20:.0f} MB resident"
            met, wall = yes(one.resident <= MOST_RESIDENT), milliseconds(one.seconds)
            yield [f"{name}, n={size:,}", wall, on_cpu(one), memory, "≤ 500 MB", met]
        yield from powers(name, sizes, found)

    return lines


def powers(name: str, sizes: list[int], found: list[Measured]) -> Line:
    """The power of the rows beside a fixed cost, the slope without one, and what the cost is."""
    walls, cpus = [one.seconds for one in found], [one.cpu for one in found]
    wall, cpu = fitted_growth(sizes, walls), fitted_growth(sizes, cpus)
    fit = f"misfit at most {wall.misfit:.0%}"
    met = yes(EXPONENTS[0] <= wall.power <= EXPONENTS[1])
    yield [f"{name}, k of time = a + b n^k over all sizes ({load()})", power_cell(wall),
           f"CPU {power_cell(cpu)}", fit, "0.95 to 1.05", met]  # fmt: skip
    slopes = plain_slope(sizes, walls), plain_slope(sizes, cpus)
    yield [f"{name}, slope of log time against log n over all sizes", f"{slopes[0]:.3f}",
           f"CPU {slopes[1]:.3f}", "", "", ""]  # fmt: skip
    yield [f"{name}, a, the cost of a call whatever its rows", f"{1e3 * wall.fixed:.2f} ms",
           f"CPU {1e3 * cpu.fixed:.2f} ms", f"rows cost more from n={wall.even:,.0f} on", "",
           ""]  # fmt: skip


def power_cell(growth: Growth) -> str:
    return f"k = {growth.power:.3f} ± {growth.error:.3f}"


def dimensions(quick: bool) -> Line:
    """Time and memory of `check` against the dimension at n = 1000."""
    found = [measured("check, many dimensions", 1000, size) for size in DIMENSIONS]
    for size, one in zip(DIMENSIONS, found, strict=True):
        yield bounded(f"check, n=1000, d={size:,}", one)
    wall, cpu = ([getattr(one, kind) for one in found] for kind in ("seconds", "cpu"))
    trend = f"d^{plain_slope(DIMENSIONS, wall):.2f} ({load()})"
    above, where = farthest_above(DIMENSIONS, wall)
    yield [f"check, farthest above the trend {trend}", f"d={where:,}",
           f"CPU {farthest_above(DIMENSIONS, cpu)[0]:.2f}×", f"{above:.2f}×",
           f"≤ {MOST_CLIFF:g}×", yes(above <= MOST_CLIFF)]  # fmt: skip
    cliff, before, after = worst_step(DIMENSIONS, wall)
    yield [f"check, worst step up or down against {trend}", f"d={before:,} to {after:,}",
           f"CPU {worst_step(DIMENSIONS, cpu)[0]:.2f}×", f"{cliff:.2f}×", "", ""]  # fmt: skip


def many_dimensions(quick: bool) -> Line:
    """The test of the paper where the draws are hardly more than can be held."""
    many = 10_000 if quick else 100_000
    one = measured("lambda_psd_test, many dimensions", 1000, many)
    yield bounded(f"lambda_psd_test, order 3, n=1000, d={many:,} ({load()})", one)


def bounded(title: str, one: Measured) -> list[str]:
    memory = f"{one.beyond / 2**20:.0f} MB beyond the input"
    met = one.beyond <= MOST_BEYOND and one.seconds <= MOST_SECONDS
    return [title, milliseconds(one.seconds), on_cpu(one), memory, "≤ 30 s, ≤ 300 MB", yes(met)]


def precision(quick: bool) -> Line:
    """Single precision against double precision, on the same rows."""
    double = np.random.default_rng(0).standard_normal((10**5 if quick else 10**6, 16))
    single = double.astype(np.float32)
    samples = [ps.Sample(one, -one) for one in (single, double)]
    sides = [(lambda seed, s=sample: ps.psd(s, order=ORDER)) for sample in samples]
    yield compared(f"psd, n={len(double):,}, d=16, float32 against float64", *sides, None,
                   quick=quick)  # fmt: skip


def on_cpu(one: Measured) -> str:
    """Where other programs are at work, seconds of the CPU say more than those of the wall."""
    return f"CPU {milliseconds(one.cpu)}"


def yes(met: bool) -> str:
    return "yes" if met else "no"


CASES = [
    Case("scale-dimensions-check", dimensions),
    Case("scale-dimensions-lambda", many_dimensions),
    Case("scale-rows-psd", rows("psd", 10**8)),
    Case("scale-rows-lambda", rows("lambda_psd_test", 10**8)),
    Case("scale-rows-check", rows("check", 10**7)),
    Case("scale-cores-lambda", cores("lambda_psd_test")),
    Case("scale-cores-check", cores("check")),
    Case("scale-precision", precision),
]
