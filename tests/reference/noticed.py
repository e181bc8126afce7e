"""What a fault in one parameter moves, row by row and batch by batch.

Draws and scores, of shape (chain, draw, d), are standardised. ``groups`` has the original batches
of every longer batch.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import check, invariant
from .memory import Groups

Array = NDArray[np.float64]


def factor(what: str, places: Sequence[int], draws: Array, scores: Array) -> Array:
    """v of every row, of which -E[v F] is how E F moves by a fault of size 1."""
    result = np.zeros(draws.shape[:2])
    first, second = places[0], places[-1]
    rho = float(np.mean([row[first] * row[second] for chain in draws for row in chain]))
    for chain, t in np.ndindex(*result.shape):
        x, s = draws[chain, t, first], scores[chain, t, first]
        other = draws[chain, t, second]
        if what == "mean":
            result[chain, t] = s
        elif what == "sd":
            result[chain, t] = s * x + 1.0
        else:
            result[chain, t] = (s * (other - rho * x) - rho) / (1.0 - rho**2)
    return result


def shifts(draws: Array, scores: Array, v: Array) -> dict[str, Array]:
    """-E[v F] of every feature, family by family."""
    rows = [(chain, 0, draws.shape[1], 0) for chain in range(len(draws))]
    every = check.diagonal_sums(draws, scores, v, rows, 5)[0]
    sums = {
        "score": every[0],
        "x": every[1],
        "G1-4": every[2:],
        "tails": check.tail_sums(draws, scores, v, rows),
        "waves": check.wave_sums(draws, scores, v, rows),
        "x pairs": check.pair_sums(draws, scores, v, rows, 1),
        "G2 pairs": check.pair_sums(draws, scores, v, rows, 3),
        "magnitude pairs": check.magnitude_sums(draws, scores, v, rows),
        "trace": np.array([every[1].sum()]),
    }
    return {name: -values.ravel() / v.size for name, values in sums.items()}


def growths(draws: Array, scores: Array, v: Array) -> dict[str, Array]:
    """|E[v F^2]|/E[F^2] of every feature, family by family: of each row's F by itself."""
    rows = [(chain, t, t + 1, 0) for chain, t in np.ndindex(*v.shape)]
    moved: dict[str, Array] = {}
    squares: dict[str, Array] = {}
    for row in rows:
        chain, low, high, _ = row
        part = draws[chain : chain + 1, low:high], scores[chain : chain + 1, low:high]
        for name, values in shifts(*part, np.ones((1, 1))).items():
            moved[name] = moved.get(name, 0.0) + v[chain, low] * values**2
            squares[name] = squares.get(name, 0.0) + values**2
    return {
        name: np.divide(np.abs(one), squares[name], out=np.zeros_like(one), where=squares[name] > 0)
        for name, one in moved.items()
    }


def matrix_shift(draws: Array, scores: Array, v: Array) -> Array:
    """The shift of s x' + I."""
    total = np.zeros((draws.shape[2], draws.shape[2]))
    for chain, t in np.ndindex(*v.shape):
        total += v[chain, t] * check.matrix(draws[chain, t], scores[chain, t], 1)
    return -total / v.size


def moved_square(
    sums: Array, rows: Array, signs: Array, moved: float, growth: float, deflation: float
) -> float:
    """t^2 of one feature, of which the mean of a row moves and the variance grows."""
    sums = math.sqrt(1.0 + growth) * sums
    numerator = math.fsum(
        e * b + math.sqrt(deflation) * moved * w for e, b, w in zip(signs, sums, rows, strict=True)
    )
    squares = math.fsum((e * b + moved * w) ** 2 for e, b, w in zip(signs, sums, rows, strict=True))
    t = numerator / math.sqrt(squares)
    if moved == 0.0:  # right draws are flips
        return t**2
    return check.cautious_t(t, check.skewness_beyond_chance(sums), len(sums)) ** 2


def moved_form(
    sums: Array,
    rows: Array,
    signs: Array,
    mean: Array,
    *,
    deflation: float,
    moments: Array | None,
    chains: Sequence[int] | None,
    groups: Groups,
) -> float:
    """A form of moved batch sums in its standard deviations: Hotelling's with ``moments``."""

    def products(values: Array) -> Array:
        if moments is None:
            own = invariant.trace_of_square(values)
        else:
            own = invariant.hotelling(values, moments)
        return invariant.without_neighbours(invariant.joined(own, groups), chains)

    # Original batches have the sign of the group that they are in.
    spread = [np.full(len(group), e) for e, group in zip(signs, groups, strict=True)]
    shape = (-1, *[1] * mean.ndim)
    e, w = np.concatenate(spread).reshape(shape), rows.reshape(shape)
    value = float(products(e * sums + math.sqrt(deflation) * w * mean).sum())

    # The variance over flips of 2 tr K^2, with what the mean adds to it on average over signs.
    kept = products(sums)
    variance = 2.0 * float(np.sum(kept**2))
    lengths = [math.fsum(rows[k] for k in group) for group in groups]
    crossed = _crossed(sums, mean, moments, groups)
    square = _inner(mean, mean, moments)
    grown = variance
    for a in range(len(groups)):
        for b in range(len(groups)):
            if invariant.counts(a, b, chains):
                grown += 4.0 * (crossed[a] * lengths[b]) ** 2
                grown += 2.0 * (square * lengths[a] * lengths[b]) ** 2
    return value / math.sqrt(grown)


def _inner(first: Array, second: Array, moments: Array | None) -> float:
    if moments is None:
        return float(np.trace(first @ second))
    return float(first @ np.linalg.inv(moments) @ second)


def _crossed(sums: Array, mean: Array, moments: Array | None, groups: Groups) -> list[float]:
    """The products of the sums over groups with the mean."""
    return [sum(_inner(sums[k], mean, moments) for k in group) for group in groups]
