"""Evidence for the errata in docs/paper.md that takes no simulation."""

import math
import statistics

import numpy as np
import pytest
from scipy.special import digamma

import polystein as ps
from polystein.experiments.paper import published
from polystein.inference.columns import MeanAndCovariance
from polystein.types import FloatArray


class Opposite:
    """The weights of Algorithm 2 with the other sign."""

    needs_covariance = True

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        return -ps.CrossEntropy().solve(moments, rng)


def test_the_sign_of_lambda_does_not_change_a_two_sided_p_value() -> None:
    draws = np.random.default_rng(2).normal(0.05, 1.0, size=(600, 3))
    plain = ps.lambda_psd_test(draws, -draws, order=2, rng=1)
    other = ps.lambda_psd_test(draws, -draws, order=2, weights=Opposite(), rng=1)
    assert other.statistic == -plain.statistic != 0.0
    assert other.pvalue == plain.pvalue


def test_published_msnr_is_the_mean_of_log_z_squared() -> None:
    """Draws from the target have z of about N(0, 1), for which both are known."""
    values = [
        row.mean_log10_z2
        for row in published.experiment1()
        if row.sampler == "gaussian" and row.mean_log10_z2 is not None
    ]
    assert len(values) == 70
    mean_of_logs = (digamma(0.5) + math.log(2.0)) / math.log(10.0)
    log_of_mean = math.log10(math.sqrt(2.0 / math.pi))
    assert (mean_of_logs, log_of_mean) == pytest.approx((-0.5517, -0.0981), abs=5e-5)
    assert statistics.mean(values) == pytest.approx(-0.51, abs=0.005)
    assert statistics.mean(values) == pytest.approx(mean_of_logs, abs=0.05)
    # Not one of the cells is near what the text describes.
    assert max(values) < log_of_mean - 0.15


def test_no_published_runtime_has_many_rows_of_many_dimensions() -> None:
    for point in published.runtimes():
        assert point.n == 1000 or point.dimension == 16
