"""One fault, or one thing that the draws missed: how often is it called?"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study
from studies.refine import SEED
from studies.refine.level import marks
from studies.refine.posteriors import LOGISTIC, law_of
from tests.statistical.samplers_laws import Law, mixture, with_slab

ROWS = 2000
#: A tolerance that 1,000 right starts can meet.
TOLERANCE = 0.25
#: Modes that the draws missed, as weight and distance.
MISSED = {"mode .05 at 7 sd": (0.05, 7.0), "mode .3 at 8 sd": (0.3, 8.0)}


def law_and_draws(cell: Cell, rng: np.random.Generator) -> tuple[Law, np.ndarray]:
    """The target, and draws with the fault of the cell."""
    fault, d = cell["fault"], cell["d"]
    if fault in ("modes .5/.5", "modes .7/.3"):
        law = mixture(d, drawn=0.3 if fault == "modes .7/.3" else None)
    elif fault in MISSED:
        law = mixture(d, *MISSED[fault], drawn=0.0)
    elif fault == "slab .01, sd 10":
        law = with_slab(d)
    else:
        law = law_of(cell["law"], d)
    draws = law.draw(rng, ROWS)
    if fault == "sd 25 % off":
        draws[:, -1] = draws[:, -1].mean() + 0.75 * (draws[:, -1] - draws[:, -1].mean())
    elif fault == "mean 0.3 sd off":
        draws[:, -1] += 0.3 * draws[:, -1].std()
    return law, draws


def decide(replicate: Replicate) -> Sequence[Row]:
    """Called (x, or X if nevertheless within the tolerance) or not (a dot, or w if within)."""
    cell = replicate.cell
    law, draws = law_and_draws(cell, replicate.generator("draws"))
    refined = ps.refine(
        draws,
        log_density=law.log_density,
        scores=law.score if cell["gradient"] else None,
        tolerance=TOLERANCE,
        rng=replicate.stream("refine"),
    )
    called, within = refined.pvalue <= 0.05, refined.tolerance == "within"
    return [{"mark": ("X" if within else "x") if called else ("w" if within else ".")}]


def rates(cell: Cell, decisions: str) -> Row:
    """How often the fault was called, and how often the draws passed for good enough."""
    count = len(decisions)
    return {
        "called": f"{(decisions.count('x') + decisions.count('X')) / count:.3f}",
        "within": f"{(decisions.count('w') + decisions.count('X')) / count:.3f}",
    }


def name(cell: Cell) -> str:
    """The cell in the table."""
    law = f"{cell['law']}, " if cell["law"] else ""
    return f"{law}{cell['fault']}, d={cell['d']}{'' if cell['gradient'] else ', without gradients'}"


def _cells() -> list[Cell]:
    listed = [("", fault, 10, 1, 200) for fault in ("modes .5/.5", "modes .7/.3")]
    listed += [("", "slab .01, sd 10", d, 1, 100) for d in (2, 5, 10, 30)]
    listed += [("", fault, d, 1, 150) for fault in MISSED for d in (3, 10)]
    listed += [
        (law, fault, d, 0, 20)
        for law in ("correlated Gaussian", "banana", LOGISTIC)
        for fault in ("sd 25 % off", "mean 0.3 sd off")
        for d in (5, 10)
    ]
    return [
        Cell.of(
            "refine-faults",
            replicates=count,
            cost=1000.0 if own else 2000.0,
            law=law,
            fault=fault,
            d=d,
            gradient=own,
        )
        for law, fault, d, own, count in listed
    ]


STUDY = Study(
    Path(__file__).with_suffix(".csv"), tuple(_cells()), name, decide, SEED, mark=marks, rates=rates
)


def markdown() -> list[str]:
    """The table of ``docs/refine.md``, line by line."""
    rows = [
        [label, row["called"], row["within"], row["replicates"]]
        for label, row in STUDY.stored().items()
    ]
    return markdown_table(["target and fault", "rejected", f"within {TOLERANCE:g}", "of"], rows)
