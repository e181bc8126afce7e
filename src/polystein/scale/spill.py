"""Scores of a function, evaluated block by block, and kept in a scratch file where one is allowed.

The scratch file has no name: whatever ends the process, nothing is left behind.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from polystein._lib.arrays import in_double
from polystein.errors import InputError
from polystein.scale.stores import Shape
from polystein.types import FloatArray, ScoreFunction


class EvaluatedScores:
    """The scores of draws by a function; with a cache, each row is evaluated once."""

    def __init__(self, function: ScoreFunction, shape: Shape, cache: Path | None) -> None:
        self._function = function
        # A function of the user need not bear two threads at a time.
        self._one_call = Lock()
        self._spill = None if cache is None else Spill(cache, shape)

    @property
    def once(self) -> bool:
        """Whether a row is evaluated once, and not once in every pass."""
        return self._spill is not None

    def of(self, draws: FloatArray, chain: int, start: int) -> FloatArray:
        """The scores of draws that begin at a row of a chain."""
        if self._spill is None:
            return self._evaluated(draws)
        scores = np.empty_like(draws)
        for low, high, known in self._spill.stretches(chain, start, start + len(draws)):
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
    """A scratch file with the scores of the rows that were evaluated already."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        if not folder.is_dir():
            raise InputError(f"`cache` must be a folder that exists; got {folder}")
        self._folder, self._width = folder, shape.dimension
        self._first = [0, *accumulate(shape.lengths)]
        self._known = [Intervals() for _ in shape.lengths]
        self._lock = Lock()
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the source
        except OSError as error:
            raise InputError(f"`cache` must be a folder to write to; {folder}: {error}") from error
        self._file = file
        weakref.finalize(self, file.close)

    def stretches(self, chain: int, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """The rows in stretches that are known as a whole or not at all."""
        with self._lock:
            return iter(list(self._known[chain].cut(start, stop)))

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
        with self._lock:
            self._known[chain].add(start, start + len(scores))

    def _place(self, chain: int, start: int) -> int:
        return 8 * self._width * (self._first[chain] + start)


class Intervals:
    """A set of rows as disjoint intervals, which merge where they touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    def add(self, start: int, stop: int) -> None:
        """Add the rows ``start:stop``."""
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        self._starts[first:last], self._stops[first:last] = [start], [stop]

    def cut(self, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """``start:stop`` in stretches, each with whether it is in the set."""
        place = bisect_right(self._stops, start)
        while start < stop:
            inside = place < len(self._starts) and self._starts[place] <= start
            if inside:
                end = min(stop, self._stops[place])
                place += 1
            else:
                end = min(stop, self._starts[place]) if place < len(self._starts) else stop
            yield start, end, inside
            start = end
