"""The only loop over rows: a pass reads the chosen rows once and feeds any number of accumulators.

Blocks are small enough to stay in a core's cache. Chains shorter than a block are joined, and
rows that a split chose at random are gathered, so that blocks are full whatever the layout is.
Rows that a source stores together are read together, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import RLock
from typing import Protocol, Self, TypeVar

import numpy as np

from polystein._lib.arguments import require_progress
from polystein._lib.threads import one_blas_thread
from polystein.data.source import Block, ChainRows, Layout, Rows, Source
from polystein.types import FloatArray, Progress

# Limits of a block, in numbers of draws (8 bytes each) or in rows.
# Draws, scores and two powers of 24,576 numbers each fill 768 KB: they stay in a
# core's second-level cache from the first power to the last.
BLOCK_ELEMENTS = 24_576
# Longer blocks of few columns gain nothing: the fixed cost of a block is negligible by then.
MOST_ROWS = 8_192
# Blocks of many columns have at most this many, 16 MiB of draws and as much of scores ...
MOST_NUMBERS = 2**21
# ... and 2 MiB where dozens of arrays of a block's size are held, or few columns are looked at.
FEW_NUMBERS = 2**18
# A sample of up to 512 KiB in up to three blocks is one block: what a block costs beside its
# arithmetic counts for more than what stays in cache.
SMALL_SAMPLE, SMALL_BLOCKS = 2**16, 3

# For fewer numbers BLAS is not limited to one thread, which takes longer than it gains.
_WORTH_A_LIMIT = 2**17
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
    """Runs a pass over rows."""

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
        self._lock = RLock()

    def __call__(self, rows: int) -> None:
        """Count further rows."""
        if self._progress is None:
            return
        with self._lock, executed_by(SERIAL):  # what `progress` reads itself is not counted
            self._done += rows
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
        updates = [accumulator.update for accumulator in accumulators]
        _visit(_read_blocks(source, rows, size), updates, tick)


_Part = TypeVar("_Part")
_Found = TypeVar("_Found")
SERIAL, UNCOUNTED = Serial(), Tick()
_EXECUTOR: ContextVar[Executor] = ContextVar("executor", default=SERIAL)
_TICK: ContextVar[Tick] = ContextVar("tick", default=UNCOUNTED)


@contextmanager
def executed_by(executor: Executor, tick: Tick = UNCOUNTED) -> Iterator[None]:
    """A context whose passes are run by an executor and counted by a tick."""
    tokens = _EXECUTOR.set(executor), _TICK.set(tick)
    try:
        yield
    finally:
        _EXECUTOR.reset(tokens[0])
        _TICK.reset(tokens[1])


@contextmanager
def uncounted() -> Iterator[None]:
    """A context whose passes are no progress: they read rows that are counted elsewhere."""
    with executed_by(_EXECUTOR.get(), UNCOUNTED):
        yield


def cores() -> int:
    """How many cores passes have."""
    return _EXECUTOR.get().count


def run_pass(
    source: Source,
    rows: Iterable[Rows],
    *accumulators: Accumulator,
    executor: Executor | None = None,
    most: int | None = None,
    least: int = 1,
    many_steps: bool = False,
) -> None:
    """Read the chosen rows once, in time order, and feed all accumulators.

    No block has more than ``most`` rows, for work that takes more memory than the rows themselves.
    Blocks have at least ``least`` rows where there are as many, for work that looks at few columns.
    They are longer with ``many_steps``, for work of dozens of steps on a block, which leaves the
    cache anyway.

    BLAS works on one thread meanwhile: its threads gain nothing on products of one block, and
    wait for each other where other programs are at work.
    """
    # What can only be read from the first row to the last cannot be read by several threads.
    given: Executor = executor or source.executor or _EXECUTOR.get()
    executor = SERIAL if source.sequential else given
    layout = source.layout
    size, total = max(least, _size(layout, most, many_steps)), layout.total
    with one_blas_thread() if total * layout.dimension >= _WORTH_A_LIMIT else nullcontext():
        executor.run(source, list(rows), accumulators, _TICK.get(), size)


def visit_blocks(
    source: Source,
    rows: Iterable[Rows],
    visit: Callable[[Block], object],
    *,
    most: int | None = None,
) -> None:
    """Hand over the blocks of the chosen rows in time order, to what cannot be merged."""
    layout = source.layout
    size, total = _size(layout, most), layout.total
    with one_blas_thread() if total * layout.dimension >= _WORTH_A_LIMIT else nullcontext():
        _visit(_read_blocks(source, rows, size), [visit], _TICK.get())


def on_threads(work: Callable[[_Part], _Found], parts: Iterable[_Part]) -> list[_Found]:
    """What becomes of every part, on as many threads as passes have cores.

    It must be work that frees Python's lock.
    """
    if cores() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, parts))


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
    blocks: Iterable[Block],
    visits: Sequence[Callable[[Block], object]],
    tick: Callable[[int], None],
) -> None:
    """Hand over one block after the other."""
    _keep_freed_memory()
    # Overflow becomes infinity, which is reported where sums are used.
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks:
            for visit in visits:
                visit(block)
            tick(len(block.draws))


def block_rows(dimension: int) -> int:
    """Rows of a block that stays in cache but still fills a matrix product."""
    # A matrix product over fewer rows than columns spends its time on its output.
    full = min(2 * dimension, max(1, MOST_NUMBERS // dimension))
    return min(MOST_ROWS, max(BLOCK_ELEMENTS // dimension, full))


def rows_of_many_arrays(dimension: int) -> int | None:
    """Most rows of a block in many dimensions, for work that holds dozens of arrays of a block."""
    return None if dimension <= 512 else max(1, FEW_NUMBERS // dimension)


def rows_of_few_columns(dimension: int) -> int:
    """Rows of a block of which few columns are looked at: only the cost of a block matters."""
    return min(MOST_ROWS, max(1, FEW_NUMBERS // dimension))


def every_row(source: Source) -> Iterator[Rows]:
    """All rows, chain by chain."""
    for chain, length in enumerate(source.layout.lengths):
        yield Rows(chain, 0, length)


def _size(layout: Layout, most: int | None, many_steps: bool = False) -> int:
    """Most rows of a block."""
    dimension, total = layout.dimension, layout.total
    size = block_rows(dimension)
    if many_steps and size * dimension <= BLOCK_ELEMENTS:
        size = min(2 * size, max(size, MOST_ROWS))
    small = total * dimension <= SMALL_SAMPLE
    if small and total <= min(SMALL_BLOCKS * size, MOST_ROWS):
        size = max(size, total)
    return size if most is None else max(1, min(size, most))


def _read_blocks(source: Source, rows: Iterable[Rows], size: int) -> Iterator[Block]:
    """The chosen rows in blocks of at most `size`, in time order."""
    waiting: list[Rows | Block] = []
    held = 0
    for chosen in rows:
        length = chosen.stop - chosen.start
        short = chosen.mask is None and length <= size
        if waiting and not (short and held + length <= size):
            yield _read_together(source, waiting)
            waiting, held = [], 0
        if chosen.mask is not None:
            yield from _gathered_blocks(source, chosen, size)
        elif short:
            waiting += [chosen] if length else []
            held += length
        else:
            for block in _consecutive_blocks(source, chosen, size):
                if waiting:
                    yield _read_together(source, waiting)
                # The end of a long chain is joined to the next one, if that is short.
                waiting, held = [block], block.rows
    if waiting:
        yield _read_together(source, waiting)


def _read_together(source: Source, parts: list[Rows | Block]) -> Block:
    """One block of rows of several chains, and of what was read already."""
    if len(parts) == 1:
        (only,) = parts
        return only if isinstance(only, Block) else source.read(*only[:3])
    first, count = parts[0], len(parts)
    if (
        source.read_chains is not None
        and isinstance(first, Rows)
        # The same rows of neighbouring chains
        and all(part == (first.chain + k, *first[1:3], None) for k, part in enumerate(parts))
    ):
        return source.read_chains(first.chain, first.chain + count, *first[1:3])
    return _joined([part if isinstance(part, Block) else source.read(*part[:3]) for part in parts])


def first_block(source: Source) -> Block:
    """A block of the first rows, by which a frame is chosen."""
    rows = min(source.layout.lengths[0], block_rows(source.layout.dimension))
    return source.read(0, 0, rows)


def gathered(source: Source, rows: Iterable[Rows]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws and scores of the chosen rows at once, (n, d), and weights that sum to 1.

    The weights are zero if none of these rows has any. Consecutive rows of one chain of an array
    in memory are no copy.
    """
    blocks: list[Block] = []
    for chain, start, stop, mask in rows:
        index = None if mask is None else np.flatnonzero(mask)
        if index is None:
            blocks.append(source.read(chain, start, stop))
        elif index.size:  # nothing is read if none is kept
            blocks.append(source.read(chain, start, stop).take(index))
    together = _joined(blocks)
    weights = together.weights_or_ones
    total = float(weights.sum())
    return together.draws, together.scores, weights / total if total > 0.0 else weights


