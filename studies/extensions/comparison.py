"""What the parts share: tests beside each other on the same draws and the same split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.paper import samplers
from polystein.types import FloatArray
from studies._table import Study, decision
from studies.check.alternatives import CORRELATION_OF_PAIR, correlated_pair
from studies.extensions import SEED

#: Sets of draws that are wrong, and sets of draws from the target.
POWER_SETS, SIZE_SETS = 200, 500
#: Between neighbours, in `correlated_neighbours`.
CORRELATION_OF_NEIGHBOURS = 0.1

Test: TypeAlias = Callable[..., ps.GofResult]


class Draws(NamedTuple):
    """Where sets of draws come from, and how many there are."""

    sampler: samplers.Sampler
    n: int
    d: int
    sets: int = POWER_SETS


class Trial(NamedTuple):
    """A test on draws, both by their names, and its milliseconds."""

    draws: str
    test: str
    cost: float = 8.0


def one_pair(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """The first two coordinates are correlated; each is standard normal."""
    return correlated_pair(rng, n, d, CORRELATION_OF_PAIR)[0]


def correlated_neighbours(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """Each coordinate is correlated with the next; each is standard normal."""
    draws = rng.standard_normal((n, d))
    for j in range(1, d):
        noise = np.sqrt(1.0 - CORRELATION_OF_NEIGHBOURS**2) * draws[:, j]
        draws[:, j] = CORRELATION_OF_NEIGHBOURS * draws[:, j - 1] + noise
    return draws


SAMPLERS: dict[str, samplers.Sampler] = {
    "perturbed": samplers.perturbed,
    "Student-t": samplers.student_t,
    "Laplace": samplers.laplace,
    "one pair": one_pair,
    "neighbours": correlated_neighbours,
    "N(0, I)": samplers.gaussian,
}


def drawn(sampler: str, d: int, n: int = 1000) -> dict[str, Draws]:
    """Draws of this sampler, under the name that the tables use: n is 1000 unless it is named."""
    sets = SIZE_SETS if sampler == "N(0, I)" else POWER_SETS
    label = f"{sampler}, d={d}" if n == 1000 else f"{sampler}, d={d}, n={n}"
    return {label: Draws(SAMPLERS[sampler], n, d, sets)}


def sample(replicate: Replicate, draws: Mapping[str, Draws]) -> tuple[ps.Sample, Replicate]:
    """One set of draws, and the replicate whose streams all tests on it share."""
    source = replicate.cell["draws"]
    common = replace(replicate, cell=replace(replicate.cell, settings=(("draws", source),)))
    sampler, n, d, _ = draws[source]
    rows = sampler(common.generator("draws"), n, d)
    return ps.Sample(rows, samplers.gaussian_score(rows)), common


def decide(
    replicate: Replicate, draws: Mapping[str, Draws], tests: Mapping[str, Test]
) -> Sequence[Row]:
    """Whether one test rejects one set of draws."""
    rows, common = sample(replicate, draws)
    return decision(tests[replicate.cell["test"]](rows, rng=common.stream("split")))


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['draws']}, {cell['test']}"


def comparison(
    part: str, draws: Mapping[str, Draws], tests: Mapping[str, Test], trials: Sequence[Trial]
) -> Study:
    """The study of these trials, with its table beside this file."""
    return Study(
        Path(__file__).parent / f"{part}.csv",
        [
            Cell.of(
                f"extensions-{part}",
                replicates=draws[trial.draws].sets,
                cost=trial.cost,
                draws=trial.draws,
                test=trial.test,
            )
            for trial in trials
        ],
        name,
        partial(decide, draws=draws, tests=tests),
        SEED,
    )


def rates(study: Study, trials: Sequence[tuple[str, str]]) -> list[str]:
    """Rejection rates to show, empty where a trial has not been run."""
    stored = study.stored()
    found = [stored.get(f"{draws}, {test}") for draws, test in trials]
    return ["" if row is None else f"{float(row['rate']):.3f}" for row in found]
