"""Numbers that stay where they are stored: a table is read in consecutive rows of one chain.

What is stored together, a chunk of Zarr or HDF5 or a row group of Parquet, is called a chunk here
and decoded as a whole. The chunk decoded last is kept, so that a pass, which reads forwards,
decodes every chunk once.
"""

from __future__ import annotations

import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import holds_real_numbers
from polystein._lib.zarr_codecs import require_safe_array
from polystein.data.parquet import ParquetFile
from polystein.data.source import Layout
from polystein.errors import InputError
from polystein.types import Array, FloatArray

#: Libraries whose reads must not happen at the same time.
_ONE_READ_AT_A_TIME = threading.Lock()


class ChunkError(ValueError):
    """A chunk that could not be decoded, by its number."""

    def __init__(self, chunk: int, reason: str) -> None:
        super().__init__(reason)
        self.chunk = chunk


class _Kept(threading.local):
    """The chunk that this thread decoded last, by chain and number, and its rows."""

    chunk: tuple[int, int] | None = None
    rows: NDArray[Any]


class Table(ABC):
    """A table of numbers, in one or more chains.

    ``bounds`` are the rows at which chunks begin, and the number of rows. Without them any row
    can be read on its own.
    """

    def __init__(
        self, layout: Layout, bounds: Sequence[int] | None, names: tuple[str, ...] | None = None
    ) -> None:
        self.layout, self.names = layout, names
        self._bounds = np.asarray([0, *layout.lengths[:1]] if bounds is None else bounds)
        #: Most rows of a chunk.
        self.grain = 1 if bounds is None else int(np.diff(self._bounds).max())
        self._in_chunks, self._kept = bounds is not None, _Kept()

    @abstractmethod
    def decode(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain, which make up whole chunks."""

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain, of shape (rows, d), in memory of their own."""
        if not self._in_chunks:
            return self.decode(chain, start, stop)
        bounds = self._bounds
        first = int(np.searchsorted(bounds, start, "right")) - 1
        last = int(np.searchsorted(bounds, stop))
        # Chunks that are read in part stand alone; those between are decoded together.
        inner = {first + int(bounds[first] < start), last - int(bounds[last] > stop)}
        parts = []
        for low, high in pairwise(sorted({first, *inner, last})):
            if high - low > 1:
                parts.append(self._decoded(chain, low, high))
                continue
            begin, end = bounds[low], bounds[high]
            rows = self._chunk(chain, low, keep=end > stop or begin < start)
            parts.append(rows[max(start - begin, 0) : stop - begin])
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)

    def _chunk(self, chain: int, chunk: int, *, keep: bool) -> NDArray[Any]:
        kept = self._kept
        if kept.chunk == (chain, chunk):
            return kept.rows
        kept.chunk, kept.rows = None, np.empty(0)  # the memory is needed
        rows = self._decoded(chain, chunk, chunk + 1)
        if keep:
            kept.chunk, kept.rows = (chain, chunk), rows
        return rows

    def _decoded(self, chain: int, first: int, last: int) -> NDArray[Any]:
        """Rows of some chunks; an error is that of the first chunk that has one."""
        try:
            return self.decode(chain, int(self._bounds[first]), int(self._bounds[last]))
        except (ChunkError, MemoryError):
            raise
        except Exception as error:
            if last - first > 1:
                for chunk in range(first, last):
                    self._decoded(chain, chunk, chunk + 1)
            raise ChunkError(first, str(error) or type(error).__name__) from error


