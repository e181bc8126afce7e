"""Two seeds seldom disagree: flips go on where the p-value is near a level."""

import numpy as np
import pytest
from scipy.stats import binomtest

from polystein import check

PAIRS = 400


@pytest.mark.slow
def test_two_seeds_seldom_disagree_on_borderline_draws() -> None:
    """Chains are split alike whatever the seed is, so that only the flips differ.

    The mean is off by so much that about half of the draws are rejected.
    """
    disagreements = rejected = 0
    for replicate in range(PAIRS):
        rng = np.random.default_rng([1202, replicate])
        draws = rng.normal(0.05, 1.0, size=(4, 250, 4))
        first, second = (check(draws, -draws, rng=seed).rejected() for seed in (1, 2))
        disagreements += first != second
        rejected += first
    assert 0.3 * PAIRS < rejected < 0.7 * PAIRS
    assert binomtest(disagreements, PAIRS, 0.01, alternative="greater").pvalue > 0.01
