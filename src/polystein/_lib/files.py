"""Writing files so that they are complete or absent."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is complete or absent: under a temporary name, then renamed.

    A device or a pipe is written to and not replaced.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
        return
    unfinished = path.with_name(f".{path.name}.tmp")
    try:
        with unfinished.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
