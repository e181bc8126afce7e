"""Draws and scores that are read when they are needed, from files and stores.

These are sources like any other (`polystein.data.source`). Rows are validated when they are read,
and an error names the block that it is in. Scores of a function are evaluated block by block, and
kept in a scratch file where one is allowed.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import in_double
from polystein.data.guard.pairing import require_same_names
from polystein.data.source import Block, Layout, Rows, Source, checked_names
from polystein.errors import InputError, PolysteinError
from polystein.scale.stores import ChunkError, Table
from polystein.types import FloatArray, ScoreFunction


class StoredSource(Source):
    """Draws in a table, with scores in another table or by a function."""

    validated, keeps_decoded = True, True

    def __init__(
        self,
        draws: Table,
        scores: Table | EvaluatedScores,
        names: Sequence[str] | None = None,
    ) -> None:
        self._draws, self._scores = draws, scores
        own = draws.names
        if isinstance(scores, Table):
            _require_same(draws, scores)
            own = own or scores.names
        self.layout, self.grain = draws.layout, max(draws.grain, scores.grain)
        self.names = checked_names(own if names is None else names, draws.layout.dimension)

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, in NumPy and double precision."""
        rows = Rows(chain, start, stop)
        table, given = self._draws, self._scores
        draws = self._valid("draws", rows, table.grain, lambda: table.read(chain, start, stop))
        if isinstance(given, Table):
            scores = self._valid(
                "scores", rows, given.grain, lambda: given.read(chain, start, stop)
            )
        else:
            scores = self._valid("scores", rows, table.grain, lambda: given.of(draws, chain, start))
        return Block(draws, scores, None, chain, start)

    def _valid(
        self, argument: str, rows: Rows, grain: int, read: Callable[[], NDArray[Any]]
    ) -> FloatArray:
        """What is read, in double precision; an error names the stored blocks, of `grain` rows."""
        chain, start, stop, _ = rows
        of_chain = f" of chain {chain}" if len(self.layout.lengths) > 1 else ""
        place = f"rows {start}:{stop}{of_chain}"
        if grain > 1:
            first, last = start // grain, (stop - 1) // grain
            blocks = f"block {first}" if first == last else f"blocks {first} to {last}"
            place = f"{blocks}{of_chain} (rows {start}:{stop})"
        try:
            found = in_double(read())
        except (PolysteinError, MemoryError):
            raise
        except Exception as error:
            if isinstance(error, ChunkError):
                place = f"block {error.chunk}{of_chain}"
            reason = str(error) or type(error).__name__
            raise InputError(f"`{argument}` could not be read at {place}: {reason}") from error
        shape = (stop - start, self.layout.dimension)
        if found.shape != shape:
            raise InputError(
                f"`{argument}` at {place} must have the shape {shape}; got {found.shape}. "
                "Did the source change while it was read?"
            )

        def named(row: int) -> str:
            row += start
            return (
                f"row {row}{of_chain}"
                if grain == 1
                else f"block {row // grain}{of_chain}, row {row}"
            )

        require_finite(found, argument, named)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layout}{evaluation(self._scores)})"


def require_finite(rows: FloatArray, argument: str, named: Callable[[int], str]) -> None:
    """Raise an error that names the first row with NaN or infinity, if there is one."""
    # A sum is finite only if every term is.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = np.unravel_index(int(np.argmax(bad)), rows.shape)
        raise InputError(
            f"`{argument}` must be finite; got {rows[row, column]} in {named(int(row))}, "
            f"coordinate {int(column)}"
        )


def _require_same(draws: Table, scores: Table) -> None:
    """Scores must belong to the draws: the same shape, and columns in the same order."""
    if draws.layout != scores.layout:
        shapes = []
        for lengths, dimension, in_chains in (draws.layout, scores.layout):
            rows = f"{len(lengths)}, {lengths[0]}" if in_chains else f"{lengths[0]}"
            shapes.append(f"({rows}, {dimension})")
        raise InputError(f"`scores` must have the shape of `draws`, {shapes[0]}; got {shapes[1]}")
    if draws.names and scores.names:
        require_same_names(draws.names, scores.names)


