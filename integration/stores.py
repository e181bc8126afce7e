"""The same rows in stores of other libraries: Zarr, h5py, netCDF4, PyArrow, xarray, Dask, NumPy.

Every writer takes rows, or chains of them, and an empty folder, and returns what goes into a
function of polystein. Chunks are cut so that they end in different places.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")
xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")

Array = NDArray[np.float64]


class Rows(NamedTuple):
    draws: Array
    scores: Array

    def chunk(self, parts: float) -> tuple[int, ...]:
        """The shape of a chunk with this part of the rows of one chain, and all columns."""
        *chains, rows, columns = self.draws.shape
        return *(1 for _ in chains), int(rows / parts), columns

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the axes."""
        return ("chain", "draw", "parameter")[-self.draws.ndim :]


Stored = tuple[Any, ...]
Store = Callable[[Rows, Path], Stored]


def rows_of(*shape: int) -> Rows:
    """Independent draws of a normal that is a little too wide, and the scores of N(0, I)."""
    draws = 1.01 * np.random.default_rng(0).standard_normal(shape)
    return Rows(draws, -draws)


def in_zarr(rows: Rows, folder: Path) -> Stored:
    return tuple(
        written_to_zarr(folder / f"{name}.zarr", values, chunk)
        for name, values, chunk in (
            ("x", rows.draws, rows.chunk(5.7)),
            ("s", rows.scores, rows.chunk(8)),
        )
    )


def written_to_zarr(path: Path, values: Array, chunk: tuple[int, ...]) -> Any:
    array = zarr.create_array(str(path), shape=values.shape, chunks=chunk, dtype="f8")
    array[:] = values
    return array


def in_a_zarr_group(rows: Rows, folder: Path) -> Stored:
    group = zarr.open_group(str(folder / "run.zarr"), mode="w")
    for name, values in rows._asdict().items():
        chunks = rows.chunk(6.6)
        group.create_array(name, shape=values.shape, chunks=chunks, dtype="f8")[:] = values
    return (folder / "run.zarr",)


def in_hdf5(rows: Rows, folder: Path) -> Stored:
    file = h5py.File(folder / "run.h5", "w")
    draws = file.create_dataset("draws", data=rows.draws, chunks=rows.chunk(13.3))
    scores = file.create_dataset("scores", data=rows.scores)
    return draws, scores


def in_an_hdf5_file(rows: Rows, folder: Path) -> Stored:
    with h5py.File(folder / "run.h5", "w") as file:
        for name, values in rows._asdict().items():
            file.create_dataset(name, data=values, chunks=rows.chunk(13.3), compression="gzip")
    return (folder / "run.h5",)


def in_netcdf(rows: Rows, folder: Path) -> Stored:
    data = netCDF4.Dataset(folder / "run.nc", "w")
    for name, size in zip(rows.dimensions, rows.draws.shape, strict=True):
        data.createDimension(name, size)
    for name, values in rows._asdict().items():
        data.createVariable(name, "f8", rows.dimensions, chunksizes=rows.chunk(10))[:] = values
    return data["draws"], data["scores"]


def in_a_parquet_file(rows: Rows, folder: Path) -> Stored:
    for name, values in rows._asdict().items():
        write_parquet(folder / f"{name}.parquet", values, rows.chunk(4.4)[0])
    return folder / "draws.parquet", folder / "scores.parquet"


def in_a_parquet_folder(rows: Rows, folder: Path) -> Stored:
    for name, values in rows._asdict().items():
        (folder / name).mkdir()
        for number, part in enumerate(np.array_split(values, 4)):
            write_parquet(folder / name / f"{number}.parquet", part, rows.chunk(12.1)[0])
    return folder / "draws", folder / "scores"


def write_parquet(path: Path, values: Array, group: int) -> None:
    table = pa.table({f"x{index}": column for index, column in enumerate(values.T)})
    pq.write_table(table, path, row_group_size=group)


def in_xarray(rows: Rows, folder: Path) -> Stored:
    chunk = {"draw": rows.chunk(6.6)[-2]}
    return tuple(
        xr.DataArray(values, dims=rows.dimensions, name="theta").chunk(chunk) for values in rows
    )


def in_a_dataset(rows: Rows, folder: Path) -> Stored:
    draws, scores = in_xarray(rows, folder)
    return draws.to_dataset(name="theta"), scores.to_dataset(name="theta")


def in_dask(rows: Rows, folder: Path) -> Stored:
    return tuple(da.from_array(values, chunks=rows.chunk(6.6)) for values in rows)


def in_memmaps(rows: Rows, folder: Path) -> Stored:
    for name, values in rows._asdict().items():
        np.save(folder / f"{name}.npy", values)
    return tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in rows._fields)


def in_blocks(rows: Rows, folder: Path) -> Stored:
    def blocks() -> Iterator[tuple[Array, Array]]:
        size = rows.chunk(7.3)[0]
        for low in range(0, len(rows.draws), size):
            yield rows.draws[low : low + size], rows.scores[low : low + size]

    return (blocks,)


#: Stores of arrays, which may also hold chains.
ARRAYS: list[Store] = [
    in_zarr,
    in_a_zarr_group,
    in_hdf5,
    in_an_hdf5_file,
    in_netcdf,
    in_xarray,
    in_a_dataset,
    in_dask,
    in_memmaps,
]
STORES: list[Store] = [*ARRAYS, in_a_parquet_file, in_a_parquet_folder, in_blocks]


def with_a_score_function(stored: Stored) -> Stored:
    """The draws of a store and a function, which is applied block by block."""
    draws = stored[0]
    if callable(draws):
        return (lambda: (block for block, _ in draws())), lambda x: -x
    return draws, lambda x: -x
