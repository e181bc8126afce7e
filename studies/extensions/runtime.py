"""Processor time of the paper's methods and of Algorithm 2, measured side by side.

All cases of a group see the same draws, one after the other, and are compared on each set of draws
with the first case of their group. Times differ from run to run, and from machine to machine; the
ratios differ less. The rounds of Algorithm 2 are always the same.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, ClassVar, NamedTuple

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.runner import workers
from polystein.experiments.engine.store import package_commit, write_csv
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper.methods import RIVALS
from polystein.experiments.paper.samplers import gaussian_score, laplace
from polystein.inference.columns import MeanAndCovariance
from polystein.types import FloatArray
from studies._table import lines_by
from studies.extensions import SEED, methods, search
from studies.extensions.comparison import sample

#: A group takes about this many minutes.
MINUTES = 0.5
SEARCHED = "Laplace, d=16"


class CountingGenerator(np.random.Generator):
    """A generator that counts the rounds of Algorithm 2: each draws uniform numbers once."""

    rounds = 0

    def random(self, *args: Any, **options: Any) -> Any:
        self.rounds += 1
        return super().random(*args, **options)


@dataclass
class Measured:
    """A rule that notes how long it took, and how many rounds."""

    rule: ps.CrossEntropy
    milliseconds: float = 0.0
    rounds: int = 0

    needs_covariance: ClassVar[bool] = True

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        """Leave it to the rule."""
        counting = CountingGenerator(rng.bit_generator)
        started = time.process_time()
        weights = self.rule.solve(moments, counting)
        self.milliseconds = 1000.0 * (time.process_time() - started)
        self.rounds = counting.rounds
        return weights


class Reading(NamedTuple):
    """One case on one set of draws; a test that does not search has no rounds."""

    milliseconds: float
    rounds: int | None = None


def search_readings(index: int) -> dict[str, Reading]:
    """Algorithm 2 with each of its settings, on a set of draws of ``search``."""
    found = {}
    for label, rule in search.SETTINGS.items():
        cell = search.STUDY.cell(f"{SEARCHED}, {label}")
        rows, common = sample(Replicate(cell, index, SEED), search.DRAWS)
        measured = Measured(rule)
        ps.lambda_psd_test(rows, order=search.ORDER, weights=measured, rng=common.stream("split"))
        found[label] = Reading(measured.milliseconds, measured.rounds)
    return found


def method_readings(index: int, n: int, d: int) -> dict[str, Reading]:
    """Each method of the paper on one set of Laplace draws."""
    replicate = Replicate(Cell.of("extensions-runtime", replicates=1, n=n, d=d), index, SEED)
    draws = laplace(replicate.generator("draws"), n, d)
    rows = ps.Sample(draws, gaussian_score(draws))
    tests: dict[str, Callable[[], ps.GofResult]] = {
        label: partial(test, rows, rng=replicate.stream("split"))
        for label, test in methods.TESTS.items()
    }
    tests |= {rival.label: partial(rival.test, rows, replicate) for rival in RIVALS}
    found = {}
    for label, test in tests.items():
        started = time.process_time()
        test()
        found[label] = Reading(1000.0 * (time.process_time() - started))
    return found


class Group(NamedTuple):
    """Cases that are measured side by side, and on how many sets of draws."""

    readings: Callable[[int], dict[str, Reading]]
    sets: int


def group_of(n: int, d: int) -> str:
    """What the times at this n and d are called in the table."""
    return f"methods, n={n}, d={d}"


GROUPS = {
    "search": Group(search_readings, 20),
    group_of(1000, 16): Group(partial(method_readings, n=1000, d=16), 10),
    group_of(1000, 64): Group(partial(method_readings, n=1000, d=64), 10),
    group_of(4000, 16): Group(partial(method_readings, n=4000, d=16), 3),
}


def measure(name: str) -> list[dict[str, Reading]]:
    """Every set of a group, after one that warms the caches."""
    readings, sets = GROUPS[name]
    with warnings.catch_warnings():
        # A warning concerns one set of draws; here many are tested on purpose.
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        readings(0)
        return [readings(index) for index in range(sets)]


@dataclass(frozen=True)
class Times:
    """The table of times: a group is measured in one process, and stored when it is whole."""

    table: Path

    def stored(self) -> dict[str, dict[str, str]]:
        """The lines of the committed table, by cell."""
        return lines_by(self.table)

    def missing(self, only: str = "", *, anew: bool = False) -> list[str]:
        """The groups that the table does not hold yet; all of them, if it is made anew."""
        there = {} if anew else {row["group"] for row in self.stored().values()}
        return [name for name in GROUPS if name not in there and only in name]

    def minutes(self, only: str = "", *, anew: bool = False) -> float:
        """What the missing groups take of one core."""
        return MINUTES * len(self.missing(only, anew=anew))

    def run(self, only: str = "", jobs: int = 1, *, anew: bool = False) -> None:
        """Measure what is missing, always in one process: `jobs` changes nothing."""
        for name in self.missing(only, anew=anew):
            with workers(1) as pool:
                lines = summarised(name, pool.submit(measure, name).result())
            there: list[Row] = [{**row} for row in self.stored().values() if row["group"] != name]
            write_csv(self.table, [*there, *lines])
            print(name, flush=True)


def summarised(name: str, sets: list[dict[str, Reading]]) -> list[Row]:
    """One line for each case of a group; its ratio is to the first case."""
    times = {label: [one[label].milliseconds for one in sets] for label in sets[0]}
    first = next(iter(times.values()))
    return [
        {
            "cell": f"{name}, {label}",
            "group": name,
            "sets": len(sets),
            "milliseconds": f"{median(its):.3g}",
            "ratio": f"{median(np.divide(its, first)):.3g}",
            "rounds": " ".join(
                str(one[label].rounds) for one in sets if one[label].rounds is not None
            ),
            "seed": SEED,
            "polystein": ps.__version__,
            "commit": package_commit() or "",
        }
        for label, its in times.items()
    ]


STUDY = Times(Path(__file__).with_suffix(".csv"))


def of_method(label: str, n: int, d: int) -> list[str]:
    """Milliseconds and ratio of a method, to show."""
    row = STUDY.stored().get(f"{group_of(n, d)}, {label}")
    return ["", ""] if row is None else [row["milliseconds"], row["ratio"]]


def of_search(label: str) -> list[str]:
    """Mean rounds of Algorithm 2 with these settings, and its time as a ratio, to show."""
    row = STUDY.stored().get(f"search, {label}")
    if row is None:
        return ["", ""]
    return [f"{mean(int(one) for one in row['rounds'].split()):.1f}", row["ratio"]]


def markdown() -> list[str]:
    """The table of ``docs/extensions.md``, line by line."""
    places = ((1000, 16), (1000, 64), (4000, 16))
    labels = (*methods.TESTS, *(rival.label for rival in RIVALS))
    return markdown_table(
        ["method", *(f"n={n}, d={d}" for n, d in places)],
        [[label, *(of_method(label, n, d)[1] for n, d in places)] for label in labels],
    )
