"""Chains that sit at absurd values: found at the door, and named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polystein._lib.notes import first_of
from polystein._lib.numerics import EPSILON
from polystein.data.passes import gathered
from polystein.data.source import Rows, Source, coordinate_names, costs_little
from polystein.errors import InputError
from polystein.types import FloatArray

#: Beside a chain that is further away than this, in units of the others' deviations, squares of
#: those deviations are lost to rounding.
FURTHEST = EPSILON**-0.5
#: So many of the last rows of a chain, of so many chains and at most so many numbers are looked at.
MOST_ROWS = 16
MOST_CHAINS = 256
MOST_NUMBERS = 2**14


def refuse_absurd_chains(source: Source) -> None:
    """Raise where some chains end at values beside which all other draws look alike."""
    chosen = _chosen_chains(source)
    if len(chosen) < 2 or not costs_little(source, chosen, source.layout.total):
        return
    ends = _last_rows(source, chosen)
    with np.errstate(over="ignore"):
        places = _middle(ends, axis=1)
        usual = np.take_along_axis(places, _usual_chain(places), axis=0)
        deviation = _middle(np.abs(ends - usual).reshape(-1, ends.shape[2]), axis=0)
        unit = np.maximum(deviation, np.abs(usual[0]))
        absurd = (np.abs(places - usual) / FURTHEST > unit) & (unit > 0.0)
    if absurd.any():
        _report(source, chosen, absurd, places, usual[0])


def _report(
    source: Source,
    chosen: list[int],
    absurd: NDArray[np.bool_],
    places: FloatArray,
    usual: FloatArray,
) -> None:
    """Name the chains, and where the first of them sits in its most distant coordinate."""
    rows = np.flatnonzero(absurd.any(axis=1)).tolist()
    sizes = np.where(absurd[rows[0]], np.abs(places[rows[0]]), 0.0)
    coordinate = int(np.argmax(sizes))
    numbers = [chosen[row] for row in rows]
    one = len(numbers) == 1
    listed = first_of(list(map(str, numbers)), 5)
    raise InputError(
        "`draws` must be chains that overlap; "
        f"{'chain' if one else 'chains'} {listed} {'sits' if one else 'sit'} at absurd values: "
        f"chain {numbers[0]} around {places[rows[0], coordinate]:.3g} in "
        f"{coordinate_names(source)[coordinate]}, where others are around {usual[coordinate]:.3g}."
        f" Chains are counted from 0. Such a chain has diverged or never left its start: run it "
        f"again, or judge the others with `np.delete(draws, {numbers}, axis=0)`; the scores "
        "likewise."
    )


def _chosen_chains(source: Source) -> list[int]:
    """All chains, or some at equal distances."""
    chains = len(source.layout.lengths)
    count = min(chains, MOST_CHAINS, max(2, MOST_NUMBERS // source.layout.dimension))
    return [chain * chains // count for chain in range(count)]


def _last_rows(source: Source, chosen: list[int]) -> FloatArray:
    """Draws at the ends of the chains, (chain, row, coordinate)."""
    lengths, dimension = source.layout.lengths, source.layout.dimension
    most = max(1, MOST_NUMBERS // (len(chosen) * dimension))
    rows = min(MOST_ROWS, most, *(lengths[chain] for chain in chosen))
    ends = [Rows(chain, lengths[chain] - rows, lengths[chain]) for chain in chosen]
    draws, _, _ = gathered(source, ends)
    return draws.reshape(len(chosen), rows, dimension)


def _usual_chain(places: FloatArray) -> NDArray[np.intp]:
    """For each coordinate the chain in the middle, of those ordered by their distance from 0."""
    order = np.argsort(np.abs(places), axis=0, kind="stable")
    result: NDArray[np.intp] = order[(len(places) - 1) // 2][None]
    return result


def _middle(values: FloatArray, axis: int) -> FloatArray:
    """The lower median, which is one of the values: a mean of two could be neither's place."""
    middle = (values.shape[axis] - 1) // 2
    result: FloatArray = np.take(np.partition(values, middle, axis=axis), middle, axis=axis)
    return result
