"""Sizes and corrected values that are told: how many have the right sign, and cover?"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.experiments.engine.cells import Row
from polystein.experiments.engine.store import package_commit, write_csv
from polystein.experiments.engine.summary import markdown_table
from polystein.results.effect_rows import EffectRow
from studies._table import lines_by
from studies.effects import SEED, posteriors
from studies.effects.laws import KINDS, LAWS, REGRESSIONS, Law, wrong_gaussian
from studies.refine import approximations
from studies.refine import posteriors as hierarchical

Array = NDArray[np.float64]

ROWS, REFERENCE = 4000, 60_000
#: Smaller errors, in sds, logarithms or differences, have no sign that matters.
SMALL = 0.05
#: Parts of the reference, which tell its own error.
PARTS = 30
SUMS = ("found", "sized", "signs", "right", "covered", "told", "better")
EXACT = "exact moments"
TIED = "N(0, I), draws with x2 = +-x1, f = x1^2 x2^2"


class Case(NamedTuple):
    """Gaussian draws by mean and factor, beside right draws and the target's score."""

    label: str
    score: Callable[[Array], Array]
    right: Array
    mean: Array
    factor: Array


@cache
def _law(name: str) -> tuple[Law, Array]:
    law = LAWS[name]()
    return law, law.draw(np.random.default_rng([SEED, 3]), REFERENCE)


def cases(name: str) -> Iterator[Case]:
    """All wrong draws of a target, and those of exact moments."""
    if name in hierarchical.POSTERIORS:
        right = hierarchical.right_draws(name, np.random.default_rng([SEED, 4]), REFERENCE)
        target, kinds, fits = hierarchical.posterior(name), (EXACT,), approximations.APPROXIMATIONS
    else:
        law, right = _law(name)
        kinds, fits = tuple(KINDS), {}
        if name in REGRESSIONS:
            target, fits = posteriors.posterior(REGRESSIONS[name]), posteriors.APPROXIMATIONS
    score = target.score if fits else law.score
    for kind in kinds:
        yield Case(f"{name}, {kind}", score, right, *wrong_gaussian(kind, right))
    for kind, fit in fits.items():
        if not (name == hierarchical.CENTRED and kind == "Laplace"):
            yield Case(f"{name}, {kind}", score, right, *fit(target))


def size_of(row: EffectRow, x: Array, y: Array) -> float:
    """The size that a row is about, of draws x and a target y: their columns are coordinates."""
    what, columns = row.what, [0]
    if row.direction:
        weights = np.array(row.direction) / x.std(axis=0)
        x, y = (x @ weights)[:, None], (y @ weights)[:, None]
        what = what.removeprefix("direction ")
    else:
        columns = [int(name[2:-1]) for name in row.names]
    a, b = x[:, columns], y[:, columns]
    if what == "mean":
        return float((a.mean() - b.mean()) / b.std())
    if what == "sd":
        return float(a.std() / b.std())
    if what == "correlation":
        return float(np.corrcoef(a.T)[0, 1] - np.corrcoef(b.T)[0, 1])
    power = 3 if what == "skew" else 4
    moments = [(((one - one.mean()) / one.std()) ** power).mean() for one in (a, b)]
    return float(moments[0] - moments[1])


def of_effects(case: Case, draws: Array) -> dict[str, float]:
    """Of the rows that are found: how many have a size, a sign that counts, right, covered."""
    table = ps.effects(draws, case.score(draws), iid=True)
    law = np.random.default_rng([SEED, 6]).standard_normal((len(case.right), len(case.mean)))
    law = case.mean + law @ case.factor.T
    counts = dict.fromkeys(SUMS[:5], 0.0)
    for row in table.found:
        counts["found"] += 1
        if not math.isfinite(row.size):
            continue
        nothing, truth = 1.0 if row.what.endswith("sd") else 0.0, size_of(row, law, case.right)
        parts = zip(np.array_split(law, PARTS), np.array_split(case.right, PARTS), strict=True)
        error = 2.0 * float(np.std([size_of(row, *part) for part in parts])) / math.sqrt(PARTS)
        counts["sized"] += 1
        counts["covered"] += row.lower - error <= truth <= row.upper + error
        directed = row.lower > nothing or row.upper < nothing
        if directed and abs(truth - nothing) > SMALL:
            counts["signs"] += 1
            counts["right"] += (row.size > nothing) == (truth > nothing)
    return counts


