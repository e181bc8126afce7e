"""The one command: ``python -m studies.effects`` from the root of the repository.

Runs the cells that the tables beside this file do not hold yet. It may be stopped at any time and
goes on in the middle of a cell, as long as the code is the same; a second run gives the same
tables, with any number of processes. Lines that are there stay as they are: remove them, or say
--anew, after a change of the code. One line of the corrected expectations needs JAX and BlackJAX.
"""

from pathlib import Path

from studies._command import ended, parts_of, run_parts
from studies.effects import corrected, planted, sizes, tolerance

PARTS = parts_of(planted, tolerance, corrected, sizes)
PAGE = Path(__file__).parents[2] / "docs" / "effects.md"

if __name__ == "__main__":
    ended(lambda: run_parts("effects", __doc__, PARTS, PAGE))
