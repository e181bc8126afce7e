"""Independent draws, power beside an earlier commit, and swapped axes."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from studies.chains_beyond import correct
from studies.chains_beyond.lines import Drawn, Line
from tests.statistical.samplers import Generator, autoregressive, log_gamma_score

SHAPE = 0.3


def normal(rng: Generator, count: int, *, rows: int, dimension: int) -> Drawn:
    """Independent draws of N(0, I)."""
    draws = rng.standard_normal((count, rows, dimension))
    return Drawn(draws, -draws)


def log_gamma(rng: Generator, count: int) -> Drawn:
    """Independent logarithms of Gamma(0.3) variables: the score 0.3 - exp(x) is skewed."""
    draws = np.log(rng.standard_gamma(SHAPE, (count, 1000, 16)))
    return Drawn(draws, log_gamma_score(SHAPE)(draws))


def faulty_ar(rng: Generator, count: int, *, shift: float, factor: float) -> Drawn:
    """AR(0.9) chains of N(0, I), 4 x 1000, d=8, moved and widened."""
    chains = autoregressive(rng, 4 * count, 1000, 8, 0.9)
    draws = shift + factor * chains.reshape(count, 4, 1000, 8)
    return Drawn(draws, -draws)


def swapped(rng: Generator, count: int, *, line: Line) -> Drawn:
    """The draws of another line as (draw, chain, d)."""
    drawn = line.draw(rng, count)
    return Drawn(drawn.draws.swapaxes(1, 2), drawn.scores.swapaxes(1, 2))


def lines() -> Iterator[Line]:
    """The lines of the parts independent, power and axes."""
    yield from independent()
    power = frozenset({"power"})
    for name, shift, factor in (("mean +0.1", 0.1, 1.0), ("all x 1.1", 0.0, 1.1)):
        draw = partial(faulty_ar, shift=shift, factor=factor)
        yield Line(f"AR(0.9), {name}, 4 x 1000, d=8", "power", draw, power, replicates=1000)
    by_name = {line.name: line for line in correct.lines()}
    for name in ("AR(0.5), 4 x 1000, d=8", "AR(0.9), 4 x 1000, d=8", walkers(by_name)):
        draw = partial(swapped, line=by_name[name])
        title = f"(draw, chain, d) of {name}"
        yield Line(title, "axes", draw, frozenset({"error"}), replicates=100)


def walkers(names: dict[str, Line]) -> str:
    """The name of the ensemble's line."""
    return next(name for name in names if name.startswith("ensemble"))


def independent() -> Iterator[Line]:
    """Few rows, skewed scores, and one setting with many replicates."""
    for rows, dimension, claims, replicates in (
        (1000, 16, {"committed size", "tails"}, 4000),
        (50, 2, {"size", "few rows"}, 4000),
        (50, 16, {"size", "few rows"}, 4000),
    ):
        draw = partial(normal, rows=rows, dimension=dimension)
        name = f"N(0, I), n={rows}, d={dimension}"
        claimed = frozenset(claims)
        yield Line(name, "independent", draw, claimed, replicates, iid=True, cost=30.0)
    name = f"log Gamma({SHAPE:g}), n=1000, d=16"
    yield Line(name, "independent", log_gamma, frozenset({"size"}), 4000, iid=True)
