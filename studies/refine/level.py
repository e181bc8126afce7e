"""Right draws: how often does `refine` reject them?"""

from collections.abc import Sequence
from pathlib import Path

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study
from studies.refine import SEED
from studies.refine.posteriors import LOGISTIC, law_of
from tests.statistical.samplers_laws import LAWS

ROWS, STARTS, TRANSITIONS, REPLICATES = 450, 300, 6, 600
#: The first law has more.
FIRST_REPLICATES = 2000
#: Dimensions: with gradients and without.
WITH_GRADIENT, WITHOUT = 3, 5


def decide(replicate: Replicate) -> Sequence[Row]:
    """One p-value as a letter: b for at most 0.01, a for at most 0.05, a dot else."""
    cell = replicate.cell
    law = law_of(cell["law"], cell["d"])
    refined = ps.refine(
        law.draw(replicate.generator("draws"), ROWS),
        log_density=law.log_density,
        scores=law.score if cell["gradient"] else None,
        transitions=TRANSITIONS,
        starts=STARTS,
        rng=replicate.stream("refine"),
    )
    return [{"mark": "b" if refined.pvalue <= 0.01 else "a" if refined.pvalue <= 0.05 else "."}]


def marks(rows: Sequence[Row]) -> str:
    return "".join(str(row["mark"]) for row in rows)


def rates(cell: Cell, decisions: str) -> Row:
    """How often p-values were small."""
    count = len(decisions)
    return {
        "rate at .05": f"{(count - decisions.count('.')) / count:.4f}",
        "rate at .01": f"{decisions.count('b') / count:.4f}",
    }


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['law']}, d={cell['d']}{'' if cell['gradient'] else ', without gradients'}"


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of("refine-level", replicates=count, cost=cost, law=law, d=d, gradient=gradient)
        for law, d, gradient, cost, count in (
            *(
                (law, WITH_GRADIENT, 1, 200.0, REPLICATES if place else FIRST_REPLICATES)
                for place, law in enumerate(LAWS)
            ),
            *(
                (law, WITHOUT, 0, 200.0, REPLICATES)
                for law in ("correlated Gaussian", "banana", LOGISTIC)
            ),
        )
    ),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/refine.md``, line by line."""
    columns = ("rate at .05", "rate at .01", "replicates")
    rows = [[label, *(row[key] for key in columns)] for label, row in STUDY.stored().items()]
    return markdown_table(["right draws of", "p ≤ .05", "p ≤ .01", "of"], rows)
