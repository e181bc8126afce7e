"""What all commands share: options, exit codes, progress bars, and care for files."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.progress import Progress as Bar

from polystein._lib.files import is_replaceable, writing
from polystein.cli import NOBODY_READS, ClosedPipe, forget_output
from polystein.errors import (
    InputError,
    PolysteinError,
    PolysteinWarning,
    StudyError,
    TaskError,
    printable,
)
from polystein.types import Progress, ToleranceVerdict, Verdict

Force = Annotated[
    bool, typer.Option("--force", help="Also replace files that polystein did not write.")
]
Seed = Annotated[int, typer.Option(help="Random seed. The same seed gives the same result.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback if there is an error.")]

ScoresFrom = Annotated[
    str | None,
    typer.Option(help="Scores of ArviZ draws: group/variable, a group, or a file."),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Score function, module:function, from (n, d) draws to (n, d) scores. That of refine "
        "returns log-densities."
    ),
]
Model = Annotated[
    str | None, typer.Option(help="PyMC model of ArviZ draws, module:function that returns it.")
]
VarNames = Annotated[
    list[str] | None,
    typer.Option(help="Parameters to check, by name or pattern ('theta*'); may be repeated."),
]
Thin = Annotated[int, typer.Option(help="Keep every THIN-th draw.")]
DropFirst = Annotated[int, typer.Option(help="Drop this many draws at the start of each chain.")]
Alpha = Annotated[float, typer.Option(help="Level of the test.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Html = Annotated[Path | None, typer.Option(help="Also write an HTML page to this file.")]

#: What a disk without room, a quota, a limit on the size of files, or an output that is open only
#: for reading answers.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}


class ExitCode(IntEnum):
    """The exit codes of the command."""

    NOT_REJECTED = 0
    REJECTED = 1
    BAD_INPUT = 2
    INTERNAL_ERROR = 3
    INCONCLUSIVE = 4
    BEYOND_TOLERANCE = 5
    UNDECIDED = 6
    INTERRUPTED = 130
    CLOSED_PIPE = NOBODY_READS

    @classmethod
    def of(cls, verdict: Verdict, tolerance: ToleranceVerdict | None = None) -> ExitCode:
        """The exit code of a verdict; with a tolerance, whether the draws are within it.

        Draws within the tolerance are good enough, also if they are rejected. A verdict that is
        inconclusive leaves the tolerance open, too.
        """
        if tolerance is None or verdict == "inconclusive":
            return cls[verdict.upper().replace(" ", "_")]
        return {
            "within": cls.NOT_REJECTED,
            "beyond": cls.BEYOND_TOLERANCE,
            "undecided": cls.UNDECIDED,
        }[tolerance]

    @property
    def words(self) -> str:
        """The name as it stands in a sentence."""
        return self.name.lower().replace("_", " ")


EXIT_CODES = "Exit codes: " + ", ".join(f"{code.value} {code.words}" for code in ExitCode) + "."


@contextmanager
def session(debug: bool) -> Iterator[None]:
    """Turn everything that can go wrong into a line on stderr and an exit code."""
    try:
        with _plain_warnings():
            yield
    except (typer.Exit, ClosedPipe):
        raise
    except KeyboardInterrupt:
        raise _failure("interrupted", ExitCode.INTERRUPTED, debug=False) from None
    except TaskError as error:
        raise _failure(_fault(error), ExitCode.INTERNAL_ERROR, debug) from None
    except StudyError as error:
        # A study may end for want of memory, which is not a fault of the input either.
        raise _failure(f"error: {error}", ExitCode.INTERNAL_ERROR, debug) from None
    except PolysteinError as error:
        raise _failure(f"error: {error}", ExitCode.BAD_INPUT, debug) from None
    except OSError as error:
        raise _unwritten(error, debug) from None
    except MemoryError as error:
        message = f"error: not enough memory for this input {error}".rstrip()
        raise _failure(message, ExitCode.BAD_INPUT, debug) from None
    except Exception as error:
        raise _failure(_fault(error), ExitCode.INTERNAL_ERROR, debug) from None


def _unwritten(error: OSError, debug: bool) -> typer.Exit:
    """An output without room is the user's to mend; anything else is a fault of ours."""
    if error.errno not in UNWRITABLE:
        return _failure(_fault(error), ExitCode.INTERNAL_ERROR, debug)
    forget_output()
    message = f"error: the output could not be written: {error.strerror}"
    return _failure(message, ExitCode.BAD_INPUT, debug)


def _fault(error: Exception) -> str:
    return (
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a fault in polystein. Please report it, with the command that you ran and "
        "what it prints with --debug."
    )


def require_level(alpha: float) -> None:
    """Refuse before files are read what is no level."""
    if not 0.0 < alpha < 1.0:
        raise InputError(f"`--alpha` must be a level strictly between 0 and 1; got {alpha:g}")


@contextmanager
def progress_bar(description: str) -> Iterator[Progress | None]:
    """Yield ``progress(done, total)`` for a bar on stderr, or None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield progress


def _failure(message: str, code: ExitCode, debug: bool) -> typer.Exit:
    if debug:
        traceback.print_exc()
    print(f"polystein: {printable(message)}", file=sys.stderr)
    return typer.Exit(int(code))


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show a `PolysteinWarning` as one line, without file names and source lines."""
    with warnings.catch_warnings():
        shown_before = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, PolysteinWarning):
                print(f"polystein: warning: {message}", file=sys.stderr)
            else:
                shown_before(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("always", PolysteinWarning)
        yield


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


def tell_page(path: Path, as_json: bool) -> None:
    """Say where the page is; beside JSON on standard error, as programs read the other."""
    print(f"Page: {printable(str(path))}", file=sys.stderr if as_json else None, flush=True)


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
    """Whether a path is an input, or a file not of polystein within a folder that is one."""
    if not path.exists():
        return False
    inside = file.is_dir() and path.resolve().is_relative_to(file.resolve())
    return path.samefile(file) or (inside and not is_replaceable(path))
