"""Stores of the real libraries that would run code if anything in them were unpickled.

numcodecs is told to unpickle in all of them, so that none is safe because of its version.
"""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from integration.stores import h5py, netCDF4, xr, zarr
from tests.bombs import Bomb, exploded

numcodecs = pytest.importorskip("numcodecs")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Failed to open Zarr store with consolidated metadata:RuntimeWarning",
    "ignore::FutureWarning",
    "ignore:The codec `vlen-utf8` is currently not part:UserWarning",
    "ignore:Consolidated metadata is currently not part:UserWarning",
)
DIMENSIONS = ("chain", "draw", "school")
VALUES = np.random.default_rng(0).standard_normal((2, 300, 2))
PICKLE = {"id": "pickle", "protocol": 5}


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _numcodecs_may_unpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases from 0.16.6 on unpickle where they are told to, older ones always."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)


def arrays() -> Any:
    """Arrays named as `from_store` wants them, with a coordinate of strings."""
    return xr.Dataset(
        {"draws": (DIMENSIONS, VALUES), "scores": (DIMENSIONS, -VALUES)},
        coords={"school": np.array(["A", "B"], dtype=object)},
    )


def tree() -> Any:
    """The groups of ArviZ, one below another, with scores in a group of their own."""
    groups = {
        "posterior": xr.Dataset({"mu": (DIMENSIONS, VALUES)}, arrays().coords),
        "gradients": xr.Dataset({"mu": (DIMENSIONS, -VALUES)}, arrays().coords),
    }
    return xr.DataTree.from_dict(groups)


def written(data: Any, *, zarr_format: int, consolidated: bool) -> Path:
    path = Path("run.zarr")
    data.to_zarr(path, zarr_format=zarr_format, consolidated=consolidated)
    return path


def with_pickle(path: Path, variable: str) -> Path:
    """Put a pickle in the place of a variable's chunks, and the codec that unpickles before it."""
    place = path / variable
    file = next(place / name for name in (".zarray", "zarr.json") if (place / name).exists())
    metadata = changed(json.loads(file.read_bytes()))
    file.write_text(json.dumps(metadata), encoding="utf-8")
    for name in (".zmetadata", "zarr.json"):
        if (path / name).exists():
            root = json.loads((path / name).read_bytes())
            known = root.get("consolidated_metadata") or root
            for key in (f"{variable}/.zarray", variable):
                if key in known.get("metadata", {}):
                    known["metadata"][key] = metadata
            (path / name).write_text(json.dumps(root), encoding="utf-8")
    for chunk in place.rglob("*"):
        if chunk.is_file() and chunk.name not in (".zarray", ".zattrs", "zarr.json"):
            chunk.write_bytes(pickle.dumps(Bomb()))
    return path


def changed(metadata: dict[str, Any]) -> dict[str, Any]:
    if metadata["zarr_format"] == 3:
        return {**metadata, "codecs": [*metadata["codecs"], {"name": "numcodecs.pickle"}]}
    return {**metadata, "filters": [*(metadata["filters"] or []), PICKLE], "compressor": None}


def read_all(path: Path) -> list[Callable[[], Any]]:
    """Every way from the path of a store to an answer."""
    return [
        lambda: ps.check(path),
        lambda: ps.check(path, lambda x: -x),
        lambda: ps.psd(ps.from_store(path), order=1),
        lambda: ps.from_file(path),
        lambda: ps.from_file(path, "gradients"),
        lambda: ps.from_arviz(str(path), lambda x: -x),
    ]


STORES = [
    (arrays, "draws"),
    (arrays, "scores"),
    (arrays, "school"),
    (tree, "posterior/mu"),
    (tree, "posterior/school"),
    (tree, "gradients/mu"),
]


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("data", "variable"), STORES)
def test_a_zarr_store_with_a_pickle_is_refused_and_never_decoded(
    data: Callable[[], Any], variable: str, zarr_format: int, consolidated: bool
) -> None:
    path = written(data(), zarr_format=zarr_format, consolidated=consolidated)
    with_pickle(path, variable)
    for read in read_all(path):
        with pytest.raises(ps.InputError, match=r"numbers and text only.* got 'pickle' in"):
            read()
    assert not exploded()


def test_the_pickle_is_live_where_numcodecs_unpickles() -> None:
    path = with_pickle(written(arrays(), zarr_format=2, consolidated=False), "school")
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        zarr.open(str(path), mode="r")["school"][:]
    assert exploded()


class Canary(numcodecs.abc.Codec):  # type: ignore[misc]
    """A codec of another package, which does something else than to decode."""

    codec_id = "canary"

    def encode(self, buffer: Any) -> Any:
        return buffer

    def decode(self, buffer: Any, out: Any = None) -> Any:
        Path("exploded").mkdir()
        return buffer


