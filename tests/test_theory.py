"""Exact populations against quadrature, estimates against loops and simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from polystein import theory
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.theory import GaussianPair
from tests.reference import stein
from tests.reference import theory as reference

Array = NDArray[np.float64]

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


def arbitrary_rows(n: int, dimension: int, seed: int) -> tuple[Array, Array]:
    """Draws and scores that are no function of each other, so that nothing cancels."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.3, 1.2, (n, dimension)), rng.normal(-0.2, 1.0, (n, dimension))


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
        with pytest.raises(DegenerateError, match=f"order {order} need PSD > 0"):
            same.feature_moments(order)
    assert same.chi_square_divergence() == 0.0


BOUND_GRID = list(itertools.product([1, 2, 16], [-0.05, 0.4, 1.5], [0.55, 0.8, 1.0, 1.2, 3.0]))


@pytest.mark.parametrize(("dimension", "delta", "variance"), BOUND_GRID)
def test_lambda_psd_rises_with_the_order_to_at_most_the_chi_square_divergence(
    dimension: int, delta: float, variance: float
) -> None:
    pair = GaussianPair(dimension, delta, variance)
    values = [pair.lambda_snr_squared(order) for order in range(7)]
    assert values[0] > 0
    assert values == sorted(values)
    # Both sides are rounded; in one dimension they agree to all digits at high orders.
    assert values[-1] <= pair.chi_square_divergence() * (1 + 1e-13)
    # PSD weighs the features equally, which cannot beat the best weights.
    assert all(pair.snr_squared_z(order) <= values[order] for order in range(7))


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


def test_laws_of_remark_3_6_are_the_double_factorials() -> None:
    # 1!! = 1, 2!! = 2, 3!! = 3, 4!! = 8, 5!! = 15, 6!! = 48, 7!! = 105, 11!! = 10395.
    assert [theory.printed_law(q) for q in (0, 1, 3, 5)] == [1, 4 / 3, 64 / 105, 48**2 / 10395]
    assert [theory.corrected_law(q) for q in (0, 1, 3, 5)] == [1, 1 / 3, 9 / 105, 225 / 10395]
    assert 0 < theory.corrected_law(400) < theory.printed_law(400) < 1e-100


def test_the_corrected_law_follows_the_exact_decay_and_the_printed_one_drifts() -> None:
    pair = GaussianPair(1, 0.1, 1.2)
    decay = pair.snr_squared_z(5) / pair.snr_squared_z(11)
    printed = decay / (theory.printed_law(5) / theory.printed_law(11))
    corrected = decay / (theory.corrected_law(5) / theory.corrected_law(11))
    assert printed == pytest.approx(1.81, abs=0.005)
    assert corrected == pytest.approx(0.943, abs=0.0005)
    # With n zeta_1 >> zeta_2 the U-statistic decays alike; at n = 1000 it is not in that regime.
    ratio = {n: pair.snr_squared_u(5, n) / pair.snr_squared_u(11, n) for n in (1000, 10**9)}
    assert ratio[10**9] == pytest.approx(decay, rel=1e-3)
    assert ratio[1000] > 10 * decay


def test_the_exact_signal_to_noise_ratio_oscillates_with_parity() -> None:
    pair = GaussianPair(1, 0.1, 1.2)
    over_law = [pair.snr_squared_z(q) / theory.corrected_law(q) for q in range(3, 13)]
    odd, even = over_law[::2], over_law[1::2]
    assert max(odd) / min(odd) < 1.1
    assert max(even) < min(odd) / 2


@pytest.mark.parametrize("seed", [4, 5, 6])
@pytest.mark.parametrize(("n", "dimension", "order"), [(4, 1, 0), (6, 2, 0), (7, 2, 3), (8, 3, 2)])
def test_estimates_equal_loops_over_distinct_rows(
    n: int, dimension: int, order: int, seed: int
) -> None:
    draws, scores = arbitrary_rows(n, dimension, seed)
    pairs, squares, triples, quadruples = reference.distinct_means(draws, scores, order)
    estimate = theory.snr_squared(draws, scores, order=order)
    assert estimate.n == n
    assert estimate.signal == pytest.approx(pairs, rel=1e-10)
    assert estimate.signal == pytest.approx(stein.psd_u(draws, scores, order), rel=1e-10)
    assert estimate.zeta1 == pytest.approx(triples - quadruples, rel=1e-9)
    assert estimate.zeta2 == pytest.approx(squares - quadruples, rel=1e-9)
    zeta1, zeta2 = max(triples - quadruples, 0), squares - quadruples
    noise = 4 * (n - 2) / (n * (n - 1)) * zeta1 + 2 / (n * (n - 1)) * zeta2
    assert estimate.snr_squared == pytest.approx(quadruples / noise, rel=1e-9)


def test_only_zeta_1_can_be_estimated_out_of_range() -> None:
    signs = set()
    for seed in range(100):
        estimate = theory.snr_squared(*arbitrary_rows(4 + seed % 3, 1, seed), order=0)
        assert estimate.zeta2 >= max(0.0, 2 * estimate.zeta1)
        signs.add(estimate.zeta1 < 0)
    assert signs == {True, False}


def test_estimates_are_unbiased_where_plug_ins_are_not() -> None:
    pair, n, rng = GaussianPair(2, 0.4, 1.3), 10, np.random.default_rng(20)
    rows, plug_in = [], []
    for _ in range(4000):
        draws = rng.normal(pair.delta, math.sqrt(pair.variance), (n, 2))
        estimate = theory.snr_squared(draws, -draws, order=1)
        rows.append((estimate.signal, estimate.zeta1, estimate.zeta2))
        features = np.array([stein.xi(draw, -draw, 1) for draw in draws])
        plug_in.append(np.var(features @ features.mean(axis=0)))
    exact = np.array([pair.psd(1) ** 2, *pair.zetas(1)])
    errors = np.std(rows, axis=0, ddof=1) / math.sqrt(len(rows))
    assert np.all(np.abs(np.mean(rows, axis=0) - exact) < 3 * errors)
    assert np.mean(plug_in) - exact[1] > 10 * np.std(plug_in) / math.sqrt(len(plug_in))


