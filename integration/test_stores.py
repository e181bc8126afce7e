"""Stored draws of the real Zarr, h5py, netCDF4, PyArrow and xarray with Dask: the answer of memory.

And what happens to files that are cut short or have lost a part.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")
xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")

Array = NDArray[np.float64]
ROWS, DIMENSION = 40_000, 3


class Rows(NamedTuple):
    draws: Array
    scores: Array


@pytest.fixture(scope="module")
def rows() -> Rows:
    draws = 1.01 * np.random.default_rng(0).standard_normal((ROWS, DIMENSION))
    return Rows(draws, -draws)


def in_zarr(rows: Rows, folder: Path) -> tuple[Any, ...]:
    return tuple(
        written_to_zarr(folder / f"{name}.zarr", values, chunk)
        for name, values, chunk in (("x", rows.draws, 7000), ("s", rows.scores, 5000))
    )


def written_to_zarr(path: Path, values: Array, chunk: int) -> Any:
    array = zarr.create_array(str(path), shape=values.shape, chunks=(chunk, DIMENSION), dtype="f8")
    array[:] = values
    return array


def in_a_zarr_group(rows: Rows, folder: Path) -> tuple[Any, ...]:
    group = zarr.open_group(str(folder / "run.zarr"), mode="w")
    for name, values in rows._asdict().items():
        chunks = (6000, DIMENSION)
        group.create_array(name, shape=values.shape, chunks=chunks, dtype="f8")[:] = values
    return (folder / "run.zarr",)


def in_hdf5(rows: Rows, folder: Path) -> tuple[Any, ...]:
    file = h5py.File(folder / "run.h5", "w")
    draws = file.create_dataset("draws", data=rows.draws, chunks=(3000, DIMENSION))
    scores = file.create_dataset("scores", data=rows.scores)
    return draws, scores


def in_an_hdf5_file(rows: Rows, folder: Path) -> tuple[Any, ...]:
    with h5py.File(folder / "run.h5", "w") as file:
        for name, values in rows._asdict().items():
            file.create_dataset(name, data=values, chunks=(3000, DIMENSION), compression="gzip")
    return (folder / "run.h5",)


def in_netcdf(rows: Rows, folder: Path) -> tuple[Any, ...]:
    data = netCDF4.Dataset(folder / "run.nc", "w")
    data.createDimension("draw", ROWS)
    data.createDimension("parameter", DIMENSION)
    chunks = (4000, DIMENSION)
    draws = data.createVariable("draws", "f8", ("draw", "parameter"), chunksizes=chunks)
    draws[:] = rows.draws
    return draws, lambda x: -x


def in_parquet(rows: Rows, folder: Path) -> tuple[Any, ...]:
    (folder / "scores").mkdir()
    write_parquet(folder / "draws.parquet", rows.draws, 9000)
    for number, part in enumerate(np.array_split(rows.scores, 4)):
        write_parquet(folder / "scores" / f"{number}.parquet", part, 3300)
    return folder / "draws.parquet", folder / "scores"


def write_parquet(path: Path, values: Array, group: int) -> None:
    table = pa.table({f"x{index}": column for index, column in enumerate(values.T)})
    pq.write_table(table, path, row_group_size=group)


def in_xarray(rows: Rows, folder: Path) -> tuple[Any, ...]:
    return tuple(
        xr.DataArray(values, dims=("draw", "p"), name="theta").chunk({"draw": 6000})
        for values in rows
    )


def in_a_dataset(rows: Rows, folder: Path) -> tuple[Any, ...]:
    draws, scores = in_xarray(rows, folder)
    return draws.to_dataset(name="theta"), scores.to_dataset(name="theta")


def in_memmaps(rows: Rows, folder: Path) -> tuple[Any, ...]:
    for name, values in rows._asdict().items():
        np.save(folder / f"{name}.npy", values)
    return tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in rows._fields)


STORES: list[Callable[[Rows, Path], tuple[Any, ...]]] = [
    in_zarr,
    in_a_zarr_group,
    in_hdf5,
    in_an_hdf5_file,
    in_netcdf,
    in_parquet,
    in_xarray,
    in_a_dataset,
    in_memmaps,
]
CALLS: dict[str, Callable[..., float]] = {
    "psd": lambda *a: ps.psd(*a, order=3),
    "lambda_psd_test": lambda *a: ps.lambda_psd_test(*a, order=4, rng=1).statistic,
    "batch means": lambda *a: (
        ps.lambda_psd_test(
            *a, order=3, split=ps.BlockSplit(gap=50), variance=ps.BatchMeans(), rng=1
        ).statistic
    ),
    "check": lambda *a: ps.check(*a, rng=1).statistic,
    "check iid": lambda *a: ps.check(*a, iid=True, rng=1).statistic,
}
#: Tables with one row for each property of each parameter.
TABLES: dict[str, Callable[..., Any]] = {
    "effects": lambda *a: ps.effects(*a),
    "effects iid": lambda *a: ps.effects(*a, iid=True),
    "expectations": lambda *a: ps.expectations(*a),
    "expectations of a function": lambda *a: ps.expectations(
        *a, functions={"square": lambda x: x[:, 0] ** 2}, iid=True
    ),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        yield


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", CALLS)
def test_a_store_gives_the_answer_of_memory(
    store: Callable[[Rows, Path], tuple[Any, ...]], name: str, rows: Rows, tmp_path: Path
) -> None:
    stored = store(rows, tmp_path)
    assert CALLS[name](*stored) == pytest.approx(CALLS[name](*rows), abs=1e-9)


def in_dask(rows: Rows, folder: Path) -> tuple[Any, ...]:
    return tuple(da.from_array(values, chunks=(6000, DIMENSION)) for values in rows)


@pytest.mark.parametrize("store", [*STORES, in_dask])
@pytest.mark.parametrize("name", TABLES)
def test_a_store_gives_the_table_of_memory(
    store: Callable[[Rows, Path], tuple[Any, ...]], name: str, rows: Rows, tmp_path: Path
) -> None:
    found, expected = (TABLES[name](*given).rows for given in (store(rows, tmp_path), rows))
    # Stores have names of their own for the parameters.
    assert [row.what for row in found] == [row.what for row in expected]
    numbers, wanted = (
        [value for row in table for value in row if isinstance(value, float)]
        for table in (found, expected)
    )
    assert numbers == pytest.approx(wanted, rel=1e-7, abs=1e-9, nan_ok=True)


def test_chains_of_a_dataset_keep_their_names() -> None:
    values = np.random.default_rng(1).standard_normal((4, 2000, 3))
    dims = ("chain", "draw")
    data = xr.Dataset({"mu": (dims, values[..., 0]), "theta": ((*dims, "k"), values[..., 1:])})
    data = data.chunk({"draw": 500})
    found = ps.from_store(data, -data)
    assert found.names == ("mu", "theta[0]", "theta[1]")
    expected = ps.check(values, -values, rng=1).statistic
    assert ps.check(data, -data, rng=1).statistic == pytest.approx(expected, abs=1e-9)


def test_a_truncated_chunk_of_zarr_is_named(rows: Rows, tmp_path: Path) -> None:
    draws, scores = in_zarr(rows, tmp_path)
    chunk = tmp_path / "x.zarr" / "c" / "3" / "0"
    os.truncate(chunk, chunk.stat().st_size // 2)
    with pytest.raises(ps.InputError, match=r"`draws` could not be read at block 3: "):
        ps.psd(draws, scores, order=2)


def test_a_lost_chunk_of_zarr_is_named(rows: Rows, tmp_path: Path) -> None:
    draws, scores = in_zarr(rows, tmp_path)
    shutil.rmtree(tmp_path / "s.zarr" / "c" / "2")
    with pytest.raises(ps.InputError, match="at block 2: chunk 2 was never written or is lost"):
        ps.psd(draws, scores, order=2)


def test_a_truncated_hdf5_file_is_refused(rows: Rows, tmp_path: Path) -> None:
    (path,) = in_an_hdf5_file(rows, tmp_path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ps.InputError, match=r"`draws` must be an intact \.h5 file"):
        ps.psd(path, order=2)


@pytest.mark.parametrize("chunks", [None, (3000, DIMENSION)])
def test_an_hdf5_file_that_is_cut_while_it_is_open_is_an_error(
    chunks: tuple[int, int] | None, rows: Rows, tmp_path: Path
) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("draws", data=rows.draws, chunks=chunks)
    source = ps.from_store(h5py.File(path)["draws"], lambda x: -x)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ps.InputError, match=r"`draws` could not be read .* bytes before and has"):
        ps.psd(source, order=2)


def test_a_truncated_parquet_file_is_refused(rows: Rows, tmp_path: Path) -> None:
    draws, scores = in_parquet(rows, tmp_path)
    os.truncate(scores / "2.parquet", 1000)
    with pytest.raises(ps.InputError, match=r"`scores` must be an intact Parquet file; got .*2\.p"):
        ps.psd(draws, scores, order=2)


def test_values_that_netcdf_masks_are_an_error(rows: Rows, tmp_path: Path) -> None:
    draws, score = in_netcdf(rows, tmp_path)
    draws[17_000, 1] = np.ma.masked
    with pytest.raises(ps.InputError, match=r"at block 4: 1 values are missing"):
        ps.psd(draws, score, order=2)


def test_single_precision_in_zarr(rows: Rows, tmp_path: Path) -> None:
    single = rows.draws.astype(np.float32)
    array = zarr.create_array(
        str(tmp_path / "x.zarr"), shape=single.shape, chunks=(9000, DIMENSION), dtype="f4"
    )
    array[:] = single
    found = ps.lambda_psd_test(array, lambda x: -x, order=3, rng=1).statistic
    expected = ps.lambda_psd_test(*rows, order=3, rng=1).statistic
    assert found == pytest.approx(expected, abs=1e-3)
