"""Stored draws of the real Zarr, h5py, netCDF4, PyArrow and xarray with Dask: the answer of memory.

And what happens to files that are cut short, have lost a part, change or hold NaN.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from integration.stores import (
    STORES,
    Array,
    Rows,
    Store,
    h5py,
    in_a_parquet_folder,
    in_a_zarr_group,
    in_an_hdf5_file,
    in_netcdf,
    in_zarr,
    netCDF4,
    rows_of,
    write_parquet,
    written_to_zarr,
    xr,
    zarr,
)

ROWS, DIMENSION = 40_000, 3


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of(ROWS, DIMENSION)


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


@cache
def in_memory(name: str) -> Any:
    return {**CALLS, **TABLES}[name](*rows_of(ROWS, DIMENSION))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", CALLS)
def test_a_store_gives_the_answer_of_memory(
    store: Store, name: str, rows: Rows, tmp_path: Path
) -> None:
    stored = store(rows, tmp_path)
    assert CALLS[name](*stored) == pytest.approx(in_memory(name), abs=1e-9)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", TABLES)
def test_a_store_gives_the_table_of_memory(
    store: Store, name: str, rows: Rows, tmp_path: Path
) -> None:
    found, expected = TABLES[name](*store(rows, tmp_path)).rows, in_memory(name).rows
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
    draws, scores = in_a_parquet_folder(rows, tmp_path)
    os.truncate(scores / "2.parquet", 1000)
    with pytest.raises(ps.InputError, match=r"`scores` must be an intact Parquet file; got .*2\.p"):
        ps.psd(draws, scores, order=2)


def test_values_that_netcdf_masks_are_an_error(rows: Rows, tmp_path: Path) -> None:
    draws, score = in_netcdf(rows, tmp_path)
    draws[17_000, 1] = np.ma.masked
    with pytest.raises(ps.InputError, match=r"at block 4: 1 values are missing"):
        ps.psd(draws, score, order=2)


@pytest.mark.parametrize("store", [in_a_zarr_group, in_an_hdf5_file])
def test_the_scores_of_another_run_are_refused(store: Store, tmp_path: Path) -> None:
    paths = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        paths += store(rows_of(500, DIMENSION), tmp_path / name)
    with pytest.raises(ps.InputError, match=r"scores alone; got .*other.* holds draws of its own"):
        ps.check(*paths)


def test_single_precision_in_zarr(rows: Rows, tmp_path: Path) -> None:
    single = rows.draws.astype(np.float32)
    array = zarr.create_array(
        str(tmp_path / "x.zarr"), shape=single.shape, chunks=(9000, DIMENSION), dtype="f4"
    )
    array[:] = single
    found = ps.lambda_psd_test(array, lambda x: -x, order=3, rng=1).statistic
    expected = ps.lambda_psd_test(*rows, order=3, rng=1).statistic
    assert found == pytest.approx(expected, abs=1e-3)


#: Chunks of 10 rows, which block 731 has the rows from 7310 of.
SMALL = (10, DIMENSION)


def small_zarr(values: Array, folder: Path) -> Any:
    return written_to_zarr(folder / "x.zarr", values, SMALL)


def small_hdf5(values: Array, folder: Path) -> Any:
    return h5py.File(folder / "x.h5", "w").create_dataset("draws", data=values, chunks=SMALL)


def small_netcdf(values: Array, folder: Path) -> Any:
    data = netCDF4.Dataset(folder / "x.nc", "w")
    for name, size in (("draw", None), ("parameter", DIMENSION)):
        data.createDimension(name, size)
    draws = data.createVariable("draws", "f8", ("draw", "parameter"), chunksizes=SMALL)
    draws[:] = values
    return draws


def small_parquet(values: Array, folder: Path) -> Any:
    write_parquet(folder / "x.parquet", values, 10)
    return folder / "x.parquet"


def small_xarray(values: Array, folder: Path) -> Any:
    return xr.DataArray(values, dims=("draw", "parameter")).chunk({"draw": 10})


SMALL_STORES = [small_zarr, small_hdf5, small_netcdf, small_parquet, small_xarray]


@pytest.mark.parametrize("store", SMALL_STORES)
@pytest.mark.parametrize("name", ["psd", "check", "effects", "expectations"])
def test_nan_in_block_731_is_named(
    name: str, store: Callable[[Array, Path], Any], tmp_path: Path
) -> None:
    values = rows_of(10_000, DIMENSION).draws
    values[7314, 1] = np.nan
    match = "`draws` must be finite; got nan in block 731, row 7314, coordinate 1"
    with pytest.raises(ps.InputError, match=match):
        {**CALLS, **TABLES}[name](store(values, tmp_path), lambda x: -x)


def shorter_zarr(draws: Any) -> None:
    draws.resize((900, DIMENSION))


def longer_zarr(draws: Any) -> None:
    draws.append(np.ones((100, DIMENSION)))


def longer_netcdf(draws: Any) -> None:
    draws[1000:1100] = np.ones((100, DIMENSION))


def longer_parquet(path: Path) -> None:
    write_parquet(path, rows_of(1100, DIMENSION).draws, 10)


@pytest.mark.parametrize(
    ("store", "change", "message"),
    [
        (small_zarr, shorter_zarr, "it had 1000 rows before and has 900 now"),
        (small_zarr, longer_zarr, "it had 1000 rows before and has 1100 now"),
        (small_netcdf, longer_netcdf, "it had 1000 rows before and has 1100 now"),
        (small_parquet, longer_parquet, r"x\.parquet was written to since it was opened"),
    ],
)
def test_a_store_that_changes_its_length_between_passes_is_an_error(
    store: Callable[[Array, Path], Any], change: Callable[[Any], None], message: str, tmp_path: Path
) -> None:
    stored = store(rows_of(1000, DIMENSION).draws, tmp_path)
    source, passes = ps.from_store(stored, lambda x: -x), []

    def between(done: int, total: int) -> None:
        # The first pass is over: the moments of `o_psd` are summed, and its features are not.
        if done >= 1000 and not passes:
            passes.append(done)
            change(stored)

    with pytest.raises(ps.InputError, match=message):
        ps.o_psd(source, order=2, progress=between)
    assert passes == [1000]


def test_rows_that_another_program_adds_are_not_seen(tmp_path: Path) -> None:
    """The answer is that of the rows that were there when the store was opened."""
    held = rows_of(1000, DIMENSION)
    writer = small_zarr(held.draws, tmp_path)
    reader = zarr.open(str(tmp_path / "x.zarr"), mode="r")
    source = ps.from_store(reader, lambda x: -x)
    writer.append(np.ones((100, DIMENSION)))
    assert ps.psd(source, order=2) == pytest.approx(ps.psd(*held, order=2), rel=1e-12)
