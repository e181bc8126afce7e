"""Is what a pass would have noticed told right? Faults of the size told, and of two thirds.

One set of right draws tells the sizes and the least visible parameters. In another set each fault
is planted alone, at the size told and at two thirds of it, and the draws are checked. A decision
has a letter for which of the six were rejected.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

import polystein as ps
from polystein.experiments.engine.cells import Cell, Replicate, Row
from polystein.experiments.engine.summary import markdown_table
from polystein.results.noticeable import Noticeable
from polystein.types import FloatArray
from studies._table import Study
from studies.check import SEED, milliseconds
from studies.check.alternatives import Generator
from studies.check.posterior_targets import exact, target
from tests.statistical.samplers import autoregressive

REPLICATES, CHAINS, LENGTH = 200, 4, 1000
LOGISTIC = "logistic regression, predictors correlated 0.95"
#: Coordinates of each target.
TARGETS = {"N(0, I)": 8, "AR(.9) chains of N(0, I)": 4, LOGISTIC: 6}
KINDS, PARTS = ("mean", "sd", "correlation"), (1.0, 2.0 / 3.0)
#: Exact draws of the posterior, of which every set takes some.
POOL = 40_000
#: A letter for each set of the six.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@cache
def pool() -> FloatArray:
    """Draws of the logistic regression."""
    draws, _ = exact(np.random.default_rng(SEED), LOGISTIC, POOL)
    return draws


def draws_of(label: str, rng: Generator) -> FloatArray:
    """Four chains of right draws; those of the posterior are exact and independent."""
    shape = (CHAINS, LENGTH, TARGETS[label])
    if label == LOGISTIC:
        return rng.choice(pool(), CHAINS * LENGTH, replace=False).reshape(shape)
    return (
        autoregressive(rng, *shape, 0.9) if label.startswith("AR") else rng.standard_normal(shape)
    )


def scores_at(label: str, draws: FloatArray) -> FloatArray:
    """The target's scores."""
    if label != LOGISTIC:
        return -draws
    _, scores = target(LOGISTIC).density(draws.reshape(-1, draws.shape[-1]))
    return scores.reshape(draws.shape)


def planted(label: str, draws: FloatArray, fault: Noticeable, size: float) -> FloatArray:
    """The draws with a fault of this size."""
    first, last = (int(name) for name in (fault.names[0], fault.names[-1]))
    mean, covariance = np.zeros(draws.shape[-1]), np.eye(draws.shape[-1])
    if label == LOGISTIC:
        mean, covariance = pool().mean(axis=0), np.cov(pool(), rowvar=False)
    sd = np.sqrt(np.diagonal(covariance))
    z, other = ((draws[..., j] - mean[j]) / sd[j] for j in (first, last))
    rho = covariance[first, last] / (sd[first] * sd[last])
    if fault.what == "mean":
        z = z + size
    elif fault.what == "sd":
        z = (1.0 + size) * z
    else:
        z = z + size * (other - rho * z) / (1.0 - rho**2)
    faulty = draws.copy()
    faulty[..., first] = mean[first] + sd[first] * z
    return faulty


def checked(label: str, draws: FloatArray, rng: Generator) -> ps.GofResult:
    """`check`, with numbers for names."""
    names = [str(j) for j in range(draws.shape[-1])]
    return ps.check(ps.Sample(draws, scores_at(label, draws), names=names), rng=rng)


def decide(replicate: Replicate) -> Sequence[Row]:
    """Which of the six faults are rejected."""
    label = str(replicate.cell["target"])
    told = checked(
        label, draws_of(label, replicate.generator("told")), replicate.generator("tell")
    ).noticeable
    assert tuple(one.what for one in told) == KINDS
    draws, rng = draws_of(label, replicate.generator("draws")), replicate.generator("check")
    found = 0
    for number, (fault, part) in enumerate((one, part) for one in told for part in PARTS):
        result = checked(label, planted(label, draws, fault, part * fault.size), rng)
        found += result.rejected() << number
    return [{"found": found}]


def marks(rows: Sequence[Row]) -> str:
    """One letter for each replicate."""
    return "".join(LETTERS[int(row["found"] or 0)] for row in rows)


def rates(cell: Cell, decisions: str) -> Row:
    """How often each fault is found, at the size told and at two thirds of it."""
    found = np.array([LETTERS.index(letter) for letter in decisions])
    columns = [f"{kind}_{size}" for kind in KINDS for size in ("whole", "two_thirds")]
    return {
        column: f"{np.mean((found >> number) & 1):.3f}" for number, column in enumerate(columns)
    }


def name(cell: Cell) -> str:
    """The target."""
    return str(cell["target"])


STUDY = Study(
    Path(__file__).with_suffix(".csv"),
    tuple(
        Cell.of(
            "check-noticed",
            replicates=REPLICATES,
            cost=400.0 + 7.0 * milliseconds(CHAINS * LENGTH, dimension),
            target=label,
        )
        for label, dimension in TARGETS.items()
    ),
    name,
    decide,
    SEED,
    mark=marks,
    rates=rates,
)


def markdown() -> list[str]:
    """The table of ``docs/check.md``, line by line."""
    rows = [
        [
            label,
            row["replicates"],
            *(f"{row[f'{kind}_whole']}, {row[f'{kind}_two_thirds']}" for kind in KINDS),
        ]
        for label, row in STUDY.stored().items()
    ]
    heads = ["4 × 1,000 draws, size told and two thirds", "of", *KINDS]
    return markdown_table(heads, rows)
