"""Blocks of rows that are made on the fly, walked from the first to the last in every pass."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import require_progress
from polystein._lib.arrays import in_double
from polystein.data.source import Block, Layout, Source, checked_names
from polystein.errors import InputError, PolysteinError
from polystein.scale.sources import EvaluatedScores, evaluation, require_finite
from polystein.types import FloatArray, Progress, ScoreFunction

#: Words of 8 bytes that are combined at a time for a checksum: whole lines of the cache, and a
#: multiple of few dimensions, so that rows that change places change the checksum.
_DIGEST_WORDS = 8 * 127


class BlockSource(Source):
    """Blocks (draws, scores), or blocks of draws with a score function: one chain, in order.

    The blocks are walked once to count their rows, unless they say by a ``shape`` how many rows
    and columns there are. Every walk must give the same blocks; a checksum of each is compared.
    """

    validated, sequential = True, True

    def __init__(
        self,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        score: ScoreFunction | None = None,
        *,
        names: Sequence[str] | None = None,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        require_progress(progress)
        self._blocks, self._walk = blocks, _Walk(blocks, paired=score is None)
        rows, dimension = _declared(blocks) or self._counted(progress)
        self.layout = Layout((rows,), dimension, time_ordered=False)
        self._score = None if score is None else EvaluatedScores(score, self.layout, cache)
        self.names = checked_names(names, dimension)

    def _counted(self, progress: Progress | None) -> tuple[int, int]:
        """Number of rows and columns, by one walk."""
        walk, rows = self._walk, 0
        while walk.advance():
            rows = walk.stop
            if progress is not None:
                progress(rows, 0)
        if not rows:
            raise InputError("`draws` must not be empty; got no rows in any block")
        walk.restart()
        return rows, walk.width or 0

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop``, in NumPy and double precision."""
        draws = np.empty((stop - start, self.layout.dimension))
        scores = np.empty_like(draws)
        if start < self._walk.start:
            self._walk.restart()
        position = start
        while position < stop:
            self._forward(position)
            end = min(stop, self._walk.stop)
            part = slice(position - start, end - start)
            self._walk.copy(position, end, draws[part], scores[part], self._score)
            position = end
        last = self._walk.number
        if stop == self.layout.total and self._walk.has_more(stop):
            raise InputError(
                f"`draws` must give the same blocks in every pass; there were {stop} rows before, "
                f"and there are more after block {last} now"
            )
        return Block(draws, scores, None, chain, start)

    def _forward(self, row: int) -> None:
        """Go to the block with this row."""
        while row >= self._walk.stop:
            if not self._walk.advance():
                raise InputError(
                    f"`draws` must give the same blocks in every pass; there were "
                    f"{self.layout.total} rows before, and the walk ended after block "
                    f"{self._walk.number} at {self._walk.stop} rows"
                )
            if self._walk.width != self.layout.dimension:
                raise InputError(
                    f"`draws` must have {self.layout.dimension} columns; got {self._walk.width} in "
                    f"block {self._walk.number}"
                )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layout}{evaluation(self._score)})"

    def __getstate__(self) -> dict[str, Any]:
        walk = _Walk(self._blocks, paired=self._score is None)
        walk.digests = self._walk.digests
        return {**self.__dict__, "_walk": walk}


