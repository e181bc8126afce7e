"""Draws of posteriors that settle slowly: are sizes told, and are they right?"""

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
from studies.refine.fits import SMALL, errors
from studies.refine.hard_posteriors import HARD, hard
from studies.refine.level import marks

ROWS, REPLICATES = 4000, 12
#: What the draws are: Gaussian with the target's means and covariances, or half its sds; or right.
KINDS = ("exact moments", "half the sd", "right draws")


@cache
def truth(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and sds, and covariances, of many right draws."""
    rows = hard(name).draw(np.random.default_rng(1981), 40_000)
    return np.stack([rows.mean(axis=0), rows.std(axis=0)]), np.cov(rows, rowvar=False)


def decide(replicate: Replicate) -> Sequence[Row]:
    """Unsettled (a dot); or settled: nothing found (s), found and right (f), or any wrong (x).

    A row is wrong if its interval misses the truth by more than 0.05, or its sign is wrong and the
    error that large.
    """
    name, kind = replicate.cell["law"], replicate.cell["kind"]
    law, covariance = truth(name)
    rng, factor = replicate.generator("draws"), 0.5 if kind == KINDS[1] else 1.0
    if kind == KINDS[2]:
        draws = hard(name).draw(rng, ROWS)
    else:
        draws = rng.multivariate_normal(law[0], factor**2 * covariance, size=ROWS)
    target = hard(name).posterior
    refined = ps.refine(
        draws,
        log_density=target.log_density,
        scores=target.score,
        rng=replicate.stream("refine"),
    )
    if not refined.settled:
        return [{"mark": "."}]
    wrong, off = False, errors(np.stack([law[0], factor * law[1]]), law)
    for row in refined.effects.found:
        error = float(off[("mean", "sd").index(row.what), int(row.name[2:-1])])
        ends = [row.lower, row.upper] if row.what == "mean" else np.log([row.lower, row.upper])
        wrong |= not ends[0] - SMALL <= error <= ends[1] + SMALL
        wrong |= abs(error) > SMALL and (row.estimate > 0.0) != (error > 0.0)
    return [{"mark": "x" if wrong else "f" if refined.effects.found else "s"}]


def rates(cell: Cell, decisions: str) -> Row:
    """How many runs settled, how many named effects with sizes, and how many of those misled."""
    return {
        "settled": str(len(decisions) - decisions.count(".")),
        "named": str(decisions.count("f") + decisions.count("x")),
        "misled": str(decisions.count("x")),
    }


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of("refine-hard", replicates=REPLICATES, cost=2500.0, law=law, kind=kind)
        for law in HARD
        for kind in KINDS
    ),
    lambda cell: f"{cell['law']}, {cell['kind']}",
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/refine.md``, line by line."""
    rows = [
        [label, row["settled"], row["named"], row["misled"], row["replicates"]]
        for label, row in STUDY.stored().items()
    ]
    return markdown_table(["draws of", "settled", "sizes told", "misled", "of"], rows)
