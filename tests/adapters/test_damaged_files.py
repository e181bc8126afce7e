"""Damaged NumPy files, names that are too long and pipes are errors that name the argument."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import polystein as ps
from polystein.errors import InputError
from tests.cli.files import Run


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def _npy(shape: str) -> bytes:
    """A .npy file with this shape in its header, and hardly any numbers."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    padded = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + bytes(64)


def _npz(method: int, flags: int) -> bytes:
    """A .npz whose members say that they are compressed or encrypted in this way."""
    stream = io.BytesIO()
    np.savez(stream, draws=np.zeros((9, 2)), scores=np.zeros((9, 2)))
    data = bytearray(stream.getvalue())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(mark)
        while start >= 0:
            data[start + place] |= flags
            data[start + place + 2] = method
            start = data.find(mark, start + 4)
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bool.npy", _npy("(True, 2)")),
        ("huge.npy", _npy("(1000000000000, 1000)")),
        ("overflow.npy", _npy("(4611686018427387904, 4)")),
        ("token.npy", _npy("(((9, 2), '''")),
        ("long.npy", _npy("(9, 2)" + " " * 20000)),
        ("noise.npy", b"no array"),
    ],
)
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("opened", [ps.from_file, ps.from_store])
def test_damaged_numpy_files(
    name: str,
    content: bytes,
    opened: Callable[..., object],
    recwarn: pytest.WarningsRecorder,
) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(InputError, match=f"`draws` must be an intact .*{name}") as caught:
        opened(name, lambda draws: -draws)
    assert "allow_pickle" not in str(caught.value)
    assert "unsafe" not in str(caught.value)
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(("method", "flags"), [(0, 1), (77, 0)], ids=["encrypted", "unknown"])
def test_members_that_cannot_be_unpacked(method: int, flags: int, run: Run) -> None:
    Path("run.npz").write_bytes(_npz(method, flags))
    with pytest.raises(InputError, match=r"`draws` must be an intact NumPy file .*run\.npz"):
        ps.from_file("run.npz")
    assert run("check", "run.npz").code == 2


def test_two_members_of_one_name_are_refused() -> None:
    np.savez("run.npz", draws=np.zeros((9, 2)), scores=np.zeros((9, 2)))
    with zipfile.ZipFile("run.npz", "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("draws.npy", _npy("(4, 2)"))
    with pytest.raises(InputError, match=r"keys of run\.npz must differ"):
        ps.from_file("run.npz")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet"])
def test_a_name_that_is_too_long(suffix: str, run: Run) -> None:
    name = "a" * 300 + suffix
    with pytest.raises(InputError, match="`path` must be a path of a length"):
        ps.from_file(name, lambda x: -x)
    with pytest.raises(InputError, match="`draws` must be a path of a length"):
        ps.from_store(name, lambda x: -x)
    done = run("check", name, name)
    assert done.code == 2
    assert "must be a path of a length" in done.err


@pytest.mark.parametrize("name", ["a.npy", "a.parquet", "a.h5"])
def test_pipes_are_refused_before_they_are_opened(name: str) -> None:
    os.mkfifo(name)
    np.save("draws.npy", np.zeros((9, 2)))
    with pytest.raises(InputError, match=f"`draws` must be a file or folder.*{name}"):
        ps.check(name, lambda x: -x)
    with pytest.raises(InputError, match=f"`scores` must be a file or folder.*{name}"):
        ps.from_store("draws.npy", name)


def test_a_pipe_in_a_folder_of_parquet_files_is_refused() -> None:
    Path("folder").mkdir()
    pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0]}), "folder/1.parquet")
    os.mkfifo("folder/2.parquet")
    with pytest.raises(InputError, match="`draws` must be made of regular files"):
        ps.check("folder", lambda x: -x)


@pytest.mark.parametrize("further", ["other.npy", "--target"])
def test_a_run_with_scores_takes_no_further_ones(run: Run, good: np.ndarray, further: str) -> None:
    np.savez("run.npz", draws=good, scores=-good)
    np.save("other.npy", good)
    Path("own_score.py").write_text("def score(x): return -x\n")
    rest = [further, "own_score:score"] if further == "--target" else [further]
    done = run("check", "run.npz", *rest)
    assert done.code == 2
    assert "`scores` must come from one place; got run.npz" in done.err