class _Walk:
    """Where a walk over the blocks is: the current block, its number and its rows."""

    def __init__(self, blocks: Any, *, paired: bool) -> None:
        self._make, self._paired = _maker(blocks), paired
        #: What each block was in the first walk, by its number.
        self.digests: dict[int, dict[str, tuple[int, int]]] = {}
        self.width: int | None = None
        self.restart()

    def restart(self) -> None:
        """Go back to before the first block."""
        self._iterator: Iterator[Any] | None = None
        self._draws = self._scores = np.empty((0, 0))
        self.number, self.start, self.stop, self._ended = -1, 0, 0, False

    def advance(self) -> bool:
        """Go to the next block that has rows; whether there is one."""
        while not self._ended:
            found = self._next()
            if found is None:
                return False
            self._draws, self._scores = found
            self.start, self.stop = self.stop, self.stop + len(self._draws)
            if len(self._draws):
                self._require_same_as_before()
                return True
        return False

    def has_more(self, total: int) -> bool:
        """Whether rows follow after ``total`` rows; the walk is over then."""
        more = self.stop != total
        while not self._ended and not more:
            found = self._next()
            more = found is not None and len(found[0]) > 0
        # Whoever makes the blocks may have used the memory of the last one again.
        self.restart()
        return more

    def _next(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        try:
            if self._iterator is None:
                self._iterator = iter(self._make())
            block = next(self._iterator)
        except StopIteration:
            self._ended = True
            return None
        except BaseException as error:
            # A generator that was interrupted has ended, and its next pass must be a new walk.
            number = self.number + 1
            self.restart()
            if isinstance(error, PolysteinError | MemoryError) or not isinstance(error, Exception):
                raise
            reason = str(error) or type(error).__name__
            raise InputError(f"block {number} of `draws` failed: {reason}") from error
        self.number += 1
        return self._checked(block)

    def _checked(self, block: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draws and scores of a block, which must fit each other and the blocks before."""
        here = f"block {self.number} of `draws`"
        if self._paired and not (isinstance(block, tuple | list) and len(block) == 2):
            kind = (
                f"{len(block)} parts" if isinstance(block, tuple | list) else type(block).__name__
            )
            raise InputError(f"{here} must be a pair (draws, scores); got {kind}")
        draws, scores = map(np.asanyarray, block if self._paired else (block, block))
        width = draws.shape[1] if self.width is None and draws.ndim == 2 else self.width
        if draws.ndim != 2 or draws.shape[1] != width or draws.shape[1] == 0:
            expected = "(rows, d)" if width is None else f"(rows, {width})"
            raise InputError(f"{here} must have the shape {expected}; got {draws.shape}")
        if scores.shape != draws.shape:
            raise InputError(
                f"the scores of {here} must have the shape of its draws, {draws.shape}; got "
                f"{scores.shape}"
            )
        self.width = width
        return draws, scores

    def _require_same_as_before(self) -> None:
        """Blocks that are drawn anew, or shuffled, in every walk would mix different draws."""
        parts = {"draws": self._draws} | ({"scores": self._scores} if self._paired else {})
        digests = {name: (self.start, _digest(array)) for name, array in parts.items()}
        before = self.digests.setdefault(self.number, digests)
        changed = [name for name in digests if digests[name] != before[name]]
        if changed:
            number = self.number
            self.restart()
            raise InputError(
                f"`draws` must give the same blocks in every pass; the {changed[0]} of block "
                f"{number} are other ones than before. Fix the seed inside of the function that "
                "makes the blocks, and shuffle nothing. For scores that never come out quite the "
                "same pass blocks of draws, a score function and `cache`."
            )

    def copy(
        self,
        start: int,
        stop: int,
        draws: FloatArray,
        scores: FloatArray,
        score: EvaluatedScores | None,
    ) -> None:
        """Copy rows of the current block, in double precision, and validate them."""
        part = slice(start - self.start, stop - self.start)
        here = f"block {self.number}"
        try:
            draws[:] = in_double(self._draws[part])
            require_finite(draws, "draws", lambda row: f"{here}, row {start + row}")
            if score is None:
                scores[:] = in_double(self._scores[part])
            else:
                scores[:] = score.of(draws, 0, start)
        except PolysteinError:
            raise
        except (TypeError, ValueError, ArithmeticError, OSError) as error:
            raise InputError(f"{here} of `draws` could not be used: {error}") from error
        require_finite(scores, "scores", lambda row: f"{here}, row {start + row}")


def _digest(array: NDArray[Any]) -> int:
    """A checksum of the numbers in their order; Python objects are refused when they are read.

    A checksum of all bytes would take as long as `psd` takes for them. They are combined first,
    by an exclusive or of `_DIGEST_WORDS` words at a time, which takes no longer than reading them.
    """
    if array.dtype.hasobject:
        return 0
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = data.size - data.size % (8 * _DIGEST_WORDS)
    words = np.bitwise_xor.reduce(data[:whole].view(np.uint64).reshape(-1, _DIGEST_WORDS), axis=0)
    return zlib.crc32(data[whole:].tobytes(), zlib.crc32(words.tobytes()))


def _maker(blocks: Any) -> Callable[[], Iterable[Any]]:
    """What gives a new walk each time."""
    if isinstance(blocks, Iterator):
        raise InputError(
            f"`draws` must be blocks that can be walked several times; got a "
            f"{type(blocks).__name__}, which can be walked once. Pass a function that makes a new "
            "one, as in `lambda: make_blocks()`, or an object with `__iter__`."
        )
    if isinstance(blocks, Iterable):
        return blocks.__iter__
    if callable(blocks):
        make: Callable[[], Iterable[Any]] = blocks
        return make
    raise InputError(
        f"`draws` must be blocks (draws, scores) to walk over; got {type(blocks).__name__}"
    )


def _declared(blocks: Any) -> tuple[int, int] | None:
    """Rows and columns, where the blocks say them by a ``shape``."""
    shape = getattr(blocks, "shape", None)
    if not (isinstance(shape, tuple) and len(shape) == 2 and min(shape) > 0):
        return None
    return int(shape[0]), int(shape[1])
