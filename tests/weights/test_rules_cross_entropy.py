"""CrossEntropy is Algorithm 2 as printed: the literal transcription on the same numbers."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError
from polystein.inference.columns import MeanAndCovariance
from polystein.weights import rules
from polystein.weights.rules import signal_to_noise
from tests.reference import algorithms
from tests.weights.features import Array, moments_of, objective, solved, stein_features, table

SAMPLERS = ["laplace", "student", "null"]
ORDERS = [1, 2, 4, 8]


class SharedNumbers:
    """The same uniform and the same normal numbers, one at a time or all of a round at once."""

    def __init__(self, seed: int) -> None:
        self._uniform, self._normal = np.random.default_rng(seed).spawn(2)

    def random(self, size: Any) -> Array:
        return self._uniform.random(size)

    def standard_normal(self, size: Any) -> Array:
        return self._normal.standard_normal(size)

    def normal(self, centre: Array, spread: Array) -> Array:
        return centre + spread * self._normal.standard_normal(len(centre))


def assert_literal(rule: ps.CrossEntropy, features: Array, seed: int) -> None:
    numbers: Any = SharedNumbers(seed)
    literal, sign = algorithms.cross_entropy(features, numbers, **asdict(rule))
    numbers = SharedNumbers(seed)
    weights = rule.solve(moments_of(features), numbers)
    assert weights == pytest.approx(sign * literal, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("sampler", "order"), [("laplace", 1), ("student", 2), ("null", 4), ("laplace", 8)]
)
def test_the_search_is_the_literal_one(sampler: str, order: int) -> None:
    assert_literal(ps.CrossEntropy(), stein_features(sampler, 40, order), seed=40)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(40))
def test_the_search_is_the_literal_one_in_many_cases(sampler: str, order: int, seed: int) -> None:
    assert_literal(ps.CrossEntropy(), stein_features(sampler, seed, order), seed)


@pytest.mark.parametrize(
    ("rule", "sampler"),
    [
        (ps.CrossEntropy.published(), "laplace"),
        (ps.CrossEntropy(relative=True), "null"),
        (ps.CrossEntropy(least_spread=0.2), "laplace"),
        (ps.CrossEntropy(least_weight=0.2), "student"),
        (ps.CrossEntropy(candidates=6, elites=5), "null"),
        (ps.CrossEntropy(candidates=300, tolerance=0.0, patience=1, iterations=6), "student"),
    ],
)
def test_options_do_what_the_literal_ones_do(rule: ps.CrossEntropy, sampler: str) -> None:
    assert_literal(rule, stein_features(sampler, 1), seed=1)


@pytest.mark.parametrize(
    "option",
    [{"relative": True}, {"least_spread": 0.2}, {"least_weight": 0.2}],
)
def test_every_option_makes_a_difference(option: dict[str, Any]) -> None:
    moments = moments_of(stein_features("laplace", 1))
    plain, changed = (
        solved(rule, moments) for rule in (ps.CrossEntropy(), ps.CrossEntropy(**option))
    )
    assert not np.allclose(plain, changed, rtol=1e-6)


def test_the_search_is_deterministic_and_draws_from_its_generator() -> None:
    moments = moments_of(table(0))
    first, second = (solved(ps.CrossEntropy(), moments, seed=4) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, solved(ps.CrossEntropy(), moments, seed=5))


@pytest.mark.parametrize("seed", range(5))
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


def test_useless_features_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independent features, the first with all of the signal: p_k of the others falls to 0."""
    rounds: list[Array] = []

    def recorded(candidates: Array, mean: Array, covariance: Array) -> Array:
        rounds.append(candidates)
        return signal_to_noise(candidates, mean, covariance)

    monkeypatch.setattr(rules, "signal_to_noise", recorded)
    moments = MeanAndCovariance(np.array([1.0, 0.0, 0.0]), np.eye(3), 100)
    assert np.array_equal(solved(ps.CrossEntropy(), moments), [1.0, 0.0, 0.0])
    assert np.mean(rounds[0][:, 1:] != 0.0) == pytest.approx(0.5, abs=0.05)
    assert not rounds[1][:, 1:].any()


def test_patience_stops_the_search() -> None:
    """Where no candidate is better than another, one round more than the patience is drawn."""

    class Counting(np.random.Generator):
        calls = 0

        def random(self, *args: Any, **kwargs: Any) -> Any:
            Counting.calls += 1
            return super().random(*args, **kwargs)

    moments = MeanAndCovariance(np.zeros(3), np.eye(3), 100)
    ps.CrossEntropy(patience=2).solve(moments, Counting(np.random.PCG64(0)))
    assert Counting.calls == 3


@pytest.mark.parametrize("candidates", [2, 10])
@pytest.mark.parametrize("seed", range(8))
def test_rounds_with_few_or_no_active_candidates_are_the_literal_ones(
    candidates: int, seed: int
) -> None:
    """With two features a quarter of the candidates is zero."""
    rule = ps.CrossEntropy(candidates=candidates, elites=candidates, iterations=5)
    assert_literal(rule, table(0, size=2), seed)


def test_a_search_without_any_active_candidate_is_an_error() -> None:
    class Inactive(np.random.Generator):
        def random(self, *args: Any, **kwargs: Any) -> Any:
            return 0.9 + 0.1 * super().random(*args, **kwargs)

    with pytest.raises(DegenerateError, match=r"none of the 20 .* more `candidates`"):
        ps.CrossEntropy(candidates=20).solve(moments_of(table(0)), Inactive(np.random.PCG64(0)))


def test_a_pruned_feature_stays_pruned_and_a_settled_one_repeats() -> None:
    """Without floors p_k = 0 and sigma_k = 0 are final: the second round repeats the first."""
    moments = moments_of(table(2))
    options: dict[str, Any] = {"elites": 1, "tolerance": 0.0, "patience": 100}
    first = solved(ps.CrossEntropy(iterations=1, **options), moments)
    later = solved(ps.CrossEntropy(iterations=50, **options), moments)
    assert np.array_equal(first == 0.0, later == 0.0)
    assert later == pytest.approx(first, rel=1e-12)
    floor = solved(ps.CrossEntropy(iterations=50, least_spread=0.1, **options), moments)
    assert objective(floor, moments) > objective(first, moments)


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
    for name in ("tolerance", "least_spread", "least_weight"):
        for value in (-1e-3, float("inf"), float("nan"), "1"):
            with pytest.raises(InputError, match=f"`{name}` must be a finite number >= 0; got "):
                ps.CrossEntropy(**{name: value})
    with pytest.raises(InputError, match="`relative` must be True or False; got 1"):
        ps.CrossEntropy(relative=1)  # type: ignore[arg-type]


def test_defaults_are_those_of_the_paper() -> None:
    rule = ps.CrossEntropy()
    assert (rule.iterations, rule.candidates, rule.elites) == (100, 1000, 10)
    assert (rule.tolerance, rule.patience) == (1e-3, 3)
    assert (rule.relative, rule.least_spread, rule.least_weight) == (False, 0.0, 0.0)
    published = ps.CrossEntropy.published()
    assert (published.iterations, published.candidates, published.elites) == (50, 1000, 100)
    assert (published.tolerance, published.patience, published.relative) == (1e-4, 3, True)
    assert (published.least_spread, published.least_weight) == (1e-6, 1e-6)
