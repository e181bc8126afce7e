"""The only loop over rows: a pass reads the chosen rows once and feeds any number of accumulators.

Blocks are cut so that they stay in a core's cache. Chains shorter than a block are joined, and
rows that a split chose at random are gathered, so that blocks are full whatever the layout is.
A group of rows that a source stores together is read as a whole, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Protocol, Self

import numpy as np

from polystein._lib.arguments import require_progress
from polystein._lib.threads import one_blas_thread
from polystein.data.source import Block, ChainRows, Rows, Source
from polystein.types import FloatArray, Progress

# Draws, scores and two powers of 24,576 numbers each fill 768 KB: they stay in a
# core's second-level cache from the first power to the last.
BLOCK_ELEMENTS = 24_576
# A matrix product over fewer rows than columns spends its time on its output.
ROWS_PER_COLUMN = 2
# BLAS uses one thread for the products of fewer numbers than this anyway.
_WORTH_A_LIMIT, _NO_LIMIT = 2**17, nullcontext()
# Up to so many blocks it does not matter how full they are.
_FEW_BLOCKS = 16
# Work of dozens of steps leaves that cache anyway: blocks so many times as long take fewer steps.
_LONG_BLOCKS = 2
# A sample of so few numbers, 512 KiB, and of so few blocks is one block: what a block costs beside
# its arithmetic counts for more there than what stays in cache.
_SMALL_SAMPLE, _SMALL_BLOCKS = 2**16, 3
# Blocks of many columns take at most so many numbers, 16 MiB of draws and as much of scores.
MOST_NUMBERS = 2**21
# Where work on a block holds dozens of its size, and columns are more than this, it is 2 MiB.
MANY_DIMENSIONS, FEW_NUMBERS = 512, 2**18
# Longer blocks of few columns gain nothing: the fixed cost of a block is negligible by then.
MOST_ROWS = 8_192
# The allocator is to keep twice this many numbers, 32 MiB, when they are freed.
_KEPT = 2**21


class Accumulator(Protocol):
    """Takes blocks of rows; accumulators of different rows merge into that of all rows.

    Unless it says otherwise, the result does not depend on how rows are cut into blocks nor
    on the order of merging, to rounding. It can be pickled.
    """

    def zero(self) -> Self:
        """An accumulator of the same kind without rows."""

    def update(self, block: Block) -> None:
        """Take the rows of a block."""

    def merge(self, other: Self) -> Self:
        """Add another accumulator's rows and return the accumulator itself."""


class Executor(Protocol):
    """Runs a pass over stretches of rows."""

    #: How many cores a pass has.
    count: int = 1

    def run(
        self,
        source: Source,
        rows: Sequence[Rows],
        accumulators: Sequence[Accumulator],
        tick: Callable[[int], None],
        size: int,
    ) -> None:
        """Feed every block, of at most `size` rows, to every accumulator."""


class Tick:
    """Counts the rows of one or more passes and tells `progress`."""

    def __init__(self, progress: Progress | None = None, total: int = 0) -> None:
        require_progress(progress)
        self._progress, self._total, self._done = progress, total, 0
        self._lock = Lock()

    def __call__(self, rows: int) -> None:
        """Count so many more rows."""
        with self._lock:
            self._done += rows
            if self._progress is not None:
                self._progress(min(self._done, self._total), self._total)

    def finish(self) -> None:
        """Say that everything is done, also what turned out not to be needed."""
        if self._progress is not None and self._done < self._total:
            self._progress(self._total, self._total)


@dataclass(frozen=True)
class Serial(Executor):
    """One block after the other, in time order."""

    def run(
        self,
        source: Source,
        rows: Sequence[Rows],
        accumulators: Sequence[Accumulator],
        tick: Callable[[int], None],
        size: int,
    ) -> None:
        """Feed every block, of at most `size` rows, to every accumulator."""

        def feed(block: Block) -> None:
            for accumulator in accumulators:
                accumulator.update(block)

        _visit(_read_blocks(source, rows, size), feed, tick)


SERIAL = Serial()
_EXECUTOR: ContextVar[Executor] = ContextVar("executor", default=SERIAL)
_TICK: ContextVar[Tick | None] = ContextVar("tick", default=None)


@contextmanager
def executed_by(executor: Executor, tick: Tick | None = None) -> Iterator[None]:
    """A context whose passes are run by an executor, and are counted if they are not already."""
    tokens = _EXECUTOR.set(executor), _TICK.set(tick)
    try:
        yield
    finally:
        _EXECUTOR.reset(tokens[0])
        _TICK.reset(tokens[1])


@contextmanager
def uncounted() -> Iterator[None]:
    """A context whose passes are no progress: they read rows that are counted elsewhere."""
    token = _TICK.set(None)
    try:
        yield
    finally:
        _TICK.reset(token)


def cores() -> int:
    """How many cores passes have."""
    return _EXECUTOR.get().count


