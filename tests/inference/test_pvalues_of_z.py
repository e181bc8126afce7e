"""From a z to its p-value and back, to the last digits that a report or a level may need."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

from polystein.inference.pvalues import tail_probability, upper_normal


@pytest.mark.parametrize("statistic", [-3.0, -0.5, 0.0, 1.7, 40.0])
@pytest.mark.parametrize("df", [float("inf"), 7.0])
def test_tail_probabilities_are_those_of_scipy(statistic: float, df: float) -> None:
    law = stats.norm() if np.isinf(df) else stats.t(df)
    greater = tail_probability(statistic, df, "greater")
    assert greater == pytest.approx(law.sf(statistic), rel=1e-12)
    two_sided = tail_probability(statistic, df, "two-sided")
    assert two_sided == pytest.approx(2 * law.sf(abs(statistic)), rel=1e-12)


@pytest.mark.parametrize("pvalue", [1e-300, 1e-20, 0.002, 0.3, 0.5, 0.9, 1.0 - 1e-9])
def test_upper_normal_inverts_the_tail(pvalue: float) -> None:
    assert float(upper_normal(pvalue)) == pytest.approx(float(norm.isf(pvalue)), rel=1e-10)


def test_upper_normal_is_finite_at_both_ends() -> None:
    """Below the smallest float and above the largest below 1 nothing is told apart."""
    ends = upper_normal(np.array([0.0, 1.0]))
    assert 37.0 < ends[0] < 38.0
    assert -8.5 < ends[1] < -8.0
    assert float(upper_normal(0.0)) == ends[0]
    assert float(upper_normal(1.0)) == ends[1]
