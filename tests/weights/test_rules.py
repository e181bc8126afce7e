"""Weight rules: unit norm, the right sign, and as large a signal-to-noise ratio as there is."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import polystein as ps
from polystein.errors import DegenerateError, InputError
from polystein.inference.columns import MeanAndCovariance
from tests.reference import algorithms, resolution, stein

Array = NDArray[np.float64]
RULES = [
    ps.Uniform(),
    ps.ClosedForm(),
    ps.ClosedForm(ridge=0.0),
    ps.CrossEntropy(),
    ps.SoftThreshold(),
    ps.SoftThreshold(level=0.0),
]


def table(seed: int, n: int = 200, size: int = 4) -> Array:
    """Correlated features of different scales with means of either sign."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-1, 1, size)
    return rng.normal(rng.normal(0.0, 0.3, size), 1.0, (n, size)) @ mixing


def laplace_features(seed: int) -> Array:
    """Features of a Laplace sampler against a Gaussian target, as a test would see them."""
    draws = np.random.default_rng(seed).laplace(scale=0.5**0.5, size=(400, 8))
    matrices, vector = stein.maximiser(draws[:200], -draws[:200], 3)
    return stein.features(draws[200:], -draws[200:], matrices, vector)


def moments_of(features: Array) -> MeanAndCovariance:
    mean, covariance = stein.mean_and_covariance(features)
    return MeanAndCovariance(mean, covariance, len(features))


def solved(rule: Any, moments: MeanAndCovariance, seed: int = 0) -> Array:
    weights = rule.solve(moments, np.random.default_rng(seed))
    assert isinstance(weights, np.ndarray)
    return weights


def objective(weights: Array, moments: MeanAndCovariance) -> float:
    return algorithms.rayleigh(weights, moments.mean, moments.covariance)


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


# CrossEntropy


class SharedNumbers:
    """A generator that serves the same numbers to both searches, however they are asked for.

    Uniform numbers keep 0.01 away from 0 and 1, so that a floor of 0.01 on p_k decides nothing.
    """

    def __init__(self, seed: int) -> None:
        self._uniform, self._normal = np.random.default_rng(seed).spawn(2)

    def random(self, size: Any) -> Array:
        return 0.01 + 0.98 * self._uniform.random(size)

    def standard_normal(self, size: Any) -> Array:
        return self._normal.standard_normal(size)

    def normal(self, centre: Array, spread: Array) -> Array:
        return centre + spread * self._normal.standard_normal(len(centre))


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_search_is_the_literal_one_on_shared_numbers(seed: int) -> None:
    features = laplace_features(seed)
    literal, sign = algorithms.cross_entropy(features, SharedNumbers(seed))  # type: ignore[arg-type]
    weights = ps.CrossEntropy().solve(moments_of(features), SharedNumbers(seed))  # type: ignore[arg-type]
    assert weights == pytest.approx(sign * literal, rel=1e-9, abs=1e-12)


def test_the_search_finds_no_less_than_the_literal_one() -> None:
    """Paired over replicates on numbers of their own, as shares of the supremum."""
    ours, literal = [], []
    for seed in range(30):
        features = laplace_features(seed)
        moments = moments_of(features)
        best = objective(solved(ps.ClosedForm(ridge=0.0), moments), moments)
        ours.append(objective(solved(ps.CrossEntropy(), moments, seed), moments) / best)
        rng = np.random.default_rng(1000 + seed)
        literal.append(objective(algorithms.cross_entropy(features, rng)[0], moments) / best)
    assert max(ours) <= 1.0 + 1e-12
    assert stats.wilcoxon(ours, literal, alternative="less").pvalue > 0.003


def test_the_search_is_deterministic_and_draws_from_its_generator() -> None:
    moments = moments_of(table(0))
    first, second = (solved(ps.CrossEntropy(), moments, seed=4) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, solved(ps.CrossEntropy(), moments, seed=5))


@pytest.mark.parametrize("seed", range(20))
def test_rounding_of_the_moments_does_not_decide_between_candidates(seed: int) -> None:
    """Candidates of the best feature alone tie, and are many of the first round."""
    rng = np.random.default_rng(seed)
    mean, covariance = np.array([3.0, 0.1, 0.1]), np.eye(3) + 0.1
    noise = 1.0 + 1e-9 * rng.standard_normal((3, 3))
    rounded = MeanAndCovariance(mean * noise[0], covariance * np.sqrt(noise * noise.T), 100.0)
    found = [
        ps.CrossEntropy().solve(moments, np.random.default_rng(seed))
        for moments in (MeanAndCovariance(mean, covariance, 100.0), rounded)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_a_useless_feature_is_pruned() -> None:
    """Independent features, the first with all of the signal."""
    moments = MeanAndCovariance(np.array([1.0, 0.0, 0.0]), np.eye(3), 100)
    weights = solved(ps.CrossEntropy(), moments)
    assert weights == pytest.approx([1.0, 0.0, 0.0], abs=0.05)


def test_patience_stops_the_search() -> None:
    """With one feature that counts, a single round more than the patience is drawn."""

    class Counting(np.random.Generator):
        calls = 0

        def random(self, *args: Any, **kwargs: Any) -> Any:
            Counting.calls += 1
            return super().random(*args, **kwargs)

    moments = MeanAndCovariance(np.zeros(3), np.eye(3), 100)
    ps.CrossEntropy(patience=2).solve(moments, Counting(np.random.PCG64(0)))
    assert Counting.calls == 3


@pytest.mark.parametrize("candidates", [1, 2, 10])
@pytest.mark.parametrize("seed", range(20))
def test_all_zero_candidates_do_no_harm(candidates: int, seed: int) -> None:
    """With two features a quarter of the candidates is zero; with one candidate all may be."""
    rule = ps.CrossEntropy(candidates=candidates, elites=candidates, iterations=5)
    weights = solved(rule, moments_of(table(0, size=2)), seed)
    assert np.linalg.norm(weights) == pytest.approx(1.0, rel=1e-14)


def test_elites_whose_spread_collapses_do_not_freeze_the_search() -> None:
    moments = moments_of(table(2))
    rule = ps.CrossEntropy(elites=1, tolerance=0.0, iterations=100, patience=100)
    weights = solved(rule, moments)
    assert np.all(np.isfinite(weights))
    best = objective(solved(ps.ClosedForm(ridge=0.0), moments), moments)
    assert objective(weights, moments) > objective(
        solved(ps.CrossEntropy(elites=1, iterations=1), moments), moments
    )
    assert objective(weights, moments) <= best * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("iterations", 0),
        ("candidates", 10.5),
        ("elites", -1),
        ("patience", 0),
        ("iterations", "3"),
    ],
)
def test_bad_counts_are_refused(argument: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"`{argument}` must be a positive integer; got {value!r}"):
        ps.CrossEntropy(**{argument: value})


def test_more_elites_than_candidates_and_bad_tolerances_are_refused() -> None:
    with pytest.raises(InputError, match="`elites` must not exceed `candidates`, 5; got 10"):
        ps.CrossEntropy(candidates=5)
    for tolerance in (-1e-3, 1.0, float("nan")):
        with pytest.raises(InputError, match=r"`tolerance` must be in \[0, 1\); got "):
            ps.CrossEntropy(tolerance=tolerance)


def test_defaults_are_those_of_the_paper() -> None:
    rule = ps.CrossEntropy()
    assert (rule.iterations, rule.candidates, rule.elites) == (100, 1000, 10)
    assert (rule.tolerance, rule.patience) == (1e-3, 3)


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
