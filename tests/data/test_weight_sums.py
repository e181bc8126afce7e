"""Importance weights, summed in a pass."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import block_rows
from polystein.data.weight_sums import effective_weights
from tests.rows import arbitrary_rows, arbitrary_weights


def test_without_weights_every_row_counts() -> None:
    draws, scores = (table.reshape(2, 20, 2) for table in arbitrary_rows(40, 2))
    assert effective_weights(ps.Sample(draws, scores)) == 40.0
    equal = ps.Sample(draws, scores, log_weights=np.full((2, 20), -3.0))
    assert effective_weights(equal) == pytest.approx(40.0, rel=1e-14)


def test_effective_weights_are_kishs_size() -> None:
    """Over several blocks, whatever the scale of the log-weights."""
    n = block_rows(2) + 100
    log_weights, weights = arbitrary_weights(n)
    sample = ps.Sample(*arbitrary_rows(n, 2), log_weights=log_weights)
    assert effective_weights(sample) == pytest.approx(1.0 / float(weights @ weights), rel=1e-12)
