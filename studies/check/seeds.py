"""How often another seed of `check` changes the verdict on draws near the border.

A border case is a set of draws whose p-value with one seed is near 0.05. Six other seeds judge the
same draws: x marks a case in which their verdicts differ.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study
from studies.check import SEED
from studies.check.alternatives import Generator, Pair
from tests.statistical.samplers import autoregressive

SEEDS = range(1, 7)
#: P-values of border cases with the seed 0.
LOWEST, HIGHEST = 0.03, 0.08
#: At most this many of the cases may change.
MOST_CHANGES = 1


class Border(NamedTuple):
    """Draws of which about half are rejected, and whether they are independent."""

    draw: Callable[[Generator], Pair]
    iid: bool
    cases: int


def shifted_rows(rng: Generator) -> Pair:
    """500 independent rows of N(0.09, I) for N(0, I), d=4."""
    draws = rng.normal(0.09, 1.0, size=(500, 4))
    return draws, -draws


def wide_rows(rng: Generator) -> Pair:
    """500 independent rows, one sd of eight 1.15."""
    draws = rng.standard_normal((500, 8))
    draws[:, 0] *= 1.15
    return draws, -draws


def shifted_chains(rng: Generator) -> Pair:
    """AR(0.5) chains of N(0.09, I) for N(0, I), 4 x 250, d=4."""
    draws = autoregressive(rng, 4, 250, 4, 0.5) + 0.09
    return draws, -draws


def wide_chains(rng: Generator) -> Pair:
    """AR(0.5) chains, all sds 1.06, 4 x 250, d=4."""
    draws = 1.06 * autoregressive(rng, 4, 250, 4, 0.5)
    return draws, -draws


BORDERS = {
    "independent rows, all means 0.09": Border(shifted_rows, True, 10),
    "independent rows, one sd 1.15": Border(wide_rows, True, 10),
    "AR(0.5) chains, all means 0.09": Border(shifted_chains, False, 10),
    "AR(0.5) chains, all sds 1.06": Border(wide_chains, False, 10),
}


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether the verdict on one border case depends on the seed."""
    border, rng = BORDERS[replicate.cell["border"]], replicate.generator("draws")
    pair = border.draw(rng)
    while not LOWEST <= ps.check(*pair, iid=border.iid, rng=0).pvalue <= HIGHEST:
        pair = border.draw(rng)
    verdicts = {ps.check(*pair, iid=border.iid, rng=seed).verdict for seed in SEEDS}
    return [{"rejected": int(len(verdicts) > 1)}]


def rates(cell: Cell, decisions: str) -> Row:
    """In how many cases the verdict changed."""
    changes = decisions.count("x")
    return {"changes": changes, "rate": f"{changes / len(decisions):.4f}"}


def name(cell: Cell) -> str:
    """The cell in the table."""
    return str(cell["border"])


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of("check-seeds", replicates=border.cases, cost=1500.0, border=label)
        for label, border in BORDERS.items()
    ),
    name,
    decide,
    SEED,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = [[label, row["replicates"], row["changes"]] for label, row in STUDY.stored().items()]
    return markdown_table(["border cases", "of", "verdict depends on the seed"], rows)
