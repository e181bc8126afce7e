"""Samplers at the border of a tolerance: what is declared wrongly, and how often."""

from collections.abc import Sequence
from pathlib import Path

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study
from studies.effects import SEED
from studies.effects.planted import marks

TOLERANCE, DIMENSION = 0.1, 5
#: One sd, or one mean, is exactly as far off as is allowed.
BORDERS = ("sd too large", "sd too small", "mean")


def decide(replicate: Replicate) -> Sequence[Row]:
    """w, b or u: within, beyond or undecided."""
    cell = replicate.cell
    draws = replicate.generator("draws").standard_normal((cell["n"], DIMENSION))
    if cell["border"] == "mean":
        draws[:, 0] += TOLERANCE
    else:
        draws[:, 0] *= 1.0 + (TOLERANCE if cell["border"] == "sd too large" else -TOLERANCE)
    verdict = ps.effects(ps.Sample(draws, -draws), iid=True).within(TOLERANCE).verdict
    return [{"mark": verdict[0]}]


def rates(cell: Cell, decisions: str) -> Row:
    """How often each verdict came."""
    return {
        words: f"{decisions.count(words[0]) / len(decisions):.3f}"
        for words in ("within", "beyond", "undecided")
    }


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['border']}, n={cell['n']}"


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of("effects-tolerance", replicates=replicates, cost=cost, border=border, n=n)
        for n, cost, replicates in ((1000, 30.0, 400), (10_000, 90.0, 200), (100_000, 700.0, 200))
        for border in BORDERS
    ),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/effects.md``, line by line."""
    columns = ("within", "beyond", "undecided", "replicates")
    rows = [[label, *(row[key] for key in columns)] for label, row in STUDY.stored().items()]
    return markdown_table(["at the border", "within", "beyond", "undecided", "of"], rows)
