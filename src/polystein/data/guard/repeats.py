"""Rows that repeat others: draws that were resampled, chains given twice, walkers that take turns.

Draws from a density do not repeat, except where a Metropolis chain stays where it is: those repeats
are neighbours. Wherever rows are taken for independent, no repeats are allowed. In chains, repeats
of rows further away mean that something else was passed than a chain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.notes import first_of
from polystein.data.guard.chains import first_rows, moved
from polystein.data.guard.interleaved import interleaved_rows_error
from polystein.data.passes import (
    cores,
    every_row,
    gathered,
    on_threads,
    rows_of_few_columns,
    run_pass,
    uncounted,
)
from polystein.data.source import Block, Layout, Rows, Source
from polystein.errors import InputError
from polystein.types import FloatArray

#: For fewer rows a thread is not worth the time that it takes to start.
MANY_ROWS = 2**20
#: Of chains about this many rows are looked at, the first of each chain: 64 MiB of keys. If there
#: is no other reason to read them, fewer are.
MOST_ROWS, MOST_ROWS_ALONE = 2**24, 2**18
#: Of each of very many chains at least this many are.
FEWEST_OF_CHAIN = 16
#: Chains may have this part of rows that repeat others that are no neighbours. Replica exchange
#: returns to a row now and then, and rounded draws meet.
MOST_REPEATS = 0.1
#: Rows that repeat at most this many rows later were swapped there and back, not resampled.
NEAR = 16
#: Two chains are copies if they share this part of their rows, at one distance in time, and at
#: least this many. Rounded values of different chains do not meet at one distance.
COPIED, FEWEST_COPIED = 0.1, 10
#: Rows at one distance are copies if this part of those that have a partner repeats it. Walkers
#: move more often, and hardly any row of theirs is equal to the next one, which is another's.
GIVEN_AGAIN, MOST_STAYS = 0.9, 0.01
#: At a distance of at most `NEAR` this part has to: a chain that goes to x and -x by turns stays.
GIVEN_AGAIN_NEAR = 0.999
#: Values are looked at in groups of this many neighbours in order of size. Distances up to the
#: second times the smallest of a group are equal to it but for rounding if values lie on a grid.
GROUP, ONE_STEP = 64, 1.5
#: On a transformed scale steps grow, and have the size of the next one, up to this factor: this
#: part of them at least if a grid is coarse, 0.11 of them if values are resampled.
NEXT_STEP, OF_STEPS = 1.25, 0.4
#: Most chains that a message names.
MOST_NAMED = 12
#: Fewer different values do not show whether they lie on a grid.
FEWEST_VALUES = 8
#: Rows by which the coordinate with the most different values is chosen.
_ROWS_OF_CHOICE = 1024


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
    with a probability of about 2^-64, far too rarely to matter.
    """
    # Zero has two signs, and equal coordinates must have equal keys.
    bits = (np.ascontiguousarray(block.draws) + 0.0).view(np.uint64)
    # Rounded numbers have zeros for their lower bits, which no multiple would fill.
    bits ^= bits >> np.uint64(32)
    keys: NDArray[np.uint64] = np.sum(bits * _multipliers(bits.shape[1]), axis=1)
    return keys


@lru_cache(maxsize=64)
def _multipliers(dimension: int) -> NDArray[np.uint64]:
    """Odd 64-bit numbers, always the same, one for each coordinate."""
    rng = np.random.default_rng(dimension)
    return rng.integers(2**63, size=dimension, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


class RowKeys:
    """One key for each row, by which repeated rows are found: 4 or 8 bytes a row.

    Keys of first coordinates are cheap, and rows that repeat repeat them. Only the first
    ``most`` rows of each chain have keys, if that is given.
    """

    def __init__(
        self, key: Callable[[Block], NDArray[Any]] = _first_coordinates, most: int | None = None
    ) -> None:
        self._key, self.most = key, most
        #: Keys of consecutive rows of a chain, with the chain and the first row.
        self._parts: list[tuple[int, int, NDArray[Any]]] = []

    def zero(self) -> RowKeys:
        """An accumulator of the same kind without rows."""
        return RowKeys(self._key, self.most)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        keys = self._key(block)
        for chain, start, low, high in block.chains:
            own = keys[low:high]
            if self.most is not None and start + own.size > self.most:
                own = own[: max(0, self.most - start)].copy()
            self._parts.append((chain, start, own))

    def merge(self, other: RowKeys) -> RowKeys:
        """Add another accumulator's rows."""
        self._parts += other._parts
        return self

    def in_order(self) -> NDArray[Any]:
        """The keys of all rows, chain by chain and in time order."""
        return np.concatenate([part[2] for part in sorted(self._parts, key=lambda part: part[:2])])

    def repeats(self) -> int:
        """How many rows have the key of another row before them."""
        return _repeats(self.in_order())


def _repeats(keys: NDArray[Any]) -> int:
    """How many of the keys are equal to another one before them; they are sorted in place."""
    count = 1 if keys.size < MANY_ROWS else cores()
    if count == 1:
        return _repeats_of_part(keys)
    # Equal keys are in one part: nothing has to be merged.
    return sum(on_threads(lambda part: _repeats_of_part(_part(keys, part, count)), range(count)))


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


def _repeats_of_part(keys: NDArray[Any]) -> int:
    """How many of the keys are equal to another one before them; they are sorted in place."""
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))


