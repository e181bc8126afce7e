"""Parquet files and folders of them, one column a coordinate, read one row group at a time."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.errors import InputError, MissingExtraError
from polystein.scale.stores import Groups, Shape, in_double
from polystein.types import FloatArray


class ParquetTable:
    """The rows of a Parquet file, or of all files of a folder in the order of their names."""

    names: tuple[str, ...] | None

    def __init__(self, path: Path, argument: str) -> None:
        self._argument, self._paths = argument, _files(path, argument)
        self._one_read = Lock()
        self._marks = [_mark(file) for file in self._paths]
        self._files = [_opened(file, argument) for file in self._paths]
        self.names = self._columns = self._common_names()
        self._places = [
            (number, group)
            for number, file in enumerate(self._files)
            for group in range(file.metadata.num_row_groups)
        ]
        sizes = [
            self._files[number].metadata.row_group(group).num_rows for number, group in self._places
        ]
        self._places = [place for place, size in zip(self._places, sizes, strict=True) if size]
        bounds = np.cumsum([0, *(size for size in sizes if size)])
        if not self._places:
            raise InputError(f"`{argument}` must not be empty; got {path} without rows")
        self._bounds = bounds
        self.shape = Shape((int(bounds[-1]),), len(self._columns), chains=False)
        self.grain = int(np.diff(bounds).max())
        self._groups = Groups(bounds, self._decoded)

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop``."""
        return self._groups.read(chain, start, stop)

    def _decoded(self, chain: int, first: int, last: int) -> FloatArray:
        return np.concatenate([self._row_group(place) for place in range(first, last)])

    def _row_group(self, place: int) -> FloatArray:
        number, group = self._places[place]
        self._require_unchanged(number)
        with self._one_read:  # PyArrow reads a row group on threads of its own
            table = self._files[number].read_row_group(group, columns=list(self._columns))
        self._require_unchanged(number)
        expected = int(self._bounds[place + 1] - self._bounds[place])
        where = f"row group {group} of {self._paths[number].name}"
        if table.num_rows != expected:
            raise ValueError(f"{where} had {expected} rows before and has {table.num_rows} now")
        rows = np.empty((expected, len(self._columns)))
        for index, (name, column) in enumerate(zip(self._columns, table.columns, strict=True)):
            if column.null_count:
                raise ValueError(
                    f"{where} has {column.null_count} missing values in column {name!r}"
                )
            rows[:, index] = in_double(column.to_numpy())
        return rows

    def _require_unchanged(self, number: int) -> None:
        """A file that was written again in place would mix rows of before with rows of now.

        One that was removed, or replaced by another file of its name, stays readable as it was.
        """
        before, now = self._marks[number], _mark(self._paths[number])
        if now is not None and before is not None and now[0] == before[0] and now != before:
            raise ValueError(
                f"{self._paths[number].name} was written to since it was opened: it had "
                f"{before[1]} bytes then and has {now[1]} now"
            )

    def _common_names(self) -> tuple[str, ...]:
        """The columns of the first file, which all others must have in the same order."""
        first = _numeric_columns(self._files[0], self._paths[0], self._argument)
        for path, file in zip(self._paths[1:], self._files[1:], strict=True):
            found = _numeric_columns(file, path, self._argument)
            if found != first:
                raise InputError(
                    f"`{self._argument}` must have the same columns in every file, "
                    f"{', '.join(first)}; got {', '.join(found)} in {path}"
                )
        return first


def _files(path: Path, argument: str) -> list[Path]:
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


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Which file this is, its size and when it was last written to; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened(path: Path, argument: str) -> Any:
    parquet = _pyarrow_parquet()
    try:
        return parquet.ParquetFile(path, page_checksum_verification=True)
    except Exception as error:  # PyArrow's errors share no class with OSError
        raise InputError(
            f"`{argument}` must be an intact Parquet file; got {path}: {error}"
        ) from error


def _numeric_columns(file: Any, path: Path, argument: str) -> tuple[str, ...]:
    """Names of the columns, all of which must be numbers."""
    names = []
    for field in file.schema_arrow:
        if field.name.startswith("__index_level_"):
            raise InputError(
                f"`{argument}` must have no row index among its columns; got {field.name!r} in "
                f"{path}. Write the file without it (pandas: index=False)"
            )
        if not str(field.type).startswith(("float", "double", "halffloat", "int", "uint")):
            raise InputError(
                f"`{argument}` must have columns of numbers; got the type {field.type} in column "
                f"{field.name!r} of {path}"
            )
        names.append(field.name)
    if not names:
        raise InputError(f"`{argument}` must have at least one column; got none in {path}")
    _require_different(names, path, argument)
    return tuple(names)


def _require_different(names: Sequence[str], path: Path, argument: str) -> None:
    """PyArrow finds columns by their names."""
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"`{argument}` must have columns of different names; got {count} columns {name!r} in "
            f"{path}. Rename them."
        )


def _pyarrow_parquet() -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "reading .parquet needs PyArrow: pip install 'polystein[scale]'"
        ) from error
