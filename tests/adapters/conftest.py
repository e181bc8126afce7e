"""The fixtures of the command line, through which files are read, too."""

from tests.cli.conftest import bad, good, run

__all__ = ["bad", "good", "run"]
