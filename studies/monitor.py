"""False alarms and power of the monitor: ``python -m studies.monitor``.

Every replicate is a set of AR(1) chains of memory 0.9 about N(0, I) in d = 4, watched by
``polystein.Monitor`` with five looks at level 0.05 in all. The first cells are right, in the others
the sampler goes wrong half-way or is wrong from the start. Runs the cells that
``studies/monitor.csv`` does not hold yet, so that it may be stopped and started again; remove the
file, or a line of it, for a fresh start. A second run gives the same table. ``--markdown`` prints
the table of ``docs/scale.md``; ``--only TEXT`` runs the cells whose name holds TEXT.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._command import ended, run_table
from studies._table import LEVEL, Study
from tests.statistical.samplers import autoregressive

MEMORY, DIMENSION, LOOKS = 0.9, 4, 5
#: Replicates of chains that are right, and of those that are not.
NULL_RUNS, WRONG_RUNS = 2000, 200


def cell(fault: str, chains: int, rows: int, order: int, begins: float = 0.0) -> Cell:
    """One cell: `rows` draws of each chain, wrong from the share `begins` of them on."""
    return Cell.of(
        "monitor",
        replicates=NULL_RUNS if fault == "right" else WRONG_RUNS,
        cost=50.0,
        fault=fault,
        chains=chains,
        rows=rows,
        order=order,
        begins=begins,
    )


CELLS = [
    cell("right", 4, 10_000, 3),
    cell("right", 1, 40_000, 3),
    cell("variance 1.2", 4, 10_000, 3, 0.5),
    # Added when the cell above had turned out to be found in 0.79 of the runs only.
    cell("variance 1.5", 4, 10_000, 3, 0.5),
    cell("mean 0.2", 4, 10_000, 3, 0.5),
    cell("variance 1.1", 4, 10_000, 3),
    cell("mean 0.1", 4, 10_000, 3),
]


def name(one: Cell) -> str:
    """The cell in the table."""
    when = "" if one["fault"] == "right" else " from the start" if not one["begins"] else ""
    when = " from half-way on" if one["begins"] else when
    chains = "1 chain" if one["chains"] == 1 else f"{one['chains']} chains"
    return f"{one['fault']}{when}; {chains} of {one['rows']} draws; order {one['order']}"


def with_fault(draws: np.ndarray, fault: str, begins: float) -> np.ndarray:
    """The chains with another variance or mean in every coordinate, from some row on."""
    kind, _, size = fault.partition(" ")
    first = int(begins * draws.shape[1])
    wrong = draws.copy()
    if kind == "variance":
        wrong[:, first:] *= float(size) ** 0.5
    elif kind == "mean":
        wrong[:, first:] += float(size)
    return wrong


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether any of the looks raised an alarm."""
    one = replicate.cell
    shape = (one["chains"], one["rows"], DIMENSION)
    draws = autoregressive(replicate.generator("draws"), *shape, MEMORY)
    looks = tuple(one["rows"] // LOOKS * k for k in range(1, LOOKS + 1))
    monitor = ps.Monitor(lambda x: -x, one["order"], looks=looks, chains=one["chains"], alpha=LEVEL)
    monitor.update(with_fault(draws, one["fault"], one["begins"]))
    return [{"rejected": int(monitor.alarm)}]


STUDY = Study(Path(__file__).with_suffix(".csv"), CELLS, name, decide)


def markdown() -> list[str]:
    """The table of ``docs/scale.md``, line by line."""
    rows = [
        [row["cell"], f"{float(row['rate']):.3f} of {int(row['replicates']):,}"]
        for row in STUDY.stored().values()
    ]
    return markdown_table(["chains", "alarms"], rows)


if __name__ == "__main__":
    ended(lambda: run_table("monitor", __doc__, STUDY.run, markdown))
