"""False alarms of ``ps.testing.assert_draws_from``: ``python -m studies.gates``.

Every replicate is a test of a correct sampler, at the rates 0.01 and 0.001, with seeds of its own.
Runs the cells that ``studies/gates.csv`` does not hold yet, so that it may be stopped and started
again; remove the file, or a line of it, for a fresh start. A second run gives the same table.
``--markdown`` prints the table of ``docs/gates.md``; ``--only TEXT`` runs the cells whose name
holds TEXT.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._command import ended, run_table
from studies._table import Study

RUNS = 10_000
RATES = (0.01, 0.001)


class Correct(NamedTuple):
    """A sampler that draws from the target with this score, and what is asked for."""

    draw: Callable[[np.random.Generator, int], np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]
    detect: tuple[float, float] = (0.1, 0.05)


def autoregressive(rng: np.random.Generator, n: int) -> np.ndarray:
    """A stationary AR(1) chain of memory 0.9 about N(0, 1)."""
    noise = rng.standard_normal((n, 1))
    noise[1:] *= np.sqrt(1.0 - 0.81)
    return lfilter([1.0], [1.0, -0.9], noise, axis=0)


def log_gamma(rng: np.random.Generator, n: int) -> np.ndarray:
    """The logarithm of exponential numbers, a skewed law."""
    return np.log(rng.standard_exponential((n, 1)))


SAMPLERS = {
    "normal, d = 2": Correct(lambda rng, n: rng.standard_normal((n, 2)), lambda x: -x),
    "AR(.9), d = 1": Correct(autoregressive, lambda x: -x, (0.2, 0.1)),
    "log of exponential, d = 1": Correct(log_gamma, lambda x: 1.0 - np.exp(x)),
    "Student t with 5 df, d = 3": Correct(
        lambda rng, n: rng.standard_t(5.0, (n, 3)), lambda x: -6.0 * x / (5.0 + x**2)
    ),
}


def cell(sampler: str, rate: float) -> Cell:
    """One cell: a sampler, and the rate at which it may fail."""
    return Cell.of("gates", replicates=RUNS, cost=20.0, sampler=sampler, rate=rate)


CELLS = [cell(sampler, rate) for sampler in SAMPLERS for rate in RATES]


def name(one: Cell) -> str:
    """The cell in the table."""
    return f"{one['sampler']}; rate {one['rate']:g}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether a correct sampler fails. One that stays undecided does not."""
    correct = SAMPLERS[replicate.cell["sampler"]]
    seed = int(replicate.generator("draws").integers(2**62))
    try:
        ps.testing.assert_draws_from(
            lambda one, n: correct.draw(np.random.default_rng([seed, one]), n),
            correct.score,
            false_alarm=replicate.cell["rate"],
            detect=correct.detect,
            rng=seed,
        )
    except ps.FaultError:
        return [{"rejected": 1}]
    return [{"rejected": 0}]


STUDY = Study(Path(__file__).with_suffix(".csv"), CELLS, name, decide)


def markdown() -> list[str]:
    """The table of ``docs/gates.md``, line by line."""
    rows = [
        [row["cell"], f"{int(row['rejections'])} of {int(row['replicates']):,}"]
        for row in STUDY.stored().values()
    ]
    return markdown_table(["correct sampler", "failed"], rows)


if __name__ == "__main__":
    ended(lambda: run_table("gates", __doc__, STUDY.run, markdown))