class ArrayTable(Table):
    """An array of shape (n, d) or (chain, draw, d) in a file: a memmap, Zarr, HDF5 or netCDF.

    Any object with a shape, a dtype and slices is accepted.
    """

    def __init__(self, array: Array, argument: str) -> None:
        layout = layout_of(array, argument)
        require_safe_array(array, argument)
        length = layout.lengths[0]
        rows = min(_chunk_rows(array, axis=int(layout.time_ordered)), length)
        super().__init__(layout, [*range(0, length, rows), length] if rows > 1 else None)
        self._array = array
        self._needs_lock = type(array).__module__.startswith("netCDF4")
        self._file = _file_of(array)

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain; an error if there are fewer or more rows than before."""
        self._require_length()
        return super().read(chain, start, stop)

    def decode(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain, which make up whole chunks."""
        rows = self._slice(chain, start, stop)
        if self.grain == 1:
            self._require_stored(rows)
            return rows
        for low in range(0, len(rows), self.grain):
            chunk = rows[low : low + self.grain]
            self._require_stored(chunk)
            self._require_written(chunk, (start + low) // self.grain)
        return rows

    def _slice(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        place: tuple[Any, ...] = (slice(start, stop),)
        place = (chain, *place) if self.layout.time_ordered else place
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
        before, rows = self.layout.lengths[0], int(self._array.shape[-2])
        if rows != before:
            raise ValueError(f"it had {before} rows before and has {rows} now")

    def _require_stored(self, rows: NDArray[Any]) -> None:
        """HDF5 silently reads zeros where its file has become too short."""
        if self._file is None or len(rows) == 0 or rows[-1].any():
            return
        path, before = self._file
        held = os.path.getsize(path)
        if held < before:
            raise ValueError(f"the file had {before} bytes before and has {held} now")

    def _require_written(self, rows: NDArray[Any], chunk: int) -> None:
        """Chunks that were never written are silently read as the fill value."""
        fill = getattr(self._array, "fill_value", getattr(self._array, "fillvalue", None))
        if fill is None or len(rows) == 0 or not np.any(rows[0] == fill):
            return
        # A chunk need not have all the columns.
        if np.any(np.all(rows == fill, axis=0)) and _has_missing_chunks(self._array):
            raise ValueError(
                f"chunk {chunk} was never written or is lost: every value of a column is the fill "
                f"value, {fill}"
            )


def _file_of(array: Array) -> tuple[str, int] | None:
    """The file on this disk behind an array of h5py or netCDF4, and its bytes now."""
    kind = type(array).__module__
    if kind.startswith("h5py."):
        path = array.file.filename
    elif kind.startswith("netCDF4"):
        path = array.group().filepath()
    else:
        return None
    return (path, os.path.getsize(path)) if os.path.isfile(path) else None


def _mapped(array: Array) -> np.memmap[Any, Any] | None:
    """The memmap that was opened, of which the array is the whole or a part."""
    found: np.memmap[Any, Any] | None = None
    while isinstance(array, np.memmap):
        found, array = array, array.base
    return found


def _has_missing_chunks(array: Array) -> bool:
    """Whether the store lacks chunks of the array; True if it does not say."""
    if hasattr(array, "nchunks_initialized"):  # Zarr
        return int(array.nchunks_initialized) < int(array.nchunks)
    if hasattr(array, "id") and hasattr(array.id, "get_num_chunks"):  # h5py
        expected = np.prod(-(-np.array(array.shape) // array.chunks))
        return int(array.id.get_num_chunks()) < int(expected)
    return True


def _chunk_rows(array: Array, axis: int) -> int:
    """How many rows are stored together; 1 where any row can be read on its own."""
    chunks = getattr(array, "chunks", None)
    if callable(getattr(array, "chunking", None)):  # netCDF4
        found = array.chunking()
        chunks = None if found == "contiguous" else found
    return int(chunks[axis]) if chunks else 1


def layout_of(array: Array, argument: str) -> Layout:
    """The layout of an array of shape (n, d), or (chain, draw, d) for chains in time order."""
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
    return Layout(lengths, shape[-1], time_ordered=len(shape) == 3)


class LabelledTable(Table):
    """A DataArray, or the variables of a Dataset side by side, with the dimensions (chain, draw).

    All other dimensions of a variable are its coordinates, ``theta[0]``, ``theta[1]``, ...
    """

    def __init__(self, value: Any, argument: str) -> None:
        self._variables = _variables(value, argument)
        first = self._variables[0]
        leading = _leading(first, argument)
        for variable in self._variables[1:]:
            if _leading(variable, argument) != leading:
                raise InputError(
                    f"`{argument}` must have the same leading dimensions in all variables, "
                    f"{leading}; got {variable.dims} in {variable.name}"
                )
        names = tuple(name for variable in self._variables for name in _names(variable))
        chains = int(first.sizes["chain"]) if "chain" in leading else 1
        lengths = (int(first.sizes["draw"]),) * chains
        # Arrays that Dask does not hold have no chunks.
        sizes = (getattr(first, "chunksizes", None) or {}).get("draw", (1,))
        bounds = np.cumsum([0, *sizes]).tolist() if max(sizes) > 1 else None
        super().__init__(Layout(lengths, len(names), "chain" in leading), bounds, names)

    def decode(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain, which make up whole chunks."""
        place = {"draw": slice(start, stop)} | (
            {"chain": chain} if self.layout.time_ordered else {}
        )
        parts = [
            np.asarray(variable.isel(place).values).reshape(stop - start, -1)
            for variable in self._variables
        ]
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts, axis=1)


def _variables(value: Any, argument: str) -> list[Any]:
    """The DataArray itself, or the data variables of a Dataset."""
    if type(value).__name__ == "DataArray":
        return [value]
    found = [value[name] for name in value.data_vars]
    if not found:
        raise InputError(f"`{argument}` must have data variables; got an empty Dataset")
    return found


def _leading(variable: Any, argument: str) -> tuple[str, ...]:
    """The dimensions of chains and draws, which come first."""
    for leading in (("chain", "draw"), ("draw",)):
        if variable.dims[: len(leading)] == leading and "chain" not in variable.dims[1:]:
            return leading
    raise InputError(
        f"`{argument}` must have the dimensions ('chain', 'draw', ...) or ('draw', ...); got "
        f"{variable.dims}. Pass `array.transpose('chain', 'draw', ...)`."
    )


def _names(variable: Any) -> list[str]:
    """``theta`` for a scalar, ``theta[0, 1]`` for an entry of a matrix."""
    name = "x" if variable.name is None else str(variable.name)
    sizes = [size for dim, size in variable.sizes.items() if dim not in ("chain", "draw")]
    if not sizes:
        return [name]
    return [f"{name}[{', '.join(map(str, place))}]" for place in product(*map(range, sizes))]


class ParquetTable(Table):
    """The rows of a Parquet file, or of all files of a folder in the order of their names."""

    def __init__(self, path: Path, argument: str) -> None:
        files = [ParquetFile(file, argument, "scale") for file in _paths(path, argument)]
        _require_same_columns(files, argument)
        sizes = {(file, k): size for file in files for k, size in enumerate(file.sizes) if size}
        if not sizes:
            raise InputError(f"`{argument}` must not be empty; got {path} without rows")
        self._row_groups, names = list(sizes), files[0].names
        bounds = np.cumsum([0, *sizes.values()]).tolist()
        super().__init__(Layout((bounds[-1],), len(names), time_ordered=False), bounds, names)

    def decode(self, chain: int, start: int, stop: int) -> FloatArray:
        """Rows ``start:stop``, which make up whole row groups."""
        first, last = np.searchsorted(self._bounds, (start, stop)).tolist()
        return np.concatenate([file.read(k) for file, k in self._row_groups[first:last]])


def _require_same_columns(files: list[ParquetFile], argument: str) -> None:
    """All files must have the columns of the first one, in the same order."""
    first = files[0].names
    for file in files[1:]:
        if file.names != first:
            raise InputError(
                f"`{argument}` must have the same columns in every file, {', '.join(first)}; got "
                f"{', '.join(file.names)} in {file.path}"
            )


def _paths(path: Path, argument: str) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [file for file in path.iterdir() if file.suffix.lower() == ".parquet"]
    if not found:
        raise InputError(f"`{argument}` must be a folder of .parquet files; got {path} without any")
    for folder in path.iterdir():
        if folder.is_dir() and next(folder.rglob("*.parquet"), None) is not None:
            raise InputError(
                f"`{argument}` must be a folder with all its .parquet files side by side; got "
                f"{path} with more of them in {folder.name}"
            )
    return sorted(found, key=_by_number)


def _by_number(path: Path) -> tuple[list[str | int], str]:
    """A key by which ``part.2.parquet`` comes before ``part.10.parquet``: rows have an order."""
    words = re.split(r"([0-9]+)", path.name)
    return [int(word) if index % 2 else word for index, word in enumerate(words)], path.name
