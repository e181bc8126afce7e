"""Sanity of the literal transcriptions: they are the yardstick, so they are measured too."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.reference import algorithms, bootstrap, exact, stein

Array = NDArray[np.float64]
STRUCTURES = ["full", "diagonal"]
SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def sample(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Draws with a mean and scores that are no function of them, so that nothing cancels."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.3, 1.2, (n, d)), rng.normal(-0.2, 1.0, (n, d))


def features_of(n: int = 200, order: int = 3, seed: int = 1) -> Array:
    draws, scores = sample(n, 3, seed)
    matrices, vector = stein.maximiser(draws, scores, order)
    return stein.features(draws, scores, matrices, vector)


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
    draws, scores = sample(30, 4)
    expected = np.linalg.norm(scores.mean(axis=0))
    assert stein.psd_v(draws, scores, 0, structure) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", [0, 1, 3])
def test_u_is_v_minus_the_diagonal(order: int, structure: str) -> None:
    """Equation (12) from equation (11), with equal and with unequal weights."""
    draws, scores = sample(12, 3)
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
    draws, scores = sample(3, 2)
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
    draws, scores = sample(15, 3)
    matrices, vector = stein.stein_moments(draws, scores, 4, structure)
    exact_matrices, exact_vector = exact.stein_moments(draws, scores, 4, structure)
    for actual, expected in zip([*matrices, vector], [*exact_matrices, exact_vector], strict=True):
        np.testing.assert_allclose(actual, expected.astype(float), rtol=1e-11, atol=1e-13)
    expected_z = exact.root(exact.z_squared(draws, scores, 4, structure))
    assert stein.psd_v(draws, scores, 4, structure) == pytest.approx(expected_z, rel=1e-13)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_maximiser_attains_z_and_nothing_beats_it(structure: str) -> None:
    """Proposition 3.2."""
    draws, scores = sample(20, 3)
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
    draws, scores = sample(60, 2)
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
    draws, scores = sample(60, 2)
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
    draws, _ = sample(60, 2)
    with pytest.raises(ValueError, match="singular"):
        stein.o_psd(draws, -draws, 1)
    with pytest.raises(ValueError, match="must vary"):
        algorithms.closed_form(np.ones((5, 2)), 0.0)


def test_algorithm_one_is_the_student_statistic_with_a_normal_tail() -> None:
    draws, scores = sample(40, 2)
    train, test = np.arange(25), np.arange(25, 40)
    z, pvalue = algorithms.psd_z_test(draws, scores, 2, train, test)
    matrices, vector = stein.maximiser(draws[train], scores[train], 2)
    u = stein.features(draws[test], scores[test], matrices, vector).sum(axis=1)
    assert z == pytest.approx(stats.ttest_1samp(u, 0.0).statistic, rel=1e-12)
    assert pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-12)


def test_algorithm_three_with_equal_weights_is_algorithm_one() -> None:
    draws, scores = sample(60, 2)
    witness, weights, test = np.arange(20), np.arange(20, 40), np.arange(40, 60)
    expected = algorithms.psd_z_test(draws, scores, 3, witness, test)
    seen: list[Array] = []

    def equal(table: Array) -> Array:
        seen.append(table)
        return np.full(4, 0.5)

    actual = algorithms.lambda_psd_z_test(draws, scores, 3, witness, weights, test, equal)
    assert actual == pytest.approx(expected, rel=1e-11)
    matrices, vector = stein.maximiser(draws[witness], scores[witness], 3)
    expected_table = stein.features(draws[weights], scores[weights], matrices, vector)
    np.testing.assert_array_equal(seen[0], expected_table)
    score_only = algorithms.lambda_psd_z_test(
        draws, scores, 3, witness, weights, test, lambda table: np.array([0.0, 0.0, 0.0, 1.0])
    )
    u = scores[test] @ vector
    assert score_only[0] == pytest.approx(stats.ttest_1samp(u, 0.0).statistic, rel=1e-11)


def test_closed_form_maximises_and_follows_the_scale_of_the_features() -> None:
    table = features_of()
    mean, covariance = stein.mean_and_covariance(table)
    weights = algorithms.closed_form(table, 0.0)
    assert np.linalg.norm(weights) == pytest.approx(1.0)
    assert weights @ mean > 0
    best = algorithms.rayleigh(weights, mean, covariance)
    assert best == pytest.approx(mean @ np.linalg.solve(covariance, mean), rel=1e-9)
    scale = np.array([1.0, 1e3, 1e-4, 7.0])
    for ridge in (0.0, 0.1):
        plain = algorithms.closed_form(table, ridge)
        scaled = algorithms.closed_form(table * scale, ridge) * scale
        np.testing.assert_allclose(scaled / np.linalg.norm(scaled), plain, rtol=1e-9)
    assert not np.allclose(algorithms.closed_form(table, 0.1), weights, rtol=1e-3)


class RecordingGenerator(np.random.Generator):
    """A Generator that keeps what Algorithm 2 asked for and what it got."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.uniforms: list[Array] = []
        self.normals: list[tuple[Array, Array, Array]] = []

    def random(self, size: int) -> Array:  # type: ignore[override]
        self.uniforms.append(super().random(size))
        return self.uniforms[-1]

    def normal(self, loc: Array, scale: Array) -> Array:  # type: ignore[override]
        self.normals.append((loc.copy(), scale.copy(), super().normal(loc, scale)))
        return self.normals[-1][2]


