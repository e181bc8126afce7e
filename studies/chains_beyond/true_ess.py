"""The least true number of effective draws of each correct line, over features like `check`'s.

Chains start in their stationary law, so that Var(x)/Var(mean of x) is known from many replicates:
it is the number of independent draws whose mean is as good. No autocorrelation is estimated.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polystein.experiments.engine.cells import Replicate, Row
from polystein.experiments.engine.store import write_csv
from studies.chains_beyond import GROUP
from studies.chains_beyond.lines import Array, Line

TABLE = Path(__file__).with_suffix(".csv")
#: Another seed than that of the verdicts.
SEED = 121_267
REPLICATES = 500


class Slowest(NamedTuple):
    """The feature with the fewest effective draws."""

    draws: float
    feature: str


def features(draws: Array, scores: Array) -> Iterator[tuple[str, Array]]:
    """Scores, spreads, bounded functions, pairs and their traces, of shape (..., draw, column)."""
    scale = draws.std(axis=tuple(range(draws.ndim - 1)))
    x, s = draws / scale, scores * scale
    yield "x", x
    yield "score", s
    yield "x score + 1", x * s + 1.0
    yield "x score + 1, all coordinates", (x * s + 1.0).mean(axis=-1, keepdims=True)
    yield "exp(-x^2/4)", np.exp(-0.25 * x**2)
    yield "tanh x", np.tanh(x)
    if x.shape[-1] > 1:
        yield "x score of the next coordinate", x * np.roll(s, 1, axis=-1)


def slowest(line: Line, replicates: int = REPLICATES) -> Slowest:
    """The least effective draws of a line, from as many replicates."""
    means: dict[str, list[Array]] = {}
    squares: dict[str, list[Array]] = {}
    for group in range(-(-replicates // GROUP)):
        generator = Replicate(line.cell(replicates), group, SEED).generator("draws")
        drawn = line.draw(generator, GROUP)
        for name, values in features(drawn.draws, drawn.scores):
            means.setdefault(name, []).append(values.mean(axis=-2))
            squares.setdefault(name, []).append((values**2).mean(axis=-2))
    found = [
        Slowest(effective(np.concatenate(means[name]), np.concatenate(squares[name]), line), name)
        for name in means
    ]
    return min(found)


def effective(means: Array, squares: Array, line: Line) -> float:
    """Var(x)/Var(mean), the smallest of a family's columns.

    `means` and `squares` have the shape (replicate, chain, column). Chains that depend on each
    other count as one.
    """
    chains = 1 if line.chains_depend else means.shape[1]
    variance = squares.mean(axis=(0, 1)) - means.mean(axis=(0, 1)) ** 2
    if line.chains_depend:
        means = means.mean(axis=1, keepdims=True)
    spread = means.reshape(-1, means.shape[-1]).var(axis=0, ddof=1)
    return float((chains * variance / spread).min())


def write(lines: list[Line]) -> None:
    """Measure lines and put them into the table, which keeps the others."""
    rows: dict[str, Row] = {name: dict(row) for name, row in stored().items()}
    for line in lines:
        least = slowest(line)
        rows[line.name] = {
            "line": line.name,
            "draws": f"{least.draws:.0f}",
            "feature": least.feature,
            "replicates": REPLICATES,
            "seed": SEED,
        }
        print(f"{least.draws:8.0f}  {least.feature:30}  {line.name}", flush=True)
        write_csv(TABLE, list(rows.values()))


def stored() -> dict[str, dict[str, str]]:
    """The table by line."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {row["line"]: row for row in csv.DictReader(file)}


def least_draws(line: Line) -> float | None:
    """The stored number of a line; independent rows need none."""
    row = stored().get(line.name)
    return None if row is None else float(row["draws"])
