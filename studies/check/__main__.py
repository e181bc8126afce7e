"""The one command: ``python -m studies.check`` from the root of the repository.

Runs the cells that the tables beside this file do not hold yet. It may be stopped at any time and
goes on in the middle of a cell, as long as the code is the same; a second run gives the same
tables, with any number of processes. Lines that are there stay as they are: remove them, or say
--anew, after a change of the code.

``python -m studies.check choose`` chooses the shares of the level instead: see `choose`.
"""

import sys
from pathlib import Path

from studies._command import ended, parts_of, run_parts
from studies.check import (
    beyond,
    blind_spots,
    choose,
    correlated,
    correlated_size,
    head_to_head,
    memory_and_store,
    noticed,
    paper,
    posteriors,
    rows_needed,
    seeds,
    size,
    statistics_table,
)

PARTS = parts_of(
    paper,
    beyond,
    size,
    correlated,
    correlated_size,
    posteriors,
    rows_needed,
    blind_spots,
    head_to_head,
    memory_and_store,
    seeds,
    noticed,
)
#: Tables on the page that no study makes.
TABLES = {"statistics": statistics_table.markdown()}
PAGE = Path(__file__).parents[2] / "docs" / "check.md"

if __name__ == "__main__":
    if sys.argv[1:2] == ["choose"]:
        ended(lambda: choose.main(sys.argv[2:]))
    ended(lambda: run_parts("check", __doc__, PARTS, PAGE, TABLES))