def evaluation(scores: object) -> str:
    """A phrase that says how often a score function is evaluated; empty if there is none."""
    if not isinstance(scores, EvaluatedScores):
        return ""
    return f", scores evaluated once in {'all' if scores.once else 'every pass'}"


class EvaluatedScores:
    """The scores of draws by a function; with a cache, each row is evaluated once."""

    #: Any row can be evaluated on its own.
    grain = 1

    def __init__(self, function: ScoreFunction, layout: Layout, cache: Path | None) -> None:
        self._function = function
        # A user's function may not be safe on two threads at a time.
        self._one_call = Lock()
        self._spill = None if cache is None else Spill(cache, layout)

    @property
    def once(self) -> bool:
        """Whether a row is evaluated once, and not once in every pass."""
        return self._spill is not None

    def of(self, draws: FloatArray, chain: int, start: int) -> FloatArray:
        """The scores of draws that begin at a row of a chain."""
        if self._spill is None:
            return self._evaluated(draws)
        scores = np.empty_like(draws)
        for low, high, known in self._spill.known(chain, start, start + len(draws)):
            part = slice(low - start, high - start)
            if known:
                scores[part] = self._spill.read(chain, low, high)
            else:
                scores[part] = self._evaluated(draws[part])
                self._spill.write(chain, low, scores[part])
        return scores

    def _evaluated(self, draws: FloatArray) -> FloatArray:
        with self._one_call:
            found: Any = np.asanyarray(self._function(draws.copy()))
        if found.shape != draws.shape:
            raise ValueError(
                "the function must return an array of the shape of its argument, "
                f"{draws.shape}; it returned {found.shape}"
            )
        return np.array(in_double(found))


class Spill:
    """A scratch file with the scores of the rows that were evaluated already.

    The file has no name: whatever ends the process, nothing is left behind. It is written by calls
    that fail on a full disk. A write to a file mapped into memory would end the process there.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        if not folder.is_dir():
            raise InputError(f"`cache` must be a folder that exists; got {folder}")
        self._folder, self._width = folder, layout.dimension
        self._first = [0, *accumulate(layout.lengths)]
        #: Which rows of each chain were evaluated, in one byte each.
        self._known = [np.zeros(length, dtype=bool) for length in layout.lengths]
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the source
        except OSError as error:
            raise InputError(f"`cache` must be a folder to write to; {folder}: {error}") from error
        self._file = file
        weakref.finalize(self, file.close)

    def known(self, chain: int, start: int, stop: int) -> list[tuple[int, int, bool]]:
        """The rows in parts ``low:high``, each with whether its scores were written."""
        known = self._known[chain][start:stop].copy()  # another thread may write meanwhile
        bounds = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), stop - start]
        parts = [(low, high) for low, high in pairwise(bounds) if low < high]
        return [(start + low, start + high, bool(known[low])) for low, high in parts]

    def read(self, chain: int, start: int, stop: int) -> FloatArray:
        """Scores that were written."""
        size = 8 * self._width * (stop - start)
        data = os.pread(self._file.fileno(), size, self._place(chain, start))
        return np.frombuffer(data).reshape(stop - start, self._width)

    def write(self, chain: int, start: int, scores: FloatArray) -> None:
        """Keep scores; a full disk is an error, and never a wrong number."""
        data, place = memoryview(scores.tobytes()), self._place(chain, start)
        try:
            while data:
                written = os.pwrite(self._file.fileno(), data, place)
                data, place = data[written:], place + written
        except OSError as error:
            raise OSError(
                f"the scores could not be kept in `cache`, {self._folder}: {error}"
            ) from error
        self._known[chain][start : start + len(scores)] = True

    def _place(self, chain: int, start: int) -> int:
        return 8 * self._width * (self._first[chain] + start)
