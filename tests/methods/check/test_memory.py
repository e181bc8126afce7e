"""How long features remember, in batches, against the loop."""

import numpy as np
import pytest

from polystein.methods.check.memory import memory_in_batches
from tests.methods.check.sums import literal_families, random_sums
from tests.reference import check as literal


@pytest.mark.parametrize("seed", range(4))
def test_the_memory_is_that_of_the_largest_lag_one_correlation(seed: int) -> None:
    """Mixed with their neighbours by more and more, in one feature: as the loop says."""
    found = []
    for mixed in np.linspace(0.0, 1.0, 7):
        sums = random_sums(np.random.default_rng(seed), 90, 2)
        column = next(sums.pairs(1))[:, 0, 1]
        for k in range(1, 90):
            column[k] += mixed * column[k - 1]
        columns = np.concatenate(list(literal_families(sums).values()), axis=1)
        found.append(memory_in_batches(sums))
        assert found[-1] == pytest.approx(literal.memory(columns), rel=1e-10)
    assert found[0] == 1.0
    assert found[-1] > 3.0
