"""Rows that occur twice: the mark of resampling, and of a chain posing as i.i.d."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import to_numpy
from polystein.data.passes import every_row, read_blocks
from polystein.errors import InputError
from polystein.protocols import Block, Source

# Continuous draws repeat only by rounding, which one coordinate alone can show.
MOST_REPEATS = 0.01
MOST_REPEATS_IN_ONE_DIMENSION = 0.1


def forbid_duplicates(source: Source) -> None:
    """Raise where rows repeat, which independent draws from a density do not."""
    most = MOST_REPEATS if source.layout.dimension > 1 else MOST_REPEATS_IN_ONE_DIMENSION
    allowed = most * source.layout.total
    # Rows that repeat repeat their first coordinate, which is cheaper to look at.
    if _repeats(source, _first_coordinates) <= allowed:
        return
    repeats = _repeats(source, _hashes)
    if repeats > allowed:
        raise InputError(
            f"`draws` must be independent rows; {repeats} of {source.layout.total} rows repeat "
            "another row, and a test that took them for independent would reject draws from the "
            "right target. If the draws were resampled, pass the draws before resampling with "
            "`Sample(..., log_weights=...)`, to a test that takes weights; if they are a Markov "
            "chain, keep its order and pass (chain, draw, d), to a test with a split together "
            "with `split=BlockSplit()` and `variance=InitialSequence()`, or use `check`."
        )


def _repeats(source: Source, key: Callable[[Block], NDArray[Any]]) -> int:
    """How many rows have the key of another row before them."""
    keys = np.concatenate([key(block) for block in read_blocks(source, every_row(source))])
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))


def _first_coordinates(block: Block) -> NDArray[np.float64]:
    return to_numpy(block.draws[:, 0])


def _hashes(block: Block) -> NDArray[np.uint64]:
    """One 64-bit key a row from the bits of its coordinates.

    Sums modulo 2^64 are exact, so that equal rows have equal keys. Unequal rows
    have equal keys too rarely to matter against `MOST_REPEATS`: two rows with
    probability 2^-35 if the draws were once in single precision, else 2^-64.
    """
    bits = np.ascontiguousarray(to_numpy(block.draws)).view(np.uint64)
    keys: NDArray[np.uint64] = np.sum(bits * _multipliers(bits.shape[1]), axis=1)
    return keys


@lru_cache(maxsize=64)
def _multipliers(dimension: int) -> NDArray[np.uint64]:
    """Odd 64-bit numbers, always the same, one for each coordinate."""
    rng = np.random.default_rng(dimension)
    return rng.integers(2**63, size=dimension, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
