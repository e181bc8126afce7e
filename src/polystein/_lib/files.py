"""Writing files that are complete or absent, without replacing files of other programs."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polystein.errors import InputError

#: What pictures, and other files that polystein writes, say about themselves.
MARK = "Written by polystein"
#: How a page begins: it is known by its generator, in its head. Words in a text prove nothing.
_PAGE = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="polystein """
#: How files of ours begin, and where pictures name their creator.
_OURS = (
    (_PAGE, _PAGE),
    (b"\x89PNG\r\n\x1a\n", b"tEXtCreator\0" + MARK.encode()),
    (b"<?xml", b"<dc:title>" + MARK.encode()),
    (b"%PDF", b"/Creator (" + MARK.encode()),
    (b"%!PS", b"%%Creator: " + MARK.encode()),
)
#: Creators are within this many bytes of the beginning or the end.
_BYTES_SEARCHED = 8192


@contextmanager
def writing(argument: str, path: object) -> Iterator[None]:
    """Turn errors of writing to a path that the user chose into an `InputError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"`{argument}` must be where files can be written; got {path}: {reason}"
        ) from error


def fault_of_numpy_file(error: Exception) -> str:
    """Why NumPy did not read a file, without its advice to unpickle what it does not know."""
    if "pickle" in str(error):
        return "NumPy finds pickled objects or a damaged header in it"
    return f"{type(error).__name__}: {error}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is complete or absent: under a temporary name, then renamed.

    Each call has a temporary name of its own, in the same folder, so that any number of processes
    may write the same file. A symbolic link stays one: the file that it leads to is replaced. A
    device or a pipe is written to and not replaced.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
        return
    path = Path(os.path.realpath(path))
    if path.is_dir():  # its temporary file would be in the folder around it
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    # It does not contain the name of the file, which may be as long as names can be.
    unfinished = path.with_name(f".polystein-{secrets.token_hex(8)}.tmp")
    try:
        with unfinished.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def is_replaceable(path: Path) -> bool:
    """Whether `write_whole` would replace no file but one that polystein wrote.

    An empty file may be replaced. Folders, devices and pipes never are.
    """
    if not path.is_file():
        return True
    with path.open("rb") as stream:
        beginning = stream.read(_BYTES_SEARCHED)
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - _BYTES_SEARCHED))
        end = stream.read()
    return not beginning or any(
        beginning.startswith(start) and (mark in beginning or mark in end) for start, mark in _OURS
    )


def digest_of(path: Path) -> str:
    """The SHA-256 of a file; of a folder, that of the digests and names of the files in it."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        lines = (f"{digest_of(file)}  {file.relative_to(path).as_posix()}\n" for file in files)
        return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
