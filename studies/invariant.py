"""False alarms of ``ps.testing.assert_invariant``: ``python -m studies.invariant``.

Every replicate is a test of a correct kernel, from independent rows of its target, from one long
chain or from four. MALA is reversible, a rotation is not. A mark is "x" if the test would fail at
the rate 0.01, "o" if it would at 0.05 alone, "?" if the draws were too few for their
autocorrelation, and "." otherwise.
Runs the cells that ``studies/invariant.csv`` does not hold yet, so that it may be stopped and
started again; remove the file, or a line of it, for a fresh start. A second run gives the same
table. ``--markdown`` prints the table of ``docs/gates.md``; ``--only TEXT`` runs the cells whose
name holds TEXT.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._command import ended, run_table
from studies._table import Study
from tests.statistical.samplers import autoregressive

RATES = (0.01, 0.05)
MEMORY = 0.9
#: No size is asked for: the test cannot stay undecided.
ANY = (1e9, 1e9)

Array = np.ndarray


def mala(x: Array, rng: np.random.Generator, step: float = 0.7) -> Array:
    """Metropolis-adjusted Langevin steps about N(0, I)."""
    moved = x - 0.5 * step**2 * x + step * rng.standard_normal(x.shape)
    there = moved - x + 0.5 * step**2 * x
    back = x - moved + 0.5 * step**2 * moved
    ratio = 0.5 * (x**2 - moved**2 + (there**2 - back**2) / step**2).sum(axis=1)
    return np.where((np.log(rng.random(len(x))) < ratio)[:, None], moved, x)


def rotated(x: Array, rng: np.random.Generator) -> Array:
    """A rotation of N(0, I), which keeps it and is not reversible."""
    return x @ np.array([[0.6, -0.8], [0.8, 0.6]])


def walk(x: Array, rng: np.random.Generator) -> Array:
    """Random-walk Metropolis for the logarithm of an exponential variable, a skewed law."""
    moved = x + rng.standard_normal(x.shape)
    ratio = (moved - np.exp(moved) - x + np.exp(x)).sum(axis=1)
    return np.where((np.log(rng.random(len(x))) < ratio)[:, None], moved, x)


class Starts(NamedTuple):
    """Rows to begin with, whether they are independent, and the runs of a cell."""

    draw: Callable[[np.random.Generator], Array]
    iid: bool
    runs: int


STARTS = {
    "400 independent rows": Starts(lambda rng: rng.standard_normal((400, 2)), True, 4000),
    "400 skewed rows": Starts(lambda rng: np.log(rng.exponential(size=(400, 1))), True, 4000),
    "30,000 rows of an AR(.9) chain": Starts(
        lambda rng: autoregressive(rng, 1, 30_000, 2, MEMORY)[0], False, 1000
    ),
    "4 AR(.9) chains of 8,000": Starts(
        lambda rng: autoregressive(rng, 4, 8_000, 2, MEMORY), False, 1000
    ),
}
KERNELS = {"MALA": mala, "rotation": rotated, "random walk": walk}
CELLS = [
    Cell.of(
        "invariant",
        replicates=STARTS[starts].runs,
        cost=5.0 if STARTS[starts].iid else 80.0,
        starts=starts,
        kernel=kernel,
    )
    for starts in STARTS
    for kernel in (("random walk",) if "skewed" in starts else ("MALA", "rotation"))
]


def name(one: Cell) -> str:
    """The cell in the table."""
    return f"{one['starts']}; {one['kernel']}"


def score(x: Array) -> Array:
    """The score of N(0, I)."""
    return -x


def skewed_score(x: Array) -> Array:
    """The score of the logarithm of an exponential variable."""
    return 1.0 - np.exp(x)


def decide(replicate: Replicate) -> Sequence[Row]:
    """The p-value of a correct kernel, over all features; None if the draws were too few."""
    starts, kernel = STARTS[replicate.cell["starts"]], KERNELS[replicate.cell["kernel"]]
    generator = replicate.generator("draws")
    draws, seed = starts.draw(generator), int(generator.integers(2**62))
    try:
        result = ps.testing.assert_invariant(
            kernel,
            skewed_score if kernel is walk else score,
            draws,
            iid=starts.iid,
            false_alarm=RATES[1],
            detect=ANY,
            rng=seed,
        )
    except ps.FaultError as error:
        result = error.result
    except ps.InputError:
        return [{"pvalue": -1.0}]
    return [{"pvalue": result.pvalue}]


def marks(rows: Sequence[Row]) -> str:
    """A mark for each test."""
    found = ""
    for pvalue in (float(row["pvalue"]) for row in rows):
        found += "?" if pvalue < 0.0 else "xo."[sum(pvalue > rate for rate in RATES)]
    return found


def rates(_: Cell, decisions: str) -> Row:
    """How often the test failed at both rates, and how often it could not be made."""
    strict = decisions.count("x")
    return {
        "failed_0.01": strict,
        "failed_0.05": strict + decisions.count("o"),
        "refused": decisions.count("?"),
    }


STUDY = Study(Path(__file__).with_suffix(".csv"), CELLS, name, decide, mark=marks, rates=rates)


def markdown() -> list[str]:
    """The table of ``docs/gates.md``, line by line."""
    rows = [
        [row["cell"], row["failed_0.01"], row["failed_0.05"], f"{int(row['replicates']):,}"]
        for row in STUDY.stored().values()
    ]
    header = ["starts; correct kernel", "failed at 0.01", "failed at 0.05", "tests"]
    return markdown_table(header, rows)


if __name__ == "__main__":
    ended(lambda: run_table("invariant", __doc__, STUDY.run, markdown))
