"""The one command: ``python -m studies.refine`` from the root of the repository.

Runs the cells that the tables beside this file do not hold yet. It may be stopped at any time, and
goes on where it was as long as the code is the same. Lines that are there stay as they are: remove
them, or say --anew, after a change of the code.
"""

from pathlib import Path

from studies._command import ended, run_parts
from studies.refine import cost, faults, fits, hard, level, right

PARTS = {"level": level, "faults": faults, "right": right, "fits": fits, "hard": hard, "cost": cost}
PAGE = Path(__file__).parents[2] / "docs" / "refine.md"

if __name__ == "__main__":
    ended(lambda: run_parts("refine", __doc__, PARTS, PAGE))
