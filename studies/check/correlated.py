"""`check` on correlated targets, beside `check` of whitened draws and the best single statistic.

The whitened draws are R^-1/2 (x - m)/c, with R the correlation of the same draws and R^1/2 its
symmetric root. The single statistic is the one of the three that no linear map changes that suits
the fault best, on the whole level: what could be had by someone who knew the fault. IMQ KSD is
there for comparison.

One `check` decides for itself and for its single statistic. The decisions of such a line are marked
x if both reject, c if only `check` does, and s if only the statistic does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import LEVEL, Study, decision, without_method
from studies.check import SEED, milliseconds
from studies.check import correlated_targets as targets
from studies.check.alternatives import Generator, Pair
from studies.check.correlated_targets import Axes

REPLICATES = 200
#: `check` must have this part of the better of the two others, or be no more than this below it.
PART, MARGIN = 0.9, 0.08
HOTELLING, TRACE, SQUARE = "Hotelling: sum", "trace: sum", "trace of square: sum"
METHODS = {
    "check": "`check`",
    "whitened": "whitened",
    "single": "best single statistic",
    "ksd": "IMQ KSD",
}
#: What `check` is measured against.
RIVALS = ("whitened", "single")
KSD_MILLISECONDS = 22.0


class Fault(NamedTuple):
    """What the table calls it, the target's axes, the fault along them, best statistic, rows."""

    label: str
    axes: Axes
    draw: Callable[[Generator, int, int], Pair]
    single: str | None
    rows: int = 1000
    #: A rate that is promised instead of a part of the others'.
    least: float | None = None
    iid: bool = True

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.axes.values.size


def faults() -> dict[str, Fault]:
    """All lines, by a short name."""
    stiff, long = targets.conditioned(1e4, 30), targets.conditioned(1e4, 100)
    series, equal = targets.autoregressive(0.95, 20), targets.equicorrelated(0.9, 10)
    mild = targets.conditioned(100.0, 10)
    plain = {d: targets.equicorrelated(0.0, d) for d in (2, 10, 20)}
    first, last, wide = targets.mean_of(0), targets.mean_of(-1), targets.wider(0)
    narrow = targets.scaled(targets.NARROWER**2)
    found: dict[str, Fault] = {}
    for key, label, axes in (
        ("stiff", "condition 10⁴, d=30", stiff),
        ("series", "AR .95 covariance, d=20", series),
        ("equal", "equicorrelated .9, d=10", equal),
        ("mild", "condition 100, d=10", mild),
    ):
        found[f"{key}-first"] = Fault(f"{label}: mean 0.2, first axis", axes, first, HOTELLING)
        found[f"{key}-narrow"] = Fault(f"{label}: all sd × 0.95", axes, narrow, TRACE)
        own = targets.wider(-1) if key == "mild" else wide
        which = "last" if key == "mild" else "first"
        found[f"{key}-wide"] = Fault(f"{label}: sd × 1.2, {which} axis", axes, own, SQUARE)
        found[f"{key}-last"] = Fault(f"{label}: mean 0.2, last axis", axes, last, HOTELLING)
    found["long-first"] = Fault(
        "condition 10⁴, d=100: mean 0.2, first axis", long, first, HOTELLING
    )
    found["t-target"] = Fault(
        "AR .95 covariance, d=20: multivariate t(30) target",
        series,
        targets.student_t_target,
        TRACE,
    )
    found["larger"] = Fault(
        "N(0, I), d=10: all variances + 5 %", plain[10], targets.scaled(1.05), TRACE
    )
    found["smaller"] = Fault(
        "N(0, I), d=20: all variances − 3 %", plain[20], targets.scaled(0.97), TRACE
    )
    for distance in (3, 4):
        for rows, least in ((500, 0.8), (2000, 0.95)):
            label = f"missing mode of weight 0.1 at {distance} sd, d=2, n={rows}"
            draw = targets.missing_mode(float(distance))
            found[f"mode-{distance}-{rows}"] = Fault(label, plain[2], draw, None, rows, least)
    shapes = (("two modes ±0.8", targets.modes_along), ("Gamma(8)", targets.skewed_along))
    for label, draw in shapes:
        found[f"shape-{label}"] = Fault(
            f"equicorrelated .9, d=10: {label}, first axis", equal, draw, None
        )
    found["langevin"] = Fault(
        "equicorrelated .9, d=10: unadjusted Langevin, h = 0.4, chains of 4 × 1000",
        equal,
        targets.langevin_chains,
        TRACE,
        4000,
        iid=False,
    )
    return found


FAULTS = faults()


