"""How looks spend the level, and what they say together."""

import numpy as np
import pytest
from scipy.stats import combine_pvalues

from polystein.inference.looks import combined_pvalue, spent_levels


def test_levels_are_spent_in_proportion_to_rows() -> None:
    assert spent_levels(0.05, [100, 300, 1000]) == pytest.approx([0.005, 0.01, 0.035])


def test_the_combination_is_stouffers() -> None:
    pvalues, rows = [0.2, 0.01, 0.7], [100, 250, 30]
    expected = combine_pvalues(pvalues, "stouffer", np.sqrt(rows)).pvalue
    assert combined_pvalue(pvalues, rows) == pytest.approx(expected)
    assert combined_pvalue([0.3], [10]) == pytest.approx(0.3)


def test_the_combination_is_a_number_at_the_ends() -> None:
    assert 0.0 <= combined_pvalue([0.0, 1.0], [10, 10]) <= 1.0
