"""Sanity of the literal algorithms of the paper: they are the yardstick, too."""

import math

import numpy as np
import pytest
from scipy import stats

from tests.reference import algorithms, stein
from tests.rows import Array, arbitrary_rows


def features_of(n: int = 200, order: int = 3, seed: int = 1) -> Array:
    draws, scores = arbitrary_rows(n, 3, seed)
    matrices, vector = stein.maximiser(draws, scores, order)
    return stein.features(draws, scores, matrices, vector)


def test_algorithm_one_is_the_student_statistic_with_a_normal_tail() -> None:
    draws, scores = arbitrary_rows(40, 2)
    train, test = np.arange(25), np.arange(25, 40)
    z, pvalue = algorithms.psd_z_test(draws, scores, 2, train, test)
    matrices, vector = stein.maximiser(draws[train], scores[train], 2)
    u = stein.features(draws[test], scores[test], matrices, vector).sum(axis=1)
    assert z == pytest.approx(stats.ttest_1samp(u, 0.0).statistic, rel=1e-12)
    assert pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-12)


def test_algorithm_three_with_equal_weights_is_algorithm_one() -> None:
    draws, scores = arbitrary_rows(60, 2)
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
    small = np.diff(running) < 1e-3
    stops = [t for t in range(2, len(small)) if small[t - 2 : t + 1].all()]
    assert stops == [len(small) - 1]


def test_cross_entropy_reaches_the_supremum_of_alike_features() -> None:
    """Uncorrelated features of unit variance and equal means: lambda is proportional to 1."""
    rng = np.random.default_rng(9)
    orthogonal, _ = np.linalg.qr(np.column_stack([np.ones(50), rng.normal(size=(50, 3))]))
    table = 0.5 + np.sqrt(50) * orthogonal[:, 1:]
    for seed in range(3):
        weights, sign = algorithms.cross_entropy(table, np.random.default_rng(seed), candidates=300)
        first, first_sign = algorithms.cross_entropy(
            table, np.random.default_rng(seed), candidates=300, iterations=1
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
    for seed in range(2):
        weights, _ = algorithms.cross_entropy(table, np.random.default_rng(seed))
        kept = np.flatnonzero(weights)
        on_support = float(mean[kept] @ np.linalg.solve(covariance[np.ix_(kept, kept)], mean[kept]))
        value = algorithms.rayleigh(weights, mean, covariance)
        assert weights[2] == 0.0
        assert value <= on_support * (1 + 1e-12) < supremum


def test_cross_entropy_with_one_feature_returns_its_sign() -> None:
    table = np.array([[-1.0], [-2.0], [-4.0]])
    signs = set()
    for seed in range(3):
        weights, sign = algorithms.cross_entropy(table, np.random.default_rng(seed))
        folded = algorithms.cross_entropy_solver(np.random.default_rng(seed))(table)
        assert sign * weights[0] == folded[0] == -1.0
        signs.add(sign)
    assert signs == {-1.0, 1.0}  # otherwise folding the sign in was never put to use
    with pytest.raises(ValueError, match="variance"):
        algorithms.cross_entropy(np.ones((3, 1)), np.random.default_rng(7))


@pytest.mark.parametrize(
    ("best", "previous", "plain", "relative"),
    [
        (0.2, -math.inf, math.inf, math.inf),
        (-math.inf, -math.inf, -math.inf, -math.inf),
        (0.0, 0.0, 0.0, 0.0),
        (0.1, 0.0, 0.1, math.inf),
        (0.011, 0.01, 0.001, 0.1),
    ],
)
def test_improvement(best: float, previous: float, plain: float, relative: float) -> None:
    assert algorithms.improvement(best, previous, relative=False) == pytest.approx(plain)
    assert algorithms.improvement(best, previous, relative=True) == pytest.approx(relative)
