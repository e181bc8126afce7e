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
# Places in a row are kept in so many of the last binary digits of its numbers while they are
# sorted. More digits would often decide which of two numbers is larger.
_DIGITS = 12


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
    order = _quick_order(rows) if count <= 2**_DIGITS else np.argsort(rows, axis=1)
    order += count * np.arange(len(rows))[:, None]
    inorder = rows.take(order)
    level = _level(inorder)
    if level.size and (wrong := _falling(inorder, level)).size:
        order[wrong] = np.argsort(rows[wrong], axis=1) + count * wrong[:, None]
        inorder[wrong] = rows.take(order[wrong])
        level = _level(inorder)
    return Ordered(order, inorder, level)


def _quick_order(rows: FloatArray) -> Places:
    """What `np.argsort` gives, but for numbers that agree in all but their last digits.

    Places take the last digits of the numbers, and the numbers are sorted: this takes two thirds
    of the time.
    """
    digits = (rows.shape[1] - 1).bit_length()
    keys = rows.view(np.int64) & -(1 << digits)
    keys |= np.arange(rows.shape[1])
    keys.view(np.float64).sort(axis=1)
    keys &= (1 << digits) - 1
    order: Places = keys.astype(np.intp, copy=False)
    return order


def _level(inorder: FloatArray) -> Places:
    """The places in the whole array whose number is not below the next one of its row."""
    flat = inorder.reshape(-1)
    level = np.logical_not(flat[:-1] < flat[1:])
    level[inorder.shape[1] - 1 :: inorder.shape[1]] = False
    return level.nonzero()[0]


def _falling(inorder: FloatArray, level: Places) -> Places:
    """The rows that are not in order."""
    flat = inorder.reshape(-1)
    return np.unique(level[flat[level] != flat[level + 1]] // inorder.shape[1])


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
