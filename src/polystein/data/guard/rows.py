"""What a pass over the rows shows: lost weights, a draw that outweighs all others.

`ScreenedRows` keeps the few rows that `scores` and `pairing` look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import Frame
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
