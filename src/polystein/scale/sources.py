"""Draws and scores that are read when they are needed: files, stores, and blocks made on the fly.

All are sources like any other (`polystein.data.source`). Rows are validated when they are read,
and what is wrong is said together with the block that it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polystein._lib.arrays import in_double
from polystein.data.guard.pairing import require_same_names
from polystein.data.source import Block, Layout, Source, checked_names
from polystein.errors import InputError, PolysteinError
from polystein.scale.spill import EvaluatedScores
from polystein.scale.stores import GroupError, Table
from polystein.types import FloatArray


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
        shape = draws.shape
        if not isinstance(scores, EvaluatedScores):
            _require_same(draws, scores)
        own = draws.names if isinstance(scores, EvaluatedScores) else draws.names or scores.names
        self.names = checked_names(own if names is None else names, shape.dimension)
        self.layout = Layout(shape.lengths, shape.dimension, time_ordered=shape.chains)
        self.grain = max(draws.grain, getattr(scores, "grain", 1))

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, in NumPy and double precision."""
        many, shape = len(self.layout.lengths) > 1, (stop - start, self.layout.dimension)
        where = _Where(chain, start, stop, self._draws.grain, many=many)
        draws = where.valid("draws", lambda: self._draws.read(chain, start, stop), shape)
        if isinstance(self._scores, EvaluatedScores):
            evaluated = self._scores
            scores = where.valid("scores", lambda: evaluated.of(draws, chain, start), shape)
        else:
            table = self._scores
            where = _Where(chain, start, stop, table.grain, many=many)
            scores = where.valid("scores", lambda: table.read(chain, start, stop), shape)
        return Block(draws, scores, None, chain, start)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layout}{evaluation(self._scores)})"


class _Where:
    """Rows of a table in words, by the blocks that hold them, and what is wrong with them."""

    def __init__(self, chain: int, start: int, stop: int, grain: int, *, many: bool) -> None:
        self._start, self._grain = start, grain
        self._of = f" of chain {chain}" if many else ""
        first, last = start // max(grain, 1), (stop - 1) // max(grain, 1)
        blocks = f"block {first}" if first == last else f"blocks {first} to {last}"
        rows = f"rows {start}:{stop}{self._of}"
        self.words = rows if grain == 1 else f"{blocks}{self._of} (rows {start}:{stop})"

    def valid(self, argument: str, read: Any, shape: tuple[int, int]) -> FloatArray:
        """What is read, in double precision; an error that names the block if it is not valid."""
        try:
            rows = in_double(read())
        except (PolysteinError, MemoryError):
            raise
        except Exception as error:
            reason, place = str(error) or type(error).__name__, self.words
            if isinstance(error, GroupError):
                place = f"block {error.group}{self._of}"
            raise InputError(f"`{argument}` could not be read at {place}: {reason}") from error
        if rows.shape != shape:
            raise InputError(
                f"`{argument}` at {self.words} must have the shape {shape}; got {rows.shape}. "
                "Did the source change while it was read?"
            )
        require_finite(rows, argument, self._named_row)
        return rows

    def _named_row(self, row: int) -> str:
        row += self._start
        block = "" if self._grain == 1 else f"block {row // self._grain}{self._of}, "
        return f"{block}row {row}{'' if block else self._of}"


def require_finite(rows: FloatArray, argument: str, place: Any) -> None:
    """A sum is finite only if every term is; look closer only when it is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = np.unravel_index(int(np.argmax(bad)), rows.shape)
        raise InputError(
            f"`{argument}` must be finite; got {rows[row, column]} in {place(int(row))}, "
            f"coordinate {int(column)}"
        )


def _require_same(draws: Table, scores: Table) -> None:
    """Scores must belong to the draws: the same shape, and columns in the same order."""
    if draws.shape != scores.shape:
        raise InputError(
            f"`scores` must have the shape of `draws`, {_words(draws)}; got {_words(scores)}"
        )
    if draws.names and scores.names:
        require_same_names(draws.names, scores.names)


def _words(table: Table) -> str:
    lengths, dimension, chains = table.shape
    rows = f"{len(lengths)}, {lengths[0]}" if chains else f"{lengths[0]}"
    return f"({rows}, {dimension})"


def evaluation(scores: object) -> str:
    """How often a score function is evaluated, in words; nothing without one."""
    if not isinstance(scores, EvaluatedScores):
        return ""
    return f", scores evaluated once in {'all' if scores.once else 'every pass'}"
