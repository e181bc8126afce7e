"""Targets with tails so heavy that errors of their moments cannot be told.

A standard error of a sample's sd takes a finite fourth moment, that of its kurtosis a finite
eighth. Without it errors are found too small: right draws would be called wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from polystein._lib.numerics import TINY
from polystein.data.source import Source
from polystein.data.spread import evenly, rows_at
from polystein.types import FloatArray

#: Largest tail index with which an error can be told. A law with the index k has moments below the
#: order 1/k; twice the order of a moment is needed, with some to spare, and what tails that are not
#: yet reached show is less than their index (.27 of 1/3, .11 of 1/5).
MOST: Mapping[str, float] = MappingProxyType(
    {"mean": 0.35, "sd": 0.15, "correlation": 0.15, "skew": 0.1, "tail": 0.07}
)
#: At most this many rows are looked at, with so many numbers (16 MiB) in more than 100 dimensions.
#: The tail is this part of them, and at least so many rows.
_ROWS, _NUMBERS, _PART, _FEWEST = 10_000, 2**20, 0.05, 30
#: Of a direction, coordinates count that have at least this part of its squared norm.
_LEAST_PART = 0.1


def tail_indices(source: Source) -> FloatArray:
    """The index of the target's tails along each coordinate, by the scores of rows far out.

    Of a generalised Pareto law 1 / (minus the score) is linear in the distance, with the slope
    k / (1 + k). The mean score of rows alike in a coordinate is that of its marginal law: the slope
    is that between the nearer and the farther half of the rows in the tails, less its standard
    error. It is negative for tails lighter than exponential ones, and -inf where rows are few.
    """
    n, d = source.layout.total, source.layout.dimension
    some = min(n, _ROWS, max(2 * _FEWEST, _NUMBERS // d))
    draws, scores = rows_at(source, evenly(np.arange(n), some))
    count = max(_FEWEST, int(_PART * len(draws)))
    if 2 * count > len(draws):
        return np.full(d, -np.inf)
    away = draws - np.median(draws, axis=0)
    away = np.where(away == 0.0, TINY, away)
    inwards = -np.sign(away) * scores
    order = np.argsort(np.abs(away), axis=0)[-count:]
    found = np.empty(d)
    for place in range(d):
        halves = np.array_split(order[:, place], 2)
        # Far out the score is about 1 / distance: harmonic means belong to means of scores.
        at = [1.0 / np.mean(1.0 / np.abs(away[rows, place])) for rows in halves]
        pull = np.array([inwards[rows, place].mean() for rows in halves])
        error = [inwards[rows, place].std() / np.sqrt(len(rows)) for rows in halves]
        found[place] = _index(at[1] - at[0], pull, np.array(error))
    return found


def _index(distance: float, pull: FloatArray, error: FloatArray) -> float:
    """The index by the pull inwards of the nearer and the farther rows, and its errors."""
    if distance <= 0.0 or pull.min() <= 0.0:
        return -np.inf  # no tail that begins here
    slope = (1.0 / pull[1] - 1.0 / pull[0]) / distance
    slope -= float(np.linalg.norm(error / pull**2)) / distance
    return float(slope / (1.0 - slope)) if slope < 1.0 else np.inf


def too_heavy(
    indices: FloatArray, what: str, coordinates: tuple[int, ...], direction: FloatArray
) -> bool:
    """Whether errors of a property of these coordinates, or along a direction, cannot be told."""
    own = indices[list(coordinates)]
    if len(direction):
        squares = np.square(direction)
        own = indices[squares >= _LEAST_PART * squares.sum()]
    return bool((own > MOST[what.removeprefix("direction ")]).any())
