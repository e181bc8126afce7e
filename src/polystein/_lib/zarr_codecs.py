"""The codecs of a Zarr store, read from its metadata before anything is decoded.

A store names the codecs that decode it. One of them, ``pickle``, runs whatever the store holds, and
other packages may register more. A store from a stranger must therefore name only codecs that are
known to turn bytes into numbers or text and to do nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polystein.errors import InputError

#: Codecs of Zarr and numcodecs that are data only. Of the object codecs, those of plain strings.
_SAFE = frozenset((
    "bytes", "endian", "transpose", "sharding_indexed", "vlen-utf8", "vlen-bytes",
    "blosc", "bz2", "gzip", "lz4", "lzma", "pcodec", "zfpy", "zlib", "zstd",
    "astype", "base64", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle",
    "adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3",
))  # fmt: skip
#: Where metadata are kept: format 3, format 2, and format 2 consolidated.
_METADATA = frozenset(("zarr.json", ".zarray", ".zmetadata"))


def require_safe_store(path: Path, argument: str) -> None:
    """Refuse a store that names any other codec, in any array of any group."""
    if not path.is_dir():
        raise InputError(f"`{argument}` must be a Zarr store, which is a folder; got {path}")
    for file in _metadata_files(path):
        try:
            document = json.loads(file.read_bytes())
            names = set(_names_of_arrays(document, consolidated=file.name.lower() == ".zmetadata"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"`{argument}` must be an intact Zarr store; got {path}, whose metadata cannot be "
                f"read: {file.relative_to(path)}: {error}"
            ) from error
        _require_safe(names, argument, f"{file.relative_to(path)} of {path}")


def require_safe_array(array: Any, argument: str) -> None:
    """Refuse an array that is open already, by the metadata that Zarr has of it."""
    if type(array).__module__.startswith("zarr.") and hasattr(array, "metadata"):
        names = _names_of_arrays(array.metadata.to_dict(), consolidated=False)
        _require_safe(set(names), argument, "the Zarr array")


def _require_safe(names: set[str], argument: str, where: str) -> None:
    unknown = sorted(names - _SAFE)
    if unknown:
        raise InputError(
            f"`{argument}` must be stored with codecs for numbers and text only, as others may run "
            f"code when they decode; got {', '.join(map(repr, unknown))} in {where}. Write it "
            "again with Zarr's default codecs, or read it yourself and pass NumPy arrays."
        )


def _metadata_files(path: Path) -> Iterator[Path]:
    """All metadata below a folder, also behind links, which Zarr follows."""
    seen = set()
    for folder, folders, files in os.walk(path, followlinks=True):
        mark = os.stat(folder)
        if (mark.st_dev, mark.st_ino) in seen:  # a link to a folder above
            folders.clear()
            continue
        seen.add((mark.st_dev, mark.st_ino))
        # File systems that ignore case find "ZARR.JSON", too.
        yield from (Path(folder, file) for file in files if file.lower() in _METADATA)


def _names_of_arrays(document: Any, *, consolidated: bool) -> Iterator[str]:
    """The codecs of an array, and of the arrays whose metadata a group keeps."""
    if not isinstance(document, Mapping):
        raise ValueError(f"expected an object; got a {type(document).__name__}")
    for key in ("codecs", "filters", "compressor"):
        yield from _names(document.get(key))
    inner = document.get("metadata") if consolidated else document.get("consolidated_metadata")
    if isinstance(inner, Mapping) and not consolidated:
        inner = inner.get("metadata")
    for key, value in (inner or {}).items():
        # Attributes hold what users write, under any name.
        if not (consolidated and key.rpartition("/")[2] == ".zattrs"):
            yield from _names_of_arrays(value, consolidated=False)


def _names(codec: Any) -> Iterator[str]:
    """The names of a codec, or of a list of codecs, and of those in their configurations."""
    if isinstance(codec, str):
        yield codec.removeprefix("numcodecs.")
    elif isinstance(codec, list | tuple):
        for one in codec:
            yield from _names(one)
    elif hasattr(codec, "get_config"):  # Zarr keeps those of format 2 as they are
        yield from _names(codec.get_config())
    elif isinstance(codec, Mapping):
        for key, value in codec.items():
            if key in ("id", "name"):
                yield str(value).removeprefix("numcodecs.")
            elif not isinstance(value, str):
                yield from _names(value)
