"""Theorem 3.3 and Corollary 3.4 against the appendix, line by line, and against PSD of draws."""

import math
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError
from polystein.theory import ProductMoments, moment_differences
from polystein.theory.moments import real_rows
from tests.conftest import Array
from tests.reference import stein
from tests.reference import theory as reference


def case(seed: int, d: int) -> tuple[Array, Array, Array]:
    """Skewed draws, and the mean and covariance of a correlated target that they do not have."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((d, d)) + 2.0 * np.eye(d)
    return (
        rng.gamma(2.0, size=(40, d)) - 1.0,
        rng.standard_normal(d),
        factor @ factor.T / d,
    )


@pytest.mark.parametrize(("seed", "d", "order"), [(1, 1, 4), (2, 2, 3), (3, 3, 0), (4, 4, 2)])
def test_differences_and_stein_moments_equal_the_appendix(seed: int, d: int, order: int) -> None:
    draws, mean, covariance = case(seed, d)
    found = moment_differences(draws, mean=mean, covariance=covariance, order=order)
    first, products = reference.moment_conditions(draws, mean, covariance, order)
    matrices, vector = reference.gaussian_stein_moments(draws, mean, covariance, order)
    assert found.products.shape == found.matrices.shape == (order, d, d)
    np.testing.assert_allclose(found.mean, first, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found.vector, vector, rtol=1e-10, atol=1e-13)
    for i in range(order):
        np.testing.assert_allclose(found.products[i], products[i], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.matrices[i], matrices[i], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_psd_is_that_of_the_draws_with_gaussian_scores(order: int, shift: float) -> None:
    draws, mean, covariance = case(5, 3)
    draws, mean = draws + shift, mean + shift
    scores = -np.linalg.solve(covariance, (draws - mean).T).T
    found = moment_differences(draws, mean=mean, covariance=covariance, order=order)
    assert found.psd == pytest.approx(ps.psd(draws, scores, order=order), rel=1e-10)
    assert found.psd == pytest.approx(stein.psd_v(draws, scores, order), rel=1e-10)


@pytest.mark.parametrize("order", range(4))
def test_known_moments_give_what_draws_with_these_moments_give(order: int) -> None:
    draws, mean, covariance = case(6, 3)
    # E[X_l X_j^i] over the draws, and one order more than is asked for.
    products = [draws.T @ draws**i / len(draws) for i in range(1, order + 2)]
    moments = ProductMoments(draws.mean(axis=0), np.array(products))
    known = moment_differences(moments, mean=mean, covariance=covariance, order=order)
    seen = moment_differences(draws, mean=mean, covariance=covariance, order=order)
    np.testing.assert_allclose(known.mean, seen.mean, rtol=1e-10)
    np.testing.assert_allclose(known.products, seen.products, rtol=1e-9, atol=1e-12)
    assert known.psd == pytest.approx(seen.psd, rel=1e-10)


def test_corollary_3_4_is_a_difference_of_covariances_about_the_mean_of_the_target() -> None:
    draws, mean, covariance = case(7, 3)
    found = moment_differences(draws, mean=mean, covariance=covariance, order=1)
    centred = draws - mean
    expected = centred.T @ centred / len(draws) - covariance
    assert found.covariance is not None
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-10, atol=1e-13)
    assert moment_differences(draws, mean=mean, covariance=covariance, order=0).covariance is None


def test_psd_vanishes_with_all_differences_and_only_then() -> None:
    # The 2 d points m +- sqrt(d) L e_k have the mean m and the covariance L L^T.
    mean = np.array([1.0, -2.0])
    factor = np.array([[1.0, 0.0], [0.5, 2.0]])
    steps = math.sqrt(2.0) * factor.T
    draws = np.concatenate([mean + steps, mean - steps])
    covariance = factor @ factor.T
    first = moment_differences(draws, mean=mean, covariance=covariance, order=1)
    assert first.psd == pytest.approx(0.0, abs=1e-13)
    # They are symmetric about m, so that x^2 holds as well; their fourth moments are too small.
    second = moment_differences(draws, mean=mean, covariance=covariance, order=2)
    assert second.psd == pytest.approx(0.0, abs=1e-12)
    assert moment_differences(draws, mean=mean, covariance=covariance, order=3).psd > 1.0
    # A wrong mean alone, and a wrong covariance alone, are seen.
    assert moment_differences(draws, mean=mean + 0.1, covariance=covariance, order=0).psd > 0.01
    assert moment_differences(draws, mean=mean, covariance=1.1 * covariance, order=1).psd > 0.01


GOOD: dict[str, Any] = {"mean": [0.0, 0.0], "covariance": np.eye(2), "order": 1}


@pytest.mark.parametrize(
    ("draws", "changed", "message"),
    [
        (np.zeros(3), {}, r"`draws` must have shape \(n, d\) with n >= 1, d >= 1; got \(3,\)"),
        (np.zeros((4, 3)), {}, "`draws` must have as many columns as `mean`, 2; got 3"),
        ([[0.0, math.nan]], {}, r"`draws` must be finite; got 1 non-finite values.*\(0, 1\)"),
        ([["a", "b"]], {}, "`draws` must hold real numbers; got dtype <U1"),
        (np.zeros((4, 2)), {"order": -1}, "`order` must be an integer >= 0; got -1"),
        (np.zeros((4, 2)), {"mean": 0.0}, r"`mean` must have shape \(d,\) with d >= 1; got \(\)"),
        (
            np.zeros((4, 2)),
            {"covariance": [1.0, 1.0]},
            r"`covariance` must have shape \(2, 2\) as `mean` has; got \(2,\)",
        ),
        (
            np.zeros((4, 2)),
            {"covariance": [[1.0, 0.3], [0.2, 1.0]]},
            r"`covariance` must be symmetric; got 0.3 at \[0, 1\] and 0.2 at \[1, 0\]",
        ),
        (
            np.zeros((4, 2)),
            {"covariance": [[1.0, 2.0], [2.0, 1.0]]},
            "`covariance` must be positive definite; its smallest eigenvalue is -1",
        ),
        (
            ProductMoments([0.0], np.zeros((1, 2, 2))),
            {},
            r"`draws.mean` must have the shape of `mean`, \(2,\); got \(1,\)",
        ),
        (
            ProductMoments([0.0, 0.0], np.zeros((1, 2, 2))),
            {"order": 2},
            r"`draws.products` must have shape \(Q, 2, 2\) with Q >= `order`, 2; got \(1, 2, 2\)",
        ),
        (
            ProductMoments([0.0, 0.0], [[[1.0, 0.5], [0.0, 1.0]]]),
            {},
            r"`draws.products\[0\]` must be symmetric; got 0.5 at \[0, 1\] and 0.0 at \[1, 0\]",
        ),
    ],
)
def test_what_is_no_sampler_or_no_gaussian_is_refused(
    draws: Any, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ps.InputError, match=message):
        moment_differences(draws, **{**GOOD, **changed})


def test_moments_that_do_not_fit_a_float64_are_an_error() -> None:
    with pytest.raises(ps.ScaleError, match="moments of order 3 do not fit a float64"):
        moment_differences(np.full((4, 2), 1e100), **{**GOOD, "order": 3})


def test_the_input_is_not_changed() -> None:
    draws, mean, covariance = case(8, 2)
    copies = draws.copy(), mean.copy(), covariance.copy()
    moment_differences(draws, mean=mean, covariance=covariance, order=2)
    for array, copy in zip((draws, mean, covariance), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


# Arrays are checked before anything is computed with them


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], [1.0, 2.0]], "`draws` must be an array of numbers; "),
        ([["a"]], "`draws` must hold real numbers; got dtype <U1"),
        (
            [[1.0], [np.inf]],
            r"`draws` must be finite; got 1 non-finite values, the first at \(1, 0\)",
        ),
        (np.full((3, 1), np.finfo("g").max), "`draws` must be finite; got 3"),
        ([1.0, 2.0], r"`draws` must have shape \(n, d\) with n >= 2, d >= 1; got \(2,\)"),
        ([[1.0]], r"n >= 2, d >= 1; got \(1, 1\)"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        real_rows("draws", values, least=2)


def test_rows_are_a_copy_in_double_precision() -> None:
    given = np.ones((3, 2), dtype=np.float32)
    found = real_rows("draws", given, least=2)
    found[0] = 2.0
    assert found.dtype == np.float64
    assert given[0, 0] == 1.0
