"""Sets of draws to choose shares of the level by, and the p-value of every statistic on each.

The faults are those of all studies of `check` and of ``studies/chains_beyond``, with the same rows
and dimensions, but for the Boltzmann machines, whose draws take seconds. Whatever the shares are,
the level holds, so that right draws have no part in it. No table has draws of this seed. What
`check` found is kept in ``studies/work/``, in a folder of the code that ran: a second run goes on
there.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

import polystein as ps
from polystein.experiments.engine import runner
from polystein.experiments.engine.cells import Cell, Replicate, Row, number
from polystein.experiments.engine.store import Store
from polystein.experiments.paper import experiment1
from polystein.methods.check import statistics
from polystein.methods.check.forms import total_correlation
from polystein.types import FloatArray
from studies._table import WORK, code_digest
from studies.chains_beyond.lines import Line, all_lines
from studies.check import (
    beyond,
    blind_spots,
    correlated,
    head_to_head,
    milliseconds,
    paper,
    posterior_targets,
    posteriors,
    rows_needed,
)
from studies.check.alternatives import ALTERNATIVES, Pair
from studies.check.head_to_head_targets import FAULTS as PLANE_FAULTS
from studies.check.head_to_head_targets import padded

#: Of no table, and of no other choice.
SEED = 20_299
STUDY_NAME = "check-training"


class TrainingSet(NamedTuple):
    """Draws with their scores for each replicate, whether rows are independent, and roughly the
    milliseconds of one."""

    sample: Callable[[Replicate], Pair]
    iid: bool = True
    cost: float = 50.0


def of_generator(draw: Callable[[np.random.Generator], Pair]) -> Callable[[Replicate], Pair]:
    """A set whose draws come from one generator."""
    return lambda replicate: draw(replicate.generator("draws"))


def of_paper(cell: Cell) -> Callable[[Replicate], Pair]:
    """A set of the paper's experiments: they take what they need from their own cell."""

    def sample(replicate: Replicate) -> Pair:
        found = experiment1.sample(Replicate(cell, replicate.index, replicate.seed))
        return found.draws, found.scores

    return sample


def of_line(line: Line) -> Callable[[Replicate], Pair]:
    """One replicate of a line of ``studies/chains_beyond``."""

    def sample(replicate: Replicate) -> Pair:
        drawn = line.draw(replicate.generator("draws"), 1)
        return drawn.draws[0], drawn.scores[0]

    return sample


