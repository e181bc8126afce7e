"""Tables that stay in their files: every stretch is what the array has, every chunk read once."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polystein as ps
from polystein._lib.arrays import in_double
from polystein.data.source import Layout
from polystein.scale.stores import ArrayTable, LabelledTable, Table
from tests.scale.doubles import Array, ChunkedArray, chains, rows


@pytest.mark.parametrize("chunk", [1, 7, 100, 1000])
@pytest.mark.parametrize("shape", [(100, 2), (3, 100, 2)])
def test_any_stretch_is_that_of_the_array(chunk: int, shape: tuple[int, ...]) -> None:
    values = np.arange(float(np.prod(shape))).reshape(shape)
    table = ArrayTable(ChunkedArray(values, chunk), "draws")
    for chain in range(len(table.layout.lengths)):
        whole = values[chain] if values.ndim == 3 else values
        for start, stop in [(0, 100), (0, 1), (3, 50), (7, 14), (99, 100), (13, 93), (20, 21)]:
            assert np.array_equal(table.read(chain, start, stop), whole[start:stop])


def test_reading_forwards_decodes_every_chunk_once() -> None:
    array = ChunkedArray(rows(1000)[0], 90)
    table = ArrayTable(array, "draws")
    assert table.grain == 90
    for start in range(0, 1000, 37):
        table.read(0, start, min(start + 37, 1000))
    assert set(array.decoded.values()) == {1}
    assert len(array.decoded) == 12


class Listed(Table):
    """A column in chunks of any sizes, which writes down what is decoded."""

    def __init__(self, values: np.ndarray, bounds: list[int]) -> None:
        super().__init__(Layout((len(values),), 1, False), bounds)
        self.values, self.decoded = values, list[tuple[int, int]]()

    def decode(self, chain: int, start: int, stop: int) -> np.ndarray:
        self.decoded.append((start, stop))
        return self.values[start:stop]


def test_chunks_of_any_sizes_are_joined() -> None:
    table = Listed(np.arange(20.0)[:, None], [0, 3, 4, 11, 20])
    for start in range(20):
        for stop in range(start + 1, 21):
            assert np.array_equal(table.read(0, start, stop), table.values[start:stop])
    table.decoded.clear()
    table.read(0, 1, 15)  # the chunks that are read in part stand alone
    assert table.decoded == [(0, 3), (3, 11), (11, 20)]


def test_a_memmap_is_copied_and_left_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", rows(50)[0])
    table = ArrayTable(np.load(tmp_path / "x.npy", mmap_mode="r"), "draws")
    found = table.read(0, 3, 8)
    assert type(found) is np.ndarray
    assert found.flags.owndata
    assert found.flags.writeable


def test_a_mapped_file_that_was_truncated_is_an_error_and_no_crash(tmp_path: Path) -> None:
    draws, _ = rows(100_000)
    np.save(tmp_path / "x.npy", draws)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    with (tmp_path / "x.npy").open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(ps.InputError, match=r"rows 0:\d+: the file holds 5000 bytes, and 2400128"):
        ps.psd(mapped, lambda x: -x, order=1)


def test_a_chunk_that_was_lost_is_no_chunk_of_zeros() -> None:
    array = ChunkedArray(rows(1000)[0], 100)
    array.lost = {7}
    with pytest.raises(ps.InputError, match=r"`draws` could not be read at block 7: chunk 7 was n"):
        ps.psd(ps.from_store(array, lambda x: -x), order=1)


def test_chunks_of_true_zeros_are_taken() -> None:
    draws, scores = rows(1000)
    scores = np.where(np.arange(1000)[:, None] // 100 == 4, 0.0, scores)
    stored = ps.from_store(ChunkedArray(draws, 100), ChunkedArray(scores, 100))
    assert ps.psd(stored, order=1) == pytest.approx(ps.psd(draws, scores, order=1), rel=1e-12)


def test_a_chunk_that_cannot_be_decoded_is_named() -> None:
    array = ChunkedArray(rows(100_000)[0], 10_000)
    array.broken = {4}
    with pytest.raises(ps.InputError, match=r"`draws` could not be read at block 4: the chunk e"):
        ps.psd(ps.from_store(array, lambda x: -x), order=1)


def test_an_array_that_changes_its_length_is_an_error() -> None:
    array = ChunkedArray(rows(1000)[0], 100)
    source = ps.from_store(array, lambda x: -x)
    array.shape = (900, 3)
    with pytest.raises(ps.InputError, match="had 1000 rows before and has 900 now"):
        ps.psd(source, order=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(10), r"must be an iterable|must have the shape|could not be used|must be"),
        (np.zeros((10, 2), dtype=complex), "must hold real numbers"),
        (np.zeros((0, 2)), "must not be empty"),
        (np.zeros((2, 2, 2, 2)), r"must have the shape \(n, d\) or \(chain, draw, d\)"),
    ],
)
def test_what_is_no_table_is_refused(values: np.ndarray, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        ps.from_store(values, lambda x: -x)


def test_integers_beyond_the_exact_ones_are_refused() -> None:
    assert in_double(np.array([[3]])).dtype == np.float64
    with pytest.raises(ValueError, match="beyond"):
        in_double(np.array([[2**53 + 1]]))


def test_single_precision_is_converted_when_it_is_read() -> None:
    draws, scores = chains()
    single = draws.astype(np.float32)
    source = ps.from_store(ChunkedArray(single, 100), ChunkedArray(scores.astype(np.float32), 100))
    block = source.read(1, 5, 20)
    assert block.draws.dtype == np.float64
    assert np.array_equal(block.draws, single[1, 5:20])


def test_a_part_of_a_mapped_file_that_was_truncated_is_an_error_and_no_crash(
    tmp_path: Path,
) -> None:
    np.save(tmp_path / "x.npy", rows(100_000)[0])
    part = np.load(tmp_path / "x.npy", mmap_mode="r")[50_000:]
    with (tmp_path / "x.npy").open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(ps.InputError, match=r"the file holds 5000 bytes, and 2400128 are needed"):
        ps.psd(part, lambda x: -x, order=1)


def test_a_lost_chunk_of_some_columns_is_no_chunk_of_zeros() -> None:
    array = ChunkedArray(rows(1000)[0], 100)
    array.lost, array.columns = {7}, slice(1, 2)
    with pytest.raises(ps.InputError, match=r"at block 7: chunk 7 was never written or is lost"):
        ps.psd(ps.from_store(array, lambda x: -x), order=1)


# xarray


class DataArray:
    """What a table needs of a DataArray that is backed by Dask."""

    def __init__(self, values: Any, dims: tuple[str, ...], name: str, chunk: int) -> None:
        self.values, self.dims, self.name, self._chunk = values, dims, name, chunk
        self.sizes = dict(zip(dims, values.shape, strict=True))
        length = self.sizes.get("draw", 1)
        self.chunksizes = {"draw": tuple(np.diff([*range(0, length, chunk), length]).tolist())}

    def isel(self, place: dict[str, Any]) -> Any:
        index = tuple(place.get(dim, slice(None)) for dim in self.dims)
        return DataArray(np.asarray(self.values[index]), self.dims[-self.values[index].ndim :],
                         self.name, self._chunk)  # fmt: skip


class Dataset(dict[str, DataArray]):
    """Several variables by name."""

    @property
    def data_vars(self) -> list[str]:
        return list(self)


def test_variables_stand_side_by_side_under_their_names() -> None:
    draws, _ = chains(2, 50, 7)
    dims = ("chain", "draw")
    table = LabelledTable(
        Dataset(
            mu=DataArray(draws[..., 0], dims, "mu", 20),
            theta=DataArray(draws[..., 1:].reshape(2, 50, 2, 3), (*dims, "a", "b"), "theta", 20),
        ),
        "draws",
    )
    assert table.names is not None
    assert table.names[:3] == ("mu", "theta[0, 0]", "theta[0, 1]")
    assert (table.layout.lengths, table.layout.dimension, table.grain) == ((50, 50), 7, 20)
    for chain, start, stop in [(0, 0, 50), (1, 13, 41), (1, 49, 50)]:
        assert np.array_equal(table.read(chain, start, stop), draws[chain, start:stop])


def test_dimensions_in_another_order_are_refused() -> None:
    draws, _ = chains(2, 50, 2)
    with pytest.raises(ps.InputError, match=r"transpose\('chain', 'draw', \.\.\.\)"):
        LabelledTable(DataArray(draws, ("draw", "chain", "a"), "x", 20), "draws")


# Parquet


def write(path: Path, values: Array, group: int, names: str = "abc") -> Path:
    columns = {name: values[:, index] for index, name in enumerate(names[: values.shape[1]])}
    pq.write_table(pa.table(columns), path, row_group_size=group, write_page_checksum=True)
    return path


def test_a_file_and_a_folder_give_the_answer_of_memory(tmp_path: Path) -> None:
    draws, scores = rows()
    file, folder = write(tmp_path / "draws.parquet", draws, 700), tmp_path / "scores"
    folder.mkdir()
    for number, low in enumerate(range(0, 4000, 1300)):
        write(folder / f"part-{number}.parquet", scores[low : low + 1300], 450)
    expected = ps.lambda_psd_test(draws, scores, order=3, rng=1).statistic
    for source in ((file, folder), (str(file), lambda x: -x), (ps.from_store(file, folder),)):
        found = ps.lambda_psd_test(*source, order=3, rng=1)
        assert found.statistic == pytest.approx(expected, abs=1e-9)
    source = ps.from_store(file, folder)
    assert (source.names, source.grain) == (("a", "b", "c"), 700)


@pytest.mark.parametrize("names", ["bac", "bax"])
def test_columns_in_another_order_are_an_error(names: str, tmp_path: Path) -> None:
    draws, scores = rows(100)
    left = write(tmp_path / "x.parquet", draws, 50)
    right = write(tmp_path / "s.parquet", scores, 50, names=names)
    with pytest.raises(ps.InputError, match="columns in the order of `draws`, a, b, c; got b, a"):
        ps.psd(left, right, order=1)


def test_two_columns_of_one_name_are_an_error(tmp_path: Path) -> None:
    columns = [pa.array(column) for column in rows(100)[0].T]
    pq.write_table(pa.table(columns, names=["a", "b", "a"]), tmp_path / "x.parquet")
    with pytest.raises(ps.InputError, match="columns of different names; got 2 columns 'a'"):
        ps.psd(tmp_path / "x.parquet", lambda x: -x, order=1)


def test_a_truncated_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", rows()[0], 500)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ps.InputError, match=r"`draws` must be an intact Parquet file; got .*x"):
        ps.psd(path, lambda x: -x, order=1)


def test_a_damaged_row_group_is_an_error_that_names_the_block(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", rows(40_000)[0], 5000)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = bytes(20_000)
    path.write_bytes(bytes(content))
    with pytest.raises(ps.InputError, match=r"`draws` could not be read at block \d"):
        ps.psd(path, lambda x: -x, order=1)


def test_missing_values_are_an_error(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([1.0, None, 2.0] * 10), "b": pa.array([1.0, 2.0, 3.0] * 10)})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ps.InputError, match=r"row group 0 of x\.parquet has 10 missing values"):
        ps.psd(tmp_path / "x.parquet", lambda x: -x, order=1)


def test_what_is_no_table_of_numbers_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x", "y"]}), tmp_path / "words.parquet")
    with pytest.raises(ps.InputError, match="must have columns of numbers; got the type string"):
        ps.psd(tmp_path / "words.parquet", lambda x: -x, order=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ps.InputError, match=r"must be a folder of \.parquet files"):
        ps.psd(tmp_path / "empty", lambda x: -x, order=1)
    folder = tmp_path / "mixed"
    folder.mkdir()
    write(folder / "1.parquet", rows(10)[0], 5)
    write(folder / "2.parquet", rows(10)[0], 5, names="abd")
    with pytest.raises(ps.InputError, match="the same columns in every file, a, b, c; got a, b, d"):
        ps.psd(folder, lambda x: -x, order=1)


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    draws, _ = rows(1200)
    for number in range(12):
        write(tmp_path / f"part.{number}.parquet", draws[100 * number :][:100], 100)
    source = ps.from_store(tmp_path, lambda x: -x)
    assert np.array_equal(source.read(0, 0, 1200).draws, draws)


def test_files_in_folders_below_are_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for path in (tmp_path / "a.parquet", tmp_path / "more" / "b.parquet"):
        write(path, rows(100)[0], 50)
    with pytest.raises(ps.InputError, match=r"all its \.parquet files side by side; .* in more"):
        ps.psd(tmp_path, lambda x: -x, order=1)


def test_integers_beyond_the_exact_ones_are_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [2**53 + 1] * 40}), tmp_path / "x.parquet")
    with pytest.raises(ps.InputError, match=r"at block 0: it holds integers beyond 2\*\*53"):
        ps.psd(tmp_path / "x.parquet", lambda x: -x, order=1)


@pytest.mark.parametrize("count", [900, 1000, 1200])
def test_a_file_that_is_written_again_in_place_is_an_error(count: int, tmp_path: Path) -> None:
    """Rows of two files must not mix, whether there are fewer now, as many or more."""
    path = write(tmp_path / "x.parquet", rows(1000)[0], 100)
    os.utime(path, (1.0, 1.0))  # files that are written at once may have the same time
    source = ps.from_store(path, lambda x: -x)
    write(path, rows(count, seed=1)[0], 100)
    with pytest.raises(ps.InputError, match=r"x\.parquet was written to since it was opened"):
        ps.psd(source, order=1)


def test_a_file_that_is_removed_or_replaced_stays_as_it_was(tmp_path: Path) -> None:
    draws, scores = rows(1000)
    path = write(tmp_path / "x.parquet", draws, 100)
    expected = ps.psd(draws, scores, order=1)
    source = ps.from_store(path, lambda x: -x)
    path.unlink()
    assert ps.psd(source, order=1) == pytest.approx(expected, rel=1e-12)
    write(tmp_path / "new.parquet", rows(500, seed=1)[0], 100).rename(path)
    assert ps.psd(source, order=1) == pytest.approx(expected, rel=1e-12)
