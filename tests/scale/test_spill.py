"""Scores of a function: once a row with a scratch file, once a pass without one."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polystein as ps
from polystein.scale.spill import Intervals
from tests.disk import small_disk
from tests.scale.doubles import ChunkedArray, chains


class CountedScore:
    """-x, and how many rows were asked for."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, draws: np.ndarray) -> np.ndarray:
        self.rows += len(draws)
        scores = -draws
        draws[:] = np.nan  # a function may do with its argument what it likes
        return scores


def test_a_function_is_evaluated_once_a_row_with_a_cache(tmp_path: Path) -> None:
    draws, scores = chains()
    array, score = ChunkedArray(draws, 400), CountedScore()
    found = ps.check(ps.from_store(array, score, cache=tmp_path), rng=1)
    assert score.rows == draws.shape[0] * draws.shape[1]
    assert found.statistic == pytest.approx(ps.check(draws, scores, rng=1).statistic, abs=1e-9)
    # The scratch file has no name.
    assert list(tmp_path.iterdir()) == []


def test_a_function_is_evaluated_once_a_pass_without_a_cache() -> None:
    array, score = ChunkedArray(chains()[0], 400), CountedScore()
    ps.psd(ps.from_store(array, score), order=2)
    assert score.rows == 4500


def test_a_full_disk_is_an_error_that_names_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ps.from_store(ChunkedArray(chains()[0], 400), lambda x: -x, cache=tmp_path)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ps.InputError, match=r"`scores` could not be read at block.*No space left"):
        ps.psd(source, order=2)


def test_a_disk_that_fills_up_is_an_error_and_no_wrong_number(tmp_path: Path) -> None:
    draws, _ = chains()
    source = ps.from_store(ChunkedArray(draws, 400), lambda x: -x, cache=tmp_path)
    # 1,500 rows of 2 numbers are 24,000 bytes, of which a part is written.
    match = r"`scores` could not be read at blocks 0 to 3 of chain 0.*`cache`.*File too large"
    with small_disk(10_000), pytest.raises(ps.InputError, match=match):
        ps.psd(source, order=2)
    # With room again the same source gives the answer: no row is taken for known that is not.
    assert ps.psd(source, order=2) == pytest.approx(ps.psd(draws, -draws, order=2), rel=1e-12)


def test_a_function_that_returns_another_shape_is_an_error() -> None:
    source = ps.from_store(ChunkedArray(chains()[0], 400), lambda x: x[:, :1])
    with pytest.raises(ps.InputError, match=r"of the shape of its argument.*it returned"):
        ps.psd(source, order=2)


def test_a_function_that_fails_is_an_error_that_names_the_block() -> None:
    def fails(draws: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("no gradient here")

    source = ps.from_store(ChunkedArray(chains()[0], 400), fails)
    with pytest.raises(ps.InputError, match=r"`scores` could not be read at.*no gradient here"):
        ps.psd(source, order=2)


def test_a_cache_must_be_a_folder_and_beside_a_function(tmp_path: Path) -> None:
    draws, scores = chains()
    with pytest.raises(ps.InputError, match="`cache` must be a folder that exists"):
        ps.from_store(ChunkedArray(draws, 400), lambda x: -x, cache=tmp_path / "none")
    with pytest.raises(ps.InputError, match="`cache` must be given with a score function only"):
        ps.from_store(ChunkedArray(draws, 400), ChunkedArray(scores, 400), cache=tmp_path)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15)), max_size=12))
def test_intervals_are_a_set_of_rows(added: list[tuple[int, int]]) -> None:
    intervals, expected = Intervals(), np.zeros(60, dtype=bool)
    for start, length in added:
        intervals.add(start, start + length)
        expected[start : start + length] = True
    found = np.zeros(60, dtype=bool)
    position = 3
    for start, stop, inside in intervals.cut(3, 57):
        assert start == position < stop
        found[start:stop], position = inside, stop
    assert position == 57
    assert np.array_equal(found[3:57], expected[3:57])


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda x: -x + 1j, "`scores` could not be read at .*: it must hold real numbers"),
        (lambda x: np.ma.masked_less(-x, -2.0), "`scores` must be finite; got nan in block 0"),
    ],
)
def test_values_that_would_change_are_an_error(score: Any, message: str) -> None:
    array = ChunkedArray(chains()[0], 400)
    with pytest.raises(ps.InputError, match=message):
        ps.psd(ps.from_store(array, score), order=1)