def faults() -> Iterator[tuple[str, TrainingSet]]:
    """Every fault of the studies, by a name that says which study has it."""
    for cell in paper.STUDY.cells:
        if not paper.is_machine(cell):
            yield f"paper: {paper.name(cell)}", TrainingSet(of_paper(cell), cost=cell.cost)
    for label, draw, strength in ALTERNATIVES.values():
        for d in beyond.DIMENSIONS:
            drawn = partial(alternative, draw, d, strength)
            cost = milliseconds(beyond.ROWS, d, found=True)
            yield f"beyond: {label}, d={d}", TrainingSet(of_generator(drawn), cost=cost)
            # Without faults of chains, whatever compares chains would cost nothing.
            chains = of_generator(partial(as_chains, drawn))
            yield f"beyond, as chains: {label}, d={d}", TrainingSet(chains, iid=False, cost=cost)
    for fault in correlated.FAULTS.values():
        yield (
            f"correlated: {fault.label}",
            TrainingSet(
                of_generator(partial(seen, fault)),
                fault.iid,
                cost=milliseconds(fault.rows, fault.dimension, found=True),
            ),
        )
    for label in posterior_targets.POSTERIORS:
        for name, fault_of in posterior_targets.FAULTS.items():
            drawn = partial(fault_of, label=label, n=posteriors.ROWS)
            if name != "exact draws":
                yield f"posteriors: {label}: {name}", TrainingSet(of_generator(drawn))
    for one in rows_needed.FAULTS.values():
        first, last = one.places["check"]
        # The middle of its grid, where about half of the sets are found.
        rows = rows_needed.grid((first + last) // 2)
        yield (
            f"rows_needed: {one.label}, n={rows}",
            TrainingSet(of_generator(partial(along, one, rows))),
        )
    for label, spot in blind_spots.SPOTS.items():
        yield f"blind_spots: {label}", TrainingSet(of_generator(spot.drawn), not spot.chains)
    for label, plane in PLANE_FAULTS.items():
        for d in head_to_head.DIMENSIONS:
            drawn = partial(padded, plane, n=head_to_head.ROWS, d=d)
            yield f"head_to_head: {label}, d={d}", TrainingSet(of_generator(drawn))
    for line in all_lines().values():
        if line.part in ("wrong", "power") and not line.needs_jax:
            yield f"chains_beyond: {line.name}", TrainingSet(of_line(line), iid=False)


def alternative(
    draw: Callable[..., Pair], dimension: int, strength: float, rng: np.random.Generator
) -> Pair:
    """One of the alternatives beyond the paper."""
    return draw(rng, beyond.ROWS, dimension, strength)


def as_chains(draw: Callable[[np.random.Generator], Pair], rng: np.random.Generator) -> Pair:
    """The same rows as four chains."""
    draws, scores = draw(rng)
    shape = (4, len(draws) // 4, draws.shape[1])
    return draws.reshape(shape), scores.reshape(shape)


def seen(fault: correlated.Fault, rng: np.random.Generator) -> Pair:
    """A fault along the axes of a correlated target, in coordinates."""
    return fault.axes.seen(*fault.draw(rng, fault.rows, fault.dimension))


def along(fault: rows_needed.Fault, rows: int, rng: np.random.Generator) -> Pair:
    """A fault of the study of rows, in coordinates."""
    return fault.axes.seen(*fault.draw(rng, rows))


SETS = dict(faults())


def correlation_weight(scores: FloatArray) -> float:
    """How far the shares are those of correlated coordinates, from 0 to 1, as `check` has it."""
    rows = scores.reshape(-1, scores.shape[-1])
    count, dimension = rows.shape
    if dimension < 2 or count < 2 * dimension:
        return 0.0
    beyond_chance = total_correlation(rows.T @ rows / count) - dimension / (4.0 * count)
    return statistics.correlation_weight(beyond_chance)


def task(replicate: Replicate) -> Sequence[Row]:
    """What `check` found on one set: its p-value, and that of each part of each arm."""
    one = SETS[replicate.cell["set"]]
    draws, scores = one.sample(replicate)
    with warnings.catch_warnings():
        # A warning concerns one set of draws; here many are tested on purpose.
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        result = ps.check(draws, scores, iid=one.iid, rng=replicate.stream("check"))
    parts = {
        arm.name: {part.name: part.pvalue for part in arm.parts} for arm in result.evidence.arms
    }
    return [
        {
            "pvalue": result.pvalue,
            "weight": correlation_weight(np.asarray(scores)),
            "dimension": result.dimension,
            "parts": json.dumps(parts),
        }
    ]


class Found(NamedTuple):
    """What `check` found on one set."""

    label: str
    pvalue: float
    weight: float
    dimension: int
    parts: dict[str, dict[str, float]]


def found_on(sets: int, only: str = "", jobs: int = 2) -> list[Found]:
    """So many sets of every fault, from what is kept and what is missing."""
    # The choice itself changes no p-value.
    folder = WORK / STUDY_NAME / code_digest(leave_out=("choose.py", "__main__.py"))
    cells = {
        label: Cell.of(STUDY_NAME, replicates=sets, cost=one.cost, set=label)
        for label, one in SETS.items()
        if only in label
    }
    runner.run(list(cells.values()), task, out=folder, seed=SEED, jobs=jobs, progress=_told)
    store, found = Store(folder, SEED), []
    for label, cell in cells.items():
        finished = store.load(cell)
        assert finished is not None
        for (row,) in finished.replicates:
            numbers = (number(row, "pvalue"), number(row, "weight"), int(number(row, "dimension")))
            found.append(Found(label, *numbers, json.loads(str(row["parts"]))))
    return found


def _told(done: float, total: float) -> None:
    """How far the sets have come, in expected minutes of one core."""
    print(f"{done / 60_000:.1f} of about {total / 60_000:.1f} minutes", file=sys.stderr, flush=True)
