"""The command line: parse, load, call, report. It needs the extra ``cli``."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

from polystein._lib.interrupts import raise_again

#: Exit code if the reader of the output closed its pipe: 128 + SIGPIPE, as for other programs.
NOBODY_READS = 141


def main() -> None:
    """Run ``polystein``; without the extra, say in one line how to get it."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show must not lose the result.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast(TextIO, _Output(sys.stdout))
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
    raise_again()
    try:
        try:
            app()
        finally:
            # A pipe that is closed shows here, not when the interpreter ends.
            sys.stdout.flush()
    except ClosedPipe:
        forget_output()
        sys.exit(NOBODY_READS)
    except OSError as error:
        # Commands report their own errors. This is a help text on a full disk.
        forget_output()
        print(
            f"polystein: error: the output could not be written: {error.strerror}", file=sys.stderr
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:  # Python would exit with 1, which says that draws are rejected
        traceback.print_exc()
        sys.exit(3)


class ClosedPipe(Exception):
    """The reader of the output closed its pipe, as ``head`` does.

    Not a `BrokenPipeError`: Typer and Rich catch that and exit with 1, the code of rejected draws.
    """


class _Output:
    """Standard output; it raises `ClosedPipe` once its reader has closed the pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise ClosedPipe from None

    def flush(self) -> None:
        """Flush what is written; the interpreter does so, too, when it ends."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise ClosedPipe from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def forget_output() -> None:
    """Send what is still to be flushed to nowhere: the interpreter flushes again when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _LastWords:
    """Standard error; what a full disk does not take is dropped, and the exit code stays."""

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
