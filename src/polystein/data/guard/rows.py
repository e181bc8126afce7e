"""What a pass over the rows shows: repeats, lost weights, a draw that outweighs all others.

`ScreenedRows` keeps the few rows that `scores` and `pairing` look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import Frame
from polystein.data.passes import (
    cores,
    every_row,
    on_threads,
    rows_of_few_columns,
    run_pass,
    uncounted,
)
from polystein.data.source import Block, Layout, Rows, Source, chosen_rows
from polystein.data.split import LEAST_ROWS, Partition
from polystein.data.weight_sums import effective_weights
from polystein.errors import DegenerateError, HeavyTailWarning, InputError
from polystein.types import FloatArray

#: Most rows that are screened, and about how many chains and blocks of a chain they come from.
MOST_ROWS, _CHAINS, _BLOCKS = 4096, 16, 8
#: Most numbers, 8 MiB, of draws and of scores that are screened; at least 256 rows are, however.
MOST_NUMBERS, _FEWEST_OF_MANY = 2**20, 256
#: Fewer rows than this are not judged.
FEWEST_SCREENED = 50
#: For fewer rows a thread is not worth the time that it takes to start.
MANY_ROWS = 2**20


def forbid_duplicates(source: Source) -> None:
    """Raise where rows repeat, which independent draws from a density do not."""
    keys = RowKeys()
    least = rows_of_few_columns(source.layout.dimension)
    run_pass(source, every_row(source), keys, least=least)
    refuse_repeats(source, keys)


def refuse_repeats(source: Source, first_coordinates: RowKeys) -> None:
    """Raise where rows repeat, after a look at their first coordinates."""
    # Continuous draws repeat only by rounding, mostly in one dimension.
    allowed = (0.01 if source.layout.dimension > 1 else 0.1) * source.layout.total
    # Rows that repeat repeat the key of their first coordinate, which is cheaper to look at.
    if first_coordinates.repeats() <= allowed:
        return
    hashes = RowKeys(_hashes)
    with uncounted():
        run_pass(source, every_row(source), hashes)
    repeats = hashes.repeats()
    if repeats > allowed:
        raise InputError(
            f"`draws` must be independent rows; {repeats} of {source.layout.total} rows repeat "
            "another row, and a test that took them for independent would reject draws from the "
            "right target. If the draws were resampled, pass the draws before resampling with "
            "`Sample(..., log_weights=...)`, to a test that takes weights; if they are a Markov "
            "chain, keep its order and pass (chain, draw, d), to a test with a split together "
            "with `split=BlockSplit()` and `variance=InitialSequence()`, or use `check`."
        )


def _first_coordinates(block: Block) -> NDArray[np.uint32]:
    """One 32-bit key for each row, from the bits of its first coordinate.

    These are sorted in half the time of the coordinates themselves. Unequal ones have equal keys
    with probability 2^-32, far too rarely to matter where one row in a hundred may repeat.
    """
    # Zero has two signs, and equal coordinates must have equal keys.
    bits = (block.draws[:, 0] + 0.0).view(np.uint64)
    # 2^64 divided by the golden ratio: its multiples are spread evenly.
    bits *= np.uint64(0x9E3779B97F4A7C15)
    # Every bit of the coordinate has a part in the upper half.
    return (bits >> np.uint64(32)).astype(np.uint32)


def _hashes(block: Block) -> NDArray[np.uint64]:
    """One 64-bit key for each row, from the bits of its coordinates.

    Sums modulo 2^64 are exact, so that equal rows have equal keys. Unequal rows have equal keys
    too rarely to matter: two rows with probability 2^-35 if the draws were once in single
    precision, else 2^-64.
    """
    bits = np.ascontiguousarray(block.draws).view(np.uint64)
    keys: NDArray[np.uint64] = np.sum(bits * _multipliers(bits.shape[1]), axis=1)
    return keys


@lru_cache(maxsize=64)
def _multipliers(dimension: int) -> NDArray[np.uint64]:
    """Odd 64-bit numbers, always the same, one for each coordinate."""
    rng = np.random.default_rng(dimension)
    return rng.integers(2**63, size=dimension, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


class RowKeys:
    """One key for each row, by which repeated rows are found: 4 or 8 bytes a row.

    Keys of first coordinates are cheap, and rows that repeat repeat them.
    """

    def __init__(self, key: Callable[[Block], NDArray[Any]] = _first_coordinates) -> None:
        self._key = key
        self._keys: list[NDArray[Any]] = []

    def zero(self) -> RowKeys:
        """An accumulator of the same kind without rows."""
        return RowKeys(self._key)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        self._keys.append(self._key(block))

    def merge(self, other: RowKeys) -> RowKeys:
        """Add another accumulator's rows."""
        self._keys += other._keys
        return self

    def repeats(self) -> int:
        """How many rows have the key of another row before them."""
        keys = np.concatenate(self._keys)
        count = 1 if keys.size < MANY_ROWS else cores()
        if count == 1:
            return _repeats(keys)
        # Equal keys are in one part: nothing has to be merged.
        return sum(on_threads(lambda part: _repeats(_part(keys, part, count)), range(count)))


