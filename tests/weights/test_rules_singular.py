"""Features of which one is a combination of the others."""

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError
from polystein.inference.columns import MeanAndCovariance


def test_without_a_ridge_singular_features_are_refused() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((100, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.3]])
    moments = MeanAndCovariance(features.mean(axis=0), np.cov(features.T, bias=True), 100)
    with pytest.raises(DegenerateError, match="singular; use a positive `ridge`"):
        ps.ClosedForm(ridge=0.0).solve(moments, rng)
    ps.ClosedForm().solve(moments, rng)
