"""Numbers that stay where they are stored: a table is read in stretches of rows of one chain.

What is stored together (a chunk of Zarr or HDF5, a row group of Parquet) is decoded as a whole.
The group decoded last is kept, so that a pass, which reads forwards, decodes every group once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import holds_real_numbers
from polystein._lib.zarr_codecs import require_safe_array
from polystein.errors import InputError
from polystein.types import Array

#: Libraries whose reads must not happen at the same time.
_ONE_READ_AT_A_TIME = threading.Lock()


class Shape(NamedTuple):
    """Draws of each chain, the dimension, and whether there is an axis of chains."""

    lengths: tuple[int, ...]
    dimension: int
    chains: bool


class Table(Protocol):
    """A table of numbers, in one or more chains, that is read in stretches."""

    shape: Shape
    #: Rows that are stored together.
    grain: int
    names: tuple[str, ...] | None

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain, of shape (rows, d), in memory of their own."""


class GroupError(ValueError):
    """A group that could not be decoded, by its number."""

    def __init__(self, group: int, reason: str) -> None:
        super().__init__(reason)
        self.group = group


class Groups:
    """Reads any stretch of rows out of groups that can only be decoded as a whole.

    ``decode(chain, first, last)`` gives the rows of the groups ``first:last``, which begin at
    ``bounds[first]``. Each thread keeps the group that it decoded last.
    """

    def __init__(self, bounds: Array, decode: Callable[[int, int, int], NDArray[Any]]) -> None:
        self._bounds, self._decode = np.asarray(bounds), decode
        self._kept = threading.local()

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain."""
        first = int(np.searchsorted(self._bounds, start, "right")) - 1
        last = int(np.searchsorted(self._bounds, stop))
        parts = []
        for low, high in self._pieces(first, last, start, stop):
            if high - low > 1:
                parts.append(self._decoded(chain, low, high))
                continue
            begin, end = self._bounds[low], self._bounds[low + 1]
            group = self._group(chain, low, keep=end > stop or begin < start)
            parts.append(group[max(start - begin, 0) : stop - begin])
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)

    def _decoded(self, chain: int, first: int, last: int) -> NDArray[Any]:
        """Rows of some groups; an error is that of the first group that has one."""
        try:
            return self._decode(chain, first, last)
        except (GroupError, MemoryError):
            raise
        except Exception as error:
            if last - first > 1:
                for group in range(first, last):
                    self._decoded(chain, group, group + 1)
            raise GroupError(first, str(error) or type(error).__name__) from error

    def _pieces(self, first: int, last: int, start: int, stop: int) -> list[tuple[int, int]]:
        """Groups that are read in part stand alone; those between are decoded together."""
        inner_first = first + int(self._bounds[first] < start)
        inner_last = last - int(self._bounds[last] > stop)
        if inner_last <= inner_first:
            return [(group, group + 1) for group in range(first, last)]
        cuts = sorted({first, inner_first, inner_last, last})
        return list(pairwise(cuts))

    def _group(self, chain: int, group: int, *, keep: bool) -> NDArray[Any]:
        key, rows = getattr(self._kept, "last", (None, None))
        if key == (chain, group) and rows is not None:
            found: NDArray[Any] = rows
            return found
        self._kept.last = (None, None)  # its memory is needed
        rows = self._decoded(chain, group, group + 1)
        if keep:
            self._kept.last = ((chain, group), rows)
        return rows


class ArrayTable:
    """An array of shape (n, d) or (chain, draw, d) in a file: a memmap, Zarr, HDF5 or netCDF.

    Anything with a shape, a dtype and slices will do.
    """

    names: tuple[str, ...] | None = None

    def __init__(self, array: Array, argument: str) -> None:
        self._array = array
        self.shape = _shape_of(array, argument)
        require_safe_array(array, argument)
        chunk = _chunk_rows(array, axis=int(self.shape.chains))
        self.grain = min(chunk, max(self.shape.lengths))
        length = self.shape.lengths[0]
        bounds = [*range(0, length, self.grain), length]
        self._groups = Groups(bounds if self.grain > 1 else [0, length], self._decoded)
        self._needs_lock = type(array).__module__.startswith("netCDF4")
        self._file = _file_of(array)

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain."""
        self._require_length()
        if self.grain == 1:
            rows = self._slice(chain, start, stop)
            self._require_stored(rows)
            return rows
        return self._groups.read(chain, start, stop)

    def _decoded(self, chain: int, first: int, last: int) -> NDArray[Any]:
        stop = min(last * self.grain, self.shape.lengths[chain])
        rows = self._slice(chain, first * self.grain, stop)
        for low in range(0, len(rows), self.grain):
            group = rows[low : low + self.grain]
            self._require_stored(group)
            self._require_written(group, first + low // self.grain)
        return rows

    def _slice(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        place: tuple[Any, ...] = (slice(start, stop),)
        place = (chain, *place) if self.shape.chains else place
        if hasattr(self._array, "__array_namespace__"):  # it wants an index for every axis
            place = (*place, ...)
        if self._needs_lock:
            with _ONE_READ_AT_A_TIME:
                found = self._array[place]
        else:
            found = self._array[place]
        if np.ma.is_masked(found):
            missing = int(np.sum(np.ma.getmaskarray(found)))
            raise ValueError(f"{missing} values are missing (masked)")
        if isinstance(self._array, np.ndarray):
            return np.array(found)  # what is mapped into memory belongs to the file
        return np.asarray(found)

    def _require_length(self) -> None:
        """A mapped file that has become shorter would end the process when it is read."""
        mapped = _mapped(self._array)
        if mapped is not None and mapped.filename is not None:
            held, needed = os.path.getsize(mapped.filename), mapped.offset + mapped.nbytes
            if held < needed:
                raise ValueError(f"the file holds {held} bytes, and {needed} are needed")
        found = tuple(int(size) for size in self._array.shape)
        lengths = self.shape.lengths
        rows = found[1] if self.shape.chains else found[0]
        if rows != lengths[0]:
            raise ValueError(f"it had {lengths[0]} rows before and has {rows} now")

    def _require_stored(self, rows: NDArray[Any]) -> None:
        """HDF5 reads what would lie beyond the end of its file as zeros without a word."""
        if self._file is None or len(rows) == 0 or rows[-1].any():
            return
        held = os.path.getsize(self._file.path)
        if held < self._file.size:
            raise ValueError(f"the file had {self._file.size} bytes before and has {held} now")

    def _require_written(self, rows: NDArray[Any], group: int) -> None:
        """Chunks that were never written read as the fill value without a word."""
        fill = getattr(self._array, "fill_value", getattr(self._array, "fillvalue", None))
        if fill is None or len(rows) == 0 or not np.any(rows[0] == fill):
            return
        # A chunk need not have all the columns.
        if np.any(np.all(rows == fill, axis=0)) and _has_missing_chunks(self._array):
            raise ValueError(
                f"chunk {group} was never written or is lost: every value of a column is the fill "
                f"value, {fill}"
            )


class _File(NamedTuple):
    """A file, and its bytes when it was opened."""

    path: str
    size: int


def _file_of(array: Array) -> _File | None:
    """The file on this disk behind an array of h5py or netCDF4."""
    kind = type(array).__module__
    if kind.startswith("h5py."):
        path = array.file.filename
    elif kind.startswith("netCDF4"):
        path = array.group().filepath()
    else:
        return None
    return _File(path, os.path.getsize(path)) if os.path.isfile(path) else None


def _mapped(array: Array) -> np.memmap[Any, Any] | None:
    """The memmap that was opened, of which the array is the whole or a part."""
    found: np.memmap[Any, Any] | None = None
    while isinstance(array, np.memmap):
        found, array = array, array.base
    return found


def _has_missing_chunks(array: Array) -> bool:
    """Whether the store has fewer chunks than the array has, as far as it says."""
    expected = int(np.prod([-(-size // chunk) for size, chunk in zip(
        array.shape, _stored_chunks(array), strict=True
    )]))  # fmt: skip
    if hasattr(array, "nchunks_initialized"):
        return int(array.nchunks_initialized) < int(array.nchunks)
    if hasattr(array, "id") and hasattr(array.id, "get_num_chunks"):
        return int(array.id.get_num_chunks()) < expected
    return True


def _stored_chunks(array: Array) -> tuple[int, ...]:
    """The shape of what is stored together."""
    chunks = getattr(array, "shards", None) or getattr(array, "chunks", None)
    if callable(getattr(array, "chunking", None)):  # netCDF4
        found = array.chunking()
        chunks = None if found == "contiguous" else found
    return tuple(chunks) if chunks else (1,) * len(array.shape)


def _chunk_rows(array: Array, axis: int) -> int:
    """How many rows are stored together; 1 where any row can be read on its own."""
    chunks = getattr(array, "chunks", None)
    if callable(getattr(array, "chunking", None)):
        return int(_stored_chunks(array)[axis])
    return int(chunks[axis]) if chunks else 1


def _shape_of(array: Array, argument: str) -> Shape:
    shape = tuple(int(size) for size in array.shape)
    if len(shape) not in (2, 3):
        raise InputError(
            f"`{argument}` must have the shape (n, d) or (chain, draw, d); got {shape}"
        )
    if 0 in shape:
        raise InputError(f"`{argument}` must not be empty; got the shape {shape}")
    if not holds_real_numbers(array):
        raise InputError(
            f"`{argument}` must hold real numbers (a floating or integer dtype); got dtype "
            f"{array.dtype}"
        )
    lengths = (shape[1],) * shape[0] if len(shape) == 3 else (shape[0],)
    return Shape(lengths, shape[-1], len(shape) == 3)
