"""Weight rules: unit norm, the right sign, and as large a signal-to-noise ratio as there is."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError
from polystein.inference.columns import MeanAndCovariance
from tests.reference import algorithms, resolution
from tests.weights.features import moments_of, objective, solved, table

RULES = [
    ps.Uniform(),
    ps.ClosedForm(),
    ps.ClosedForm(ridge=0.0),
    ps.CrossEntropy(),
    ps.SoftThreshold(),
    ps.SoftThreshold(level=0.0),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(5))
def test_weights_have_unit_norm_and_the_sign_of_the_mean(rule: Any, seed: int) -> None:
    moments = moments_of(table(seed))
    mean, covariance = moments.mean.copy(), moments.covariance.copy()
    weights = solved(rule, moments)
    assert np.linalg.norm(weights) == pytest.approx(1.0, rel=1e-14)
    assert weights @ moments.mean >= 0.0
    turned = solved(rule, moments._replace(mean=-moments.mean))
    assert turned @ moments.mean <= 0.0
    assert np.array_equal(moments.mean, mean)
    assert np.array_equal(moments.covariance, covariance)


@pytest.mark.parametrize("rule", RULES)
def test_the_size_of_the_features_does_not_matter(rule: Any) -> None:
    features = table(1)
    first, second = (solved(rule, moments_of(factor * features)) for factor in (1.0, 2.0**200))
    assert np.array_equal(first, second)


def test_uniform_weights_are_equal() -> None:
    weights = solved(ps.Uniform(), moments_of(table(0)))
    assert np.abs(weights) == pytest.approx(np.full(4, 0.5), rel=1e-15)
    assert len(set(np.sign(weights))) == 1


# ClosedForm


@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_closed_form_is_the_literal_one(ridge: float, seed: int) -> None:
    features = table(seed)
    weights = solved(ps.ClosedForm(ridge=ridge), moments_of(features))
    assert weights == pytest.approx(algorithms.closed_form(features, ridge), rel=1e-10)


def test_closed_form_without_a_ridge_is_the_maximiser() -> None:
    moments = moments_of(table(3))
    best = objective(solved(ps.ClosedForm(ridge=0.0), moments), moments)
    expected = moments.mean @ np.linalg.solve(moments.covariance, moments.mean)
    assert best == pytest.approx(expected, rel=1e-10)


def test_a_singular_correlation_needs_a_ridge() -> None:
    moments = MeanAndCovariance(np.array([1.0, 1.0]), np.ones((2, 2)), 50)
    with pytest.raises(DegenerateError, match="singular; use a positive `ridge`"):
        solved(ps.ClosedForm(ridge=0.0), moments)
    weights = solved(ps.ClosedForm(), moments)
    assert weights == pytest.approx([0.5**0.5, 0.5**0.5], rel=1e-12)


@pytest.mark.parametrize("ridge", [-0.1, float("nan"), float("inf")])
def test_bad_ridges_are_refused(ridge: float) -> None:
    with pytest.raises(InputError, match=f"`ridge` must be a finite number >= 0; got {ridge!r}"):
        ps.ClosedForm(ridge=ridge)


# SoftThreshold


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_soft_thresholding_is_the_literal_one(level: float, seed: int) -> None:
    features = table(seed, size=6)
    weights = solved(ps.SoftThreshold(level), moments_of(features))
    expected = resolution.soft_threshold(level)(features, None)
    assert weights == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_only_features_beyond_the_threshold_have_a_weight() -> None:
    """t = 30, -4, 1 and 2 with sqrt(2 log 4) = 1.665, worked out by hand."""
    spread = np.array([1.0, 2.0, 1.0, 0.5])
    mean = np.array([3.0, -0.8, 0.1, 0.1])
    weights = solved(ps.SoftThreshold(), MeanAndCovariance(mean, np.diag(spread**2), 100))
    threshold = np.sqrt(2 * np.log(4))
    expected = np.array([30 - threshold, -(4 - threshold) / 2, 0.0, (2 - threshold) / 0.5])
    assert weights == pytest.approx(expected / np.linalg.norm(expected), rel=1e-12)


def test_the_largest_feature_stays_where_none_is_beyond_the_threshold() -> None:
    moments = MeanAndCovariance(np.array([0.01, -0.05, 0.2]), np.array([1.0, 1.0, 100.0]), 100)
    assert np.array_equal(solved(ps.SoftThreshold(), moments), [0.0, -1.0, 0.0])


def test_without_a_threshold_the_rule_is_the_maximiser_of_uncorrelated_features() -> None:
    moments = MeanAndCovariance(np.array([0.3, -0.2, 0.1]), np.diag([1.0, 4.0, 0.1]), 100)
    first, second = (solved(rule, moments) for rule in (RULES[-1], ps.ClosedForm(ridge=0.0)))
    assert first == pytest.approx(second, rel=1e-12)


def test_variances_alone_are_enough_for_some_rules_and_not_for_others() -> None:
    moments = moments_of(table(0))
    short = moments._replace(covariance=moments.variance)
    assert np.array_equal(short.variance, moments.variance)
    for rule in (ps.SoftThreshold(), ps.Uniform()):
        assert np.array_equal(solved(rule, short), solved(rule, moments))
    for other in (ps.ClosedForm(), ps.CrossEntropy()):
        message = (
            r"`weights` must be SoftThreshold\(\) .* 4 features .*; got " + type(other).__name__
        )
        with pytest.raises(InputError, match=message):
            solved(other, short)


@pytest.mark.parametrize("level", [-0.1, float("nan"), float("inf"), "1", None, True])
def test_bad_levels_are_refused(level: Any) -> None:
    with pytest.raises(InputError, match=f"`level` must be a finite number >= 0; got {level!r}"):
        ps.SoftThreshold(level=level)


# Degenerate features, for every rule


@pytest.mark.parametrize("rule", RULES)
def test_one_feature_has_the_weight_one(rule: Any) -> None:
    for mean, expected in ((2.0, 1.0), (-2.0, -1.0)):
        moments = MeanAndCovariance(np.array([mean]), np.array([[3.0]]), 50)
        assert solved(rule, moments) == pytest.approx([expected], rel=1e-15)


@pytest.mark.parametrize("rule", RULES[1:])
@pytest.mark.parametrize("value", [0.0, 5.0])
def test_a_feature_without_variance_is_left_out(rule: Any, value: float) -> None:
    features = table(0, size=3)
    features[:, 1] = value
    weights = solved(rule, moments_of(features))
    assert weights[1] == 0.0
    assert np.linalg.norm(weights) == pytest.approx(1.0, rel=1e-14)
    others = solved(rule, moments_of(features[:, [0, 2]]))
    assert weights[[0, 2]] == pytest.approx(others, rel=1e-9)


@pytest.mark.parametrize("rule", RULES[1:])
def test_no_varying_feature_is_an_error(rule: Any) -> None:
    moments = MeanAndCovariance(np.array([1.0, 2.0]), np.zeros((2, 2)), 50)
    with pytest.raises(DegenerateError, match="no feature varies"):
        solved(rule, moments)


@pytest.mark.parametrize("rule", RULES)
def test_features_of_mean_zero_never_give_nan(rule: Any) -> None:
    """No direction stands out: any unit vector is as good, or none is."""
    try:
        weights = solved(rule, MeanAndCovariance(np.zeros(2), np.eye(2), 50))
    except DegenerateError:
        return
    assert np.linalg.norm(weights) == pytest.approx(1.0, rel=1e-14)
