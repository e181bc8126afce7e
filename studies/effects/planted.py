"""One fault in one place: is it named first, and do the intervals cover it?"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from studies._table import Study
from studies.effects import SEED, targets

Array = NDArray[np.float64]

PLACE = 7
RATIO, ALL_RATIO = 1.25, 0.9
SHIFT = {False: 0.2, True: 0.4}
#: What is added to the correlation of a pair: more would not be positive definite.
TURN = {"N(0, I)": ((0, 1), 0.25), "AR .95": ((0, 19), 0.08)}
#: A letter for each replicate: whether the fault is first and found, only first, or neither, and
#: whether its interval covers; capitals where the reliability is below 0.99. A pair that did not
#: get a closer look has no interval, and a letter of its own.
NO_LOOK = "g"
LETTERS = {
    ("found", True): "a",
    ("found", False): "b",
    ("first", True): "c",
    ("first", False): "d",
    ("", True): "e",
    ("", False): "f",
}
REPLICATES = 200


class Truth(NamedTuple):
    """What is wrong: where (None for anywhere), what, and by how much."""

    name: str | None
    what: str
    size: float


def planted(
    target: str, fault: str, chains: bool, rng: np.random.Generator
) -> tuple[ps.Sample, Truth]:
    """Draws with a fault, and what it is."""
    covariance = np.eye(targets.DIMENSION)
    if target == "AR .95":
        covariance = targets.autoregressive_covariance()
    if fault == "correlation":
        (first, second), turn = TURN[target]
        turned = covariance.copy()
        turned[first, second] += turn
        turned[second, first] += turn
        law = targets.gaussian(covariance, turned)
        draws = law.draw(rng, chains)
        return ps.Sample(
            draws, law.score(draws.reshape(-1, targets.DIMENSION)).reshape(draws.shape)
        ), Truth(f"x[{first}], x[{second}]", "correlation", turn)
    law = targets.posterior() if target == "logistic" else targets.gaussian(covariance)
    draws, truth = spoilt(law, fault, law.draw(rng, chains), chains)
    scores = law.score(draws.reshape(-1, targets.DIMENSION)).reshape(draws.shape)
    return ps.Sample(draws, scores), truth


def spoilt(law: targets.Planted, fault: str, draws: Array, chains: bool) -> tuple[Array, Truth]:
    """The draws with one of the faults of single coordinates."""
    name, mean, sd = f"x[{PLACE}]", law.mean, law.sd
    if fault == "sd":
        draws[..., PLACE] = mean[PLACE] + RATIO * (draws[..., PLACE] - mean[PLACE])
        return draws, Truth(name, "sd", RATIO)
    if fault == "mean":
        draws[..., PLACE] += SHIFT[chains] * sd[PLACE]
        return draws, Truth(name, "mean", SHIFT[chains])
    if fault == "all sds":
        return mean + ALL_RATIO * (draws - mean), Truth(None, "sd", ALL_RATIO)
    if fault == "skew":
        # Rank by rank for the posterior, whose coordinates are nearly normal.
        z = (draws[..., PLACE] - mean[PLACE]) / sd[PLACE]
        draws[..., PLACE] = mean[PLACE] + sd[PLACE] * targets.to_gamma(z)
        return draws, Truth(name, "skew", skew_planted(law))
    return draws, Truth(None, "", 0.0)


def skew_planted(law: targets.Planted) -> float:
    """The skewness of the spoilt coordinate minus that of the target."""
    if not np.any(law.mean):
        return 2.0 / np.sqrt(targets.GAMMA_SHAPE)
    z = (targets.reference()[:, PLACE] - law.mean[PLACE]) / law.sd[PLACE]
    spoilt_z = targets.to_gamma(z)
    return skewness(spoilt_z) - skewness(z)


def skewness(values: Array) -> float:
    z = (values - values.mean()) / values.std()
    return float(np.mean(z**3))


def log_gamma(rng: np.random.Generator, rows: int) -> tuple[ps.Sample, Truth]:
    """A skewed target: logarithms of Gamma(5), one sd too large."""
    draws = np.log(rng.standard_gamma(5.0, (rows, 2)))
    draws[:, 0] = digamma(5.0) + RATIO * (draws[:, 0] - digamma(5.0))
    return ps.Sample(draws, 5.0 - np.exp(draws)), Truth("x[0]", "sd", RATIO)


def many(rng: np.random.Generator, dimension: int) -> tuple[ps.Sample, Truth]:
    """Many dimensions for a thousand draws."""
    draws = rng.standard_normal((1000, dimension))
    draws[:, PLACE] *= RATIO
    return ps.Sample(draws, -draws), Truth(f"x[{PLACE}]", "sd", RATIO)


def decide(replicate: Replicate) -> Sequence[Row]:
    """Whether the fault is first, found and covered; without a fault, whether anything is found."""
    cell, rng = replicate.cell, replicate.generator("draws")
    chains = cell["draws"] == "chains"
    if cell["target"].startswith("log Gamma"):
        sample, truth = log_gamma(rng, int(cell["n"]))
    elif cell["target"].startswith("N(0, I), d="):
        sample, truth = many(rng, int(cell["n"]))
    else:
        sample, truth = planted(cell["target"], cell["fault"], chains, rng)
    return [judged(ps.effects(sample, iid=not chains), truth)]


def judged(table: ps.EffectTable, truth: Truth) -> Row:
    """The mark of one replicate."""
    if not truth.what:
        return {"mark": "x" if table.found else "."}
    first = next(row for row in table.rows if not row.direction)
    named = first.what == truth.what and truth.name in (None, first.name)
    try:
        row = table[truth.name or f"x[{PLACE}]", truth.what]
    except ps.InputError:  # a pair that did not get a closer look
        return {"mark": NO_LOOK}
    state = ("found" if first.found else "first") if named else ""
    letter = LETTERS[state, bool(row.lower <= truth.size <= row.upper)]
    return {"mark": letter if row.reliable else letter.upper()}


def marks(rows: Sequence[Row]) -> str:
    return "".join(str(row["mark"]) for row in rows)


def rates(cell: Cell, decisions: str) -> Row:
    """How often the fault was first, first and found, and covered; or anything was named."""
    count, small = len(decisions), decisions.lower()
    if cell["fault"] == "none":
        named = f"{decisions.count('x') / count:.3f}"
        return {"first": "", "found": named, "covered": "", "reliable": ""}
    looked = small.replace(NO_LOOK, "")
    reliable = sum(letter.islower() for letter in decisions)
    return {
        "first": f"{sum(letter in 'abcd' for letter in small) / count:.3f}",
        "found": f"{sum(letter in 'ab' for letter in small) / count:.3f}",
        "covered": f"{sum(letter in 'ace' for letter in looked) / max(1, len(looked)):.3f}",
        "reliable": f"{reliable / count:.3f}",
    }


def name(cell: Cell) -> str:
    """The cell in the table."""
    return f"{cell['target']}, {cell['draws']}, {cell['fault']}"


def cells() -> list[Cell]:
    """Gaussian targets before posteriors, which take longer."""
    result = _of_targets("independent", 120.0, "N(0, I)", "AR .95")
    for n in (1000, 10_000):
        result.append(_cell(50.0, f"log Gamma(5), n={n}", "independent", "sd", n=n))
    result += _of_targets("chains", 200.0, "N(0, I)", "AR .95")
    for d, cost in ((50, 200.0), (100, 700.0)):
        result.append(_cell(cost, f"N(0, I), d={d}", "independent", "sd", n=d))
    result += _of_targets("independent", 1000.0, "logistic")
    return result + _of_targets("chains", 1000.0, "logistic")


def _of_targets(draws: str, cost: float, *names: str) -> list[Cell]:
    """The faults of each target in twenty dimensions."""
    return [
        _cell(cost, target, draws, fault)
        for target in names
        for fault in ("none", "sd", "mean", "all sds", "skew", "correlation")
        if fault != "correlation" or target in TURN
    ]


def _cell(cost: float, target: str, draws: str, fault: str, **further: int) -> Cell:
    settings = {"target": target, "draws": draws, "fault": fault, **further}
    return Cell.of("effects-planted", replicates=REPLICATES, cost=cost, **settings)


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(cells()),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/effects.md``, line by line."""
    heads = (
        "target, draws, fault",
        "first",
        "first and found",
        "interval covers",
        "R² ≥ .99",
        "of",
    )
    rows = []
    for label, row in STUDY.stored().items():
        found = f"{row['found']} (anything)" if label.endswith("none") else row["found"]
        others = (row["covered"], row["reliable"], row["replicates"])
        rows.append([label, row["first"], found, *others])
    return markdown_table(heads, rows)
