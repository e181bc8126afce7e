"""How long the features of `check` stay correlated along a chain."""

from __future__ import annotations

import math
from itertools import chain
from typing import NamedTuple

import numpy as np

from polystein._lib.numerics import finite
from polystein.data.coordinates import Frame
from polystein.data.passes import Tick, every_row, run_pass
from polystein.data.source import Rows
from polystein.data.split import TRAINING, ForRoles, Stretches, StretchPartition
from polystein.inference.autocorrelation import autocorrelation_times
from polystein.inference.signflips import in_chunks, neighbour_correlations
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.families import families
from polystein.methods.split_sample import SplitRound
from polystein.stein.witness import ChainColumns
from polystein.types import FloatArray

#: The autocorrelation time is estimated from at most so many rows, the last ones of the chains:
#: it cuts batches and gaps, for which an error of a few per cent does not matter ...
MOST_ROWS = 65_536
#: ... and from at most so many numbers held at once, 64 MiB.
MOST_NUMBERS = 2**23


class Times(NamedTuple):
    """Largest autocorrelation times of all rows and of the training rows."""

    of_all: float
    of_training: float


def slowest_times(rows: SplitRound, frame: Frame, tick: Tick | None = None) -> Times:
    """Largest autocorrelation times among the scores and the entries of s x + 1.

    These are the features of order 0 and the diagonal ones of order 1: a chain that
    moves slowly in location or in spread shows there. ``frame`` standardises all rows.
    """
    source, training = rows.test.source, list(rows.partition.rows(*TRAINING))
    every, dimension = list(every_row(source)), source.layout.dimension
    of_all = ChainColumns(ScoresAndSpreads(frame), weighted=True)
    of_training = ChainColumns(ScoresAndSpreads(rows.frame), weighted=True)
    if last_rows(every, dimension) is every:
        selected = ForRoles(rows.partition, TRAINING, of_training)
        run_pass(source, every, of_all, selected, tick=tick)
    else:
        every, training = last_rows(every, dimension), last_rows(training, dimension)
        chains = len(source.layout.lengths)
        parts = _within(every, chains, of_all), _within(training, chains, of_training)
        run_pass(source, _together(every, training), *parts, tick=tick)
    return Times(_slowest(of_all), _slowest(of_training))


def _slowest(columns: ChainColumns) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        times = autocorrelation_times(columns.by_chain())
    return max(1.0, finite(float(times.max()), "the variance of a feature"))


def last_rows(rows: list[Rows], dimension: int) -> list[Rows]:
    """As many rows as are worth looking at: the last ones of every stretch."""
    total = sum(stretch.stop - stretch.start for stretch in rows)
    most = min(MOST_ROWS, MOST_NUMBERS // (2 * dimension))
    if total <= most:
        return rows
    kept = (max(1, (stretch.stop - stretch.start) * most // total) for stretch in rows)
    return [
        stretch._replace(start=stretch.stop - size)
        for stretch, size in zip(rows, kept, strict=True)
    ]


def _within(rows: list[Rows], chains: int, accumulator: ChainColumns) -> ForRoles:
    """An accumulator of a pass over more rows that takes these stretches only."""
    stretches: list[Stretches] = [{} for _ in range(chains)]
    for stretch in rows:
        stretches[stretch.chain]["witness"] = (stretch.start, stretch.stop)
    return ForRoles(StretchPartition(tuple(stretches)), ("witness",), accumulator)


def _together(*parts: list[Rows]) -> list[Rows]:
    """The rows of all parts, each once."""
    joined: list[Rows] = []
    for stretch in sorted(chain.from_iterable(parts), key=lambda stretch: stretch[:2]):
        last = joined[-1] if joined else None
        if last is None or last.chain != stretch.chain or last.stop < stretch.start:
            joined.append(stretch)
        else:
            joined[-1] = last._replace(stop=max(last.stop, stretch.stop))
    return joined


class ScoresAndSpreads(NamedTuple):
    """s and s x + 1 in a frame, as columns."""

    frame: Frame

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Columns of every row."""
        draws, scores = self.frame.apply(draws, scores)
        return np.concatenate([scores, scores * draws + 1.0], axis=1)


def memory_in_batches(sums: BatchSums) -> float:
    """Autocorrelation time, in batches, of the feature whose batches are most correlated.

    The length of batches comes from the memory of scores and spreads, and products of two
    coordinates may have a longer one. The lag-one correlation of independent batches is
    about N(0, 1/batches). If the largest over all features can be due to chance, the
    result is 1.
    """
    highest, features, slowest = 0.0, 0, np.zeros(sums.count)
    for family in families(sums):
        for columns in (chunk for part in family.parts for chunk in in_chunks(part)):
            centred, correlation = neighbour_correlations(columns, sums.neighbours)
            if correlation.max() > highest:
                highest = float(correlation.max())
                slowest = centred[:, np.argmax(correlation)]
            features += columns.shape[1]
    if highest * math.sqrt(sums.count) <= math.sqrt(2.0 * math.log(features)) + 2.0:
        return 1.0
    return float(autocorrelation_times([slowest[:, None]])[0])
