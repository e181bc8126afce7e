"""t-statistics of skewed rows are moved towards 0, and never away from it."""

import numpy as np
import pytest
from scipy import stats

from polystein.inference.pvalues import cautious_for_skewness, skewness
from polystein.inference.signflips import FlippedStatistics, random_signs
from tests.reference.check import cautious_t, skewness_beyond_chance


def test_it_is_what_the_formula_says() -> None:
    rng = np.random.default_rng(0)
    t, g = 3.0 * rng.standard_normal(500), 4.0 * rng.standard_normal(500)
    expected = [cautious_t(*pair, 30) for pair in zip(t.tolist(), g.tolist(), strict=True)]
    np.testing.assert_allclose(cautious_for_skewness(t, g, 30), expected, rtol=1e-12)


def test_rows_without_skewness_keep_their_statistics() -> None:
    t = np.linspace(-5.0, 5.0, 11)
    np.testing.assert_array_equal(cautious_for_skewness(t, np.zeros(11), 10), t)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_skewness_is_scipys_in_any_unit(unit: float) -> None:
    columns = np.random.default_rng(0).exponential(size=(50, 3))
    np.testing.assert_allclose(skewness(unit * columns), stats.skew(columns), rtol=1e-10)
    np.testing.assert_array_equal(skewness(np.full((5, 2), 3.0)), 0.0)


def test_the_draws_as_they_are_are_corrected_and_flips_are_not() -> None:
    sums = np.random.default_rng(1).exponential(size=(200, 1)) - 1.2
    signs = random_signs(100, 200, np.random.default_rng(0), unflipped_first=True)
    unit = sums / np.sqrt(np.sum(sums**2))
    plain = (signs @ unit)[:, 0] ** 2
    found = FlippedStatistics(100)
    found.add(sums, signs, places=np.arange(1), unflipped=1.0)
    total = found.total
    np.testing.assert_allclose(total[1:], plain[1:], rtol=1e-10)
    expected = cautious_t(float(unit.sum()), skewness_beyond_chance(sums[:, 0]), 200) ** 2
    np.testing.assert_allclose(total[0], expected, rtol=1e-10)
    assert 0.0 < total[0] < plain[0]
