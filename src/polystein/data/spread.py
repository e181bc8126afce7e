"""Rows spread evenly over all chains, for what looks at some of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polystein.data.passes import gathered
from polystein.data.source import Rows, Source
from polystein.types import FloatArray


def evenly(places: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Some of the places, evenly spaced."""
    return places[((np.arange(count) + 0.5) * len(places) / count).astype(np.intp)]


def rows_at(source: Source, places: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """The draws and scores at places that count through all chains."""

    def of_chains() -> Iterator[Rows]:
        low = 0
        for chain, length in enumerate(source.layout.lengths):
            mask = np.zeros(length, dtype=np.bool_)
            mask[places[(places >= low) & (places < low + length)] - low] = True
            low += length
            if mask.any():
                yield Rows(chain, 0, length, mask)

    draws, scores, _ = gathered(source, of_chains())
    return np.array(draws), np.array(scores)
