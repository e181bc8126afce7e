"""Wrong draws of posteriors, before and after the correction; right draws, plain and corrected."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import polystein as ps
from polystein.experiments.engine.cells import Row
from polystein.experiments.engine.store import package_commit, write_csv
from polystein.experiments.engine.summary import markdown_table
from polystein.results.effect_rows import ExpectationRow
from studies._table import lines_by
from studies.effects import SEED
from studies.effects.posteriors import APPROXIMATIONS, POSTERIORS, posterior, reference

Array = NDArray[np.float64]

ROWS = 4000
#: Runs of right draws: of the posterior (a), and of each of the ten targets.
RUNS, TARGET_RUNS, TARGET_ROWS = 100, 100, 500
FIRST = next(iter(POSTERIORS))
#: The reference run is known to about half of this, in sd.
WORSE = 0.02


def wrong_draws(name: str, approximation: str) -> Row:
    """The largest errors of means, in sd, and of sds, as ratios minus 1."""
    target, truth = posterior(name), reference(name)
    mean, factor = APPROXIMATIONS[approximation](target)
    rng = np.random.default_rng([SEED, len(name), len(approximation)])
    draws = mean + rng.standard_normal((ROWS, len(mean))) @ factor.T
    table = ps.expectations(ps.Sample(draws, target.score(draws)), iid=True)
    rows = {what: [row for row in table if row.what == what] for what in ("mean", "sd")}

    def largest(errors: Array) -> str:
        """The largest error of the values that are told."""
        return f"{np.nanmax(errors):.3f}" if np.isfinite(errors).any() else "not told"

    def errors(field: str) -> tuple[str, str]:
        means = np.array([getattr(row, field) for row in rows["mean"]])
        sds = np.array([getattr(row, field) for row in rows["sd"]])
        return largest(np.abs((means - truth[0]) / truth[1])), largest(np.abs(sds / truth[1] - 1))

    before, after = errors("plain"), errors("corrected")
    placed = [(place, row) for what in rows for place, row in enumerate(rows[what])]
    return {
        "mean before": before[0],
        "mean after": after[0],
        "sd before": before[1],
        "sd after": after[1],
        "told": f"{sum(np.isfinite(row.corrected) for row in table)} of {len(table)}",
        "least R2": f"{min(row.reliability for row in table):.4f}",
        "made worse at R2 of 0.99": str(
            sum(_made_worse(row, truth[:, place]) for place, row in placed)
        ),
    }


def _made_worse(row: ExpectationRow, truth: Array) -> bool:
    """Whether a row that calls itself reliable is farther off than before, by 0.02 sd."""
    value = truth[0] if row.what == "mean" else truth[1]
    before, after = (abs(one - value) / truth[1] for one in (row.plain, row.corrected))
    return row.reliable and bool(after > before + WORSE)


def right_draws() -> Row:
    """Over runs of NUTS: how far the correction lowers the variance of means."""
    from studies.effects.nuts import regression_runs

    runs = regression_runs(np.random.default_rng([SEED, 1]), posterior(FIRST), RUNS)
    plain, corrected, errors = [], [], []
    for draws, scores in zip(*runs, strict=True):
        table = ps.expectations(ps.Sample(draws, scores), ["mean"])
        plain.append([row.plain for row in table])
        corrected.append([row.corrected for row in table])
        errors.append([row.error for row in table])
    ratio = np.var(plain, axis=0) / np.var(corrected, axis=0)
    # The average over all runs is better known than the reference run.
    far = np.abs(np.array(corrected) - np.mean(corrected, axis=0)) / np.array(errors)
    covered = float(np.mean(far <= 1.96))
    reductions = {
        "least reduction": f"{ratio.min():.1f}",
        "median reduction": f"{np.median(ratio):.1f}",
    }
    return {**reductions, "covered": f"{covered:.3f}"}


def gaussian(rng: np.random.Generator) -> tuple[Array, Array]:
    draws = rng.standard_normal((TARGET_ROWS, 4))
    return draws, -draws


def correlated(rng: np.random.Generator) -> tuple[Array, Array]:
    covariance = 0.95 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    draws = rng.standard_normal((TARGET_ROWS, 4)) @ np.linalg.cholesky(covariance).T
    return draws, -draws @ np.linalg.inv(covariance)


def student(freedom: float) -> Callable[[np.random.Generator], tuple[Array, Array]]:
    def make(rng: np.random.Generator) -> tuple[Array, Array]:
        draws = rng.standard_t(freedom, (TARGET_ROWS, 4))
        return draws, -(freedom + 1.0) * draws / (freedom + draws**2)

    return make


def log_gamma(shape: float) -> Callable[[np.random.Generator], tuple[Array, Array]]:
    def make(rng: np.random.Generator) -> tuple[Array, Array]:
        draws = np.log(rng.standard_gamma(shape, (TARGET_ROWS, 4)))
        return draws, shape - np.exp(draws)

    return make


def double_exponential(rng: np.random.Generator) -> tuple[Array, Array]:
    draws = rng.laplace(size=(TARGET_ROWS, 4))
    return draws, -np.sign(draws)


def logistic_law(rng: np.random.Generator) -> tuple[Array, Array]:
    draws = rng.logistic(size=(TARGET_ROWS, 4))
    return draws, -np.tanh(0.5 * draws)


def two_modes(rng: np.random.Generator) -> tuple[Array, Array]:
    draws = rng.standard_normal((TARGET_ROWS, 4)) + 2.0 * rng.choice([-1.0, 1.0], (TARGET_ROWS, 4))
    return draws, 2.0 * np.tanh(2.0 * draws) - draws


def banana(rng: np.random.Generator) -> tuple[Array, Array]:
    draws = rng.standard_normal((TARGET_ROWS, 4))
    draws[:, 1] += 0.5 * (draws[:, 0] ** 2 - 1.0)
    left = draws[:, 1] - 0.5 * (draws[:, 0] ** 2 - 1.0)
    scores = -draws.copy()
    scores[:, 1] = -left
    scores[:, 0] += left * draws[:, 0]
    return draws, scores


TARGETS: dict[str, Callable[[np.random.Generator], tuple[Array, Array]]] = {
    "N(0, I)": gaussian,
    "AR .95": correlated,
    "Student-t(5)": student(5.0),
    "Student-t(3)": student(3.0),
    "log Gamma(5)": log_gamma(5.0),
    "log Gamma(0.5)": log_gamma(0.5),
    "Laplace": double_exponential,
    "logistic law": logistic_law,
    "two modes": two_modes,
    "banana": banana,
}


def never_worse(name: str) -> Row:
    """The largest ratio of the corrected to the plain means' variance, over coordinates."""
    plain, corrected = [], []
    for index in range(TARGET_RUNS):
        draws, scores = TARGETS[name](np.random.default_rng([SEED, 2, index]))
        table = ps.expectations(ps.Sample(draws, scores), ["mean"], iid=True)
        plain.append([row.plain for row in table])
        corrected.append([row.corrected for row in table])
    ratio = np.var(corrected, axis=0) / np.var(plain, axis=0)
    return {"largest ratio of variances": f"{ratio.max():.3g}"}


