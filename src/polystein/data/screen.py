"""Checks of rows that were validated: repeats, lost weights, draws that outweigh the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import Frame
from polystein.data.passes import effective_weights, every_row, read_blocks
from polystein.data.source import Block, Source
from polystein.data.split import LEAST_ROWS, Partition
from polystein.errors import DegenerateError, HeavyTailWarning, InputError

# Most repeats allowed. Continuous draws repeat only by rounding, mostly in one dimension.
MOST_REPEATS = 0.01
MOST_REPEATS_IN_ONE_DIMENSION = 0.1
# If the weight of all pairs of different rows is below this, it is rounding error.
LEAST_PAIR_WEIGHT = 1e-12
# If one draw makes up more than this part of a variance, the others look alike beside it.
MOST_OF_A_VARIANCE = 0.5


def forbid_duplicates(source: Source) -> None:
    """Raise an error if rows repeat, which independent draws from a density do not."""
    most = MOST_REPEATS if source.layout.dimension > 1 else MOST_REPEATS_IN_ONE_DIMENSION
    allowed = most * source.layout.total
    # Equal rows have equal first coordinates, which are cheaper to compare.
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
    """How many rows have the same key as an earlier row."""
    keys = np.concatenate([key(block) for block in read_blocks(source, every_row(source))])
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))


def _first_coordinates(block: Block) -> NDArray[np.float64]:
    return block.draws[:, 0]


def _hashes(block: Block) -> NDArray[np.uint64]:
    """One 64-bit key for each row, from the bits of its coordinates.

    Sums modulo 2^64 are exact, so that equal rows have equal keys. Unequal rows
    have equal keys too rarely to matter against `MOST_REPEATS`: two rows with
    probability 2^-35 if the draws were once in single precision, else 2^-64.
    """
    bits = np.ascontiguousarray(block.draws).view(np.uint64)
    keys: NDArray[np.uint64] = np.sum(bits * _multipliers(bits.shape[1]), axis=1)
    return keys


@lru_cache(maxsize=64)
def _multipliers(dimension: int) -> NDArray[np.uint64]:
    """Odd 64-bit numbers, always the same, one for each coordinate."""
    rng = np.random.default_rng(dimension)
    return rng.integers(2**63, size=dimension, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def require_weight(source: Source, partition: Partition) -> None:
    """Raise an error if a role has too few rows of positive importance weight."""
    if not source.weighted:
        return
    for role, least in LEAST_ROWS.items():
        blocks = read_blocks(source, partition.rows(role))
        positive = sum(int(np.count_nonzero(block.weights_or_ones)) for block in blocks)
        if positive < least:
            raise InputError(
                f"`log_weights` must leave at least {least} rows of positive weight for the role "
                f"{role!r}; got {positive}"
            )


def require_shared_weight(source: Source) -> None:
    """Raise an error if one row has all the weight: no multiplier then changes a statistic."""
    # The weight of the pairs of different rows is 1 - sum of w^2 for weights that sum to 1.
    if source.weighted and 1.0 - 1.0 / effective_weights(source) < LEAST_PAIR_WEIGHT:
        raise DegenerateError(
            "`log_weights` must leave at least two rows of positive weight; one row has all of it"
        )


def outlier_warning(source: Source, standard: Frame) -> HeavyTailWarning | None:
    """A warning if one draw makes up most of a coordinate's variance, else None.

    The frame must be the one that standardises all rows.
    """
    largest, total = np.zeros(source.layout.dimension), 0.0
    for block in read_blocks(source, every_row(source)):
        squares, weights = standard.see(block).draws ** 2, block.weights_or_ones
        np.maximum(largest, np.max(weights[:, None] * squares, axis=0), out=largest)
        total += float(weights.sum())
    coordinate = int(np.argmax(largest))
    part = float(largest[coordinate]) / total
    if part <= MOST_OF_A_VARIANCE:
        return None
    return HeavyTailWarning(
        f"one row of `draws` makes up {part:.0%} of the variance of coordinate {coordinate}: "
        "beside it all other draws look alike, and the test is blind. Look at that draw."
    )
