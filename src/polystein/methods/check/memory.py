"""How long the features of `check` stay correlated along a chain."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from polystein._lib.numerics import finite
from polystein.data.coordinates import Frame
from polystein.data.passes import read_blocks
from polystein.data.source import Rows, Source
from polystein.inference.autocorrelation import autocorrelation_times
from polystein.inference.signflips import neighbour_correlations
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import families
from polystein.types import FloatArray

# Coordinates whose columns are held at once, so that memory stays a small multiple of one column.
_COORDINATES_AT_ONCE = 16


def slowest_time(source: Source, rows: Iterable[Rows], frame: Frame) -> float:
    """Largest autocorrelation time among the scores and the entries of s x + 1.

    These are the features of order 0 and the diagonal ones of order 1. They show whether
    a chain moves slowly in location or in spread.
    """
    rows, dimension = list(rows), source.layout.dimension
    slowest = 1.0
    for low in range(0, dimension, _COORDINATES_AT_ONCE):
        part = slice(low, min(low + _COORDINATES_AT_ONCE, dimension))
        chains: dict[int, list[FloatArray]] = {}
        for block in read_blocks(source, rows):
            draws, scores = frame.part(part).apply(block.draws[:, part], block.scores[:, part])
            with np.errstate(over="ignore"):
                columns = np.concatenate([scores, scores * draws + 1.0], axis=1)
            if block.weights is not None:
                columns *= block.weights[:, None]
            chains.setdefault(block.chain, []).append(columns)
        with np.errstate(over="ignore", invalid="ignore"):
            times = autocorrelation_times([np.concatenate(parts) for parts in chains.values()])
        slowest = max(slowest, finite(float(times.max()), "the variance of a feature"))
    return slowest


def memory_in_batches(sums: BatchSums) -> float:
    """Autocorrelation time, in batches, of the feature whose batches are most correlated.

    The length of batches comes from the memory of scores and spreads, and products of two
    coordinates may have a longer one. The lag-one correlation of independent batches is
    about N(0, 1/batches). If the largest over all features can be due to chance, the
    result is 1.
    """
    highest, features, slowest = 0.0, 0, np.zeros(sums.count)
    for family in families(sums):
        for part in family.parts:
            centred, correlation = neighbour_correlations(part, sums.neighbours)
            if correlation.max() > highest:
                highest = float(correlation.max())
                slowest = centred[:, np.argmax(correlation)]
            features += part.shape[1]
    if highest * math.sqrt(sums.count) <= math.sqrt(2.0 * math.log(features)) + 2.0:
        return 1.0
    return float(autocorrelation_times([slowest[:, None]])[0])
