"""Which rows start, which are pilots, and which starts are flipped together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.passes import gathered
from polystein.data.source import Rows, Source
from polystein.errors import InputError
from polystein.inference.convergence import ranked_convergence
from polystein.types import FloatArray

#: Pilots: this many for each coordinate, within these bounds, and at most a third of all rows.
_PILOTS_FOR_EACH, _FEWEST_PILOTS, _MOST_PILOTS = 10, 200, 400
#: Fewer rows than this cannot both tune the runs and start them.
_FEWEST_ROWS = 60
#: Batches of starts are this many times as long as the memory of the draws.
_BATCH_LENGTH = 4.0


class ChosenRows(NamedTuple):
    """Rows that start and rows that are pilots, and the first start of every batch."""

    starts: FloatArray
    pilots: FloatArray
    batches: NDArray[np.intp]


def chosen_rows(source: Source, most: int) -> ChosenRows:
    """Starts and pilots, both evenly spaced over all chains.

    Batches are long beside the memory of the draws, which rows that are no starts show, and lie
    within chains.
    """
    (n, d), lengths = (source.layout.total, source.layout.dimension), source.layout.lengths
    if n < _FEWEST_ROWS:
        raise InputError(f"`draws` must have at least {_FEWEST_ROWS} rows to refine; got {n}")
    count = min(max(_FEWEST_PILOTS, _PILOTS_FOR_EACH * d), _MOST_PILOTS, n // 3)
    starts = _evenly(np.arange(n), min(most, n - count))
    others = np.setdiff1d(np.arange(n), starts)
    pilots = _evenly(others, count)
    seen = _evenly(others, min(len(others), 4 * _MOST_PILOTS))
    rows = {name: _rows_at(source, places) for name, places in (("starts", starts), ("seen", seen))}
    borders = np.cumsum(lengths)
    ess = _least_ess(rows["seen"], np.searchsorted(borders, seen, side="right"))
    memory = max(1.0, len(starts) / ess)
    length = 1 if memory < 1.2 else int(np.ceil(_BATCH_LENGTH * memory))
    chain = np.searchsorted(borders, starts, side="right")
    first = np.searchsorted(chain, chain)  # the first start of each start's chain
    batches = np.flatnonzero((np.arange(len(starts)) - first) % length == 0)
    return ChosenRows(rows["starts"], _rows_at(source, pilots), batches)


def _evenly(places: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Some of the places, evenly spaced."""
    return places[((np.arange(count) + 0.5) * len(places) / count).astype(np.intp)]


def _rows_at(source: Source, places: NDArray[np.intp]) -> FloatArray:
    """The draws at places that count through all chains."""

    def of_chains() -> Iterator[Rows]:
        low = 0
        for chain, length in enumerate(source.layout.lengths):
            mask = np.zeros(length, dtype=np.bool_)
            mask[places[(places >= low) & (places < low + length)] - low] = True
            low += length
            if mask.any():
                yield Rows(chain, 0, length, mask)

    return np.array(gathered(source, of_chains())[0])


def _least_ess(rows: FloatArray, chains: NDArray[np.intp]) -> float:
    """The smallest bulk ESS of a coordinate; what is too short to tell counts as independent."""
    parts = [rows[chains == chain] for chain in np.unique(chains)]
    if min(map(len, parts)) < 4:
        return float(len(rows))
    found = ranked_convergence(parts).ess_bulk
    found = found[np.isfinite(found)]
    return float(max(1.0, found.min())) if found.size else float(len(rows))
