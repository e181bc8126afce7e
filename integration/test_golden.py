"""Results of stores and Dask arrays are what they were; see `tests/golden/test_golden.py`."""

import pytest

from integration.golden import ARRAYS, CASES, INPUTS, RESULTS
from tests.golden.calls import differences, digests, load, record

STORED = load(RESULTS)


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_the_stored_one(name: str) -> None:
    found = differences(name, STORED["cases"][name], record(CASES[name], INPUTS))
    assert "\n".join(found) == "", "`python -m integration.golden` shows all that changed"


def test_every_case_is_stored_and_no_other() -> None:
    assert list(STORED["cases"]) == list(CASES)
    assert digests(ARRAYS) == STORED["inputs"]
    assert {call.data for call in CASES.values()} == set(INPUTS)
