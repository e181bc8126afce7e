"""Parquet files and folders: row groups of any size, columns by name, faults by row group."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polystein as ps
from tests.scale.doubles import Array, rows


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
