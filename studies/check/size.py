"""How often `check` rejects draws from the target."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row, Scalar
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper import experiment2
from polystein.experiments.paper.samplers import gaussian, gaussian_score, student_t
from studies._table import Study, decision
from studies.check import SEED, milliseconds
from studies.check.alternatives import student_t_score
from studies.check.correlated_targets import log_exponential
from tests.statistical.samplers import autoregressive

#: Of `experiments.paper.samplers.student_t`.
FREEDOM = 5.0


def normal(replicate: Replicate) -> ps.Sample:
    """Independent draws of N(0, I)."""
    cell = replicate.cell
    draws = gaussian(replicate.generator("draws"), cell["n"], cell["d"])
    return ps.Sample(draws, gaussian_score(draws))


def heavy_tails(replicate: Replicate) -> ps.Sample:
    """Independent draws of Student's t with 5 degrees of freedom, which is the target."""
    cell = replicate.cell
    draws = student_t(replicate.generator("draws"), cell["n"], cell["d"])
    return ps.Sample(draws, student_t_score(draws, FREEDOM))


def skewed(replicate: Replicate) -> ps.Sample:
    """Logarithms of independent draws of Exp(1)."""
    cell = replicate.cell
    return ps.Sample(*log_exponential(replicate.generator("draws"), cell["n"], cell["d"]))


def at_a_border(replicate: Replicate) -> ps.Sample:
    """Independent draws of Gamma(3) on their own scale: the score 2/x - 1 has no fourth moment."""
    cell = replicate.cell
    draws = replicate.generator("draws").standard_gamma(3.0, (cell["n"], cell["d"]))
    return ps.Sample(draws, 2.0 / draws - 1.0)


def chains(replicate: Replicate) -> ps.Sample:
    """Stationary AR(1) chains of N(0, I)."""
    cell = replicate.cell
    shape = (cell["chains"], cell["n"], cell["d"])
    draws = autoregressive(replicate.generator("draws"), *shape, cell["memory"])
    return ps.Sample(draws, gaussian_score(draws))


class Null(NamedTuple):
    """Draws from their target, how `check` is told of them, and the bounds of its size."""

    sample: Callable[[Replicate], ps.Sample]
    settings: dict[str, Scalar]
    cost: float
    replicates: int = 2000
    iid: bool = True
    low: float = 0.035
    high: float = 0.06


#: Half of the paper's sweeps: 500 sets of draws take a quarter of an hour of one core.
SWEEPS = 1000
MACHINE = experiment2.cells(1000, SWEEPS)[0]
#: Where the references of both arms are strained: measured to be told, not promised to be right.
STRAINED = {"replicates": 2000, "low": 0.0, "high": 1.0}
NULLS = {
    **{
        f"N(0, I), d={d}": Null(normal, {"n": 1000, "d": d}, milliseconds(1000, d), replicates)
        for d, replicates in ((2, 2000), (16, 2000), (128, 500))
    },
    "Student-t(5), d=16": Null(heavy_tails, {"n": 1000, "d": 16}, milliseconds(1000, 16)),
    "log Exp(1), d=16": Null(
        skewed, {"n": 1000, "d": 16}, milliseconds(1000, 16), low=0.03, high=0.075
    ),
    "AR(1) 0.9, 4 x 1000, d=8": Null(
        chains,
        {"chains": 4, "n": 1000, "d": 8, "memory": 0.9},
        milliseconds(4000, 8),
        iid=False,
        low=0.02,
        high=0.075,
    ),
    "RBM 0.00, d=50": Null(
        experiment2.sample, dict(MACHINE.settings), MACHINE.cost, 500, low=0.02, high=0.075
    ),
    **{
        f"N(0, I), n={n}, d={d}": Null(normal, {"n": n, "d": d}, milliseconds(n, d), **STRAINED)
        for n in (30, 50)
        for d in (2, 16)
    },
    "Gamma(3), d=2": Null(at_a_border, {"n": 1000, "d": 2}, milliseconds(1000, 2), **STRAINED),
    "Gamma(3), d=16": Null(at_a_border, {"n": 1000, "d": 16}, milliseconds(1000, 16), **STRAINED),
}


def name(cell: Cell) -> str:
    """The cell in the table."""
    return str(cell["null"])


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether `check` rejects one set of draws."""
    null = NULLS[replicate.cell["null"]]
    test = partial(ps.check, iid=null.iid, rng=replicate.stream("check"))
    return decision(test(null.sample(replicate)))


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of(
            "check-size", replicates=null.replicates, cost=null.cost, null=label, **null.settings
        )
        for label, null in NULLS.items()
    ),
    name,
    decide,
    SEED,
)


def holds(label: str, rate: float) -> bool:
    """Whether a rate is between the bounds of its line."""
    return NULLS[label].low <= rate <= NULLS[label].high


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = []
    for label, row in STUDY.stored().items():
        rate, null = float(row["rate"]), NULLS[label]
        bounds, verdict = f"{null.low:g} to {null.high:g}", "yes" if holds(label, rate) else "no"
        if null.high == 1.0:
            bounds = verdict = ""
        rows.append([label, f"{rate:.4f}", f"{int(row['replicates']):,}", bounds, verdict])
    return markdown_table(["draws from the target", "rejected", "of", "bounds", "holds"], rows)
