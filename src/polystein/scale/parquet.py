"""Parquet files and folders of them, one column a coordinate, read one row group at a time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from polystein.data.parquet import ParquetFile
from polystein.data.source import Layout
from polystein.errors import InputError
from polystein.scale.stores import Table
from polystein.types import FloatArray


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
