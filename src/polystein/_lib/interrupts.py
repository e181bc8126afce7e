"""Ctrl-C while the command line is being imported ends it at once, without a traceback.

The package imports this module before all others. It does nothing in other programs.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import PurePath


def is_command() -> bool:
    """Whether this process is ``polystein`` or ``python -m polystein``."""
    program = PurePath((getattr(sys, "argv", None) or [""])[0])
    if program.name == "-m":  # what `argv` begins with while the package of the module is imported
        return _module(sys.orig_argv[1:]) == "polystein"
    return program.name in ("polystein", "polystein.exe")


def _module(arguments: list[str]) -> str:
    """The module that Python's own arguments name by ``-m``; empty if there is none.

    Examples
    --------
    >>> [_module(line.split()) for line in ("-um a", "-ma b", "-W error -m a", "-Ic pass")]
    ['a', 'a', 'a', '']
    """
    words = iter(arguments)
    for word in words:
        if word.startswith("--"):
            continue
        for end, letter in enumerate(word[1:], start=2):
            if letter in "cmWX":  # the rest of the word, or the next one, belongs to it
                value = word[end:] or next(words, "")
                if letter in "cm":
                    return value if letter == "m" else ""
                break
    return ""


def end_at_once() -> None:
    """Let Ctrl-C end the process as it ends other programs, unless the caller has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again: the command tidies up and says that it ended."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if is_command() and threading.current_thread() is threading.main_thread():
    end_at_once()
