"""Right draws of hierarchical posteriors: rejected, named effects, within the tolerance?"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study
from studies.refine import SEED
from studies.refine.faults import ROWS, TOLERANCE
from studies.refine.level import marks
from studies.refine.posteriors import posterior, right_draws

REPLICATES = 40
NAMES = ("eight schools", "Poisson GLMM", "varying slopes", "stochastic volatility")


@cache
def right(name: str) -> NDArray[np.float64]:
    """Rows of many short chains, of which every replicate has its own, two of each chain."""
    return right_draws(name, np.random.default_rng(1978), ROWS * REPLICATES)


def decide(replicate: Replicate) -> Sequence[Row]:
    """Called (x), an effect named (e), within the tolerance (w), or undecided (a dot)."""
    name, low = replicate.cell["law"], ROWS * replicate.index
    target = posterior(name)
    refined = ps.refine(
        right(name)[low : low + ROWS],
        log_density=target.log_density,
        scores=target.score,
        tolerance=TOLERANCE,
        rng=replicate.stream("refine"),
    )
    if refined.pvalue <= 0.05:
        return [{"mark": "e" if refined.effects.found else "x"}]
    return [{"mark": "w" if refined.tolerance == "within" else "."}]


def rates(cell: Cell, decisions: str) -> Row:
    """How often right draws were called, effects of them named, and draws found good enough."""
    count = len(decisions)
    return {
        "called": f"{(decisions.count('x') + decisions.count('e')) / count:.3f}",
        "named": f"{decisions.count('e') / count:.3f}",
        "within": f"{decisions.count('w') / count:.3f}",
    }


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(Cell.of("refine-right", replicates=REPLICATES, cost=2500.0, law=law) for law in NAMES),
    lambda cell: str(cell["law"]),
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/refine.md``, line by line."""
    rows = [
        [label, row["called"], row["named"], row["within"], row["replicates"]]
        for label, row in STUDY.stored().items()
    ]
    head = ["right draws of", "rejected", "effects named", f"within {TOLERANCE:g}", "of"]
    return markdown_table(head, rows)