def lines() -> dict[str, Callable[[], Row]]:
    """Every line of the table, and how it comes about."""
    made: dict[str, Callable[[], Row]] = {}
    for name in POSTERIORS:
        for approximation in APPROXIMATIONS:
            made[f"{name}, {approximation}"] = lambda n=name, a=approximation: wrong_draws(n, a)  # type: ignore[misc]
    made["right draws of (a)"] = right_draws
    for name in TARGETS:
        made[f"right draws of {name}"] = lambda n=name: never_worse(n)  # type: ignore[misc]
    return made


MINUTES_A_LINE = 0.5


class Lines:
    """A table of numbers, one line at a time."""

    table = Path(__file__).with_suffix(".csv")

    def stored(self) -> dict[str, dict[str, str]]:
        """The lines of the committed table, by name."""
        return lines_by(self.table, "line")

    def run(self, only: str = "", jobs: int = 1, *, anew: bool = False) -> None:
        """Fill in what is missing; a line is stored as soon as it is there."""
        rows: dict[str, Row] = {name: dict(line) for name, line in self.stored().items()}
        for name in self._left(only, anew):
            values = lines()[name]()
            shown = ", ".join(f"{key} {value}" for key, value in values.items())
            rows[name] = {
                "line": name,
                "values": shown,
                "seed": SEED,
                "polystein": ps.__version__,
                "commit": package_commit() or "unknown",
            }
            print(name, shown, sep="  ", flush=True)
            write_csv(self.table, [rows[key] for key in lines() if key in rows])

    def minutes(self, only: str = "", *, anew: bool = False) -> float:
        """Roughly what is left to do, in minutes of one core."""
        return MINUTES_A_LINE * len(self._left(only, anew))

    def _left(self, only: str, anew: bool) -> list[str]:
        """The lines that are to be made."""
        stored = self.stored()
        return [name for name in lines() if only in name and (anew or name not in stored)]


STUDY = Lines()


def markdown() -> list[str]:
    """The table of ``docs/effects.md``, line by line."""
    rows = [[name, row["values"]] for name, row in STUDY.stored().items()]
    return markdown_table(["draws", "measured"], rows)
