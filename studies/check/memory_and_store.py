"""Whether `check` says the same of rows in memory and of the same rows in a file.

The chains are so short that diagnostics are often near their bounds. Decisions are marked x where
the verdicts differ, p where only the p-values do, and with a dot where both are the same.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.types import FloatArray
from studies._table import Study
from studies.check import SEED, milliseconds
from tests.statistical.samplers import autoregressive

REPLICATES, CHAINS, DIMENSION = 100, 4, 4
#: Memories of the chains and their lengths.
SHORT = ((0.5, 100), (0.8, 200), (0.9, 400), (0.95, 600))


def in_file(values: FloatArray, path: Path) -> FloatArray:
    """The same numbers as an array that reads from a file."""
    np.save(path, values)
    mapped: FloatArray = np.load(path, mmap_mode="r")
    return mapped


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether the verdicts on one set of chains differ, and whether the p-values do."""
    cell = replicate.cell
    shape = (CHAINS, cell["n"], DIMENSION)
    draws = autoregressive(replicate.generator("draws"), *shape, cell["memory"])
    seed = replicate.stream("check")
    inside = ps.check(draws, -draws, rng=seed)
    with tempfile.TemporaryDirectory() as folder:
        names = (Path(folder) / "draws.npy", Path(folder) / "scores.npy")
        pair = [in_file(one, path) for one, path in zip((draws, -draws), names, strict=True)]
        stored = ps.check(*pair, rng=seed)
    return [
        {
            "verdicts_differ": int(inside.verdict != stored.verdict),
            "pvalues_differ": int(inside.pvalue != stored.pvalue),
        }
    ]


def marks(rows: Sequence[Row]) -> str:
    """One character for each replicate."""
    return "".join(
        "x" if row["verdicts_differ"] else "p" if row["pvalues_differ"] else "." for row in rows
    )


def rates(cell: Cell, decisions: str) -> Row:
    """How often the verdicts differ, and how often only the p-values do."""
    different = decisions.count("x")
    return {
        "verdicts_differ": different,
        "pvalues_differ": decisions.count("p"),
        "rate": f"{different / len(decisions):.4f}",
    }


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"AR({cell['memory']:g}), {CHAINS} x {cell['n']}, d={DIMENSION}"


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of(
            "check-memory-and-store",
            replicates=REPLICATES,
            cost=2.0 * milliseconds(CHAINS * rows, DIMENSION),
            memory=memory,
            n=rows,
        )
        for memory, rows in SHORT
    ),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = [
        [label, row["replicates"], row["verdicts_differ"], row["pvalues_differ"]]
        for label, row in STUDY.stored().items()
    ]
    heads = ["chains in memory and in a file", "of", "verdicts differ", "only p-values differ"]
    return markdown_table(heads, rows)
