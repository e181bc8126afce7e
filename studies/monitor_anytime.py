"""False alarms and delays of looks at any time: ``python -m studies.monitor_anytime``.

Every replicate is a set of AR(1) chains of memory 0.9 about N(0, I) in d = 4. Chains that are
right come in groups of runs, whose bets are made side by side by `SignBets`: a run has an alarm
if the wealth reaches 1/0.05 after any batch. A look of ``polystein.Monitor`` that finds its
batches too short is inconclusive; here it is not, so that these counts are upper bounds. Chains
with a fault are watched by ``polystein.Monitor`` itself, with a look after every batch and with
five looks at 2000, 4000, ..., 10000 draws, on the same draws. A mark of such a run is its delay,
the draws from the fault to the alarm in units of `STEP`, in digits and letters.

Runs the cells that ``studies/monitor_anytime.csv`` does not hold yet. ``--markdown`` prints the
tables of ``docs/scale.md``; ``--only TEXT`` runs the cells whose name holds TEXT.
"""

import string
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.inference.betting import SignBets
from studies._command import ended, run_table
from studies._table import LEVEL, Study, without_method
from studies.monitor import DIMENSION, MEMORY, with_fault
from tests.statistical.samplers import autoregressive

CHAINS, ORDER = 4, 3
#: Draws of each chain: of right ones, until the last of five looks, and as the stream runs on.
RIGHT_ROWS, FIVE_ROWS, ROWS = 5000, 10_000, 12_000
#: Runs of a replicate whose bets are made side by side, and replicates of both kinds of cells.
SIDE_BY_SIDE, NULL_REPLICATES, WRONG_REPLICATES = 100, 100, 100
#: Draws of each chain in a batch, and in a unit of delay.
STEP = 200
#: Delays of 1, 2, ..., 60 steps, and none.
DIGITS = string.digits[1:] + string.ascii_uppercase + string.ascii_lowercase
FAULTS = [
    ("mean 0.1", 0.0),
    ("variance 1.2", 0.0),
    ("variance 1.5", 0.0),
    ("mean 1", 0.0),
    ("mean 0.2", 0.5),
    ("variance 1.5", 0.5),
    ("mean 1", 0.5),
]
CELLS = [
    Cell.of(
        "anytime",
        replicates=NULL_REPLICATES,
        cost=700.0,
        fault="right",
        chains=chains,
        rows=RIGHT_ROWS * CHAINS // chains,
        batch=batch,
    )
    for chains, batch in [(4, 50), (4, 200)]
] + [
    Cell.of(
        "delay",
        replicates=WRONG_REPLICATES,
        cost=150.0,
        fault=fault,
        begins=begins,
        method=method,
    )
    for fault, begins in FAULTS
    for method in ("five looks", "any")
]


def name(one: Cell) -> str:
    """The cell in the table."""
    if one["fault"] == "right":
        chains = "1 chain" if one["chains"] == 1 else f"{one['chains']} chains"
        return f"right; {chains} of {one['rows']} draws; batches of {one['batch']}"
    when = "half-way on" if one["begins"] else "the start"
    return f"{one['fault']} from {when}; {one['method']}"


def batch_means(draws: NDArray[np.float64], batch: int) -> NDArray[np.float64]:
    """Means of all Stein features for N(0, I), (run, batch, chain, component).

    Draws are (run, chain, draw, d), and the first batch of every chain only standardises them.
    """
    runs, chains, rows, d = draws.shape
    first = draws[:, :, :batch].reshape(runs, -1, d)
    centre, scale = first.mean(1)[:, None, None], first.std(1)[:, None, None]
    found = []
    for start in range(batch, rows - batch + 1, batch):
        raw = draws[:, :, start : start + batch]
        x, s = (raw - centre) / scale, -raw * scale
        power, parts = np.ones_like(x), []
        for i in range(1, ORDER + 1):
            derivative, power = i * power, power * x
            part = np.swapaxes(s, -1, -2) @ power / batch
            part[..., range(d), range(d)] += derivative.mean(axis=-2)
            parts.append(part.reshape(runs, chains, d * d))
        found.append(np.concatenate([*parts, s.mean(axis=-2)], axis=-1))
    return np.stack(found, axis=1)


