"""Exact populations against quadrature and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.theory import GaussianPair
from tests.conftest import Array
from tests.reference import stein
from tests.reference import theory as reference

# Dimension, delta, variance, highest order: quadrature has (order + 2)^d nodes.
PAIRS = [
    (1, 0.1, 1.2, 6),
    (1, -0.7, 0.55, 5),
    (2, 0.3, 0.8, 4),
    (2, -0.4, 1.0, 3),
    (2, 0.0, 1.7, 3),
    (3, 0.25, 1.3, 2),
]
CASES = [(*pair[:3], order) for pair in PAIRS for order in range(pair[3] + 1)]


def rule_of(dimension: int, delta: float, variance: float, order: int) -> tuple[Array, Array]:
    return reference.gaussian_rule(dimension, delta, variance, order)


@pytest.mark.parametrize(("dimension", "delta", "variance", "order"), CASES)
def test_stein_moments_and_psd_equal_quadrature(
    dimension: int, delta: float, variance: float, order: int
) -> None:
    pair = GaussianPair(dimension, delta, variance)
    points, weights = rule_of(dimension, delta, variance, order)
    matrices, vector = stein.stein_moments(points, -points, order, weights=weights)
    means = pair.stein_moments(order)
    assert means.off_diagonal.shape == means.diagonal.shape == (order,)
    for i, matrix in enumerate(matrices):
        expected = np.full((dimension, dimension), means.off_diagonal[i])
        np.fill_diagonal(expected, means.diagonal[i])
        np.testing.assert_allclose(matrix, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(vector, means.score, rtol=1e-10, atol=1e-12)
    expected_psd = stein.psd_v(points, -points, order, weights=weights)
    assert pair.psd(order) == pytest.approx(expected_psd, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(("dimension", "delta", "variance", "order"), CASES)
def test_zetas_and_signal_to_noise_ratios_equal_quadrature(
    dimension: int, delta: float, variance: float, order: int
) -> None:
    pair = GaussianPair(dimension, delta, variance)
    points, weights = rule_of(dimension, delta, variance, order)
    zeta1, zeta2 = reference.zetas(points, -points, order, weights)
    assert pair.zetas(order) == pytest.approx((zeta1, zeta2), rel=1e-9, abs=1e-12)
    signal = stein.psd_v(points, -points, order, weights=weights) ** 2
    n = 37
    noise = 4 * (n - 2) / (n * (n - 1)) * zeta1 + 2 / (n * (n - 1)) * zeta2
    assert pair.snr_squared_u(order, n) == pytest.approx(signal**2 / noise, rel=1e-9, abs=1e-20)
    if pair.psd(order) > 0:
        assert pair.snr_squared_z(order) == pytest.approx(signal**2 / zeta1, rel=1e-9)


@pytest.mark.parametrize(
    ("dimension", "delta", "variance", "order"), [case for case in CASES if case[1] != 0]
)
def test_feature_moments_and_lambda_psd_equal_quadrature(
    dimension: int, delta: float, variance: float, order: int
) -> None:
    pair = GaussianPair(dimension, delta, variance)
    points, weights = rule_of(dimension, delta, variance, order)
    mean, covariance = reference.features(points, -points, order, weights)
    exact_mean, exact_covariance = pair.feature_moments(order)
    np.testing.assert_allclose(exact_mean, mean, rtol=1e-9)
    np.testing.assert_allclose(exact_covariance, covariance, rtol=1e-9, atol=1e-12)
    scale = 1 / np.sqrt(np.diag(covariance))
    correlation = covariance * np.outer(scale, scale)
    expected = float((scale * mean) @ np.linalg.solve(correlation, scale * mean))
    assert pair.lambda_snr_squared(order) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("dimension", "delta", "variance", "order"), [case for case in CASES if case[3] <= 4]
)
def test_o_psd_over_all_entries_of_xi_equals_quadrature(
    dimension: int, delta: float, variance: float, order: int
) -> None:
    pair = GaussianPair(dimension, delta, variance)
    points, weights = rule_of(dimension, delta, variance, order)
    expected = reference.o_psd(points, -points, order, weights)
    assert pair.o_psd(order) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_the_z_statistic_is_the_feature_sum_with_equal_weights() -> None:
    pair = GaussianPair(7, 0.2, 0.9)
    mean, covariance = pair.feature_moments(order=4)
    assert mean.sum() == pytest.approx(pair.psd(4), rel=1e-13)
    assert pair.snr_squared_z(4) == pytest.approx(mean.sum() ** 2 / covariance.sum(), rel=1e-12)


def test_features_that_vanish_are_left_out() -> None:
    # Without a shift x^2, x^4 and the score vanish; x alone has SNR^2 = d (s - 1)^2 / (2 s^2).
    centred = GaussianPair(3, 0.0, 1.5)
    assert np.diag(centred.feature_moments(order=2)[1])[1:].tolist() == [0.0, 0.0]
    assert centred.lambda_snr_squared(0) == 0.0
    assert centred.lambda_snr_squared(1) == pytest.approx(3 * 0.25 / (2 * 2.25), rel=1e-14)
    assert centred.lambda_snr_squared(2) == centred.lambda_snr_squared(1)
    assert centred.lambda_snr_squared(3) > centred.lambda_snr_squared(2)
    # With delta^2 + sigma^2 = 1 and d = 1, E[X^2] = 1 and only the feature x vanishes.
    matched = GaussianPair(1, 0.5, 0.75)
    assert matched.lambda_snr_squared(1) == matched.lambda_snr_squared(0) == 0.25 / 0.75


def test_without_a_difference_there_is_no_signal() -> None:
    same = GaussianPair(2, 0.0, 1.0)
    for order in range(4):
        assert same.psd(order) == 0.0
        assert same.snr_squared_u(order, n=50) == 0.0
        assert same.snr_squared_z(order) == 0.0
        assert same.lambda_snr_squared(order) == 0.0
        assert same.o_psd(order) == 0.0
        with pytest.raises(DegenerateError, match=f"order {order} need PSD > 0"):
            same.feature_moments(order)
    assert same.chi_square_divergence() == 0.0


#: Every shift with every variance, in one of three dimensions.
BOUND_GRID = [
    ((1, 2, 16)[(i + j) % 3], delta, variance)
    for i, delta in enumerate([-0.05, 0.4, 1.5])
    for j, variance in enumerate([0.55, 1.0, 3.0])
]


@pytest.mark.parametrize(
    ("dimension", "delta", "variance"),
    [
        *BOUND_GRID[::4],
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in BOUND_GRID
            if one not in BOUND_GRID[::4]
        ),
    ],
)
def test_lambda_psd_rises_with_the_order_to_at_most_the_chi_square_divergence(
    dimension: int, delta: float, variance: float
) -> None:
    pair = GaussianPair(dimension, delta, variance)
    values = [pair.lambda_snr_squared(order) for order in range(7)]
    assert values[0] > 0
    assert values == sorted(values)
    # Both sides are rounded; in one dimension they agree to all digits at high orders.
    assert values[-1] <= pair.chi_square_divergence() * (1 + 1e-13)
    # PSD weighs the features equally, which cannot beat the best weights, and lambda-PSD weighs
    # Q + 1 of all features, which cannot beat the best test function.
    assert all(pair.snr_squared_z(order) <= values[order] for order in range(7))
    best = [pair.o_psd(order) for order in (0, 1, 2, 4)]
    weighted = [values[order] for order in (0, 1, 2, 4)]
    assert all(value <= o * (1 + 1e-13) for value, o in zip(weighted, best, strict=True))
    assert best == sorted(best)
    assert best[-1] <= pair.chi_square_divergence() * (1 + 1e-13)


def test_lambda_psd_is_the_best_test_function_in_one_dimension_only() -> None:
    # At d = 1 there is one feature of each order. At d = 2 one weight serves 1 1^T and I together.
    for delta, variance, most in [(0.1, 1.2, 0.996), (0.5, 0.7, 0.34)]:
        one, two = GaussianPair(1, delta, variance), GaussianPair(2, delta, variance)
        assert one.lambda_snr_squared(4) == pytest.approx(one.o_psd(4), rel=1e-13)
        assert two.lambda_snr_squared(4) < most * two.o_psd(4)


def test_a_coefficient_of_zero_cannot_be_weighted() -> None:
    # E[X^2] = 1: PSD's A_1 is 0, and no weight brings the feature 1 - x^2 back. With x it is worth
    # having: mu = (0, -1/2) and Sigma = [[15/8, 3/4], [3/4, 3/4]], so that mu' Sigma^-1 mu = 5/9.
    pair = GaussianPair(1, 0.5, 0.75)
    assert pair.lambda_snr_squared(1) == pytest.approx(1 / 3, rel=1e-14)
    assert pair.o_psd(1) == pytest.approx(5 / 9, rel=1e-14)


def test_the_bound_is_attained_in_one_dimension() -> None:
    pair = GaussianPair(1, 0.1, 1.2)
    ratios = [pair.lambda_snr_squared(q) / pair.chi_square_divergence() for q in (2, 6, 12)]
    assert ratios[0] < 0.99
    assert ratios[1] == pytest.approx(1, abs=1e-4)
    assert ratios[2] == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(("delta", "variance"), [(0.3, 0.6), (-1.0, 1.0), (0.0, 2.5), (2.0, 1.2)])
def test_chi_square_divergence_equals_its_integral(delta: float, variance: float) -> None:
    sampler = stats.norm(delta, math.sqrt(variance))

    def integrand(x: float) -> float:
        return float(np.exp(2 * stats.norm.logpdf(x) - sampler.logpdf(x)))

    # p^2/q is Gaussian around -delta/(2 s - 1) with variance s/(2 s - 1).
    centre, width = -delta / (2 * variance - 1), math.sqrt(variance / (2 * variance - 1))
    total, _ = integrate.quad(integrand, centre - 12 * width, centre + 12 * width, epsabs=0)
    for dimension in (1, 3):
        pair = GaussianPair(dimension, delta, variance)
        assert pair.chi_square_divergence() == pytest.approx(total**dimension - 1, rel=1e-9)


def test_chi_square_divergence_at_its_edges() -> None:
    assert GaussianPair(2, 0.1, 0.5).chi_square_divergence() == math.inf
    assert math.isfinite(GaussianPair(2, 0.1, 0.501).chi_square_divergence())
    # Near sigma^2 = 1 it is d e^2 / 2 for e = sigma^2 - 1, with no digits lost.
    excess = 2.0**-30
    near = GaussianPair(4, 0.0, 1 + excess).chi_square_divergence()
    assert near == pytest.approx(2 * excess**2, rel=1e-8, abs=0)
    for pair in (GaussianPair(10_000, 1.0, 1.0), GaussianPair(1, 1e200, 1.0)):
        with pytest.raises(ScaleError, match="does not fit a float64"):
            pair.chi_square_divergence()


@pytest.mark.parametrize("n", [2, 10])
def test_theorem_3_5_gives_the_variance_of_the_u_statistic(n: int) -> None:
    pair, rng = GaussianPair(2, 0.4, 1.3), np.random.default_rng(22)
    draws = rng.normal(pair.delta, math.sqrt(pair.variance), (40_000, n, 2))
    outer = np.einsum("rnl,rnj->rnlj", -draws, draws) + np.eye(2)
    features = np.concatenate([outer.reshape(*draws.shape[:2], 4), -draws], axis=2)
    total, diagonal = features.sum(axis=1), np.sum(features**2, axis=(1, 2))
    statistics = (np.sum(total**2, axis=1) - diagonal) / (n * (n - 1))
    exact = pair.psd(1) ** 4 / pair.snr_squared_u(1, n)
    deviations = (statistics - pair.psd(1) ** 2) ** 2
    error = np.std(deviations) / math.sqrt(len(deviations))
    assert error < 0.1 * exact
    assert abs(np.mean(deviations) - exact) < 3 * error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.1, 1.0), "`dimension` must be a positive integer; got 0"),
        ((1.5, 0.1, 1.0), "`dimension` must be a positive integer; got 1.5"),
        ((True, 0.1, 1.0), "`dimension` must be a positive integer; got True"),
        ((1, math.nan, 1.0), "`delta` must be a finite real number; got nan"),
        ((1, "0.1", 1.0), "`delta` must be a finite real number; got '0.1'"),
        ((1, 10**400, 1.0), "`delta` must be a finite real number"),
        ((1, 0.1, math.inf), "`variance` must be a finite real number; got inf"),
        ((1, 0.1, 0.0), "`variance` must be positive; got 0.0"),
        ((1, 0.1, -1.0), "`variance` must be positive; got -1.0"),
    ],
)
def test_a_pair_refuses_what_is_no_gaussian(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GaussianPair(*arguments)  # type: ignore[arg-type]


def test_orders_and_counts_are_checked_by_every_method() -> None:
    pair = GaussianPair(1, 0.1, 1.0)
    functions = [pair.stein_moments, pair.psd, pair.zetas, pair.snr_squared_z]
    functions += [pair.feature_moments, pair.lambda_snr_squared, pair.o_psd]
    for function in functions:
        for order in (-1, 2.0, True, None):
            with pytest.raises(InputError, match="`order` must be an integer >= 0"):
                function(order)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`order` must be an integer >= 0; got -1"):
        pair.snr_squared_u(-1, n=5)
    with pytest.raises(InputError, match="`n` must be an integer >= 2; got 1"):
        pair.snr_squared_u(1, n=1)
    assert GaussianPair(1, np.float32(0.5), 1.0) == GaussianPair(1, 0.5, 1)  # type: ignore[arg-type]
    assert pair.psd(np.int64(2)) == pair.psd(2)  # type: ignore[arg-type]
