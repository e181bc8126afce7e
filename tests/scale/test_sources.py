"""Stored draws and scores through the public functions: the answer of memory, faults by name."""

import errno
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polystein as ps
from polystein.data.source import Layout
from polystein.scale.sources import Spill
from tests.disk import small_disk
from tests.scale.doubles import ChunkedArray, chains, rows
from tests.test_sources import FUNCTIONS, answer, assert_same, pair

CALLS: dict[str, Callable[..., Any]] = {
    "psd": lambda *a: ps.psd(*a, order=3),
    "lambda_psd_test": lambda *a: ps.lambda_psd_test(*a, order=3, rng=1).statistic,
    "batch means": lambda *a: (
        ps.lambda_psd_test(
            *a, order=2, split=ps.BlockSplit(gap=20), variance=ps.BatchMeans(), rng=1
        ).statistic
    ),
    "check": lambda *a: ps.check(*a, rng=1).statistic,
    "check iid": lambda *a: ps.check(*a, iid=True, rng=1).statistic,
    "bootstrap": lambda *a: ps.psd_bootstrap_test(*a, order=2, n_bootstrap=50, rng=1).statistic,
}


def quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        return call(*arguments)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("chunk", [1, 333])
def test_stored_rows_give_the_answer_of_memory(name: str, chunk: int) -> None:
    draws, scores = rows()
    stored = ps.from_store(ChunkedArray(draws, chunk), ChunkedArray(scores, 2 * chunk))
    found, expected = quietly(CALLS[name], stored), quietly(CALLS[name], draws, scores)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["psd", "batch means", "check"])
def test_stored_chains_give_the_answer_of_memory(name: str) -> None:
    draws, scores = chains()
    stored = ps.from_store(ChunkedArray(draws, 400), ChunkedArray(scores, 300))
    assert stored.layout.time_ordered
    found, expected = quietly(CALLS[name], stored), quietly(CALLS[name], draws, scores)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_a_memmap_goes_straight_in(name: str, tmp_path: Path) -> None:
    draws, scores = rows()
    np.save(tmp_path / "draws.npy", draws)
    mapped = np.load(tmp_path / "draws.npy", mmap_mode="r")
    expected = quietly(CALLS[name], draws, scores)
    assert quietly(CALLS[name], mapped, scores) == pytest.approx(expected, abs=1e-9)
    by_path = quietly(CALLS[name], tmp_path / "draws.npy", lambda x: -x)
    assert by_path == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("argument", ["draws", "scores"])
def test_nan_is_named_with_its_block_and_row(argument: str) -> None:
    draws, scores = rows(100_000, 2)
    (draws if argument == "draws" else scores)[73_123, 1] = np.nan
    stored = ps.from_store(ChunkedArray(draws, 100), ChunkedArray(scores, 100))
    match = f"`{argument}` must be finite; got nan in block 731, row 73123, coordinate 1"
    for name in ("psd", "check"):
        with pytest.raises(ps.InputError, match=match):
            quietly(CALLS[name], stored)


def test_scores_must_have_the_shape_and_the_order_of_the_draws() -> None:
    draws, scores = rows(100)
    with pytest.raises(ps.InputError, match=r"the shape of `draws`, \(100, 3\); got \(100, 2\)"):
        ps.from_store(ChunkedArray(draws, 10), ChunkedArray(scores[:, :2], 10))


def test_names_are_one_for_each_coordinate() -> None:
    array = ChunkedArray(rows(100)[0], 10)
    assert ps.from_store(array, lambda x: -x, names=["a", "b", "c"]).names == ("a", "b", "c")
    with pytest.raises(ps.InputError, match="`names` must be 3 different strings"):
        ps.from_store(array, lambda x: -x, names=["a", "b"])


def test_the_text_says_how_often_a_function_is_evaluated(tmp_path: Path) -> None:
    array = ChunkedArray(rows(100)[0], 10)
    every = repr(ps.from_store(array, lambda x: -x))
    assert every == "StoredSource(100 draws, d=3, scores evaluated once in every pass)"
    once = repr(ps.from_store(array, lambda x: -x, cache=tmp_path))
    assert once == "StoredSource(100 draws, d=3, scores evaluated once in all)"


def test_check_decodes_every_chunk_at_most_four_times() -> None:
    draws, scores = chains(1, 20_000)
    array = ChunkedArray(draws, 1500)
    quietly(CALLS["check"], ps.from_store(array, ChunkedArray(scores, 1500)))
    assert max(array.decoded.values()) <= 4


EVERY = [
    (name, kind)
    for name, (_, _, kinds) in FUNCTIONS.items()
    for kind in ("rows", "chains")
    if kind in kinds
]


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_every_public_function_takes_stored_arrays(name: str, kind: str) -> None:
    function, options, _ = FUNCTIONS[name]
    _, sample = pair(kind)
    stored = ps.from_store(ChunkedArray(sample.draws, 70), ChunkedArray(sample.scores, 110))
    found, expected = (answer(function, one, options) for one in (stored, sample))
    assert_same(found, expected)


def test_a_block_is_numbered_in_its_own_table() -> None:
    draws, scores = rows(1000, 2)
    draws[430, 1] = np.inf
    stored = ps.from_store(ChunkedArray(draws, 100), ChunkedArray(scores, 300))
    with pytest.raises(ps.InputError, match="`draws` must be finite; got inf in block 4, row 430"):
        ps.psd(stored, order=1)


# Scores of a function


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
def test_rows_are_known_once_they_are_written(added: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        spill, expected = Spill(Path(folder), Layout((5, 60), 1, True)), np.zeros(60, dtype=bool)
        for start, length in added:
            spill.write(1, start, np.arange(start, start + length, dtype=float)[:, None])
            expected[start : start + length] = True
        found = np.zeros(60, dtype=bool)
        position = 3
        for start, stop, known in spill.known(1, 3, 57):
            assert start == position < stop
            found[start:stop], position = known, stop
            if known:
                assert np.array_equal(spill.read(1, start, stop)[:, 0], np.arange(start, stop))
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