def forbid_copies(source: Source) -> None:
    """Raise where chains copy each other, or repeat rows that are no neighbours.

    Independent rows may repeat here: estimates do not take them for training and test rows.
    """
    if source.layout.time_ordered:
        keys = keys_of_chains(source, alone=True)
        least = rows_of_few_columns(source.layout.dimension)
        run_pass(source, keyed_rows(source, keys), keys, least=least)
        refuse_copies(source, keys)


def keys_of_chains(source: Source, *, alone: bool) -> RowKeys:
    """Keys for `refuse_copies`, of all rows unless there are very many.

    If they are read for these keys ``alone``, fewer are looked at.
    """
    most = MOST_ROWS_ALONE if alone else MOST_ROWS
    return RowKeys(most=max(FEWEST_OF_CHAIN, most // len(source.layout.lengths)))


def keyed_rows(source: Source, keys: RowKeys) -> list[Rows]:
    """The rows that have keys."""
    lengths = source.layout.lengths
    return [Rows(chain, 0, min(own, keys.most or own)) for chain, own in enumerate(lengths)]


def refuse_copies(source: Source, first_coordinates: RowKeys) -> None:
    """Raise where chains copy each other or repeat rows, after a look at first coordinates."""
    rows = keyed_rows(source, first_coordinates)
    lengths = tuple(own.stop for own in rows)
    keys = first_coordinates.in_order()
    moves = moved(keys, lengths)
    # Chains that stay where they are for long have few rows to share.
    runs = np.add.reduceat(moves, first_rows(lengths), dtype=np.intp)
    allowed = min(MOST_REPEATS * float(runs.sum()), COPIED * float(runs.min()))
    if _repeats(keys[moves]) <= max(allowed, FEWEST_COPIED - 1):
        return
    most, finest = first_coordinates.most, partial(_values, _finest_coordinate(source))
    hashes, values = RowKeys(_hashes, most), RowKeys(finest, most)
    with uncounted():
        run_pass(source, rows, hashes, values)
    equal = _equal_rows(hashes.in_order(), lengths)
    _refuse_copied_chains(equal)
    different = int(equal.runs.sum())
    allowed = MOST_REPEATS * different
    if equal.left.size <= allowed or _on_grid(values.in_order(), equal.left.size / different):
        return
    _refuse_one_distance(equal, source.layout)
    near = (equal.chain_of_left == equal.chain_of_right) & (equal.distance <= NEAR)
    repeats = int(np.count_nonzero(~near))
    if repeats > allowed:
        raise InputError(
            f"`draws` must be chains in time order; {repeats} of {keys.size} rows repeat a row "
            "that is not their neighbour, as if fewer rows had been resampled: to take them for "
            "new draws would reject draws from the right target. Pass every row once, with its "
            "weight: `Sample(..., log_weights=...)`. If the rows are chains that were shuffled, "
            "pass them in their order."
        )


class _EqualRows(NamedTuple):
    """Pairs of rows that are equal and no neighbours, the later one on the right.

    A row that stays the same for a while counts once, where it begins. ``runs`` are how many of
    those each chain has.
    """

    left: NDArray[np.intp]
    chain_of_left: NDArray[np.intp]
    chain_of_right: NDArray[np.intp]
    #: How many rows after the left one the right one comes in its own chain.
    distance: NDArray[np.intp]
    runs: NDArray[np.intp]
    lengths: tuple[int, ...]


def _equal_rows(hashes: NDArray[np.uint64], lengths: tuple[int, ...]) -> _EqualRows:
    """Every row that repeats another one, with the last one before it that is equal."""
    moves = moved(hashes, lengths)
    starts = first_rows(lengths)
    (rows,) = moves.nonzero()
    hashes = hashes[rows]
    order = np.argsort(hashes, kind="stable")
    (same,) = (hashes[order[1:]] == hashes[order[:-1]]).nonzero()
    left, right = rows[order[same]], rows[order[same + 1]]
    first, second = (np.searchsorted(starts, part, "right") - 1 for part in (left, right))
    distance = (right - starts[second]) - (left - starts[first])
    runs = np.add.reduceat(moves, starts, dtype=np.intp)
    return _EqualRows(left, first, second, distance, runs, lengths)


def _refuse_copied_chains(equal: _EqualRows) -> None:
    """Raise where chains share rows at one distance in time."""
    across = equal.chain_of_left != equal.chain_of_right
    # One number for each pair of chains and distance: they are counted faster.
    shape = (len(equal.lengths), len(equal.lengths), 2 * max(equal.lengths))
    columns = equal.chain_of_left, equal.chain_of_right, equal.distance + max(equal.lengths)
    places = np.ravel_multi_index([column[across] for column in columns], shape)
    found, counts = np.unique(places, return_counts=True)
    left, right, _ = np.unravel_index(found, shape)
    shared = np.minimum(equal.runs[left], equal.runs[right])
    copied = counts >= np.maximum(COPIED * shared, FEWEST_COPIED)
    if not copied.any():
        return
    chains = list(range(len(equal.lengths)))
    # The copy has the larger number, and its original is known by then.
    for second, first in sorted(zip(right[copied].tolist(), left[copied].tolist(), strict=True)):
        chains[second] = chains[first]
    once = sorted(set(chains))
    groups = [[chain for chain, own in enumerate(chains) if own == first] for first in once]
    words = ["chains " + _listed(group) for group in groups if len(group) > 1]
    further = [chain for chain, own in enumerate(chains) if own != chain]
    once_each = f", `np.delete(draws, {further}, axis=0)`" if len(further) <= MOST_NAMED else ""
    raise InputError(
        f"`draws` must be chains of their own; {first_of(words, 4)} have the same rows (chains "
        "are counted from 0). Copies look like more draws than there are, and draws from the "
        "right target would be rejected. If the chains were run with one seed, run them again "
        f"with a seed for each; otherwise pass every chain once{once_each}; the scores likewise."
    )


def _listed(chains: list[int]) -> str:
    """Numbers of chains in a sentence, with the number of those that are not shown."""
    shown = list(map(str, chains[:MOST_NAMED]))
    if len(chains) > MOST_NAMED:
        shown.append(f"{len(chains) - MOST_NAMED} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _refuse_one_distance(equal: _EqualRows, layout: Layout) -> None:
    """Raise where most repeats are one number of rows apart: a chain given again, or walkers."""
    within = equal.distance[equal.chain_of_left == equal.chain_of_right]
    if within.size <= 0.5 * equal.left.size:
        return
    distances, counts = np.unique(within, return_counts=True)
    place = int(counts.argmax())
    apart, count = int(distances[place]), int(counts[place])
    if count <= 0.5 * equal.left.size:
        return
    lengths = np.array(equal.lengths)
    # As many runs as rows have a partner that many rows before them.
    partners = float(equal.runs @ (np.maximum(lengths - apart, 0) / lengths))
    if count < (GIVEN_AGAIN if apart > NEAR else GIVEN_AGAIN_NEAR) * partners:
        if apart <= NEAR or equal.runs.sum() < (1.0 - MOST_STAYS) * lengths.sum():
            return
        raise interleaved_rows_error(layout, apart, f"{count} of {lengths.sum()} are equal")
    raise InputError(
        f"`draws` must have every row of a chain once; rows {apart} apart are equal: the same "
        f"{apart} rows are given again. Copies look like more draws than there are, and draws from "
        f"the right target would be rejected. Pass the first {apart} rows of each chain, "
        f"`draws[..., :{apart}, :]`; the scores likewise."
    )


def _finest_coordinate(source: Source) -> int:
    """The coordinate with the most different values among the first rows."""
    rows = min(source.layout.lengths[0], _ROWS_OF_CHOICE)
    draws, *_ = gathered(source, [Rows(0, 0, rows)])
    inorder = np.sort(draws, axis=0)
    return int(np.argmax(np.count_nonzero(inorder[1:] != inorder[:-1], axis=0)))


def _values(coordinate: int, block: Block) -> FloatArray:
    """One coordinate of each row."""
    return block.draws[:, coordinate].copy()


def _on_grid(values: FloatArray, repeats: float) -> bool:
    """Whether values lie on a grid so coarse that this part of the rows repeats by rounding.

    If a cell of a grid holds c rows on average, the next value is one step away with probability
    1 - exp(-c), and fewer rows than that repeat. Distances between values that are resampled are
    all different, and the smallest of a group stands alone. Rounded values that were transformed
    (their logarithm, say) have steps of all sizes, which change little from one to the next.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(np.unique(values))
        ratios = steps[1:] / steps[:-1]
    if steps.size < FEWEST_VALUES:
        return True
    if ((ratios < NEXT_STEP) & (ratios > 1.0 / NEXT_STEP)).mean() > OF_STEPS:
        return True
    groups = steps[: steps.size - steps.size % GROUP].reshape(-1, GROUP)
    if steps.size < GROUP:
        groups = steps[None]
    return bool((groups <= ONE_STEP * groups.min(axis=1, keepdims=True)).mean() > 0.5 * repeats)
