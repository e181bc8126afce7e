"""Parquet files and folders of them, one column a coordinate, read one row group at a time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.data.parquet import ParquetFile
from polystein.errors import InputError
from polystein.scale.stores import Groups, Shape
from polystein.types import FloatArray


class ParquetTable:
    """The rows of a Parquet file, or of all files of a folder in the order of their names."""

    names: tuple[str, ...] | None

    def __init__(self, path: Path, argument: str) -> None:
        files = [ParquetFile(file, argument, "scale") for file in _paths(path, argument)]
        _require_same_columns(files, argument)
        self._places = [
            (file, group) for file in files for group, size in enumerate(file.sizes) if size
        ]
        if not self._places:
            raise InputError(f"`{argument}` must not be empty; got {path} without rows")
        bounds = np.cumsum([0, *(file.sizes[group] for file, group in self._places)])
        self.names = files[0].names
        self.shape = Shape((int(bounds[-1]),), len(self.names), chains=False)
        self.grain = int(np.diff(bounds).max())
        self._groups = Groups(bounds, self._decoded)

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop``."""
        return self._groups.read(chain, start, stop)

    def _decoded(self, chain: int, first: int, last: int) -> FloatArray:
        return np.concatenate([file.read(group) for file, group in self._places[first:last]])


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
