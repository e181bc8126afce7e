"""False alarms of ``ps.testing.assert_draws_from``: ``python -m studies.gates``.

Every replicate is a test of a correct sampler, at the rates 0.01 and 0.001, with seeds of its own.
The draws that it takes are compared with those of a fixed test, one look that knows the spread of
the features and has the same shares of the whole rate.
Runs the cells that ``studies/gates.csv`` does not hold yet, so that it may be stopped and started
again; remove the file, or a line of it, for a fresh start. A second run gives the same table.
``--markdown`` prints the table of ``docs/gates.md``; ``--only TEXT`` runs the cells whose name
holds TEXT.
"""

import functools
import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.stats import norm

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.testing.draws_from import CHANCE
from polystein.testing.features import frame_of, sizes_of
from studies._command import ended, run_table
from studies._table import Study

RUNS = 10_000
RATES = (0.01, 0.001)
# Draws of each seed, the default of the test, and seeds that tell the spread for the fixed test.
ROWS = 100
KNOWN = 2_000
# A mark is "x" if the test failed, or else tells the draws it took: the k-th letter stands for
# (k + 0.5) / 8 times those of the fixed test, the last one for more.
LETTERS = string.digits + string.ascii_letters.replace("x", "")
STEPS = 8


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


@functools.cache
def fixed_draws(sampler: str, rate: float) -> float:
    """The draws of a test with one look that knows the sds of the block means."""
    correct, rng = SAMPLERS[sampler], np.random.default_rng(0)
    draws = np.concatenate([correct.draw(rng, ROWS) for _ in range(KNOWN)])
    names = tuple(map(str, range(draws.shape[1])))
    frame, columns = frame_of(draws, correct.score(draws), names)
    sds = sizes_of(frame, columns).reshape(KNOWN, ROWS, -1).mean(axis=1).std(axis=0, ddof=1)
    critical = norm.isf(0.5 * rate * frame.shares) + norm.ppf(CHANCE)
    return ROWS * float(((critical * sds / frame.promised(correct.detect)) ** 2).max())


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether a correct sampler fails, and the draws taken. One that stays undecided does not."""
    name, rate = replicate.cell["sampler"], replicate.cell["rate"]
    correct = SAMPLERS[name]
    seed = int(replicate.generator("draws").integers(2**62))
    try:
        result = ps.testing.assert_draws_from(
            lambda one, n: correct.draw(np.random.default_rng([seed, one]), n),
            correct.score,
            n=ROWS,
            false_alarm=rate,
            detect=correct.detect,
            rng=seed,
        )
    except ps.FaultError:
        return [{"rejected": 1, "ratio": 0.0}]
    except ps.UndecidedError as error:
        result = error.result
    return [{"rejected": 0, "ratio": result.draws / fixed_draws(name, rate)}]


def marks(rows: Sequence[Row]) -> str:
    """A mark for each test: see `LETTERS`."""
    last = len(LETTERS) - 1
    return "".join(
        "x" if row["rejected"] else LETTERS[min(int(STEPS * float(row["ratio"])), last)]
        for row in rows
    )


def rates(_: Cell, decisions: str) -> Row:
    """How often the test failed, and the mean and the 95 % quantile of the draws it took."""
    ratios = [(LETTERS.index(mark) + 0.5) / STEPS for mark in decisions if mark != "x"]
    return {
        "rejections": decisions.count("x"),
        "draws": f"{np.mean(ratios):.2f}",
        "draws_95": f"{np.quantile(ratios, 0.95):.2f}",
    }


STUDY = Study(Path(__file__).with_suffix(".csv"), CELLS, name, decide, mark=marks, rates=rates)


def markdown() -> list[str]:
    """The table of ``docs/gates.md``, line by line."""
    rows = [
        [
            row["cell"],
            f"{int(row['rejections'])} of {int(row['replicates']):,}",
            row["draws"],
            row["draws_95"],
        ]
        for row in STUDY.stored().values()
    ]
    return markdown_table(
        ["correct sampler", "failed", "draws / fixed test, mean", "95 % of tests below"], rows
    )


if __name__ == "__main__":
    ended(lambda: run_table("gates", __doc__, STUDY.run, markdown))