def run_pass(
    source: Source,
    rows: Iterable[Rows],
    *accumulators: Accumulator,
    executor: Executor | None = None,
    tick: Tick | None = None,
    most: int | None = None,
    least: int = 1,
    many_steps: bool = False,
) -> None:
    """Read the chosen rows once, in time order, and feed all accumulators.

    ``most`` is for what takes more memory than the rows themselves: no block has more rows.
    ``least`` is for what looks at few columns, to which what stays in cache does not matter: blocks
    are cut at so many rows or more. ``many_steps`` is for what takes dozens of steps on a block:
    blocks are longer.

    BLAS works on one thread meanwhile: its threads gain nothing on products of one block, and
    wait for each other where other programs are at work.
    """
    # What can only be read from the first row to the last cannot be read by several threads.
    given: Executor = executor or source.executor or _EXECUTOR.get()
    executor = SERIAL if source.sequential else given
    tick = tick or _TICK.get() or Tick()
    with _few_blas_threads(source):
        size = max(least, _size(source, most, many_steps))
        executor.run(source, list(rows), accumulators, tick, size)


def visit_blocks(
    source: Source,
    rows: Iterable[Rows],
    visit: Callable[[Block], object],
    tick: Tick | None = None,
    *,
    most: int | None = None,
) -> None:
    """Hand over the blocks of the chosen rows in time order, to what cannot be merged."""
    tick = tick or _TICK.get() or Tick()
    with _few_blas_threads(source):
        _visit(_read_blocks(source, rows, _size(source, most)), visit, tick)


def _few_blas_threads(source: Source) -> AbstractContextManager[None]:
    """One thread for BLAS, where a pass takes longer than saying so."""
    numbers = source.layout.total * source.layout.dimension
    return one_blas_thread() if numbers >= _WORTH_A_LIMIT else _NO_LIMIT


@cache
def _keep_freed_memory() -> None:
    """Let the allocator keep what is freed, once for the whole process.

    Arrays of a block's size would otherwise be given back to the operating system and fetched anew,
    page by page, for the next block, which takes longer than the arithmetic on them. The allocator
    of glibc returns memory at its end only if that is twice as large as the largest array ever
    freed (mallopt(3), M_MMAP_THRESHOLD), so one large array is freed. Its memory is never touched.
    Other allocators do not mind.
    """
    np.empty(_KEPT)


def _visit(
    blocks: Iterable[Block], visit: Callable[[Block], object], tick: Callable[[int], None]
) -> None:
    """Hand over one block after the other."""
    _keep_freed_memory()
    # Overflow becomes infinity, which is reported where sums are used.
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks:
            visit(block)
            tick(block.rows)