def pvalues(draws: NDArray[np.float64], batch: int) -> NDArray[np.float64]:
    """The anytime p-value of every run, without the monitor's doubts about short batches."""
    means, d = batch_means(draws, batch), draws.shape[-1]
    bets = SignBets([d * d] * ORDER + [d], means.shape[:1])
    for k in range(means.shape[1]):
        for chain in range(means.shape[2]):
            bets.update(means[:, k, chain], chain)
    return bets.pvalue()


def delay(draws: NDArray[np.float64], method: str, begins: int) -> int:
    """Draws of each chain from the fault to the alarm; 0 without one, -1 for one before it."""
    if method == "any":
        monitor = ps.Monitor(lambda x: -x, ORDER, looks="any", batch=STEP, chains=CHAINS)
    else:
        looks = range(FIVE_ROWS // 5, FIVE_ROWS + 1, FIVE_ROWS // 5)
        monitor = ps.Monitor(lambda x: -x, ORDER, looks=looks, chains=CHAINS)
    for start in range(0, ROWS, STEP):
        monitor.update(draws[:, start : start + STEP])
        if monitor.alarm:
            return max(-1, monitor.n_draws[0] - begins)
    return 0


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether each of the runs raised an alarm; or the delay of one run."""
    one = replicate.cell
    if one["fault"] == "right":
        shape = (SIDE_BY_SIDE * one["chains"], one["rows"], DIMENSION)
        draws = autoregressive(replicate.generator("draws"), *shape, MEMORY)
        found = pvalues(draws.reshape(SIDE_BY_SIDE, one["chains"], *shape[1:]), one["batch"])
        return [{"rejected": int(pvalue <= LEVEL)} for pvalue in found]
    generator = without_method(replicate).generator("draws")
    draws = autoregressive(generator, CHAINS, ROWS, DIMENSION, MEMORY)
    begins = round(one["begins"] * FIVE_ROWS)
    wrong = with_fault(draws[:, begins:], one["fault"], 0.0)
    watched = np.concatenate([draws[:, :begins], wrong], axis=1)
    return [{"delay": delay(watched, one["method"], begins)}]


def mark(rows: Sequence[Row]) -> str:
    """A cross for each alarm; or the delay, "." for no alarm and "!" for one before the fault."""
    return "".join(_mark(row) for row in rows)


def _mark(row: Row) -> str:
    if "rejected" in row:
        return "x" if int(row["rejected"]) else "."
    steps = int(row["delay"]) // STEP
    return "!" if int(row["delay"]) < 0 else DIGITS[steps - 1] if steps else "."


def delays(decisions: str) -> list[float]:
    """Delays in draws; infinite without an alarm. An alarm before the fault is no delay."""
    return [
        np.inf if one == "." else float(STEP * (DIGITS.index(one) + 1))
        for one in decisions
        if one != "!"
    ]


def rates(cell: Cell, decisions: str) -> Row:
    """How often there was an alarm, and the median delay; right chains have no delay."""
    alarms = len(decisions) - decisions.count(".")
    early = decisions.count("!")
    right = cell["fault"] == "right"
    return {
        "alarms": alarms,
        "rate": f"{alarms / len(decisions):.4f}",
        "early": early,
        "median_delay": "" if right else f"{np.median(delays(decisions)):.0f}",
    }


STUDY = Study(
    Path(__file__).with_suffix(".csv"), CELLS, name, decide, seed=0, mark=mark, rates=rates
)


def _compared(stored: Mapping[str, Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """The lines of five looks and of looks at any time, by fault."""
    faults = [cell.removesuffix("; any") for cell in stored if cell.endswith("; any")]
    return {
        fault: [stored[f"{fault}; {method}"] for method in ("five looks", "any")]
        for fault in faults
    }


def markdown() -> list[str]:
    """The tables of ``docs/scale.md``, line by line."""
    stored = STUDY.stored()
    right = [
        [cell, f"{float(row['rate']):.4f} of {int(row['replicates']):,}"]
        for cell, row in stored.items()
        if cell.startswith("right")
    ]
    wrong = [
        [fault, *(row[key] for row in both for key in ("rate", "median_delay"))]
        for fault, both in _compared(stored).items()
    ]
    return [
        *markdown_table(["chains", "alarms"], right),
        "",
        *markdown_table(["fault", "five looks: found", "delay", "any: found", "delay"], wrong),
    ]


if __name__ == "__main__":
    ended(lambda: run_table("monitor_anytime", __doc__, STUDY.run, markdown))