@pytest.mark.parametrize("how", [str, lambda path: zarr.open(path, mode="r")["draws"]])
def test_codecs_of_other_packages_are_refused(how: Callable[[str], Any]) -> None:
    """In the path of a store, and in an array that is open already."""
    numcodecs.register_codec(Canary)
    group = zarr.open_group("run.zarr", mode="w", zarr_format=2)
    options = {"shape": VALUES.shape, "dtype": "f8", "filters": [Canary()]}
    group.create_array("draws", **options)[:] = VALUES
    with pytest.raises(ps.InputError, match=r"numbers and text only.* got 'canary' in"):
        ps.check(how("run.zarr"), lambda x: -x)
    assert not exploded()


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_stores_that_xarray_writes_are_read(zarr_format: int, consolidated: bool) -> None:
    """Coordinates of strings have an object codec, too, which is none of the refused ones."""
    path = written(tree(), zarr_format=zarr_format, consolidated=consolidated)
    found = ps.from_file(path, "gradients")
    np.testing.assert_array_equal(found.draws, VALUES)
    assert found.names == ("mu[A]", "mu[B]")


def test_codecs_that_users_choose_are_read() -> None:
    stores = {"codecs": "compressed.zarr", "shards": "sharded.zarr", "filters": "filtered.zarr"}
    options: dict[str, dict[str, Any]] = {
        "codecs": {"compressors": zarr.codecs.BloscCodec(cname="zstd", shuffle="shuffle")},
        "shards": {"shards": (1, 300, 2), "compressors": zarr.codecs.GzipCodec()},
        "filters": {
            "zarr_format": 2,
            "filters": [numcodecs.Delta(dtype="f8")],
            "compressors": numcodecs.LZMA(),
        },
    }
    for name, path in stores.items():
        group = zarr.open_group(path, mode="w", zarr_format=2 if name == "filters" else 3)
        for part, values in (("draws", VALUES), ("scores", -VALUES)):
            kept = {key: value for key, value in options[name].items() if key != "zarr_format"}
            array = group.create_array(
                part, shape=values.shape, chunks=(1, 100, 2), dtype="f8", **kept
            )
            array[:] = values
        assert ps.psd(path, order=1) == pytest.approx(ps.psd(VALUES, -VALUES, order=1), rel=1e-9)


def pickled_bytes() -> Any:
    return np.frombuffer(pickle.dumps(Bomb()), dtype="u1")


def in_hdf5(path: Path) -> None:
    """A pickle as bytes, as a string, in attributes, and below a type that claims to be objects."""
    with h5py.File(path, "w") as file:
        text = pickle.dumps(Bomb(), protocol=0).decode()
        file.create_dataset("draws", data=np.array([[text, text]], dtype=h5py.string_dtype()))
        file.create_dataset("scores", data=pickled_bytes())
        file["draws"].attrs["pickle"] = np.void(pickle.dumps(Bomb()))


def with_objects(path: Path) -> None:
    """A type of h5py's own for NumPy types, which says that the bytes are Python objects."""
    with h5py.File(path, "w") as file:
        kind = h5py.h5t.create(h5py.h5t.OPAQUE, 8)
        kind.set_tag(b"NUMPY:|O")
        space = h5py.h5s.create_simple((300, 2))
        for name in (b"draws", b"scores"):
            h5py.h5d.create(file.id, name, kind, space)


def in_netcdf(path: Path) -> None:
    """Groups of ArviZ whose variables, coordinates and attributes are pickles as bytes and text."""
    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("posterior")
        for name, size in zip(DIMENSIONS, VALUES.shape, strict=True):
            group.createDimension(name, size)
        text = pickle.dumps(Bomb(), protocol=0).decode()
        group.createVariable("school", str, ("school",))[:] = np.array(
            [text, text + "."], dtype=object
        )
        group.createVariable("mu", "f8", DIMENSIONS)[:] = VALUES
        words = group.createVariable("words", str, ("chain", "draw"))
        words[:] = np.full(VALUES.shape[:2], text, dtype=object)
        group.setncattr("pickle", text)
        file.setncattr("pickle", pickled_bytes())


@pytest.mark.parametrize(
    ("write", "name"),
    [(in_hdf5, "run.h5"), (with_objects, "run.h5"), (in_netcdf, "run.nc"), (in_netcdf, "run.h5")],
)
def test_pickles_in_hdf5_and_netcdf_are_never_read(
    write: Callable[[Path], None], name: str
) -> None:
    path = Path(name)
    write(path)
    for read in read_all(path):
        with pytest.raises(ps.InputError):
            read()
    assert not exploded()


def test_draws_beside_pickles_in_netcdf_are_read() -> None:
    in_netcdf(Path("run.nc"))
    found = ps.from_arviz("run.nc", lambda x: -x, var_names="mu")
    np.testing.assert_array_equal(found.draws, VALUES)
    assert not exploded()
