"""Where a command's results go: never onto its inputs, and onto other files only if told to."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from polystein._lib.files import is_replaceable, writing
from polystein.errors import InputError

Force = Annotated[
    bool, typer.Option("--force", help="Also replace files that polystein did not write.")
]


def require_free(option: str, path: Path, inputs: Sequence[Path] = (), force: bool = False) -> None:
    """Refuse, before the work begins, an output that would cost the user a file."""
    with writing(option, path):
        for file in inputs:
            if _is_part(path, file):
                raise InputError(
                    f"`{option}` must not be an input, which is never replaced; got {path}, and "
                    f"{file} is read"
                )
        if not force and not is_replaceable(path):
            raise InputError(
                f"`{option}` must be a new file or one that polystein wrote; got {path}, which is "
                "neither. Choose another name, or replace the file with --force"
            )


def require_other_output(inputs: Sequence[Path]) -> None:
    """Refuse to print into an input, as in ``polystein check draws.npz >> draws.npz``."""
    try:
        output = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError):
        return
    for file in inputs:
        if file.is_file() and os.path.samestat(output, file.stat()):
            raise InputError(f"standard output must not be an input; got {file}")


def _is_part(path: Path, file: Path) -> bool:
    """Whether a path leads to an input, or to a file of others within a folder that is one."""
    if not path.exists():
        return False
    inside = file.is_dir() and path.resolve().is_relative_to(file.resolve())
    return path.samefile(file) or (inside and not is_replaceable(path))