def whitened(draws: np.ndarray, scores: np.ndarray) -> Pair:
    """Draws without correlation, by the symmetric root of their own; rows or chains."""
    rows = draws.reshape(-1, draws.shape[-1])
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    values, vectors = np.linalg.eigh(np.corrcoef(rows.T))
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    return (draws - centre) / scale @ inverse, scores * scale @ root


def methods_of(fault: Fault) -> list[str]:
    """The columns of a line: some faults have no statistic of their own, and KSD sees no chains."""
    there = {"single": fault.single is not None, "ksd": fault.iid}
    return [method for method in METHODS if there.get(method, True)]


def cells_of(key: str) -> dict[str, Cell]:
    """The cells of a line, by method: the single statistic has none of its own."""
    return {one: cell_of(key, one) for one in methods_of(FAULTS[key]) if one != "single"}


def cell_of(key: str, method: str) -> Cell:
    """One method on one fault."""
    fault = FAULTS[key]
    cost = milliseconds(fault.rows, fault.dimension, found=True)
    if method == "ksd":
        cost = KSD_MILLISECONDS * (fault.rows / 1000) ** 2
    settings = {"fault": key, "n": fault.rows, "d": fault.dimension, "method": method}
    return Cell.of("check-correlated", replicates=REPLICATES, cost=cost, **settings)


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{FAULTS[cell['fault']].label}, {cell['method']}"


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether one method rejects one set of draws: all see the same, with the same flips."""
    cell = replicate.cell
    replicate = without_method(replicate)
    fault = FAULTS[cell["fault"]]
    drawn = fault.draw(replicate.generator("draws"), fault.rows, fault.dimension)
    pair = fault.axes.seen(*drawn)
    if cell["method"] == "ksd":
        return decision(ps.ksd_test(*pair, kernel=ps.IMQKernel(), rng=replicate.stream("ksd")))
    test = partial(ps.check, iid=fault.iid, rng=replicate.stream("check"))
    if cell["method"] == "whitened":
        return decision(test(*whitened(*pair)))
    return with_single(test(*pair), fault.single)


def with_single(result: ps.GofResult, single: str | None) -> Sequence[Row]:
    """Whether `check` rejects, and whether the single statistic would with the whole level."""
    if single is None:
        return decision(result)
    alone = [part.pvalue <= LEVEL for part in result.evidence.parts if part.name == single]
    return [{**row, "single": int(any(alone))} for row in decision(result)]


def marks(rows: Sequence[Row]) -> str:
    """One character for each replicate."""
    letters = {(1, 1): "x", (1, 0): "c", (0, 1): "s", (0, 0): "."}
    return "".join(letters[row["rejected"], row.get("single", row["rejected"])] for row in rows)


def rates_of(cell: Cell, decisions: str) -> Row:
    """How often the method rejected, and how often the single statistic did."""
    return counted(
        decisions, alone=cell["method"] == "check" and FAULTS[cell["fault"]].single is not None
    )


def counted(decisions: str, *, alone: bool) -> Row:
    """Rates by the characters of `marks`; that of a single statistic if there is one."""
    rejections, single = (sum(map(decisions.count, letters)) for letters in ("xc", "xs"))
    return {
        "rejections": rejections,
        "rate": f"{rejections / len(decisions):.4f}",
        "single": f"{single / len(decisions):.4f}" if alone else "",
    }


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(cell for key in FAULTS for cell in cells_of(key).values()),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates_of,
)


class Line(NamedTuple):
    """The rates of a fault, and whether `check` has what is promised of it."""

    label: str
    rates: dict[str, float]
    holds: bool


def lines() -> list[Line]:
    """Faults for which the committed table holds every method."""
    rows, found = STUDY.stored(), []
    for key, fault in FAULTS.items():
        names = {method: name(cell) for method, cell in cells_of(key).items()}
        if all(one in rows for one in names.values()):
            rates = {method: float(rows[one]["rate"]) for method, one in names.items()}
            if fault.single is not None:
                rates["single"] = float(rows[names["check"]]["single"])
            wanted = wanted_of(rates) if fault.least is None else fault.least
            found.append(Line(fault.label, rates, rates["check"] >= wanted - 1e-12))
    return found


def wanted_of(rates: Mapping[str, float]) -> float:
    """What is promised of `check` beside these rates."""
    best = max(rates.get(method, 0.0) for method in RIVALS)
    return min(PART * best, best - MARGIN)


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = []
    for line in lines():
        rates = [f"{line.rates[m]:.3f}" if m in line.rates else "" for m in METHODS]
        rows.append([line.label, *rates, "yes" if line.holds else "no"])
    return markdown_table(["target and fault", *METHODS.values(), "holds"], rows)
