"""Files of every kind that is read, whole and damaged, and the command line on them."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow
import pyarrow.parquet

from polystein.cli import main
from tests.fuzz.makers import place

_COUNT = itertools.count()
_STAN = """# stan_version_major = 2
# model = fuzz_model
#     num_samples = {rows}
#     save_warmup = false (Default)
lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,{names}
"""


def _names(numbers: np.ndarray, names: Any) -> list[str]:
    columns = numbers.shape[-1] if numbers.ndim else 1
    given = [str(name) for name in names] if names is not None else []
    return [*given, *(f"p{index}" for index in range(len(given), columns))][:columns]


def _table(numbers: np.ndarray) -> np.ndarray:
    """The numbers in two dimensions."""
    return numbers.reshape(-1, numbers.shape[-1] if numbers.ndim and numbers.size else 1)


def _npz(path: Path, numbers: np.ndarray, names: Any) -> None:
    scores = -numbers if numbers.dtype.kind in "fiuc" else numbers
    arrays = {"draws": numbers, "scores": scores}
    if names is not None:
        arrays["names"] = np.array(names)
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def _npy(path: Path, numbers: np.ndarray, names: Any) -> None:
    with path.open("wb") as stream:
        np.save(stream, numbers, allow_pickle=numbers.dtype == object)


def _csv(path: Path, numbers: np.ndarray, names: Any) -> None:
    lines = [] if names is None else [",".join(_names(numbers, names))]
    table = _table(numbers)
    lines += [",".join(map(str, row)) for row in table.tolist()]
    path.write_text("\n".join(lines), "utf-8", errors="surrogateescape")


def _parquet(path: Path, numbers: np.ndarray, names: Any) -> None:
    table = _table(numbers)
    table = table if table.dtype.kind in "fiub" else table.astype(str)
    columns = [pyarrow.array(column.tolist()) for column in table.T]
    made = pyarrow.Table.from_arrays(columns, _names(table, names))
    pyarrow.parquet.write_table(made, path)


def _stan(path: Path, numbers: np.ndarray, names: Any) -> None:
    table = _table(numbers)
    given = _names(table, names)
    header = [before + name for before in ("", "p_", "g_") for name in given]
    lines = [_STAN.format(rows=len(table), names=",".join(header))]
    for row in table.tolist():
        cells = [-1.5, 0.9, 0.1, 3, 7, 0, 4.25, *row, *row, *row]
        lines.append(",".join(map(str, cells)) + "\n")
    path.write_text("".join(lines), "utf-8", errors="surrogateescape")


def _text(path: Path, numbers: np.ndarray, names: Any) -> None:
    path.write_text("once upon a time\nthere was a sampler\n", "utf-8")


def _archive(path: Path, numbers: np.ndarray, names: Any) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("draws.npy", b"\x93NUMPY")
        archive.writestr("../scores.npy", bytes(numbers.tobytes()))


WRITERS: dict[str, Callable[[Path, np.ndarray, Any], None]] = {
    "npz": _npz,
    "npy": _npy,
    "csv": _csv,
    "parquet": _parquet,
    "stan": _stan,
    "text": _text,
    "archive": _archive,
}


def _truncated(data: bytearray, at: float, rng: np.random.Generator) -> bytes:
    return bytes(data[: int(at * len(data))])


def _flipped(data: bytearray, at: float, rng: np.random.Generator) -> bytes:
    for index in rng.integers(len(data), size=1 + int(8 * at)) if data else ():
        data[index] ^= 1 << int(rng.integers(8))
    return bytes(data)


def _noise(data: bytearray, at: float, rng: np.random.Generator) -> bytes:
    start = int(at * len(data))
    return bytes(data[:start]) + rng.bytes(20) + bytes(data[start + 20 :])


#: Ways to damage a file: at a share of its length, with random bytes.
DAMAGES: dict[str, Callable[[bytearray, float, np.random.Generator], bytes]] = {
    "truncated": _truncated,
    "flipped": _flipped,
    "noise": _noise,
    "empty": lambda data, at, rng: b"",
    "twice": lambda data, at, rng: bytes(data) * 2,
    "zeros": lambda data, at, rng: bytes(len(data)),
    "head lost": lambda data, at, rng: bytes(data[int(at * len(data)) :]),
}


def file(
    kind: str,
    numbers: Any,
    *,
    names: Any = None,
    suffix: str | None = None,
    damage: str | None = None,
    at: float = 0.5,
    seed: int = 0,
) -> Path:
    """Write numbers (and, where the kind has them, their negatives as scores) and damage the file.

    `suffix` gives the file the name of another kind.
    """
    usual = {"stan": ".csv", "text": ".csv", "archive": ".npz"}.get(kind, "." + kind)
    path = place(f"{next(_COUNT) % 8}{usual if suffix is None else suffix}")
    WRITERS[kind](path, np.asarray(numbers), names)
    if damage is not None:
        data = bytearray(path.read_bytes())
        path.write_bytes(DAMAGES[damage](data, at, np.random.default_rng(seed)))
    return path


class Outcome(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def command(*arguments: Any) -> Outcome:
    """Run `polystein` with these arguments, in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    given = ["polystein", *map(str, arguments)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with mock.patch.object(sys, "argv", given):
                main()
        except SystemExit as stop:
            code = stop.code
    return Outcome(int(code or 0), out.getvalue(), err.getvalue())
