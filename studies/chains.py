"""Size and power on Markov chains: ``python -m studies.chains`` from the root of the repository.

Runs the cells that ``studies/chains.csv`` does not hold yet, so that it may be stopped and
started again; remove the file, or a line of it, for a fresh start. Draws are seeded by the
cell's name (``tests/statistical/chains.py``), so that a second run gives the same table.
``--markdown`` prints the tables of ``docs/mcmc.md``; ``--only TEXT`` runs the cells whose name
holds TEXT.
"""

import csv
import warnings
from pathlib import Path

import numpy as np

import polystein as ps
from polystein.experiments.engine.runner import workers
from polystein.experiments.engine.store import package_commit
from polystein.experiments.engine.summary import markdown_table
from studies._command import ended, run_table
from studies._table import lines_by
from tests.statistical.chains import CELLS, FAULTS, OTHERS, SIZES, Cell, Outcome, outcome

TABLE = Path(__file__).with_suffix(".csv")
COLUMNS = [
    "cell",
    "replicates",
    "rejections",
    "rate",
    "ess_least",
    "ess_median",
    "heavy_tail_warnings",
    "decisions",
    "polystein",
    "commit",
]
Row = dict[str, str]


def stored() -> dict[str, Row]:
    """The rows of the committed table, by cell."""
    return lines_by(TABLE)


def measured(position: int) -> Row:
    """Run one cell; warnings are counted, not shown."""
    cell = CELLS[position]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        result = outcome(cell)
    return {
        "cell": cell.name,
        "replicates": str(result.replicates),
        "rejections": str(result.rejections),
        "rate": f"{result.rate:.4f}",
        "ess_least": f"{result.ess.min():.0f}",
        "ess_median": f"{np.median(result.ess):.0f}",
        "heavy_tail_warnings": str(result.heavy_tails),
        "decisions": marks(result),
        "polystein": ps.__version__,
        "commit": package_commit() or "",
    }


def marks(result: Outcome) -> str:
    """One character a replicate: x where it was rejected."""
    return "".join("x" if rejected else "." for rejected in result.rejected)


def write(rows: dict[str, Row]) -> None:
    """The table in the order of the cells, whatever the order in which they came."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[cell.name] for cell in CELLS if cell.name in rows)


def run(only: str, jobs: int) -> None:
    """Fill in what the table does not hold, and store every cell as it comes."""
    rows = stored()
    missing = [
        position
        for position, cell in enumerate(CELLS)
        if cell.name not in rows and only in cell.name
    ]
    with workers(jobs) as pool:
        for row in pool.map(measured, missing):
            rows[row["cell"]] = row
            write(rows)
            print(f"{row['rate']}  {row['cell']}", flush=True)


def markdown(cells: list[Cell]) -> list[str]:
    """One table of ``docs/mcmc.md``, line by line."""
    rows = stored()
    lines = []
    for cell in cells:
        row = rows[cell.name]
        rate = f"{float(row['rate']):.3f} of {int(row['replicates']):,}"
        # A bootstrap on chains does not estimate how many draws are effective.
        ess = "" if row["ess_median"] == "nan" else f"{int(row['ess_median']):,}"
        lines.append([cell.name, rate, bound(cell), ess])
    return markdown_table(["draws", "rejected", "bound", "median ESS"], lines)


def bound(cell: Cell) -> str:
    """The promise, if there is one."""
    if cell.low is not None and cell.high is not None:
        return f"{cell.low:g} to {cell.high:g}"
    if cell.high is not None:
        return f"≤ {cell.high:g}"
    return "" if cell.low is None else f"≥ {cell.low:g}"


def all_tables() -> list[str]:
    """The tables of ``docs/mcmc.md``, with a blank line between them."""
    return [*markdown(SIZES), "", *markdown(FAULTS), "", *markdown(OTHERS)]


if __name__ == "__main__":
    ended(lambda: run_table("chains", __doc__, run, all_tables))
