"""Sanity of the literal Stein features: they are the yardstick, so they are measured too."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reference import algorithms, exact, stein
from tests.rows import arbitrary_rows

STRUCTURES = ["full", "diagonal"]
SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def test_features_are_the_stein_operator_applied_to_the_polynomial() -> None:
    """Equation (3) against equation (1), with the divergence by complex steps."""
    rng = np.random.default_rng(2)
    d, order, step = 3, 4, 1e-30
    draw, score, vector = rng.normal(size=(3, d))
    matrices = rng.normal(size=(order, d, d))

    def h(x: NDArray[np.complex128]) -> NDArray[np.complex128]:
        value: NDArray[np.complex128] = vector + 0j
        for i in range(1, order + 1):
            value = value + matrices[i - 1] @ x**i
        return value

    divergence = sum(h(draw + 1j * step * np.eye(d)[k])[k].imag / step for k in range(d))
    expected = score @ h(draw + 0j).real + divergence
    parameters = np.concatenate([*(matrix.ravel(order="F") for matrix in matrices), vector])
    assert parameters @ stein.xi(draw, score, order) == pytest.approx(expected, rel=1e-12)
    row = stein.features(draw[None], score[None], list(matrices), vector)
    assert row.sum() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_order_zero_is_the_norm_of_the_mean_score(structure: str) -> None:
    """Equation (8)."""
    draws, scores = arbitrary_rows(30, 4)
    expected = np.linalg.norm(scores.mean(axis=0))
    assert stein.psd_v(draws, scores, 0, structure) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", [0, 1, 3])
def test_u_is_v_minus_the_diagonal(order: int, structure: str) -> None:
    """Equation (12) from equation (11), with equal and with unequal weights."""
    draws, scores = arbitrary_rows(12, 3)
    norms = np.array(
        [np.sum(stein.xi(x, s, order, structure) ** 2) for x, s in zip(draws, scores, strict=True)]
    )
    unequal = np.arange(1.0, 13.0) / 78.0
    for weights in (np.full(12, 1 / 12), unequal):
        v = stein.psd_v(draws, scores, order, structure, weights) ** 2
        expected = (v - np.sum(weights**2 * norms)) / (1 - np.sum(weights**2))
        actual = stein.psd_u(draws, scores, order, structure, weights)
        assert actual == pytest.approx(expected, rel=1e-11)
    plain = stein.psd_u(draws, scores, order, structure)
    assert plain == pytest.approx(float(exact.u_statistic(draws, scores, order, structure)))


def test_weights_count_rows() -> None:
    draws, scores = arbitrary_rows(3, 2)
    repeated = [0, 0, 1, 2]
    expected = stein.psd_v(draws[repeated], scores[repeated], 2)
    actual = stein.psd_v(draws, scores, 2, weights=np.array([0.5, 0.25, 0.25]))
    assert actual == pytest.approx(expected, rel=1e-13)
    with pytest.raises(ValueError, match="sum to 1"):
        stein.psd_v(draws, scores, 2, weights=np.ones(3))


@pytest.mark.parametrize(
    ("shift", "stretch", "vanishes"), [(0.0, 1.0, True), (0.5, 1.0, False), (0.0, 1.5, False)]
)
def test_order_one_vanishes_exactly_when_two_moments_match(
    shift: float, stretch: float, vanishes: bool
) -> None:
    """Corollary 3.4 for p = N(m, L L'), with the corners of a square as q."""
    centre = np.array([3.0, -1.0])
    precision = np.array([[0.5, -0.5], [-0.5, 1.0]])  # the inverse of L L', exact in binary
    draws = centre + shift + stretch * SQUARE @ np.array([[2.0, 0.0], [1.0, 1.0]]).T
    scores = -(draws - centre) @ precision
    assert (exact.z_squared(draws, scores, 1) == 0) is vanishes
    assert (stein.psd_v(draws, scores, 1) < 1e-14) is vanishes


def test_orders_two_and_three_of_the_square_by_hand() -> None:
    """Theorem 3.3 for N(0, I): fourth moments are 1, not 3, so mu_3 = 2 I and Z^2 = 8."""
    assert exact.z_squared(SQUARE, -SQUARE, 2) == 0
    assert exact.z_squared(SQUARE, -SQUARE, 3) == Fraction(8)
    assert exact.z_squared(SQUARE, -SQUARE, 3, "diagonal") == Fraction(8)
    np.testing.assert_array_equal(stein.stein_moments(SQUARE, -SQUARE, 3)[0][2], 2 * np.eye(2))
    assert exact.root(Fraction(8)) == math.sqrt(8.0)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_floats_agree_with_exact_arithmetic(structure: str) -> None:
    draws, scores = arbitrary_rows(15, 3)
    matrices, vector = stein.stein_moments(draws, scores, 4, structure)
    exact_matrices, exact_vector = exact.stein_moments(draws, scores, 4, structure)
    for actual, expected in zip([*matrices, vector], [*exact_matrices, exact_vector], strict=True):
        np.testing.assert_allclose(actual, expected.astype(float), rtol=1e-11, atol=1e-13)
    expected_z = exact.root(exact.z_squared(draws, scores, 4, structure))
    assert stein.psd_v(draws, scores, 4, structure) == pytest.approx(expected_z, rel=1e-13)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_maximiser_attains_z_and_nothing_beats_it(structure: str) -> None:
    """Proposition 3.2."""
    draws, scores = arbitrary_rows(20, 3)
    mean = np.mean([stein.xi(x, s, 2, structure) for x, s in zip(draws, scores, strict=True)], 0)
    matrices, vector = stein.maximiser(draws, scores, 2, structure)
    best = np.concatenate([*(matrix.ravel(order="F") for matrix in matrices), vector])
    z = stein.psd_v(draws, scores, 2, structure)
    assert np.linalg.norm(best) == pytest.approx(1.0, rel=1e-13)
    assert best @ mean == pytest.approx(z, rel=1e-13)
    others = np.random.default_rng(3).normal(size=(200, len(best)))
    assert np.all(others @ mean / np.linalg.norm(others, axis=1) < z)
    with pytest.raises(ValueError, match="undefined"):
        stein.maximiser(SQUARE, -SQUARE, 1)


def test_o_psd_is_the_largest_rayleigh_quotient() -> None:
    """Proposition 4.2, and lambda-PSD^2 (Proposition 4.3) stays below it."""
    draws, scores = arbitrary_rows(60, 2)
    rows = np.array([stein.xi(x, s, 2) for x, s in zip(draws, scores, strict=True)])
    mean, covariance = rows.mean(axis=0), np.cov(rows, rowvar=False, bias=True)
    value = stein.o_psd(draws, scores, 2)
    theta = np.linalg.solve(covariance, mean)
    assert algorithms.rayleigh(theta, mean, covariance) == pytest.approx(value, rel=1e-9)
    for other in np.random.default_rng(4).normal(size=(200, len(mean))):
        assert algorithms.rayleigh(other, mean, covariance) < value
    doubled = stein.o_psd(draws, scores, 2, covariance=2 * covariance)
    assert doubled == pytest.approx(value / 2, rel=1e-9)
    assert 0 < stein.lambda_psd(draws, scores, 2) ** 2 < value


def test_lambda_psd_is_the_largest_ratio_over_its_features() -> None:
    """Proposition 4.3; at order 0 there is one feature and no weight to choose."""
    draws, scores = arbitrary_rows(60, 2)
    matrices, vector = stein.maximiser(draws, scores, 3)
    psi = stein.features(draws, scores, matrices, vector)
    mean, covariance = psi.mean(axis=0), np.cov(psi, rowvar=False, bias=True)
    value = stein.lambda_psd(draws, scores, 3)
    weights = np.linalg.solve(covariance, mean)
    assert value**2 == pytest.approx(algorithms.rayleigh(weights, mean, covariance), rel=1e-9)
    for other in np.random.default_rng(5).normal(size=(200, 4)):
        assert algorithms.rayleigh(other, mean, covariance) < value**2
    u = scores @ scores.mean(axis=0)
    assert stein.lambda_psd(draws, scores, 0) == pytest.approx(u.mean() / u.std(), rel=1e-12)


def test_singular_covariances_are_refused() -> None:
    """Under a Gaussian target Phi_1 is symmetric, so xi repeats entries and Sigma is singular."""
    draws, _ = arbitrary_rows(60, 2)
    with pytest.raises(ValueError, match="singular"):
        stein.o_psd(draws, -draws, 1)
    with pytest.raises(ValueError, match="must vary"):
        algorithms.closed_form(np.ones((5, 2)), 0.0)
