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
    app()