def _consecutive_blocks(source: Source, rows: Rows, size: int) -> Iterator[Block]:
    """Blocks of at most `size` rows of one chain; what is stored together is read at once."""
    for chain, start, stop, _ in into_blocks([rows], size, read_at_once(source)):
        block = source.read(chain, start, stop)
        for low in range(0, block.rows, size):
            yield block if block.rows <= size else block.part(low, min(low + size, block.rows))


def _gathered_blocks(source: Source, rows: Rows, size: int) -> Iterator[Block]:
    """Blocks of at most `size` rows out of those of one chain that a mask chose."""
    short = rows.stop - rows.start <= size
    for chain, start, stop, mask in (
        [rows] if short else into_blocks([rows], size, read_at_once(source))
    ):
        assert mask is not None
        (index,) = mask.nonzero()
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
    """The rows in parts of which about `size` are chosen; `grain` rows stay together."""
    for chain, start, stop, mask in rows:
        step = size
        if mask is not None:
            # Blocks of rows chosen at random are nearly as full as those of consecutive rows; an
            # eighth is left for chance, so that hardly any part takes two blocks.
            chosen = max(1, int(np.count_nonzero(mask)))
            step = max(size, size * (stop - start) * 7 // (8 * chosen))
        step = max(grain, step - step % grain)
        for low, high in pairwise([start, *range(start - start % grain + step, stop, step), stop]):
            if low < high:
                part = None if mask is None else mask[low - start : high - start]
                yield Rows(chain, low, high, part)


def _joined(blocks: list[Block]) -> Block:
    """One block of the rows of several; of a single one, that block itself."""
    if len(blocks) == 1:
        return blocks[0]
    weighted = blocks[0].weights is not None
    ends = np.cumsum([0, *(block.rows for block in blocks)]).tolist()
    chains = (
        ChainRows(block.chain, block.start, low, high)
        for block, (low, high) in zip(blocks, pairwise(ends), strict=True)
    )
    return Block(
        np.concatenate([block.draws for block in blocks]),
        np.concatenate([block.scores for block in blocks]),
        np.concatenate([block.weights_or_ones for block in blocks]) if weighted else None,
        blocks[0].chain,
        blocks[0].start,
        tuple(chains),
    )
