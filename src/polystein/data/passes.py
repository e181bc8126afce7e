"""Reading rows in blocks: the only place that cuts chains into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from typing import TypeVar

import numpy as np

from polystein._lib.numerics import kish_size
from polystein.data.source import Block, Rows, Source
from polystein.types import FloatArray

State = TypeVar("State")

# Draws, scores and two powers of 24,576 numbers each fill 768 KB: they stay in a
# core's second-level cache from the first power to the last.
BLOCK_ELEMENTS = 24_576
# A matrix product over fewer rows than columns spends its time on its output.
ROWS_PER_COLUMN = 2
# Longer blocks of few columns gain nothing: the fixed cost of a block is negligible by then.
MOST_ROWS = 8_192


def block_rows(dimension: int) -> int:
    """Rows of a block that stays in cache but still fills a matrix product."""
    return min(MOST_ROWS, max(BLOCK_ELEMENTS // dimension, ROWS_PER_COLUMN * dimension))


def reduce_blocks(
    source: Source,
    rows: Iterable[Rows],
    zero: Callable[[], State],
    update: Callable[[State, Block], State],
    merge: Callable[[State, State], State],
    *,
    n_jobs: int = 1,
) -> State:
    """Fold `update` over the blocks of the chosen rows, in time order.

    With ``n_jobs`` threads each folds a contiguous run of blocks from its own
    ``zero()``, and the states are merged in time order.
    """
    if n_jobs == 1:
        return reduce(update, read_blocks(source, rows), zero())
    spans = list(_spans(rows, block_rows(source.layout.dimension)))

    def fold(part: list[Rows]) -> State:
        return reduce(update, read_blocks(source, part), zero())

    bounds = np.linspace(0, len(spans), n_jobs + 1).astype(int)
    parts = [spans[low:high] for low, high in pairwise(bounds)]
    with ThreadPoolExecutor(n_jobs) as pool:
        return reduce(merge, pool.map(fold, parts))


def read_blocks(source: Source, rows: Iterable[Rows]) -> Iterator[Block]:
    """The chosen rows in blocks that stay in cache, in time order."""
    for span in _spans(rows, block_rows(source.layout.dimension)):
        yield from _read(source, span)


def every_row(source: Source) -> Iterator[Rows]:
    """All rows, chain by chain."""
    for chain, length in enumerate(source.layout.lengths):
        yield Rows(chain, 0, length)


def short_stretches(source: Source, rows: int) -> Iterator[Rows]:
    """All rows, chain by chain, in stretches of at most this many rows."""
    yield from _spans(every_row(source), max(1, rows))


def gathered(source: Source, rows: Iterable[Rows]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws and scores of the chosen rows at once, (n, d), and weights that sum to 1.

    Each stretch is read as a whole, so that one stretch of an array in memory is no copy.
    """
    blocks = [block for stretch in rows for block in _read(source, stretch)]
    if len(blocks) == 1:
        draws, scores, weights = blocks[0].draws, blocks[0].scores, blocks[0].weights_or_ones
    else:
        draws = np.concatenate([block.draws for block in blocks])
        scores = np.concatenate([block.scores for block in blocks])
        weights = np.concatenate([block.weights_or_ones for block in blocks])
    return draws, scores, weights / weights.sum()


def effective_weights(source: Source) -> float:
    """Kish's effective number of importance weights; the number of rows if there are none."""
    if not source.weighted:
        return float(source.layout.total)
    weights = [block.weights_or_ones for block in read_blocks(source, every_row(source))]
    return kish_size(sum(float(w.sum()) for w in weights), sum(float(w @ w) for w in weights))


def _spans(rows: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Cut stretches of rows into block-sized ones."""
    for chain, start, stop, mask in rows:
        for low in range(start, stop, size):
            high = min(low + size, stop)
            yield Rows(chain, low, high, None if mask is None else mask[low - start : high - start])


def _read(source: Source, span: Rows) -> Iterator[Block]:
    """Read one block and keep the rows of its mask; nothing if none is kept."""
    block = source.read(span.chain, span.start, span.stop)
    if span.mask is not None:
        index = np.flatnonzero(span.mask)
        if index.size == 0:
            return
        block = block._replace(
            draws=block.draws[index],
            scores=block.scores[index],
            weights=None if block.weights is None else block.weights[index],
        )
    yield block
