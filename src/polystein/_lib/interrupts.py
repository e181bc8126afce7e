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
        return sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["polystein"]
    return program.name in ("polystein", "polystein.exe")


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
