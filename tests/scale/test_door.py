"""What goes straight into the public functions, and what is refused with a remedy."""

from pathlib import Path

import array_api_strict
import numpy as np
import pytest

import polystein as ps
from polystein.data.foreign import is_stored
from tests.scale.doubles import ChunkedArray, rows


def test_what_is_stored_is_recognised(tmp_path: Path) -> None:
    draws, _ = rows(100)
    np.save(tmp_path / "x.npy", draws)
    assert is_stored(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert is_stored(tmp_path / "x.npy")
    assert is_stored(tmp_path)
    assert not is_stored(draws)
    assert not is_stored("words")
    assert not is_stored(None)


def test_one_of_two_may_be_in_memory() -> None:
    draws, scores = rows()
    expected = ps.psd(draws, scores, order=2)
    assert ps.psd(ps.from_store(draws, ChunkedArray(scores, 70)), order=2) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.npy", "`draws` must be a file or folder that exists"),
        ("notes.txt", r"must be a \.npy, \.parquet, \.zarr or \.h5 file"),
        ("broken.npy", r"`draws` must be an intact \.npy file"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "notes.txt").write_text("0.1")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ps.InputError, match=message):
        ps.from_store(tmp_path / name, lambda x: -x)


def test_scores_are_needed() -> None:
    with pytest.raises(ps.InputError, match="`scores` must be an array of the shape of `draws`"):
        ps.from_store(ChunkedArray(rows()[0], 10))
    with pytest.raises(ps.InputError, match="`scores` must be a function, or part of every block"):
        ps.from_store(lambda: iter(()), rows()[1])


def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(ps.MissingExtraError, match=r"needs zarr: pip install 'polystein\[scale\]'"):
        ps.from_store(tmp_path / "x.zarr", lambda x: -x)


def test_what_numpy_converts_may_stand_beside_what_is_stored() -> None:
    draws, scores = rows()
    expected = ps.psd(ps.from_store(draws, scores), order=2)
    for given in (scores.tolist(), array_api_strict.asarray(scores)):
        assert ps.psd(ps.from_store(draws, given), order=2) == expected
    for wrong in (True, [[1.0], [1.0, 2.0]]):
        with pytest.raises(ps.InputError, match="`scores` must"):
            ps.from_store(draws, wrong)


@pytest.mark.parametrize("given", [str, Path])
def test_the_file_of_the_draws_is_no_file_of_scores(given: type, tmp_path: Path) -> None:
    np.save(tmp_path / "draws.npy", np.random.default_rng(0).standard_normal((50, 2)))
    (tmp_path / "link.npy").symlink_to("draws.npy")
    for name in ("draws.npy", "link.npy"):
        with pytest.raises(ps.InputError, match=rf"`scores` must be gradients .*{name}, the file"):
            ps.check(given(tmp_path / "draws.npy"), given(tmp_path / name))
