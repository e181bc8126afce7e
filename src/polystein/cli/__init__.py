"""The command line: parse, load, call, report. It needs the extra ``cli``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run ``polystein``; without the extra, say in one line how to get it."""
    try:
        from polystein.cli.app import app
    except ModuleNotFoundError as error:
        print(
            f"polystein: the command line needs {error.name}: pip install 'polystein[cli]'",
            file=sys.stderr,
        )
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
