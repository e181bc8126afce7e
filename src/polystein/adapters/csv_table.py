"""CSV files: numbers between commas, semicolons or tabs, below an optional line of names."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np

from polystein._lib.imports import imported
from polystein.errors import InputError
from polystein.types import FloatArray

#: What may stand between numbers; a file with semicolons may have commas in numbers.
_DELIMITERS = (";", ",", "\t")
#: What only a damaged number looks like, and no name: "1.2.3", "1e", "0.5x".
_DAMAGED = re.compile(r"[+-]*(\d*\.\d.*|[\d.][\d.eE+-]*)")
#: The digits of an exponent. In "1.5e-0" one is left of two: the file ends too early.
_EXPONENT = re.compile(rb"[eE][+-]?(\d*)$")
#: The last number of a file without a final line break is compared with this many above it ...
_CELLS_COMPARED = 100
#: ... if there are at least this many: fewer do not show how short a number may be.
_FEWEST_COMPARED = 5
#: Bytes that PyArrow parses at once: it refuses a line that is longer than two such parts.
_PARSED_AT_ONCE = 2**26


def read_csv(path: Path, argument: str) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Numbers, and the names of their columns if the file has them.

    Every cell is a number, of which `nan` and `inf` are two. A blank line is an error.
    """
    arrow, reader = (imported(f"pyarrow{part}", "cli", "reading .csv") for part in ("", ".csv"))
    stored = path.read_bytes()
    data = stored.rstrip()
    try:
        top = _lines(data).readline()
        # Delimiters in quotes are part of a name.
        bare = re.sub(r'"[^"]*"', "", top.strip())
        delimiter = next((one for one in _DELIMITERS if one in bare), ",")
        first = _cells(top, delimiter)
        names = _header(first, path, argument)
        labels = [str(number) for number in range(1, max(1, len(first)) + 1)]
        try:
            table = reader.read_csv(
                arrow.BufferReader(data),
                reader.ReadOptions(
                    column_names=labels, skip_rows=int(bool(names)), block_size=_PARSED_AT_ONCE
                ),
                reader.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
                reader.ConvertOptions(
                    column_types=dict.fromkeys(labels, arrow.float64()), null_values=[]
                ),
            )
        except ValueError as error:  # PyArrow's, for cells that are no numbers
            rows = [_cells(line, delimiter) for line in _lines(data)]
            raise InputError(
                _fault(rows, names, path, argument)
                or (f"`{argument}` must be numbers separated by commas; got {path}: {error}")
            ) from error
        if not stored.endswith((b"\n", b"\r")):
            _refuse_cut_number(data, delimiter.encode(), path, argument)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"`{argument}` must be UTF-8 text with commas between numbers; got {path}: {error}"
        ) from error
    return np.column_stack([column.to_numpy() for column in table.columns]), names


def _lines(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line, which are none on a blank one."""
    return [cell.strip() for cell in next(csv.reader([line.strip()], delimiter=delimiter), [])]


def _header(cells: list[str], path: Path, argument: str) -> tuple[str, ...] | None:
    """The names on the first line, or None if it holds numbers."""
    # 1, 2 may be a draw. Pandas numbers columns from 0 on, others from 1 on.
    counts = [[str(first + place) for place in range(len(cells))] for first in (0, 1)]
    if cells and cells in (counts if len(cells) > 2 else counts[:1]):
        raise InputError(
            f"`{argument}`, line 1 of {path}, counts {cells[0]}, ...: column numbers or a draw? "
            "Give the columns names, or leave the line out"
        )
    words = [cell for cell in cells if not is_number(cell)]
    if not words:
        return None
    if "" in cells:
        raise InputError(
            f"`{argument}` must have a name for every column; got line 1 of {path} with column "
            f"{cells.index('') + 1} unnamed. Is it a row number? Write the file without it "
            "(pandas: index=False)"
        )
    # A word beside numbers is one of them, damaged.
    all_words = len(words) == len(cells)
    damaged = [word for word in words if _DAMAGED.fullmatch(word)] if all_words else words
    if damaged:
        raise InputError(
            f"`{argument}`, line 1 of {path}: expected a number in every column, or a name that "
            f"looks like none; got {damaged[0]!r} in column {cells.index(damaged[0]) + 1}"
        )
    return tuple(cells)


def _refuse_cut_number(data: bytes, delimiter: bytes, path: Path, argument: str) -> None:
    """Refuse a file that ends in the middle of a number, as far as its column shows.

    A complete file may lack the final line break. Here the last number is also shorter than
    all above it by more than one character, or its exponent is 0 or the only one of one digit.
    """
    lines = data.rsplit(b"\n", _CELLS_COMPARED + 1)[1:]
    *above, last = [line.rpartition(delimiter)[2].strip(b'" \t\r+-') for line in lines] or [b""]
    if len(above) < _FEWEST_COMPARED:
        return
    is_short = len(last) + 1 < min(map(len, above))
    exponents = [found[1] for cell in above if (found := _EXPONENT.search(cell))]
    own = _EXPONENT.search(last)
    # Some programs write one digit where there is one, but none writes an exponent of 0.
    longer = bool(exponents) and min(map(len, exponents)) > 1
    lost_digit = own is not None and len(own[1]) < 2 and (own[1] == b"0" or longer)
    if is_short or lost_digit:
        raise InputError(
            f"`{argument}` must be a complete file; got {path}, which ends in {last.decode()!r}, "
            "unlike the numbers above it and without a line break. Write it again, or add a line "
            "break if nothing is missing."
        )


def _fault(
    rows: list[list[str]], names: tuple[str, ...] | None, path: Path, argument: str
) -> str | None:
    """What is wrong on the first line at fault; PyArrow does not tell the number of the line."""
    start = 1 if names else 0
    if not rows[start:]:
        return f"`{argument}` must hold at least one line of numbers; got {path}"
    if names and rows[1] and len(rows[1]) != len(names):
        return (
            f"`{argument}` must have a name for each of {len(rows[1])} columns; got "
            f"{len(names)} names in {path}"
        )
    for number, cells in enumerate(rows[start:], start + 1):
        where = f"`{argument}`, line {number} of {path}"
        if not cells:
            return f"{where}: expected numbers; got nothing"
        if len(cells) != len(rows[0]):
            return f"{where}: expected {len(rows[0])} numbers, as on line 1; got {len(cells)}"
        for column, cell in enumerate(cells, 1):
            if not is_number(cell):
                return f"{where}, column {column}: expected a number; got {cell!r}"
    return None


def is_number(cell: str) -> bool:
    """Whether a cell is a number, `nan` and `inf` among them."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