@pytest.mark.parametrize("seed", range(5))
def test_cross_entropy_follows_algorithm_two_round_by_round(seed: int) -> None:
    """The recorded random numbers, replayed for all candidates of a round at once."""
    table = features_of()
    mean, covariance = table.mean(axis=0), np.cov(table, rowvar=False, bias=True)
    rng = RecordingGenerator(seed)
    weights, sign = algorithms.cross_entropy(table, rng, candidates=100)
    uniforms = np.array(rng.uniforms).reshape(-1, 100, 4)
    centres, spreads, normals = (
        np.array([record[part] for record in rng.normals]).reshape(-1, 100, 4) for part in range(3)
    )
    probability, centre, spread = np.full(4, 0.5), np.zeros(4), np.ones(4)
    bests: list[float] = []
    found: list[Array] = []
    for t in range(len(uniforms)):
        np.testing.assert_allclose(centres[t], np.tile(centre, (100, 1)), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(spreads[t], np.tile(spread, (100, 1)), rtol=1e-10, atol=1e-14)
        raw = np.where(uniforms[t] < probability, normals[t], 0.0)
        raw = raw[np.any(raw != 0, axis=1)]
        population = raw / np.linalg.norm(raw, axis=1, keepdims=True)
        variance = np.einsum("mi,ij,mj->m", population, covariance, population)
        objective = (population @ mean) ** 2 / variance
        elite = population[np.argsort(-objective, kind="stable")[:10]]
        probability = np.mean(elite != 0, axis=0)
        centre, spread = elite.mean(axis=0), elite.std(axis=0)
        bests.append(objective.max())
        found.append(elite[0])
    running = np.maximum.accumulate(bests)
    np.testing.assert_allclose(weights, found[int(np.argmax(bests))], rtol=1e-10)
    assert sign == np.sign(weights @ mean)
    small = np.diff(running) / running[:-1] < 1e-3
    stops = [t for t in range(2, len(small)) if small[t - 2 : t + 1].all()]
    assert stops == [len(small) - 1]


def test_cross_entropy_reaches_the_supremum_of_alike_features() -> None:
    """Uncorrelated features of unit variance and equal means: lambda is proportional to 1."""
    rng = np.random.default_rng(9)
    orthogonal, _ = np.linalg.qr(np.column_stack([np.ones(50), rng.normal(size=(50, 3))]))
    table = 0.5 + np.sqrt(50) * orthogonal[:, 1:]
    for seed in range(10):
        weights, sign = algorithms.cross_entropy(table, np.random.default_rng(seed))
        first, first_sign = algorithms.cross_entropy(
            table, np.random.default_rng(seed), iterations=1
        )
        optimum = np.full(3, 3**-0.5)
        assert sign * weights @ optimum > 0.999
        assert sign * weights @ optimum >= first_sign * first @ optimum


def test_cross_entropy_prunes_so_it_need_not_reach_the_closed_form() -> None:
    """Every sigma_k starts at 1: a feature on a large scale is dropped in the first rounds.

    So Algorithm 2 is held to its own steps, not to the supremum of Proposition 4.3.
    """
    table = features_of()
    mean, covariance = stein.mean_and_covariance(table)
    supremum = float(mean @ np.linalg.solve(covariance, mean))
    assert table.std(axis=0).argmax() == 2
    for seed in range(5):
        weights, _ = algorithms.cross_entropy(table, np.random.default_rng(seed))
        kept = np.flatnonzero(weights)
        on_support = float(mean[kept] @ np.linalg.solve(covariance[np.ix_(kept, kept)], mean[kept]))
        value = algorithms.rayleigh(weights, mean, covariance)
        assert weights[2] == 0.0
        assert value <= on_support * (1 + 1e-12) < supremum


def test_cross_entropy_with_one_feature_returns_its_sign() -> None:
    table = np.array([[-1.0], [-2.0], [-4.0]])
    signs = set()
    for seed in range(8):
        weights, sign = algorithms.cross_entropy(table, np.random.default_rng(seed))
        folded = algorithms.cross_entropy_solver(np.random.default_rng(seed))(table)
        assert sign * weights[0] == folded[0] == -1.0
        signs.add(sign)
    assert signs == {-1.0, 1.0}  # otherwise folding the sign in was never put to use
    with pytest.raises(ValueError, match="variance"):
        algorithms.cross_entropy(np.ones((3, 1)), np.random.default_rng(7))


@pytest.mark.parametrize(
    ("best", "previous", "expected"),
    [(0.2, -math.inf, math.inf), (0.0, 0.0, 0.0), (0.1, 0.0, math.inf), (0.011, 0.01, 0.1)],
)
def test_improvement_is_relative(best: float, previous: float, expected: float) -> None:
    assert algorithms.relative_improvement(best, previous) == pytest.approx(expected)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_wild_bootstrap_of_u_and_v(structure: str) -> None:
    """Section 3.4: n U and n V, replicates as norms of sign-flipped means, equal p-values."""
    draws, scores = sample(14, 2)
    multipliers = np.random.default_rng(8).choice([-1.0, 1.0], size=(99, 14))
    u, u_replicates, p_u = bootstrap.wild_bootstrap(draws, scores, 2, multipliers, "u", structure)
    v, v_replicates, p_v = bootstrap.wild_bootstrap(draws, scores, 2, multipliers, "v", structure)
    assert u == pytest.approx(14 * stein.psd_u(draws, scores, 2, structure), rel=1e-11)
    assert v == pytest.approx(14 * stein.psd_v(draws, scores, 2, structure) ** 2, rel=1e-11)
    rows = np.array([stein.xi(x, s, 2, structure) for x, s in zip(draws, scores, strict=True)])
    expected = np.sum((multipliers @ rows) ** 2, axis=1) / 14
    np.testing.assert_allclose(v_replicates, expected, rtol=1e-11)
    np.testing.assert_allclose(13 * u_replicates, 14 * expected - np.sum(rows**2), rtol=1e-9)
    assert p_u == p_v == (1 + np.sum(expected >= v)) / 100
    assert 0.01 < p_u < 1.0


def test_wild_bootstrap_counts_ties_and_refuses_other_multipliers() -> None:
    draws, scores = sample(6, 2)
    signs = np.array([[1.0] * 6, [-1.0] * 6])
    for estimator in ("u", "v"):
        assert bootstrap.wild_bootstrap(draws, scores, 1, signs, estimator)[2] == 1.0
    with pytest.raises(ValueError, match="multipliers"):
        bootstrap.wild_bootstrap(draws, scores, 1, 0.5 * signs)