def test_an_estimate_from_many_draws_approaches_the_exact_ratio() -> None:
    pair, rng = GaussianPair(3, 0.3, 1.2), np.random.default_rng(21)
    estimates = []
    for _ in range(30):
        draws = rng.normal(pair.delta, math.sqrt(pair.variance), (500, 3))
        estimates.append(theory.snr_squared(draws, -draws, order=2).snr_squared)
    exact = pair.snr_squared_u(2, n=500)
    error = np.std(estimates, ddof=1) / math.sqrt(len(estimates))
    assert error < 0.1 * exact
    assert abs(np.mean(estimates) - exact) < 3 * error


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


def test_the_estimated_ratio_does_not_depend_on_a_power_of_two_in_the_score() -> None:
    draws, scores = arbitrary_rows(20, 2, seed=3)
    base = theory.snr_squared(draws, scores, order=0)
    for exponent in (-500, 200):
        scaled = theory.snr_squared(draws, np.ldexp(scores, exponent), order=0)
        assert scaled.snr_squared == base.snr_squared
        assert scaled.signal == math.ldexp(base.signal, 2 * exponent)


def test_inputs_are_left_alone_and_integers_are_numbers() -> None:
    draws, scores = arbitrary_rows(9, 2, seed=4)
    kept = draws.copy(), scores.copy()
    theory.snr_squared(draws, scores, order=3)
    assert np.array_equal(draws, kept[0])
    assert np.array_equal(scores, kept[1])
    whole = np.array([[200, 1], [3, -90], [5, 7], [100, 2], [-4, 11]], dtype=np.int16)
    expected = theory.snr_squared(whole.astype(float), -whole.astype(float), order=3)
    assert theory.snr_squared(whole, -whole, order=3) == expected


def test_high_orders_are_exact_and_do_not_overflow_early() -> None:
    # d = 1, delta = 0: Z^2 = sum over odd i of ((1 - s) i (i-2)!! s^((i-1)/2))^2.
    variance = Fraction(3, 2)
    total = Fraction(0)
    for i in range(1, 182, 2):
        moment = math.prod(range(i - 2, 0, -2)) * variance ** ((i - 1) // 2)
        total += ((1 - variance) * i * moment) ** 2
    assert total > Fraction(10) ** 308
    pair = GaussianPair(1, 0.0, 1.5)
    root = math.isqrt(int(total))
    assert pair.psd(181) == pytest.approx(float(root), rel=1e-14)
    with pytest.raises(ScaleError, match="does not fit a float64"):
        pair.psd(401)
    with pytest.raises(ScaleError, match="does not fit a float64"):
        GaussianPair(1, 1e100, 1.0).stein_moments(5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.1, 1.0), "`dimension` must be an integer >= 1; got 0"),
        ((1.5, 0.1, 1.0), "`dimension` must be an integer >= 1; got 1.5"),
        ((True, 0.1, 1.0), "`dimension` must be an integer >= 1; got True"),
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


def test_orders_and_counts_are_checked_everywhere() -> None:
    pair = GaussianPair(1, 0.1, 1.0)
    functions = [pair.stein_moments, pair.psd, pair.zetas, pair.snr_squared_z]
    functions += [pair.feature_moments, pair.lambda_snr_squared]
    functions += [theory.printed_law, theory.corrected_law]
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


def test_draws_are_checked() -> None:
    draws, scores = arbitrary_rows(6, 2, seed=5)
    broken = draws.copy()
    broken[2, 1] = math.inf
    for bad, argument, message in [
        ((draws[:3], scores[:3]), "draws", r"n >= 4, d >= 1; got \(3, 2\)"),
        ((draws[:, 0], scores[:, 0]), "draws", r"shape \(n, d\).*got \(6,\)"),
        ((draws[:, :0], scores[:, :0]), "draws", r"got \(6, 0\)"),
        ((draws, scores[:5]), "scores", r"shape of `draws`, \(6, 2\); got \(5, 2\)"),
        ((draws, scores * 1j), "scores", "real numbers; got dtype complex128"),
        ((draws.astype(object), scores), "draws", "real numbers; got dtype object"),
        ((broken, scores), "draws", r"finite; got 1 non-finite values, the first at \(2, 1\)"),
    ]:
        with pytest.raises(InputError, match=f"`{argument}` must .*{message}"):
            theory.snr_squared(*bad, order=1)
    with pytest.raises(InputError, match=r"`order` must be an integer >= 0; got 1\.0"):
        theory.snr_squared(draws, scores, order=1.0)  # type: ignore[arg-type]


def test_no_variance_and_no_room_are_errors() -> None:
    same = np.full((8, 2), 0.3)
    with pytest.raises(DegenerateError, match="constant over `draws`"):
        theory.snr_squared(same, -same, order=2)
    with pytest.raises(DegenerateError, match="constant over `draws`"):
        theory.snr_squared(np.zeros((8, 2)), np.zeros((8, 2)), order=0)
    draws, scores = arbitrary_rows(8, 2, seed=6)
    for scale in (1e200, 1e90):
        with pytest.raises(ScaleError, match="order 1 does not fit a float64"):
            theory.snr_squared(draws * scale, scores, order=1)
