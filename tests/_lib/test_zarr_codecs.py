"""Codecs of Zarr stores, by their metadata alone: `integration/` has stores of the real library."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polystein._lib.zarr_codecs import require_safe_array, require_safe_store
from polystein.errors import InputError

Document = dict[str, Any]
PICKLE = {"id": "pickle", "protocol": 5}
BLOSC = {"id": "blosc", "cname": "lz4"}


def array_2(**changes: Any) -> Document:
    return {"zarr_format": 2, "dtype": "<f8", "filters": None, "compressor": BLOSC, **changes}


def array_3(*codecs: Any) -> Document:
    return {"zarr_format": 3, "node_type": "array", "codecs": [{"name": "bytes"}, *codecs]}


def group_3(**arrays: Document) -> Document:
    inner = {"kind": "inline", "must_understand": False, "metadata": arrays}
    return {"zarr_format": 3, "node_type": "group", "consolidated_metadata": inner}


def sharded(*codecs: Any, index: Any = ()) -> Document:
    configuration = {"codecs": [{"name": "bytes"}, *codecs], "index_codecs": list(index)}
    return {"name": "sharding_indexed", "configuration": configuration}


def stored(root: Path, file: str, document: Any) -> Path:
    place = root / file
    place.parent.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    place.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ("x/.zarray", array_2(filters=[PICKLE])),
        ("x/.zarray", array_2(compressor=PICKLE)),
        ("posterior/deep/school/.zarray", array_2(filters=[{"id": "vlen-utf8"}, PICKLE])),
        (".zmetadata", {"metadata": {"x/.zarray": array_2(filters=[PICKLE])}}),
        (".zmetadata", {"metadata": {"a/.zattrs/.zarray": array_2(filters=[PICKLE])}}),
        ("x/zarr.json", array_3(PICKLE)),
        ("x/zarr.json", array_3("pickle")),
        ("x/zarr.json", array_3({"name": "numcodecs.pickle"})),
        ("x/zarr.json", array_3({"name": "numcodecs.zlib", "configuration": PICKLE})),
        ("x/zarr.json", array_3(sharded({"name": "pickle"}))),
        ("x/zarr.json", array_3(sharded(index=[{"name": "pickle"}]))),
        ("x/zarr.json", array_3(sharded(sharded({"name": "pickle"})))),
        ("zarr.json", group_3(x=array_3({"name": "pickle"}))),
        ("zarr.json", group_3(attributes=array_3({"name": "pickle"}))),
        ("a/zarr.json", group_3(b=group_3(c=array_3({"name": "pickle"})))),
        ("zarr.json", group_3(x=array_2(filters=[PICKLE]))),
        ("X/ZARR.JSON", array_3(PICKLE)),
    ],
)
def test_a_pickle_is_found_wherever_it_is_named(
    file: str, document: Document, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"`draws` must be stored with codecs .* got 'pickle' in"):
        require_safe_store(stored(tmp_path, file, document), "draws")


@pytest.mark.parametrize("name", ["json2", "msgpack2", "categorize", "vlen-array", "my.codec", 7])
def test_codecs_that_are_not_known_are_refused(name: Any, tmp_path: Path) -> None:
    root = stored(tmp_path, "x/.zarray", array_2(filters=[{"id": name}]))
    with pytest.raises(InputError, match=f"got '{name}' in x/.zarray of"):
        require_safe_store(root, "data")


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ("x/.zarray", array_2()),
        ("x/.zarray", array_2(compressor=None, filters=[{"id": "delta", "dtype": "<f8"}])),
        ("x/.zarray", array_2(dtype="|O", filters=[{"id": "vlen-utf8"}])),
        ("x/zarr.json", array_3({"name": "numcodecs.zfpy", "configuration": {"mode": 4}})),
        ("x/zarr.json", array_3({"name": "transpose", "configuration": {"order": [1, 0]}})),
        ("x/zarr.json", array_3(sharded({"name": "zstd"}, index=[{"name": "crc32c"}]))),
        ("x/zarr.json", {**array_3(), "attributes": {"codecs": ["pickle"], "filters": [PICKLE]}}),
        (".zmetadata", {"metadata": {"x/.zattrs": {"filters": [PICKLE]}}}),
        ("x/.zattrs", {"filters": [PICKLE]}),
        ("x/c/0/0", "pickle"),
    ],
)
def test_numbers_and_text_pass_and_attributes_are_not_codecs(
    file: str, document: Any, tmp_path: Path
) -> None:
    require_safe_store(stored(tmp_path, file, document), "draws")


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    store = stored(tmp_path / "run.zarr", ".zgroup", {"zarr_format": 2})
    os.symlink(store, store / "again")
    require_safe_store(store, "draws")
    stored(tmp_path / "elsewhere", ".zarray", array_2(filters=[PICKLE]))
    os.symlink(tmp_path / "elsewhere", store / "x")
    with pytest.raises(InputError, match=r"got 'pickle' in x/\.zarray"):
        require_safe_store(store, "draws")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"metadata": {"x/.zarray": []}}', "[" * 100_000, "\ud7ff"]
)
def test_metadata_that_cannot_be_read_are_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be an intact Zarr store; .* \.zmetadata: "):
        require_safe_store(stored(tmp_path, ".zmetadata", text), "draws")


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "run.zarr").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="must be a Zarr store, which is a folder"):
        require_safe_store(tmp_path / "run.zarr", "draws")


def test_arrays_that_are_open_are_judged_by_their_metadata() -> None:
    kind = type("Array", (SimpleNamespace,), {"__module__": "zarr.core.array"})
    for document, safe in ((array_2(), True), (array_2(filters=[PICKLE]), False)):
        array = kind(metadata=SimpleNamespace(to_dict=document.copy))
        if safe:
            require_safe_array(array, "draws")
            continue
        with pytest.raises(InputError, match="got 'pickle' in the Zarr array"):
            require_safe_array(array, "draws")