def _part(keys: NDArray[Any], number: int, count: int) -> NDArray[Any]:
    """The keys in one of several ranges of equal width, over which they are spread evenly."""
    values = int(np.iinfo(keys.dtype).max) + 1
    low, high = number * values // count, (number + 1) * values // count - 1
    # The first and the last range have one end only, and two cores have no others.
    if number == 0:
        return keys[keys <= high]
    if number == count - 1:
        return keys[keys >= low]
    return keys[(keys >= low) & (keys <= high)]


def _repeats(keys: NDArray[Any]) -> int:
    """How many of the keys are equal to another one before them; they are sorted in place."""
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))


class PositiveWeights:
    """How many rows of each role have a positive importance weight."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._counts = dict.fromkeys(LEAST_ROWS, 0)

    def zero(self) -> PositiveWeights:
        """An accumulator of the same kind without rows."""
        return PositiveWeights(self._partition)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        for role in LEAST_ROWS:
            chosen = chosen_rows(block, self._partition.mask(block, role))
            if chosen is not None:
                # Weights whose squares underflow are worth nothing beside the largest.
                self._counts[role] += int(np.count_nonzero(chosen.weights_or_ones**2))

    def merge(self, other: PositiveWeights) -> PositiveWeights:
        """Add another accumulator's rows."""
        for role, count in other._counts.items():
            self._counts[role] += count
        return self

    def require_enough(self) -> None:
        """Raise where a role has too few rows of positive importance weight."""
        for role, least in LEAST_ROWS.items():
            if self._counts[role] < least:
                raise InputError(
                    f"`log_weights` must leave at least {least} rows of positive weight for the "
                    f"role {role!r}; got {self._counts[role]}"
                )


def require_shared_weight(source: Source) -> None:
    """Raise an error if one row has all the weight: no multiplier then changes a statistic."""
    # The weight of the pairs of different rows is 1 - sum of w^2 for weights that sum to 1. Below
    # 1e-12 it is rounding error.
    if source.weighted and 1.0 - 1.0 / effective_weights(source) < 1e-12:
        raise DegenerateError(
            "`log_weights` must leave at least two rows of positive weight; one row has all of it"
        )


class LargestDeviations:
    """The largest part of one row in each coordinate's variance, in the frame of all rows."""

    def __init__(self, standard: Frame, dimension: int) -> None:
        self._standard = standard
        self._largest, self._total = np.zeros(dimension), 0.0

    def zero(self) -> LargestDeviations:
        """An accumulator of the same kind without rows."""
        return LargestDeviations(self._standard, self._largest.size)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        self.update_seen(self._standard.of_draws(block.draws), block.weights)

    def update_seen(self, draws: FloatArray, weights: FloatArray | None) -> None:
        """Take rows that are seen in the standard frame already."""
        self._total += float(draws.shape[0] if weights is None else weights.sum())
        if weights is not None:
            largest = np.max(weights[:, None] * draws**2, axis=0)
        elif max(float(draws.max()), -float(draws.min())) ** 2 > self._largest.max():
            # NumPy finds extremes along contiguous columns many times as fast.
            columns = np.ascontiguousarray(draws.T)
            largest = np.maximum(columns.max(axis=1), -columns.min(axis=1)) ** 2
        else:
            return  # only the largest of all coordinates is asked for
        np.maximum(self._largest, largest, out=self._largest)

    def merge(self, other: LargestDeviations) -> LargestDeviations:
        """Add another accumulator's rows."""
        np.maximum(self._largest, other._largest, out=self._largest)
        self._total += other._total
        return self

    def warning(self) -> HeavyTailWarning | None:
        """A warning where one draw makes up most of a coordinate's variance."""
        coordinate = int(np.argmax(self._largest))
        part = float(self._largest[coordinate]) / self._total
        if part <= 0.5:
            return None
        return HeavyTailWarning(
            f"one row of `draws` makes up {part:.0%} of the variance of coordinate {coordinate}: "
            "beside it all other draws look alike, and the test is blind. Look at that draw."
        )


