"""Files to a `Sample`: .npy, .npz, .csv and .parquet, and never a pickle."""

from __future__ import annotations

import csv
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

import numpy as np

from polystein.data.sample import Sample
from polystein.errors import InputError, MissingExtraError
from polystein.types import Array

# A key that is none of these would be left out of the answer without a word.
_KEYS = {"draws", "scores", "log_weights"}
_PICKLES = {".pkl", ".pickle", ".pt", ".pth", ".joblib", ".dill"}


class Table(NamedTuple):
    """Numbers, and the columns' names and importance weights if the file has them."""

    values: Array
    names: tuple[str, ...] | None = None
    log_weights: Array | None = None


def load_sample(draws: Path, scores: Path | None) -> Sample:
    """Read draws and scores, each from its own file or both from one .npz."""
    if scores is None and draws.suffix.lower() in set(READERS) - {".npz"}:
        raise InputError(
            "`scores` are missing: give a second file, or one .npz with the keys 'draws' and "
            f"'scores'; got {draws} alone"
        )
    left, right = load_table(draws, "draws"), load_table(scores or draws, "scores")
    if left.names and right.names and left.names != right.names:
        _check_same_order(left.names, right.names)
    return Sample(left.values, right.values, names=left.names, log_weights=left.log_weights)


def load_table(path: Path, argument: str) -> Table:
    """Read one array; `argument` is the .npz key and the name in messages."""
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise InputError(
            f"`{argument}` must not be a pickle, which can run any code when it is opened; got "
            f"{path}. Save the array with numpy.save instead."
        )
    if suffix not in READERS:
        raise InputError(f"`{argument}` must be a file of type {', '.join(READERS)}; got {path}")
    if not path.is_file():
        raise InputError(f"`{argument}` must be a file that exists; got {path}")
    try:
        return READERS[suffix](path, argument)
    except OSError as error:
        raise InputError(
            f"`{argument}` must be a readable {suffix} file; got {path}: {error}"
        ) from error


def _check_same_order(draws: tuple[str, ...], scores: tuple[str, ...]) -> None:
    """Columns in another order would be paired wrongly without a word."""
    if sorted(draws) == sorted(scores):
        raise InputError(
            "`scores` must have its columns in the order of `draws`, "
            f"{', '.join(draws)}; got {', '.join(scores)}"
        )


def _read_numpy(path: Path, argument: str) -> Table:
    try:
        with path.open("rb") as stream:
            return _numpy_table(stream, path, argument)
    except InputError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"`{argument}` must be an intact NumPy file of plain numbers, without pickled "
            f"objects; got {path}: {error}"
        ) from error


