"""The command line: parse, load, call, report. It needs the extra ``cli``."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast


def main() -> None:
    """Run ``polystein``; without the extra, say in one line how to get it."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Names that the terminal cannot show cost nobody the answer.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = cast(TextIO, _LastWords(sys.stderr))
    try:
        from polystein.cli.app import app
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name in ("typer", "rich")
        fault = (
            f"needs {error.name}: pip install 'polystein[cli]'"
            if missing
            else f"cannot be imported, as a library that it needs is broken: {error}"
        )
        print(f"polystein: the command line {fault}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        app()
    except OSError as error:
        # Commands see to their own errors; this is the help on a disk without room.
        print(
            f"polystein: error: the output could not be written: {error.strerror}", file=sys.stderr
        )
        sys.exit(2)
    except Exception:  # Python would exit with 1, which says that draws are rejected
        traceback.print_exc()
        sys.exit(3)


class _LastWords:
    """Standard error, which may be on a full disk: exit codes do not depend on what it takes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be written; the interpreter does so, too, when it ends."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open_closed_streams() -> None:
    """Let standard streams that the caller closed, as ``>&-`` does, lead to nowhere.

    Python has None for these, and the next file to be opened would take their numbers. Each takes
    the lowest number that is free: its own, as they are opened in order.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
