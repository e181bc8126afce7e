"""Parquet files of numbers, one column a coordinate: one reader for memory and for blocks."""

from __future__ import annotations

import base64
import os
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from polystein._lib.arrays import in_double
from polystein._lib.imports import imported
from polystein.errors import InputError
from polystein.types import FloatArray

#: Bytes at the end of a file: the length of its metadata and the mark "PAR1".
_TAIL = 8
_EXTENSION = b"ARROW:extension:name"


class ParquetFile:
    """The columns of a file, all of which are numbers, read one row group at a time.

    Checksums of pages are verified where the file has them.
    """

    def __init__(self, path: Path, argument: str, extra: str) -> None:
        self.path, self._one_read = path, Lock()
        self._mark = _mark(path)
        self._file = _opened(path, argument, extra)
        self.names = _numeric_columns(self._file, path, argument)
        metadata = self._file.metadata
        #: Rows of each row group.
        self.sizes = [
            metadata.row_group(group).num_rows for group in range(self._file.num_row_groups)
        ]

    def read(self, group: int) -> FloatArray:
        """The rows of a row group; a ValueError or an error of PyArrow if they are not sound."""
        self._require_unchanged()
        with self._one_read:  # PyArrow reads a row group on threads of its own
            table = self._file.read_row_group(group, columns=list(self.names))
        self._require_unchanged()
        expected, where = self.sizes[group], f"row group {group} of {self.path.name}"
        if table.num_rows != expected:
            raise ValueError(f"{where} had {expected} rows before and has {table.num_rows} now")
        rows = np.empty((expected, len(self.names)))
        for index, (name, column) in enumerate(zip(self.names, table.columns, strict=True)):
            if column.null_count:
                raise ValueError(
                    f"{where} has {column.null_count} missing values in column {name!r}"
                )
            rows[:, index] = in_double(column.to_numpy())
        return rows

    def _require_unchanged(self) -> None:
        """A file that was written again in place would mix rows of before with rows of now.

        One that was removed, or replaced by another file of its name, stays readable as it was.
        """
        before, now = self._mark, _mark(self.path)
        if now is not None and before is not None and now[0] == before[0] and now != before:
            raise ValueError(
                f"{self.path.name} was written to since it was opened: it had {before[1]} bytes "
                f"then and has {now[1]} now"
            )


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Which file this is, its size and when it was last written to; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened(path: Path, argument: str, extra: str) -> Any:
    parquet = imported("pyarrow.parquet", extra, "reading .parquet")
    try:
        if not path.is_file():  # a pipe might never be written to
            raise InputError(f"`{argument}` must be made of regular files; got {path}")
        _refuse_extension_types(path, argument)
        return parquet.ParquetFile(path, page_checksum_verification=True)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # PyArrow's errors share no class with OSError
        raise InputError(
            f"`{argument}` must be an intact Parquet file; got {path}: {error}"
        ) from error


def _refuse_extension_types(path: Path, argument: str) -> None:
    """Refuse columns of types that other libraries define.

    PyArrow has such a library restore its type when it opens the file, and some unpickle then. The
    types are found in the metadata at the end of the file, where Arrow's schema is in base64.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _TAIL))
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(max(0, size - _TAIL - length))
        metadata = stream.read(length)
    if any(form in metadata for form in _in_base64(_EXTENSION)):
        raise InputError(
            f"`{argument}` must have columns of numbers; got an extension type of another library "
            f"in {path}. Write the columns as plain float64."
        )


def _in_base64(text: bytes) -> list[bytes]:
    """What a text becomes in base64 at each of the three offsets that it can have there."""
    # Six bits make a character: those that a text shares with its neighbours are left out.
    return [
        base64.b64encode(bytes(offset) + text)[-(-8 * offset // 6) : 8 * (offset + len(text)) // 6]
        for offset in range(3)
    ]


def _numeric_columns(file: Any, path: Path, argument: str) -> tuple[str, ...]:
    """Names of the columns, all of which must be numbers."""
    types = imported("pyarrow.types", None)
    names = []
    for field in file.schema_arrow:
        if field.name.startswith("__index_level_"):
            raise InputError(
                f"`{argument}` must have no row index among its columns; got {field.name!r} in "
                f"{path}. Write the file without it (pandas: index=False)"
            )
        if not (types.is_floating(field.type) or types.is_integer(field.type)):
            raise InputError(
                f"`{argument}` must have columns of numbers; got the type {field.type} in column "
                f"{field.name!r} of {path}"
            )
        names.append(field.name)
    if not names:
        raise InputError(f"`{argument}` must have at least one column; got none in {path}")
    name, count = Counter(names).most_common(1)[0]
    if count > 1:  # PyArrow finds columns by their names
        raise InputError(
            f"`{argument}` must have columns of different names; got {count} columns {name!r} in "
            f"{path}. Rename them."
        )
    return tuple(names)