def _numpy_table(stream: BinaryIO, path: Path, argument: str) -> Table:
    """A .npy file's array, or that of the right key of a .npz file with its log-weights."""
    loaded = np.load(stream, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return Table(loaded)
    with loaded:
        keys = sorted(loaded.files)
        if argument not in keys:
            raise InputError(f"`{argument}` must be a key of {path}; got the keys {keys}")
        if not _KEYS.issuperset(keys):
            raise InputError(
                f"`{argument}`: the keys of {path} must be {', '.join(sorted(_KEYS))}, of which "
                f"only log_weights may be missing; got {keys}"
            )
        log_weights = loaded["log_weights"] if "log_weights" in loaded.files else None
        return Table(loaded[argument], log_weights=log_weights)


def _read_csv(path: Path, argument: str) -> Table:
    """Read numbers separated by commas, below an optional line of names."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            names = _header(first, path, argument)
            body = stream if names else chain([first], stream)
            values = _numbers(_lines(body, path, argument, start=2 if names else 1))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"`{argument}` must be UTF-8 text; got {path}: {error}") from error
    except ValueError as error:
        raise InputError(_complaint(path, argument, str(error))) from error
    if values.size == 0:
        raise InputError(f"`{argument}` must hold at least one line of numbers; got {path}")
    if names and len(names) != values.shape[1]:
        raise InputError(
            f"`{argument}` must have a name for each of {values.shape[1]} columns; got "
            f"{len(names)} names in {path}"
        )
    return Table(values, names)


def _header(line: str, path: Path, argument: str) -> tuple[str, ...] | None:
    """Return the names on the first line, or None if it holds numbers."""
    cells = [cell.strip() for cell in next(csv.reader([line]), [])]
    if cells == [str(index) for index in range(len(cells))] and cells:
        raise InputError(
            f"`{argument}`, line 1 of {path}, counts 0, 1, ...: column numbers or a draw? Give "
            "the columns names, or leave the line out"
        )
    if all(_is_number(cell) for cell in cells):
        return None
    if "" in cells:
        raise InputError(
            f"`{argument}` must have a name for every column; got line 1 of {path} with column "
            f"{cells.index('') + 1} unnamed. Is it a row number? Write the file without it "
            "(pandas: index=False)"
        )
    return tuple(cells)


def _lines(stream: Iterator[str] | TextIO, path: Path, argument: str, start: int) -> Iterator[str]:
    """Pass lines on; a blank one between them may be a missing value, so refuse it."""
    blank = 0
    for number, line in enumerate(stream, start):
        if not line.strip():
            blank = blank or number
            continue
        if blank:
            raise InputError(f"`{argument}`, line {blank} of {path}: expected numbers; got nothing")
        yield line


def _numbers(lines: Iterator[str]) -> Array:
    with warnings.catch_warnings():
        # An empty file is an error of its own, raised by the caller.
        warnings.filterwarnings("ignore", message=".*input contained no data")
        return np.loadtxt(lines, delimiter=",", comments=None, quotechar='"', ndmin=2)


def _complaint(path: Path, argument: str, otherwise: str) -> str:
    """Find the first line at fault, which NumPy counts in its own way."""
    expected = 0
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for number, cells in enumerate(csv.reader(stream), 1):
            where = f"`{argument}`, line {number} of {path}"
            expected = expected or len(cells)
            if cells and len(cells) != expected:
                return f"{where}: expected {expected} numbers, as on line 1; got {len(cells)}"
            wrong = [cell for cell in cells if not _is_number(cell)]
            if wrong and number > 1:
                column = cells.index(wrong[0]) + 1
                return f"{where}, column {column}: expected a number; got {wrong[0]!r}"
    return f"`{argument}` must be numbers separated by commas; got {path}: {otherwise}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, argument: str) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            "reading .parquet needs PyArrow: pip install 'polystein[cli]'"
        ) from error
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise InputError(f"`{argument}` must be a Parquet file; got {path}: {error}") from error
    if table.num_columns == 0:
        raise InputError(f"`{argument}` must have at least one column; got none in {path}")
    columns = zip(table.column_names, table.columns, strict=True)
    values = np.column_stack(
        [_parquet_column(name, column, path, argument) for name, column in columns]
    )
    return Table(values, tuple(table.column_names))


def _parquet_column(name: str, column: Array, path: Path, argument: str) -> Array:
    from pyarrow import types

    if not (types.is_floating(column.type) or types.is_integer(column.type)):
        raise InputError(
            f"`{argument}` must have columns of numbers; got the type {column.type} in column "
            f"{name!r} of {path}"
        )
    if name.startswith("__index_level_"):
        raise InputError(
            f"`{argument}` must have no row index among its columns; got {name!r} in {path}. "
            "Write the file without it (pandas: index=False)"
        )
    if column.null_count:
        raise InputError(
            f"`{argument}` must have no missing values; got {column.null_count} in column "
            f"{name!r} of {path}"
        )
    return column.to_numpy()


READERS: dict[str, Callable[[Path, str], Table]] = {
    ".npy": _read_numpy,
    ".npz": _read_numpy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
