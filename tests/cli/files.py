"""Outcomes of commands, and files for them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def save_csv(path: Path, array: np.ndarray, header: str = "") -> None:
    np.savetxt(path, array, delimiter=",", header=header, comments="")


def save_parquet(path: Path, array: np.ndarray) -> None:
    columns = {f"p{index}": column for index, column in enumerate(array.T)}
    pyarrow.parquet.write_table(pa.table(columns), path)


SAVERS: dict[str, Callable[[Path, np.ndarray], None]] = {
    ".npy": np.save,
    ".csv": save_csv,
    ".parquet": save_parquet,
}


def save_pair(suffix: str, draws: np.ndarray) -> tuple[str, str]:
    """Write draws and the scores of N(0, I) into the current directory."""
    SAVERS[suffix](Path(f"draws{suffix}"), draws)
    SAVERS[suffix](Path(f"scores{suffix}"), -draws)
    return f"draws{suffix}", f"scores{suffix}"