def of_expectations(case: Case, draws: Array) -> dict[str, float]:
    """Corrected means and sds that are told, and by how much one is worse at the most, in sd."""
    told, better, worse = 0, 0, -math.inf
    for row in ps.expectations(draws, case.score(draws), iid=True):
        if math.isnan(row.corrected):
            continue
        column = case.right[:, int(row.name[2:-1])]
        truth, unit = (column.mean() if row.what == "mean" else column.std()), column.std()
        change = float((abs(row.corrected - truth) - abs(row.plain - truth)) / unit)
        told, better, worse = told + 1, better + (change < 0.0), max(worse, change)
    return {"told": told, "better": better, "worse": worse}


def tied() -> dict[str, float]:
    """Draws with x2 = +-x1 of N(0, I): the mean of x1^2 x2^2 is 1, and 3 over the draws."""
    rng = np.random.default_rng([SEED, 7])
    draws = np.repeat(rng.standard_normal((ROWS, 1)), 2, axis=1)
    draws[:, 1] *= rng.choice([-1.0, 1.0], ROWS)
    squares = {"f": lambda x: x[:, 0] ** 2 * x[:, 1] ** 2}
    row = ps.expectations(draws, -draws, squares, iid=True)["f", "mean"]
    told = not math.isnan(row.corrected)
    change = (abs(row.corrected - 1.0) - abs(row.plain - 1.0)) / math.sqrt(8.0)
    better = told and change < 0.0
    counts = dict.fromkeys(SUMS, 0.0)
    return {**counts, "told": told, "better": better, "worse": change if told else -math.inf}


def counts_of(name: str) -> Iterator[dict[str, float]]:
    """What is counted of each set of draws of a target, one after the other."""
    if name == TIED:
        yield tied()
        return
    for case in cases(name):
        rng = np.random.default_rng([SEED, 5, *case.label.encode()])
        draws = case.mean + rng.standard_normal((ROWS, len(case.mean))) @ case.factor.T
        yield {**of_effects(case, draws), **of_expectations(case, draws)}


def in_words(counts: dict[str, float]) -> str:
    """The counts of one set of draws, in the order of the columns."""
    return " ".join(str(int(counts[key])) for key in SUMS)


def line(name: str) -> Row:
    """All draws of a target together, and the counts of each set."""
    parts = list(counts_of(name))
    sums: Row = {key: int(sum(part[key] for part in parts)) for key in SUMS}
    worse = max(part["worse"] for part in parts)
    each = "; ".join(in_words(part) for part in parts)
    return {**sums, "worse": f"{worse:.3f}" if math.isfinite(worse) else "", "each": each}


NAMES = (*hierarchical.POSTERIORS, *LAWS, TIED)
MINUTES_A_LINE = 0.4


class Lines:
    """The table, one target at a time; lines that are there stay."""

    table = Path(__file__).with_suffix(".csv")

    def stored(self) -> dict[str, dict[str, str]]:
        """The lines of the committed table, by name."""
        return lines_by(self.table, "line")

    def run(self, only: str = "", jobs: int = 1, *, anew: bool = False) -> None:
        """Fill in what is missing; a line is stored as soon as it is there."""
        rows: dict[str, Row] = {name: dict(line) for name, line in self.stored().items()}
        for name in self._left(only, anew):
            commit = {"seed": SEED, "commit": package_commit() or "unknown"}
            rows[name] = {"line": name, **line(name), **commit}
            print(*rows[name].values(), sep="  ", flush=True)
            write_csv(self.table, [rows[key] for key in NAMES if key in rows])

    def minutes(self, only: str = "", *, anew: bool = False) -> float:
        """Roughly what is left to do, in minutes of one core."""
        return MINUTES_A_LINE * len(self._left(only, anew))

    def _left(self, only: str, anew: bool) -> list[str]:
        """The lines that are to be made."""
        stored = self.stored()
        return [name for name in NAMES if only in name and (anew or name not in stored)]


STUDY = Lines()


def markdown() -> list[str]:
    """The table of ``docs/effects.md``, line by line."""
    lines = STUDY.stored()
    sums = {key: sum(int(row[key]) for row in lines.values()) for key in SUMS}
    worst = max(float(row["worse"]) for row in lines.values() if row["worse"])
    every = {**lines, "all": {**{key: str(value) for key, value in sums.items()}, "worse": worst}}
    rows = [
        [
            name,
            row["found"],
            row["sized"],
            f"{row['right']} of {row['signs']}",
            f"{row['covered']} of {row['sized']}",
            row["told"],
            row["better"],
            row["worse"],
        ]
        for name, row in every.items()
    ]
    head = ["target", "found", "with a size", "signs right", "intervals cover", "corrected values"]
    return markdown_table([*head, "better than plain", "most that one is worse, sd"], rows)
