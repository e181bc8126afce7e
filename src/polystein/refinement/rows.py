"""Which rows start, which are pilots, and which starts are flipped together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from polystein.data.source import Source
from polystein.data.spread import evenly, rows_at
from polystein.errors import InputError
from polystein.types import FloatArray

#: Pilots: this many for each coordinate, within these bounds, and at most a third of all rows.
_PILOTS_FOR_EACH, _FEWEST_PILOTS, _MOST_PILOTS = 10, 200, 400
#: Fewer rows than this cannot both tune the runs and start them.
_FEWEST_ROWS = 60
#: Rows that are no starts come in runs of this length, so that short lags are seen however many
#: rows start.
_RUN = 5
#: A batch is longer than one row by this many times the autocorrelation time beyond one.
_BATCH_LENGTH = 4.0
#: An autocorrelation is an average over at least this many pairs of rows.
_FEWEST_PAIRS = 10


class ChosenRows(NamedTuple):
    """Rows that start and rows that are pilots, and the first start of every batch."""

    starts: FloatArray
    pilots: FloatArray
    batches: NDArray[np.intp]


def chosen_rows(source: Source, most: int) -> ChosenRows:
    """Starts and pilots, both spread over all chains, and batches of starts.

    Of long chains evenly spaced rows are kept, and time counts these. Runs of them are no starts:
    the autocorrelation time that they show gives the length of the batches, which lie within
    chains. The values of starts have no say in it.
    """
    n, d = source.layout.total, source.layout.dimension
    if n < _FEWEST_ROWS:
        raise InputError(f"`draws` must have at least {_FEWEST_ROWS} rows to refine; got {n}")
    count = min(max(_FEWEST_PILOTS, _PILOTS_FOR_EACH * d), _MOST_PILOTS, n // 3)
    kept = evenly(np.arange(n), min(n, most + 4 * _MOST_PILOTS))
    wanted = max(count, len(kept) - most)
    runs = evenly(np.arange(len(kept) // _RUN), -(-wanted // _RUN))
    seen = (_RUN * runs[:, None] + np.arange(_RUN)).ravel()
    starts = np.setdiff1d(np.arange(len(kept)), seen)
    borders = np.cumsum(source.layout.lengths)
    chain = np.searchsorted(borders, kept, side="right")
    rows, _ = rows_at(source, kept)
    length = _batch_length(rows[seen], seen, chain[seen])
    batches = _first_of_batches(starts, chain, length)
    pilots = evenly(np.arange(len(seen)), count)
    return ChosenRows(rows[starts], rows[seen[pilots]], batches)


def _batch_length(rows: FloatArray, times: NDArray[np.intp], chains: NDArray[np.intp]) -> float:
    """How long batches are: one row without autocorrelation, infinite where none can be seen."""
    time = autocorrelation_time(rows, times, chains)
    return 1.0 + float(np.round(_BATCH_LENGTH * (time - 1.0)))


def _first_of_batches(
    starts: NDArray[np.intp], chain: NDArray[np.intp], length: float
) -> NDArray[np.intp]:
    """The first start of every batch. What is left of a chain at its end joins its last batch."""
    own = chain[starts]
    first = np.searchsorted(chain, chain)  # when each row's chain begins
    whole = np.maximum(1, (np.bincount(chain, minlength=chain[-1] + 1)[own] // length))
    batch = np.minimum((starts - first[starts]) // length, whole - 1)
    new = (np.diff(own) != 0) | (np.diff(batch) != 0)
    return np.flatnonzero(np.concatenate([[True], new]))


def autocorrelation_time(
    rows: FloatArray, times: NDArray[np.intp], chains: NDArray[np.intp]
) -> float:
    """The largest 1 + 2 (sum of autocorrelations) of coordinates and distances from medians.

    Rows are seen at some times alone. Autocorrelations are those of normal scores about the mean of
    all chains, averaged over all pairs of rows of one chain at a lag, and linear between lags that
    have enough pairs. The sum ends at the first of them that is not above its standard error. It is
    infinite if no lag has enough pairs.
    """
    distances = np.abs(rows - np.median(rows, axis=0))
    ranks = rankdata(np.column_stack([rows, distances]), axis=0)
    scores = ndtri((ranks - 0.375) / (len(rows) + 0.25))
    squares = np.mean(scores**2, axis=0)
    scores /= np.sqrt(np.where(squares > 0.0, squares, 1.0))
    place = np.full(times[-1] + 1, -1)
    place[times] = np.arange(len(times))
    last, before = 0, np.ones(scores.shape[1])
    area, going = np.zeros(scores.shape[1]), np.ones(scores.shape[1], dtype=np.bool_)
    for lag in range(1, len(place)):
        later = place[np.minimum(times + lag, times[-1])]
        pairs = np.flatnonzero(
            (times + lag <= times[-1]) & (later >= 0) & (chains == chains[later])
        )
        if len(pairs) < _FEWEST_PAIRS:
            continue
        found = np.mean(scores[pairs] * scores[later[pairs]], axis=0)
        area += np.where(going, (lag - last) * (before + np.maximum(found, 0.0)), 0.0)
        going &= found > 1.0 / np.sqrt(len(pairs))
        if not going.any():
            break
        last, before = lag, found
    return float(area.max()) if last or not going.all() else np.inf
