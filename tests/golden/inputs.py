"""Draws and scores of the golden calls, with the same bits on every machine.

A case names its input. Each is made from independent N(0, 1) numbers of
``numpy.random.default_rng(seed)``, through the map of `target`. Draws are rounded to multiples of
2^-30 and scores to multiples of 2^-40, so that the last digits of a machine's sinh do not enter.
`results.json` has a digest of every array: if NumPy's generator changes, the digests say so.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import stats

import polystein as ps
from tests.sources import MinimalSource, SequentialSource, WeightedSource

Array = NDArray[np.float64]
#: Positional arguments of a call.
Arguments = tuple[Any, ...]
NAMES = ("mu", "log_tau", "nu")


def rounded(values: Array, bits: int = 30) -> Array:
    """The nearest multiples of 2^-bits."""
    return np.round(values * 2.0**bits) / 2.0**bits


def target(z: Array) -> Array:
    """Draws of a target with correlation, units and skewness, from z ~ N(0, I) in 3 dimensions."""
    first, second, third = np.moveaxis(z, -1, 0)
    columns = [1.0 + first, -2.0 + 3.0 * (0.6 * first + 0.8 * second), np.sinh(0.8 * third + 0.3)]
    return rounded(np.stack(columns, axis=-1))


def score(x: Array) -> Array:
    """The score of that target, a function of (..., 3) draws."""
    x = np.asarray(x, dtype=np.float64)
    first = x[..., 0] - 1.0
    second = ((x[..., 1] + 2.0) / 3.0 - 0.6 * first) / 0.8
    root = np.sqrt(1.0 + x[..., 2] ** 2)
    third = (np.arcsinh(x[..., 2]) - 0.3) / 0.8
    columns = [-first + 0.75 * second, -second / 2.4, -third / (0.8 * root) - x[..., 2] / root**2]
    return np.stack(columns, axis=-1)


def normal(seed: int, *shape: int, memory: float = 0.0) -> Array:
    """N(0, 1) numbers; with memory, AR(1) chains along the last axis but one."""
    z = np.random.default_rng(seed).standard_normal(shape)
    for t in range(1, shape[-2] if memory else 0):
        z[..., t, :] = memory * z[..., t - 1, :] + math.sqrt(1.0 - memory**2) * z[..., t, :]
    return z


def pair(z: Array) -> tuple[Array, Array]:
    """Draws and scores."""
    draws = target(z)
    return draws, rounded(score(draws), 40)


def gaussian(z: Array) -> tuple[Array, Array]:
    """Draws of N(0, I) in any dimension, and their scores."""
    return rounded(z), -rounded(z)


ROWS = pair(normal(1, 300, 3))
WIDE = pair(normal(2, 300, 3) * np.array([1.0, 1.25, 1.0]))
SHIFTED = pair(normal(3, 300, 3) + np.array([0.0, 0.0, 0.35]))
ONE = gaussian(1.15 * normal(4, 250, 1))
TEN = gaussian(normal(5, 240, 10) * np.where(np.arange(10) == 7, 1.4, 1.0))
#: More coordinates than rows.
FLAT = gaussian(normal(6, 60, 70))
CHAIN = pair(normal(7, 600, 3, memory=0.6))
SLOW = pair(normal(8, 500, 3, memory=0.97))
CHAINS = pair(normal(9, 4, 250, 3, memory=0.5))
WIDE_CHAINS = pair(normal(10, 4, 250, 3, memory=0.5) * np.array([1.0, 1.0, 1.2]))
MANY = pair(normal(11, 40, 25, 3, memory=0.3))
#: The last of the chains is elsewhere.
APART = pair(normal(12, 4, 200, 3, memory=0.5) + np.array([0.0, 0.0, 0.0, 1.5])[:, None, None])
#: Enough batches and pairs of coordinates that signs are flipped in single precision.
MANY_PAIRS = gaussian(1.1 * normal(13, 640, 40))
LOG_WEIGHTS = rounded(0.7 * normal(14, 300, 1)[:, 0] + 400.0)
CHAIN_WEIGHTS = rounded(0.5 * normal(15, 4, 250, 1)[..., 0] - 900.0)


def metropolis(seed: int, steps: int) -> tuple[Array, Array]:
    """A chain of random-walk Metropolis on N(0, I) in 2 dimensions: rows repeat."""
    rng = np.random.default_rng(seed)
    moves, levels = rng.standard_normal((steps, 2)), np.log(rng.random(steps))
    rows, now = [], np.zeros(2)
    for move, level in zip(moves, levels, strict=True):
        there = rounded(now + 1.7 * move)
        now = there if level < 0.5 * float(now @ now - there @ there) else now
        rows.append(now)
    return np.array(rows), -np.array(rows)


REPEATED = metropolis(16, 600)


def blocks() -> Iterator[tuple[Array, Array]]:
    """The rows in blocks of unequal length."""
    for start, stop in ((0, 70), (70, 71), (71, 200), (200, 300)):
        yield ROWS[0][start:stop], ROWS[1][start:stop]


def blocks_of_draws() -> Iterator[Array]:
    """The same without scores."""
    return (draws for draws, _ in blocks())


def mapped(folder: Path, arrays: tuple[Array, Array]) -> Arguments:
    """Memory maps of both arrays."""
    paths = saved(folder, arrays)
    return tuple(np.load(path, mmap_mode="r") for path in paths)


def saved(folder: Path, arrays: tuple[Array, Array]) -> tuple[Path, Path]:
    """A .npy file of each array."""
    paths = folder / "draws.npy", folder / "scores.npy"
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array)
    return paths


def archived(folder: Path, **more: Array) -> Arguments:
    """One .npz file, read by `from_file`."""
    np.savez(folder / "run.npz", draws=ROWS[0], scores=ROWS[1], names=np.array(NAMES), **more)
    return (ps.from_file(folder / "run.npz"),)


def comma_separated(folder: Path) -> Arguments:
    """Two .csv files, with all digits, read by `from_file`."""
    for name, array in zip(("x.csv", "s.csv"), ROWS, strict=True):
        np.savetxt(folder / name, array, fmt="%.17g", delimiter=",", header="a,b,c", comments="")
    return (ps.from_file(folder / "x.csv", folder / "s.csv"),)


def parquet(folder: Path) -> Arguments:
    """Two Parquet files with groups of rows that end in different places."""
    return parquet_file(folder / "x.parquet", ROWS[0], 110), parquet_file(
        folder / "s.parquet", ROWS[1], 70
    )


def parquet_file(path: Path, array: Array, group: int) -> Path:
    table = pa.table(dict(zip(NAMES, array.T, strict=True)))
    pq.write_table(table, path, row_group_size=group, write_page_checksum=True)
    return path


def parquet_folder(folder: Path) -> Arguments:
    """A folder of Parquet files with draws; scores are a function."""
    (folder / "parts").mkdir()
    for number, part in enumerate(np.array_split(ROWS[0], 3)):
        parquet_file(folder / "parts" / f"part-{number}.parquet", part, 60)
    return folder / "parts", score


def ragged(arrays: tuple[Array, Array]) -> list[tuple[Array, Array]]:
    """Chains of unequal lengths."""
    lengths = (250, 180, 230, 250)
    return [(x[:n], s[:n]) for x, s, n in zip(*arrays, lengths, strict=True)]


def single(arrays: tuple[Array, Array]) -> Arguments:
    """Draws and scores in single precision."""
    return tuple(array.astype(np.float32) for array in arrays)


#: Every input by name: the arguments, or what makes them in an empty folder.
INPUTS: dict[str, Arguments | Callable[[Path], Arguments]] = {
    "rows": ROWS,
    "wide rows": WIDE,
    "shifted rows": SHIFTED,
    "rows, score function": (ROWS[0], score),
    "rows, named": (ps.Sample(*ROWS, names=NAMES),),
    "rows, single precision": single(ROWS),
    "1 coordinate": ONE,
    "10 coordinates": TEN,
    "70 coordinates": FLAT,
    "40 coordinates": MANY_PAIRS,
    "weighted rows": (ps.Sample(*WIDE, names=NAMES, log_weights=LOG_WEIGHTS),),
    "chain": CHAIN,
    "slow chain": SLOW,
    "chain, repeated rows": REPEATED,
    "chains": CHAINS,
    "chains, score function": (CHAINS[0], score),
    "wide chains": WIDE_CHAINS,
    "40 chains": MANY,
    "chains apart": APART,
    "weighted chains": (ps.Sample(*CHAINS, log_weights=CHAIN_WEIGHTS),),
    "chains, thinned": (ps.Sample(*CHAINS).select(thin=2, drop_first=20),),
    # Rows that are made when they are read
    "lazy rows": (MinimalSource([ROWS], time_ordered=False),),
    "lazy weighted rows": (WeightedSource([WIDE], [LOG_WEIGHTS], NAMES, time_ordered=False),),
    "lazy chains": (MinimalSource(list(zip(*CHAINS, strict=True)), time_ordered=True),),
    "lazy chains of unequal lengths": (MinimalSource(ragged(CHAINS), time_ordered=True),),
    "sequential chain": (SequentialSource([CHAIN], time_ordered=True),),
    # Blocks
    "blocks": lambda folder: (ps.from_store(blocks),),
    "list of blocks": lambda folder: (list(blocks()),),
    "blocks, score function": lambda folder: (ps.from_store(blocks_of_draws, score),),
    # Files
    "memmap": lambda folder: mapped(folder, ROWS),
    "memmap of chains": lambda folder: mapped(folder, CHAINS),
    ".npy": lambda folder: (ps.from_store(*saved(folder, ROWS)),),
    ".npy, cached scores": lambda folder: (
        ps.from_store(saved(folder, ROWS)[0], score, cache=folder),
    ),
    ".npy of chains": lambda folder: (ps.from_file(*saved(folder, CHAINS)),),
    ".npz": lambda folder: archived(folder),
    ".npz with weights": lambda folder: archived(folder, log_weights=LOG_WEIGHTS),
    ".csv": comma_separated,
    "Parquet": lambda folder: (ps.from_store(*parquet(folder)),),
    "Parquet, in memory": lambda folder: (ps.from_file(*parquet(folder)),),
    "folder of Parquet": lambda folder: (ps.from_store(*parquet_folder(folder)),),
    # Other libraries
    "SciPy normal": (ps.from_scipy(stats.multivariate_normal(np.zeros(10)), TEN[0]),),
    "SciPy Student": (ps.from_scipy([stats.norm(1.0, 1.0), stats.t(5.0)], WIDE[0][:, ::2]),),
}
#: The arrays that all inputs are made of, for their digests.
ARRAYS: dict[str, tuple[Array, ...]] = {
    name: value
    for name, value in INPUTS.items()
    if isinstance(value, tuple) and all(isinstance(part, np.ndarray) for part in value)
} | {"log_weights": (LOG_WEIGHTS, CHAIN_WEIGHTS)}
