"""Rows that kernel tests hold at once, and the multipliers of their wild bootstrap."""

from __future__ import annotations

import numpy as np

from polystein.data.guard.rows import require_shared_weight
from polystein.data.passes import every_row, gathered
from polystein.data.source import Source
from polystein.errors import DegenerateError
from polystein.inference.multipliers import multipliers
from polystein.rivals.rows import require_rows
from polystein.stein.kernel import SteinRows, stein_rows
from polystein.types import FloatArray


def held_rows(source: Source) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws and scores of all chains, (n, d), and importance weights that sum to 1.

    An error if pairs of them carry no information.
    """
    require_rows(source)
    held = gathered(source, every_row(source))
    if not np.any(held[1]):
        raise DegenerateError("`scores` are all zero: a flat target says nothing about draws")
    return held


@np.errstate(over="ignore", invalid="ignore")  # reported with the discrepancy
def held_stein_rows(source: Source) -> tuple[SteinRows, FloatArray]:
    """All rows, ready for pairs, and importance weights that sum to 1."""
    draws, scores, weights = held_rows(source)
    return stein_rows(draws, scores, draws.mean(axis=0)), weights


def wild_factors(
    source: Source, weights: FloatArray, replicates: int, seed: int, length: float | None
) -> FloatArray:
    """The weights w_j, then w_j W_j for each vector of multipliers W, (n, 1 + replicates)."""
    require_shared_weight(source)
    stream = multipliers(replicates, seed, length)
    factors = np.empty((weights.size, 1 + replicates))
    factors[:, 0] = 1.0
    stops = np.cumsum(source.layout.lengths)
    for chain, (stop, size) in enumerate(zip(stops, source.layout.lengths, strict=True)):
        factors[stop - size : stop, 1:] = stream.draw(chain, size).T
    factors *= weights[:, None]
    return factors
