"""How many rows a fault takes to be found in 80 % of the cases, by `check` and by others.

Rates are measured on a grid of numbers of rows in ratios of sqrt(2), made to grow with the rows by
isotonic regression, and interpolated in the logarithm of the rows. The likelihood-ratio test knows
the fault: no test of the level 0.05 needs fewer rows. Its critical value comes from simulated draws
of the target. lambda-PSD has the best of four orders, chosen by the same rates, which favours it.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.types import FloatArray
from studies._table import LEVEL, Study, decision, without_method
from studies.check import SEED, milliseconds
from studies.check import correlated_targets as targets
from studies.check.alternatives import Generator, Pair
from studies.check.correlated_targets import Axes

POWER = 0.8
#: `check` may need this many times the rows of the likelihood-ratio test for `PROMISED`.
MOST_TIMES, PROMISED = 2.5, "narrow"
#: Sets of draws of the target that give a critical value.
NULL_SETS = 4000
ORDERS = (1, 2, 3, 4)


def grid(place: int) -> int:
    """Numbers of rows: 16, 23, 32, 45, 64, and so on."""
    return round(16 * 2.0 ** (place / 2))


class Fault(NamedTuple):
    """Draws of N(shift, scale^2) along the axes of a Gaussian target, or of a target of its own.

    ``places`` has the first and the last place in the grid that each method is measured at.
    """

    label: str
    axes: Axes
    shift: FloatArray
    scale: FloatArray
    places: dict[str, tuple[int, int]]
    #: The distance of a mode that no draw has visited.
    missing: float | None = None

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.axes.values.size

    def draw(self, rng: Generator, n: int) -> Pair:
        """Wrong draws along the axes, and the target's scores."""
        if self.missing is not None:
            return targets.missing_mode(self.missing)(rng, n, self.dimension)
        z = self.shift + self.scale * rng.standard_normal((n, self.dimension))
        return z, -z

    def right(self, rng: Generator, n: int) -> FloatArray:
        """Draws of the target along the axes."""
        z = rng.standard_normal((n, self.dimension))
        if self.missing is not None:
            z[:, 0] += self.missing * (rng.random(n) < targets.MODE_WEIGHT)
        return z

    def log_ratio(self, z: FloatArray) -> float:
        """Log density of the draws minus that of the target, summed over rows."""
        standard = (z - self.shift) / self.scale
        rows = 0.5 * np.sum(z**2 - standard**2, axis=1) - np.sum(np.log(self.scale))
        if self.missing is not None:
            weight, distance = targets.MODE_WEIGHT, self.missing
            other = np.log(weight) + distance * z[:, 0] - 0.5 * distance**2
            rows = rows - np.logaddexp(np.log1p(-weight), other)
        return float(np.sum(rows))


def fault(
    label: str,
    axes: Axes,
    places: dict[str, tuple[int, int]],
    *,
    shift: Sequence[float] | float = 0.0,
    scale: Sequence[float] | float = 1.0,
    missing: float | None = None,
) -> Fault:
    """A fault; a shift or a scale of one number is that of all axes, of several, of the first."""
    size = axes.values.size
    moved, spread = np.zeros(size), np.ones(size)
    for values, given in ((moved, shift), (spread, scale)):
        first = np.atleast_1d(np.asarray(given, dtype=np.float64))
        values[: first.size if np.ndim(given) else size] = first
    return Fault(label, axes, moved, spread, places, missing)


PLAIN = targets.equicorrelated(0.0, 10)
FAULTS = {
    "narrow": fault(
        "N(0, I), d=10: all variances − 5 %",
        PLAIN,
        {"oracle": (9, 11), "check": (10, 13), "lambda_psd": (16, 18), "ksd": (16, 16)},
        scale=0.95**0.5,
    ),
    "means": fault(
        "N(0, I), d=10: all means 0.05",
        PLAIN,
        {"oracle": (7, 9), "check": (9, 12), "lambda_psd": (13, 15), "ksd": (10, 12)},
        shift=0.05,
    ),
    "wide": fault(
        "N(0, I), d=10: one sd × 1.1",
        PLAIN,
        {"oracle": (8, 10), "check": (11, 14), "lambda_psd": (15, 17), "ksd": (16, 16)},
        scale=[1.1],
    ),
    "axis": fault(
        "AR .95 covariance, d=20: mean 0.2, first axis",
        targets.autoregressive(0.95, 20),
        {"oracle": (6, 8), "check": (9, 12), "lambda_psd": (20, 20), "ksd": (16, 16)},
        shift=[0.2],
    ),
    "stiff": fault(
        "condition 100, d=10: all sd × 0.95",
        targets.conditioned(100.0, 10),
        {"oracle": (5, 7), "check": (5, 9), "lambda_psd": (18, 20), "ksd": (16, 16)},
        scale=0.95,
    ),
    "mode": fault(
        "d=2: missing mode of weight 0.1 at 4 sd",
        targets.equicorrelated(0.0, 2),
        {"oracle": (1, 3), "check": (8, 11), "lambda_psd": (11, 14), "ksd": (15, 16)},
        missing=4.0,
    ),
}


