"""Means of skewed numbers: the transcription, and the rate far out in the tail."""

import numpy as np
import pytest
from scipy.stats import binom

from polystein.inference.skewed_means import tails_of_means
from tests.reference.sampler_tests import pvalue_of_mean


def test_pvalues_are_the_literal_ones() -> None:
    rng = np.random.default_rng(1)
    values = np.stack([rng.standard_exponential(50) - shift for shift in (0.5, 1.0, 1.6)], axis=1)
    expected = [pvalue_of_mean(column.tolist()) for column in values.T]
    np.testing.assert_allclose(tails_of_means(values), expected, rtol=1e-10)


def test_a_constant_is_judged_by_whether_it_is_zero() -> None:
    np.testing.assert_array_equal(tails_of_means(np.tile([0.0, 1.0], (30, 1))), [1.0, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("shape", [10.0, 50.0, np.inf])
def test_rates_hold_far_out(shape: float) -> None:
    """At 1e-4 with 100 numbers, normal or skewed, judged by a binomial test."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(10):
        size = (100, 20_000)
        normal = not np.isfinite(shape)
        values = rng.standard_normal(size) if normal else rng.standard_gamma(shape, size) - shape
        found += int((tails_of_means(values) <= 1e-4).sum())
    assert found <= binom.ppf(0.999, 200_000, 1e-4)
