"""How often `check` rejects draws from correlated targets, and from targets of odd shapes.

There are 2,000 sets of draws where one `check` takes less than 25 milliseconds, and 1,000 or 600
where it takes longer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study, decision
from studies.check import SEED, milliseconds
from studies.check import correlated_targets as targets
from studies.check.alternatives import Generator, Pair
from studies.check.correlated_targets import Axes
from tests.statistical.samplers import autoregressive
from tests.statistical.samplers_memory import two_scale

LOW, HIGH = 0.02, 0.075


class Null(NamedTuple):
    """Draws from their target, and whether they are independent."""

    draw: Callable[[Generator], Pair]
    rows: int
    dimension: int
    replicates: int = 1000
    iid: bool = True


def gaussian(axes: Axes, rows: int) -> Callable[[Generator], Pair]:
    """Independent draws of a Gaussian with these axes."""
    return lambda rng: axes.seen(*targets.right(rng, rows, axes.values.size))


def chains(axes: Axes, sampler: Callable[..., targets.FloatArray]) -> Callable[[Generator], Pair]:
    """Four chains of 1,000 rows along these axes."""

    def draw(rng: Generator) -> Pair:
        z = sampler(rng, 4, 1000, axes.values.size)
        return axes.seen(z, -z)

    return draw


def of(draw: Callable[[Generator, int, int], Pair], dimension: int, rows: int = 1000) -> Null:
    """Draws of a target that is cheap: it has few coordinates."""
    return Null(lambda rng: draw(rng, rows, dimension), rows, dimension, 2000)


def skewed_axes(rng: Generator, rows: int, dimension: int) -> Pair:
    """Logarithms of Exp(1) variables along the axes of a target of condition 100."""
    return targets.conditioned(100.0, dimension).seen(
        *targets.log_exponential(rng, rows, dimension)
    )


CORRELATED = targets.equicorrelated(0.9, 16)
NULLS = {
    **{
        f"condition {condition:g}, d=20": Null(
            gaussian(targets.conditioned(condition, 20), 1000), 1000, 20
        )
        for condition in (1.0, 100.0, 1e4, 1e6)
    },
    "equicorrelated 0.9, d=60, n=300": Null(
        gaussian(targets.equicorrelated(0.9, 60), 300), 300, 60
    ),
    **{
        f"equicorrelated 0.99, d={d}": Null(
            gaussian(targets.equicorrelated(0.99, d), 1000), 1000, d, 600
        )
        for d in (50, 100)
    },
    "equicorrelated 0.9, d=16, AR(0.9) chains": Null(
        chains(CORRELATED, partial(autoregressive, memory=0.9)), 4000, 16, iid=False
    ),
    "equicorrelated 0.9, d=16, two-scale chains": Null(
        chains(CORRELATED, partial(two_scale, share=0.1)), 4000, 16, iid=False
    ),
    "multivariate t(3), d=10": of(targets.multivariate_t, 10),
    "funnel, d=5": of(targets.funnel, 5),
    "banana, d=4": of(targets.banana, 4),
    "log Exp(1), d=10": of(targets.log_exponential, 10),
    "log Exp(1) along the axes of condition 100, d=10": of(skewed_axes, 10),
    "N(0, I), d=2, n=100": of(targets.right, 2, 100),
}


def name(cell: Cell) -> str:
    """The cell in the table."""
    return str(cell["null"])


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether `check` rejects one set of draws."""
    null = NULLS[replicate.cell["null"]]
    pair = null.draw(replicate.generator("draws"))
    return decision(ps.check(*pair, iid=null.iid, rng=replicate.stream("check")))


def cell_of(label: str) -> Cell:
    """The cell of a null."""
    null = NULLS[label]
    cost = milliseconds(null.rows, null.dimension)
    return Cell.of("check-correlated-size", replicates=null.replicates, cost=cost, null=label)


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(cell_of(label) for label in NULLS),
    name,
    decide,
    SEED,
)


def holds(rate: float) -> bool:
    """Whether a rate is between the bounds."""
    return LOW <= rate <= HIGH


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = []
    for label, row in STUDY.stored().items():
        rate = float(row["rate"])
        verdict = "yes" if holds(rate) else "no"
        rows.append([label, f"{rate:.4f}", f"{int(row['replicates']):,}", verdict])
    return markdown_table(["draws from the target", "rejected", "of", "holds"], rows)
