"""Stays: how long chains remain at one row, as Metropolis chains do that reject proposals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def moved(keys: NDArray[Any], lengths: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which rows differ from the row before them in their chain, by a key for each row."""
    moves = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=moves[1:])
    moves[first_rows(lengths)] = True
    return moves


def first_rows(lengths: tuple[int, ...]) -> NDArray[np.intp]:
    """Where each chain begins among all rows."""
    return np.cumsum([0, *lengths[:-1]])


def stays(keys: NDArray[Any], lengths: tuple[int, ...]) -> NDArray[np.intp]:
    """How many rows each stay has, chain by chain, by a key for each row.

    Examples
    --------
    >>> stays(np.array([7, 7, 7, 8, 8, 9]), (4, 2)).tolist()
    [3, 1, 1, 1]
    """
    (begins,) = moved(keys, lengths).nonzero()
    return np.diff(begins, append=keys.size)