@cache
def critical(key: str, rows: int) -> float:
    """The log likelihood ratio that draws of the target exceed in 5 % of the cases."""
    rng = Replicate(Cell.of("check-rows-critical", replicates=1, fault=key, n=rows), 0, SEED)
    stream, one = rng.generator("draws"), FAULTS[key]
    found = [one.log_ratio(one.right(stream, rows)) for _ in range(NULL_SETS)]
    return float(np.quantile(found, 1.0 - LEVEL))


class Method(NamedTuple):
    """A test, its label on the page and its replicates; the milliseconds of a row, and of a pair
    of rows."""

    label: str
    test: Callable[..., ps.GofResult] | None
    replicates: int = 200
    cost: float = 0.001
    pairs: float = 0.0


METHODS = {
    "oracle": Method("likelihood ratio", None),
    "check": Method("`check`", partial(ps.check, iid=True)),
    **{
        f"lambda_psd_{order}": Method(f"Q={order}", partial(ps.lambda_psd_test, order=order))
        for order in ORDERS
    },
    "ksd": Method("IMQ KSD", partial(ps.ksd_test, kernel=ps.IMQKernel()), 200, pairs=2.2e-5),
}


def places_of(key: str, method: str) -> range:
    """The places in the grid that a method is measured at."""
    first, last = FAULTS[key].places[method.rpartition("_")[0] or method]
    return range(first, last + 1)


def cell_of(key: str, method: str, rows: int) -> Cell:
    """One method on a number of rows of one fault."""
    how = METHODS[method]
    cost = how.cost * rows + how.pairs * rows**2
    if method == "check":
        cost = milliseconds(rows, FAULTS[key].dimension, found=True)
    settings = {"fault": key, "n": rows, "method": method}
    return Cell.of("check-rows-needed", replicates=how.replicates, cost=cost, **settings)


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{FAULTS[cell['fault']].label}, {cell['method']}, n={cell['n']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one method rejects one set of draws: all see the same."""
    cell = replicate.cell
    replicate = without_method(replicate)
    one, test = FAULTS[cell["fault"]], METHODS[cell["method"]].test
    z, scores = one.draw(replicate.generator("draws"), cell["n"])
    if test is None:
        return [{"rejected": int(one.log_ratio(z) > critical(cell["fault"], cell["n"]))}]
    return decision(test(*one.axes.seen(z, scores), rng=replicate.stream(cell["method"])))


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        cell_of(key, method, grid(place))
        for key in FAULTS
        for method in METHODS
        for place in places_of(key, method)
    ),
    name,
    decide,
    SEED,
)


class Needed(NamedTuple):
    """How many rows a method needs; where it never gets so far, more than ``rows``."""

    rows: float
    reached: bool = True

    @property
    def words(self) -> str:
        """As the page has it."""
        return f"{self.rows:,.0f}" if self.reached else f"> {self.rows:,.0f}"


def interpolated(rows: Sequence[int], rates: Sequence[float]) -> Needed:
    """The rows at which a rate that grows with them reaches 80 %.

    Examples
    --------
    >>> round(interpolated([100, 200, 400], [0.5, 0.7, 0.9]).rows)
    283
    >>> interpolated([100, 200], [0.5, 0.7]).words
    '> 200'
    """
    growing = isotonic_regression(rates).x
    if growing[-1] < POWER:
        return Needed(float(rows[-1]), reached=False)
    if growing[0] > POWER:
        raise ValueError(f"{rows[0]} rows are already too many; begin with fewer")
    return Needed(float(np.exp(np.interp(POWER, growing, np.log(rows)))))


def needed(key: str, method: str) -> Needed | None:
    """How many rows a method needs; None if the table does not hold all of its cells."""
    stored, counts = STUDY.stored(), [grid(place) for place in places_of(key, method)]
    names = [name(cell_of(key, method, rows)) for rows in counts]
    if not all(one in stored for one in names):
        return None
    return interpolated(counts, [float(stored[one]["rate"]) for one in names])


class Line(NamedTuple):
    """How many rows each method needs for one fault, and which order of lambda-PSD is best."""

    label: str
    oracle: Needed
    check: Needed
    best_order: int
    lambda_psd: Needed
    ksd: Needed

    @property
    def times(self) -> float:
        """How many times the rows of the likelihood-ratio test `check` needs."""
        return self.check.rows / self.oracle.rows


def lines() -> dict[str, Line]:
    """Faults for which the committed table holds every cell."""
    found = {}
    for key, one in FAULTS.items():
        by_method = {method: needed(key, method) for method in METHODS}
        known = {method: rows for method, rows in by_method.items() if rows is not None}
        if len(known) == len(METHODS):
            orders = {order: known[f"lambda_psd_{order}"] for order in ORDERS}
            best = min(orders, key=lambda order: (not orders[order].reached, orders[order].rows))
            found[key] = Line(
                one.label, known["oracle"], known["check"], best, orders[best], known["ksd"]
            )
    return found


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = []
    for line in lines().values():
        best = line.lambda_psd.words + (f" (Q={line.best_order})" * line.lambda_psd.reached)
        needed = (line.oracle.words, line.check.words, f"{line.times:.1f}", best, line.ksd.words)
        rows.append([line.label, *needed])
    heads = ("fault", "likelihood ratio", "`check`", "times", "best λ-PSD", "IMQ KSD")
    return markdown_table(heads, rows)
