"""Targets with tails so heavy that errors of their moments cannot be told.

A standard error of a sample's sd takes a finite fourth moment, that of its kurtosis a finite
eighth. Without it errors are found too small: right draws would be called wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

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
#: A tail is this part of those on its side, and at least so many rows.
_ROWS, _NUMBERS, _PART, _FEWEST = 10_000, 2**20, 0.05, 30
#: Standard errors that are taken off the slope. With more, tails of t(3) pass for light in 1,000
#: rows; with fewer, those of correlated normal laws for heavy.
_ERRORS = 1.5
#: Of a direction, coordinates count that have at least this part of its squared norm.
_LEAST_PART = 0.1


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # of huge scores nothing is said
def tail_indices(source: Source) -> FloatArray:
    """The index of the target's heavier tail along each coordinate, by the scores of rows far out.

    Of a generalised Pareto law 1 / (minus the score) is linear in the distance, with the slope
    k / (1 + k). The mean score of rows alike in a coordinate is that of its marginal law: the slope
    is that between the nearer and the farther half of the rows in a tail, less 1.5 standard errors.
    It is negative for tails lighter than exponential ones, and -inf where rows are few.
    """
    n, d = source.layout.total, source.layout.dimension
    some = min(n, _ROWS, max(2 * _FEWEST, _NUMBERS // d))
    draws, scores = rows_at(source, evenly(np.arange(n), some))
    away = draws - np.median(draws, axis=0)
    found = np.full(d, -np.inf)
    for place in range(d):
        for side in (-1.0, 1.0):
            distances = side * away[:, place]
            own = np.flatnonzero(distances > 0.0)
            count = max(_FEWEST, int(_PART * own.size))
            if 2 * count > own.size:
                continue
            tail = own[np.argsort(distances[own])[-count:]]
            index = _index(distances[tail], -side * scores[tail, place])
            found[place] = max(found[place], index)
    return found


def _index(distances: FloatArray, pulls: FloatArray) -> float:
    """The index by the pulls inwards of the rows of one tail, in the order of their distances."""
    halves = np.array_split(np.arange(distances.size), 2)
    pull = np.array([pulls[half].mean() for half in halves])
    if pull.min() <= 0.0:
        return -math.inf  # no tail that begins here
    # Far out the score is about 1 / distance: harmonic means belong to means of scores.
    near, far = (1.0 / float(np.mean(1.0 / distances[half])) for half in halves)
    if far <= near:
        return -math.inf
    error = np.array([pulls[half].std() / np.sqrt(half.size) for half in halves]) / pull**2
    slope = float(1.0 / pull[1] - 1.0 / pull[0] - _ERRORS * np.linalg.norm(error)) / (far - near)
    if math.isnan(slope):
        return -math.inf
    return slope / (1.0 - slope) if slope < 1.0 else math.inf


def too_heavy(
    indices: FloatArray, what: str, coordinates: tuple[int, ...], direction: FloatArray
) -> bool:
    """Whether errors of a property of these coordinates, or along a direction, cannot be told."""
    own = indices[list(coordinates)]
    if len(direction):
        squares = np.square(direction)
        own = indices[squares >= min(_LEAST_PART * squares.sum(), squares.max())]
    return bool((own > MOST[what.removeprefix("direction ")]).any())
