"""Ranks of columns and their normal scores, where equal numbers share a rank."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from polystein.types import FloatArray

#: Places in an array.
Places = NDArray[np.intp]

#: Blom's offset, for the normal scores of ranks.
_BLOM = 3.0 / 8.0
# Rows of up to so many numbers are sorted in single words, and longer ones in double words: of a
# word, the last digits are a number's place in its row. Numbers that differ in what is left out
# may come in the wrong order, the more often the longer the row.
_SINGLE, _DOUBLE = 2**10, 2**12


class Ordered(NamedTuple):
    """Each row in order, and the places in the whole array where its numbers were.

    ``level`` has the places in order whose number is not below the next one of its row.
    """

    order: Places
    inorder: FloatArray
    level: Places


def ordered(rows: FloatArray) -> Ordered:
    """The numbers of each row of an array from the smallest to the largest."""
    count = rows.shape[1]
    order = _nearly_sorted(rows)
    order += count * np.arange(len(rows))[:, None]
    inorder = rows.take(order)
    level = _level(inorder)
    for put_right in (_swap, _sort_again):
        falls = _falls(inorder, level)
        if not falls.size:
            break
        put_right(rows, order, inorder, falls)
        level = _level(inorder)
    return Ordered(order, inorder, level)


def _nearly_sorted(rows: FloatArray) -> Places:
    """What `np.argsort` gives, but for numbers that are nearly equal, in half of the time."""
    count = rows.shape[1]
    if count > _DOUBLE:
        return np.argsort(rows, axis=1)
    digits = (count - 1).bit_length()
    keys = _single_words(rows, digits) if count <= _SINGLE else _double_words(rows, digits)
    keys.sort(axis=1)
    places: Places = (keys.view(f"u{keys.itemsize}") & (2**digits - 1)).astype(np.intp)
    return places


def _single_words(rows: FloatArray, digits: int) -> NDArray[np.uint32]:
    """How far each number is from the smallest of its row, in equal steps, and then its place."""
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    # Whatever a number is that overflows, its place is kept.
    with np.errstate(all="ignore"):
        steps = rows - low
        steps *= (2.0 ** (32 - digits) - 1.0) / (high - low)
        keys: NDArray[np.uint32] = steps.astype(np.uint32)
    keys <<= np.uint32(digits)
    keys |= np.arange(rows.shape[1], dtype=np.uint32)
    return keys


def _double_words(rows: FloatArray, digits: int) -> FloatArray:
    """The numbers with their places for their last binary digits."""
    keys = rows.view(np.int64) & -(2**digits)
    keys |= np.arange(rows.shape[1])
    numbers: FloatArray = keys.view(np.float64)
    return numbers


def _swap(_: FloatArray, order: Places, inorder: FloatArray, falls: Places) -> None:
    """Swap neighbours that are in the wrong order, if no third number is involved."""
    alone = np.ones(falls.size, dtype=np.bool_)
    apart = falls[1:] - falls[:-1] > 1
    alone[1:] &= apart
    alone[:-1] &= apart
    first = falls[alone]
    for part in (order.reshape(-1), inorder.reshape(-1)):
        # An index gives a copy.
        part[first], part[first + 1] = part[first + 1], part[first]


def _sort_again(rows: FloatArray, order: Places, inorder: FloatArray, falls: Places) -> None:
    """Sort the rows that are not in order."""
    count = rows.shape[1]
    wrong = np.unique(falls // count)
    order[wrong] = np.argsort(rows[wrong], axis=1) + count * wrong[:, None]
    inorder[wrong] = rows.take(order[wrong])


def _level(inorder: FloatArray) -> Places:
    """The places in the whole array whose number is not below the next one of its row."""
    flat = inorder.reshape(-1)
    level = np.logical_not(flat[:-1] < flat[1:])
    level[inorder.shape[1] - 1 :: inorder.shape[1]] = False
    return level.nonzero()[0]


def _falls(inorder: FloatArray, level: Places) -> Places:
    """The places whose number is above the next one of its row, or is none."""
    flat = inorder.reshape(-1)
    falls: Places = level[flat[level] != flat[level + 1]]
    return falls


def normal_scores(given: Ordered, *, of_values: FloatArray, of_distances: FloatArray) -> None:
    """Write normal scores of each row's ranks, and of the ranks of its distances from the median.

    Rows have an even number of numbers. The arrays that are written to are contiguous.
    """
    order, inorder, _ = given
    count = inorder.shape[1]
    middle = count // 2
    median = 0.5 * inorder[:, middle - 1 : middle] + 0.5 * inorder[:, middle : middle + 1]
    with np.errstate(over="ignore"):
        distances = np.abs(inorder - median)
    # They fall up to the median and rise from there: a stable sort merges the two runs.
    nearest = np.argsort(distances, axis=1, kind="stable")
    nearest += count * np.arange(len(nearest))[:, None]
    rising = distances.take(nearest)
    _put_scores(Ordered(order.take(nearest), rising, _level(rising)), of_distances.reshape(-1))
    _put_scores(given, of_values.reshape(-1))


def _put_scores(given: Ordered, scores: FloatArray) -> None:
    """Write the normal quantile of each number's rank in its row (Blom), shared by equal ones."""
    order, (rows, count) = given.order.reshape(-1), given.inorder.shape
    quantiles = _quantiles(count)
    scores[order] = np.tile(quantiles[::2], rows)
    if (pairs := _equal(given)).size:
        first, last = _runs(pairs)
        # A mean of ranks is a multiple of one half.
        shared = quantiles[first % count + last % count]
        sizes = last - first + 1
        places = np.arange(sizes.sum()) + np.repeat(last + 1 - sizes.cumsum(), sizes)
        scores[order[places]] = np.repeat(shared, sizes)


def _equal(given: Ordered) -> Places:
    """The places whose number is equal to the next one of its row."""
    flat, level = given.inorder.reshape(-1), given.level
    pairs: Places = level[flat[level] == flat[level + 1]]
    return pairs


def _runs(pairs: Places) -> tuple[Places, Places]:
    """The first and the last place of equal numbers, run by run."""
    breaks = (pairs[1:] - pairs[:-1] > 1).nonzero()[0]
    first = pairs[np.concatenate([[0], breaks + 1])]
    last = pairs[np.concatenate([breaks, [pairs.size - 1]])] + 1
    return first, last


@lru_cache(maxsize=4)
def _quantiles(count: int) -> FloatArray:
    """Normal quantiles of the ranks 1, 1.5, 2, ... of so many numbers."""
    ranks = 0.5 * np.arange(2, 2 * count + 1)
    quantiles: FloatArray = ndtri((ranks - _BLOM) / (count - 2.0 * _BLOM + 1.0))
    return quantiles