class ScreenedRows:
    """At most `MOST_ROWS` rows, in blocks from some chains: an accumulator for any pass."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._parts: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}
        #: Importance weights of the same rows, if there are any.
        self._weights: dict[tuple[int, int], FloatArray] = {}

    @cached_property
    def _wanted(self) -> dict[int, list[Rows]]:
        """The rows to keep of each chain; blocks that meet are taken as one."""
        found: dict[int, list[Rows]] = {}
        for chain, start, stop, _ in screened_rows(self._layout):
            own = found.setdefault(chain, [])
            first = own.pop().start if own and own[-1].stop == start else start
            own.append(Rows(chain, first, stop))
        return found

    def zero(self) -> ScreenedRows:
        """An accumulator of the same kind without rows."""
        return ScreenedRows(self._layout)

    def update(self, block: Block) -> None:
        """Take the rows of a block that are to be kept."""
        for run in block.chains:
            for wanted in self._wanted.get(run.chain, ()):
                first = max(wanted.start, run.start)
                last = min(wanted.stop, run.start + run.high - run.low)
                if first < last:
                    part = slice(run.low + first - run.start, run.low + last - run.start)
                    place = (run.chain, first)
                    self._parts[place] = block.draws[part].copy(), block.scores[part].copy()
                    if block.weights is not None:
                        self._weights[place] = block.weights[part].copy()

    def merge(self, other: ScreenedRows) -> ScreenedRows:
        """Add another accumulator's rows."""
        self._parts |= other._parts
        self._weights |= other._weights
        return self

    def in_order(self) -> tuple[FloatArray, FloatArray, NDArray[np.intp], NDArray[np.intp]]:
        """Draws and scores by chain and time, whatever their weights, with chains and times."""
        places = sorted(self._parts)
        parts = [self._parts[place] for place in places]
        draws, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        sizes = [len(part[0]) for part in parts]
        chains = np.repeat([chain for chain, _ in places], sizes)
        times = np.concatenate(
            [start + np.arange(size) for (_, start), size in zip(places, sizes, strict=True)]
        )
        return draws, scores, chains, times

    def finalise(self) -> tuple[FloatArray, FloatArray]:
        """Draws and scores in proportion to their importance weights.

        There are none if too few rows carry the weight.
        """
        draws, scores, *_ = self.in_order()
        if not self._weights:
            return (draws, scores) if len(draws) >= FEWEST_SCREENED else (draws[:0], scores[:0])
        kept = _by_weight(np.concatenate([self._weights[place] for place in sorted(self._parts)]))
        if np.unique(kept).size < FEWEST_SCREENED:
            kept = kept[:0]
        return draws[kept], scores[kept]


def _by_weight(weights: FloatArray) -> NDArray[np.intp]:
    """The places of rows in proportion to their importance weights, in their order."""
    shares = np.cumsum(weights) / max(float(weights.sum()), np.finfo(float).tiny)
    levels = (np.arange(weights.size) + 0.5) / weights.size
    return np.minimum(np.searchsorted(shares, levels), weights.size - 1)


def screened_rows(layout: Layout) -> Iterator[Rows]:
    """Blocks of some chains, at most `MOST_ROWS` rows in all, and fewer of many coordinates.

    They cover a chain that is short, and lie at equal distances in a longer one.
    """
    lengths = layout.lengths
    most = min(MOST_ROWS, max(_FEWEST_OF_MANY, MOST_NUMBERS // layout.dimension))
    shown = range(0, len(lengths), max(1, len(lengths) // _CHAINS))
    size = max(1, most // (len(shown) * _BLOCKS))
    for chain in shown:
        length = lengths[chain]
        starts: Iterable[int] = range(0, length, size)
        if length > size * _BLOCKS:
            starts = np.linspace(0, length - size, _BLOCKS).astype(int).tolist()
        for start in starts:
            yield Rows(chain, start, min(start + size, length))
