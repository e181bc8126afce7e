"""``python -m tests.golden [--renew] [WORD...]``: compare with the stored results, or renew."""

import sys
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.command import compare
from tests.golden.inputs import ARRAYS, INPUTS

RESULTS = Path(__file__).with_name("results.json")

if __name__ == "__main__":
    sys.exit(compare(CASES, INPUTS, ARRAYS, RESULTS, sys.argv[1:]))
