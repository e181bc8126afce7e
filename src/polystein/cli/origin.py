"""Which files and which command a result of the command line came from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polystein
from polystein._lib.files import digest_of
from polystein._lib.versions import versions
from polystein.report.page import Origin


def origin_of(files: Sequence[Path]) -> Origin:
    """The files that were read, with their digests, and the command that read them."""
    digests = []
    for file in files:
        if not (file.is_file() or file.is_dir()):  # a pipe would wait for a writer
            digests.append((file.name, "not known: no ordinary file"))
            continue
        try:
            digests.append((file.name, digest_of(file)))
        except OSError as error:  # the result does not need the file any more
            digests.append((file.name, f"not known: {error.strerror}"))
    return Origin(tuple(digests), shlex.join(["polystein", *sys.argv[1:]]), versions())


def origin_values(origin: Origin) -> dict[str, Any]:
    """An origin for JSON, from which `polystein report` writes a page later."""
    return {
        "files": [{"name": name, "sha256": digest} for name, digest in origin.files],
        "command": origin.command,
        "polystein_version": polystein.__version__,
        "versions": origin.versions,
    }
