"""The one command: ``python -m studies.extensions`` from the root of the repository.

Runs the cells that the tables beside this file do not hold yet. It may be stopped at any time and
goes on in the middle of a cell, as long as the code is the same; a second run gives the same
tables, with any number of processes, but for the times. Lines that are there stay as they are:
remove them, or say --anew, after a change of the code.
"""

from pathlib import Path

from studies._command import ended, parts_of, run_parts
from studies.extensions import (
    chains,
    methods,
    resolutions,
    rules,
    runtime,
    search,
    sides,
    structures,
    training,
)

PARTS = parts_of(resolutions, structures, training, sides, chains, rules, search, methods, runtime)
PAGE = Path(__file__).parents[2] / "docs" / "extensions.md"

if __name__ == "__main__":
    ended(lambda: run_parts("extensions", __doc__, PARTS, PAGE))
