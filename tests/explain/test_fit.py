"""Fits from sums of products equal least squares, and features are chosen out of fold."""

import numpy as np
import pytest

import polystein as ps
from polystein.explain.designs import CoordinateDesign, MeansDesign
from polystein.explain.estimates import Rows
from polystein.explain.fit import Fit, fitted
from tests.explain.rows import frame_of, seen_of, skewed
from tests.reference import corrections as literal


def fit_of(design: object, draws: object, scores: object, **options: object) -> Fit:
    source = ps.Sample(draws, scores, **options)  # type: ignore[arg-type]
    return Rows.of(source).fits([design], frame_of(np.asarray(draws)))[0]  # type: ignore[list-item]


def test_intercepts_equal_least_squares() -> None:
    draws, scores = skewed()
    fit = fit_of(CoordinateDesign(3, 0), draws, scores)
    seen, ones = seen_of(draws, scores), np.ones(len(draws))
    features = literal.coordinate_features(seen.draws, seen.scores, 0)
    for power, cut in enumerate(fit.cuts, start=1):
        expected = literal.intercept(features[:, :cut], seen.draws[:, 0] ** power, ones)
        assert fit.corrected[power - 1] == pytest.approx(expected, abs=1e-7)
        assert fit.plain[power - 1] == pytest.approx(np.mean(seen.draws[:, 0] ** power), abs=1e-12)


def test_weights_count_as_repeated_rows() -> None:
    draws, scores = skewed()
    counts = np.random.default_rng(0).integers(1, 4, len(draws))
    fit = fit_of(CoordinateDesign(3, 0), draws, scores, log_weights=np.log(counts))
    seen = seen_of(draws, scores)
    features = literal.coordinate_features(seen.draws, seen.scores, 0)[:, : fit.cuts[1]]
    expected = literal.intercept(features, seen.draws[:, 0] ** 2, counts.astype(float))
    assert fit.corrected[1] == pytest.approx(expected, abs=1e-7)


def test_what_is_left_out_of_fold() -> None:
    draws, scores = skewed()
    fit = fit_of(CoordinateDesign(3, 0), draws, scores)
    seen = seen_of(draws, scores)
    features = literal.coordinate_features(seen.draws, seen.scores, 0)[:, : fit.cuts[0]]
    y, left = seen.draws[:, 0], 0.0
    for fold in np.array_split(np.arange(len(y)), 5):
        rest = np.setdiff1d(np.arange(len(y)), fold)
        gram = literal.damped(features[rest], np.ones(len(rest))) * len(rest)
        beta = np.linalg.solve(gram, features[rest].T @ y[rest])
        left += float(np.sum((y[fold] - features[fold] @ beta) ** 2))
    assert fit.left[0, 0] * len(y) == pytest.approx(left, rel=1e-3)


def test_features_that_do_not_help_are_left_out() -> None:
    rng = np.random.default_rng(0)
    draws, noise = rng.standard_normal((400, 3)), rng.standard_normal((400, 3))
    assert set(fit_of(MeansDesign(3), draws, noise).cuts) == {1}
    assert set(fit_of(MeansDesign(3), draws, -draws).cuts) == {4}


def test_scores_without_a_need_for_further_features_are_enough() -> None:
    draws = np.random.default_rng(0).standard_normal((400, 3))
    fit = fit_of(CoordinateDesign(3, 0, shape=True), draws, -draws)
    assert fit.cuts[:2] == (4, 7)
    assert fit.corrected[:2] == pytest.approx(
        [
            -draws[:, 0].mean() / draws[:, 0].std(),
            (1 + draws[:, 0].mean() ** 2) / draws[:, 0].var(),
        ],
        abs=1e-7,
    )


def test_more_scores_than_rows_are_tamed_by_a_ridge() -> None:
    draws, scores = skewed(60, 80)
    fit = fit_of(MeansDesign(80), draws, scores)
    assert fit.ridge > 1e-9
    assert np.all(np.isfinite(fit.corrected))
    # What features would add to the noise is left out.
    assert np.all(np.diagonal(fit.left) <= 1.1 * np.diagonal(fit.spread))


def test_what_the_ridge_moves_is_told() -> None:
    """By fits with twice the ridge and with none."""
    draws, scores = skewed()
    scores = scores + 20.0  # far from mean 0
    fit = fit_of(CoordinateDesign(3, 0), draws, scores)
    seen = seen_of(draws, scores)
    features, y = literal.coordinate_features(seen.draws, seen.scores, 0), seen.draws[:, 0]
    for power, cut in enumerate(fit.cuts, start=1):
        chosen = features[:, :cut]
        exact = np.linalg.lstsq(chosen, y**power, rcond=None)[0][0]
        moved = fit.corrected[power - 1] - exact
        assert fit.damping[power - 1] == pytest.approx(moved, rel=0.05)


def test_weight_in_one_stretch_alone_is_an_error() -> None:
    draws, scores = skewed()
    weights = np.where(np.arange(len(draws)) < 40, 0.0, -60.0)
    with pytest.raises(ps.DegenerateError, match="`log_weights` must leave weight to more than"):
        fit_of(CoordinateDesign(3, 0), draws, scores, log_weights=weights)


def test_sums_beyond_a_float64_are_an_error() -> None:
    matrices = np.full((5, 7, 7), np.inf)
    mixed = np.where(np.arange(5)[:, None, None] % 2, -np.inf, matrices)
    for sums in (matrices, mixed, np.full((5, 7, 7), 1e308)):
        with pytest.raises(ps.ScaleError, match="overflow"):
            fitted(MeansDesign(3), sums, 100.0)