def block_rows(dimension: int) -> int:
    """Rows of a block that stays in cache but still fills a matrix product."""
    full = min(ROWS_PER_COLUMN * dimension, max(1, MOST_NUMBERS // dimension))
    return min(MOST_ROWS, max(BLOCK_ELEMENTS // dimension, full))


def rows_of_many_arrays(dimension: int) -> int | None:
    """Most rows of a block in many dimensions, for work that holds dozens of arrays of a block."""
    return None if dimension <= MANY_DIMENSIONS else max(1, FEW_NUMBERS // dimension)


def rows_of_few_columns(dimension: int) -> int:
    """Rows of a block of which few columns are looked at: what a block costs is all that counts."""
    return min(MOST_ROWS, max(1, FEW_NUMBERS // dimension))


def every_row(source: Source) -> Iterator[Rows]:
    """All rows, chain by chain."""
    for chain, length in enumerate(source.layout.lengths):
        yield Rows(chain, 0, length)


def _size(source: Source, most: int | None, many_steps: bool = False) -> int:
    """Most rows of a block."""
    dimension, total = source.layout.dimension, source.layout.total
    size = block_rows(dimension)
    if many_steps and size * dimension <= BLOCK_ELEMENTS:
        size = min(_LONG_BLOCKS * size, max(size, MOST_ROWS))
    small = total * dimension <= _SMALL_SAMPLE
    if small and total <= min(_SMALL_BLOCKS * size, MOST_ROWS):
        size = max(size, total)
    return size if most is None else max(1, min(size, most))


def _read_blocks(source: Source, rows: Iterable[Rows], size: int) -> Iterator[Block]:
    """The chosen rows in blocks of at most `size`, in time order."""
    waiting: list[Rows | Block] = []
    held = 0
    for stretch in rows:
        length = stretch.stop - stretch.start
        short = stretch.mask is None and length <= size
        if waiting and not (short and held + length <= size):
            yield _read_together(source, waiting)
            waiting, held = [], 0
        if stretch.mask is not None:
            yield from _gathered_blocks(source, stretch, size)
        elif short:
            waiting += [stretch] if length else []
            held += length
        else:
            for block in _consecutive_blocks(source, stretch, size):
                if waiting:
                    yield _read_together(source, waiting)
                # The end of a long chain is joined to the next one, if that is short.
                waiting, held = [block], block.rows
    if waiting:
        yield _read_together(source, waiting)


def _read_together(source: Source, parts: list[Rows | Block]) -> Block:
    """One block of stretches and of what was read already."""
    if source.read_chains is not None and len(parts) > 1 and _alike(parts):
        first, count = parts[0], len(parts)
        return source.read_chains(first.chain, first.chain + count, *first[1:3])
    return _joined([part if isinstance(part, Block) else source.read(*part[:3]) for part in parts])


def _alike(parts: list[Rows | Block]) -> bool:
    """Whether these are the same rows of neighbouring chains."""
    first = parts[0]
    return isinstance(first, Rows) and all(
        part == (first.chain + k, first.start, first.stop, None) for k, part in enumerate(parts)
    )


def first_block(source: Source) -> Block:
    """A block of the first rows, by which a frame is chosen."""
    rows = min(source.layout.lengths[0], block_rows(source.layout.dimension))
    return source.read(0, 0, rows)


def gathered(source: Source, rows: Iterable[Rows]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws and scores of the chosen rows at once, (n, d), and weights that sum to 1.

    The weights are zero if none of these rows has any.
    Each stretch is read as a whole, so that one stretch of an array in memory is no copy.
    """
    together = _joined([block for stretch in rows for block in _selected(source, stretch)])
    weights = together.weights_or_ones
    total = float(weights.sum())
    return together.draws, together.scores, weights / total if total > 0.0 else weights


def _consecutive_blocks(source: Source, stretch: Rows, size: int) -> Iterator[Block]:
    """Blocks of at most `size` rows of one chain; what is stored together is read at once."""
    for span in into_blocks([stretch], size, read_at_once(source)):
        block = source.read(span.chain, span.start, span.stop)
        for low in range(0, block.rows, size):
            yield block if block.rows <= size else block.part(low, min(low + size, block.rows))


def _gathered_blocks(source: Source, stretch: Rows, size: int) -> Iterator[Block]:
    """Blocks of at most `size` rows out of those of one chain that a mask chose.

    Each is gathered when it is asked for, in memory that the block before it had.
    """
    short = stretch.stop - stretch.start <= size
    for chain, start, stop, mask in (
        [stretch] if short else into_blocks([stretch], size, read_at_once(source))
    ):
        index = np.zeros(0, dtype=np.intp) if mask is None else mask.nonzero()[0]
        if index.size == 0:
            continue
        block = source.read(chain, start, stop)
        for low in range(0, index.size, size):
            chosen = index[low : low + size]
            yield block.take(chosen, start + int(chosen[0]))


def read_at_once(source: Source) -> int:
    """Rows that a read should not divide: one if the source keeps what it has decoded."""
    return 1 if source.keeps_decoded else source.grain


def into_blocks(rows: Iterable[Rows], size: int, grain: int = 1) -> Iterator[Rows]:
    """Cut stretches into ones of which about `size` rows are chosen, between groups of rows."""
    for chain, start, stop, mask in rows:
        step = size
        if mask is not None and stop - start > _FEW_BLOCKS * size:
            # Blocks of rows chosen at random are nearly as full as those of consecutive rows; an
            # eighth is left for chance, so that hardly any block has to be cut in two.
            chosen = max(1, int(np.count_nonzero(mask)))
            step = max(1, size * (stop - start) * 7 // (8 * chosen))
        step = max(grain, step - step % grain)
        for low, high in pairwise([start, *range(start - start % grain + step, stop, step), stop]):
            if low < high:
                part = None if mask is None else mask[low - start : high - start]
                yield Rows(chain, low, high, part)


def _selected(source: Source, stretch: Rows) -> Iterator[Block]:
    """Read a stretch and keep the rows of its mask; nothing is read if none is kept."""
    if stretch.mask is None:
        yield source.read(stretch.chain, stretch.start, stretch.stop)
        return
    index = np.flatnonzero(stretch.mask)
    if index.size:
        yield source.read(stretch.chain, stretch.start, stretch.stop).take(index)


def _joined(blocks: list[Block]) -> Block:
    """One block of the rows of several; of a single one, that block itself."""
    if len(blocks) == 1:
        return blocks[0]
    weighted = blocks[0].weights is not None
    ends = np.cumsum([0, *(block.rows for block in blocks)]).tolist()
    runs = (
        ChainRows(block.chain, block.start, low, high)
        for block, (low, high) in zip(blocks, pairwise(ends), strict=True)
    )
    return Block(
        np.concatenate([block.draws for block in blocks]),
        np.concatenate([block.scores for block in blocks]),
        np.concatenate([block.weights_or_ones for block in blocks]) if weighted else None,
        blocks[0].chain,
        blocks[0].start,
        tuple(runs),
    )
