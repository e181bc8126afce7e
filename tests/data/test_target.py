"""The target that a sample may carry: what it gives, what it refuses, and when it is lost."""

import pickle

import numpy as np
import pytest

import polystein as ps
from polystein.data.target import Target, scores_by_differences
from polystein.errors import InputError
from polystein.types import Array

DRAWS = np.random.default_rng(0).standard_normal((60, 3))


def log_density(rows: Array) -> Array:
    return -0.5 * np.sum(rows**2, axis=1)


def score(rows: Array) -> Array:
    return -rows


def of(density: object = log_density, gradient: object = score) -> Target:
    return Target.of_functions(3, density, gradient)  # type: ignore[arg-type]


def test_a_target_gives_numpy_in_double_precision() -> None:
    target = of(lambda x: log_density(x).astype(np.float32), lambda x: (-x).tolist())
    values, scores = target.log_density_and_score(DRAWS.astype(np.float32))
    assert values.dtype == scores.dtype == np.float64
    assert values == pytest.approx(log_density(DRAWS), rel=1e-5)
    assert scores == pytest.approx(-DRAWS, rel=1e-5)
    assert target.log_density(DRAWS[0]).shape == (1,)


def test_functions_may_change_their_argument_without_harm() -> None:
    def changes(rows: Array) -> Array:
        rows *= 2.0
        return rows.sum(axis=1)

    before = DRAWS.copy()
    of(changes).log_density(DRAWS)
    assert np.array_equal(DRAWS, before)


def test_answers_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"`log_density` must return a real number for each"):
        of(lambda x: x).log_density(DRAWS)
    with pytest.raises(InputError, match=r"`scores` must return a gradient for each"):
        of(log_density, lambda x: x[:, :2]).log_density_and_score(DRAWS)
    with pytest.raises(InputError, match=r"`rows` must have the shape \(n, 3\)"):
        of().log_density(DRAWS[:, :2])
    with pytest.raises(InputError, match="must know its score"):
        of(log_density, None).log_density_and_score(DRAWS)
    with pytest.raises(InputError, match="must know its log-density"):
        Target(3, None).log_density(DRAWS)


def test_a_sample_keeps_its_target_unless_it_is_pickled_or_coordinates_are_left_out() -> None:
    sample = ps.Sample(DRAWS, score, names=["a", "b", "c"], facts={"log_density": log_density})
    assert sample.target is not None
    assert sample.target.has_score
    assert sample.target.log_density(DRAWS) == pytest.approx(log_density(DRAWS))
    thinned = sample.select(thin=2).target
    assert thinned is not None
    assert thinned.has_score
    assert sample.select(var_names="a").target is None
    assert pickle.loads(pickle.dumps(sample)).target is None


def test_scores_that_are_an_array_give_a_target_without_score() -> None:
    sample = ps.Sample(DRAWS, -DRAWS, facts={"log_density": log_density})
    assert sample.target is not None
    assert not sample.target.has_score
    assert ps.Sample(DRAWS, score).target is None
    transform = {"transform": lambda x: {"a": x[:, 0]}}
    alone = ps.Sample(DRAWS, score, facts=transform)
    assert alone.target is None
    assert alone.facts.transform is not None


def test_a_distribution_of_scipy_is_a_target() -> None:
    from scipy import stats

    target = ps.from_scipy(stats.norm(1.0, 2.0), DRAWS).target
    assert target is not None
    values, scores = target.log_density_and_score(DRAWS)
    assert values == pytest.approx(stats.norm(1.0, 2.0).logpdf(DRAWS).sum(axis=1))
    assert scores == pytest.approx(-(DRAWS - 1.0) / 4.0)


@pytest.mark.parametrize("constant", [0.0, 3e4])
def test_scores_by_differences_take_the_rounding_into_account(constant: float) -> None:
    def single(rows: Array) -> Array:
        return (log_density(rows) - constant).astype(np.float32)

    found = scores_by_differences(of(single, None), DRAWS)
    assert found == pytest.approx(-DRAWS, abs=0.1 if constant else 1e-3)
    assert scores_by_differences(of(log_density, None), DRAWS) == pytest.approx(-DRAWS, abs=1e-9)


def test_functions_that_fail_are_named() -> None:
    def fails(rows: Array) -> Array:
        raise ValueError("outside")

    with pytest.raises(InputError, match=r"`log_density` raised ValueError: outside.*-inf"):
        of(fails).log_density(DRAWS)
    with pytest.raises(InputError, match=r"`log_density` raised ValueError: outside.*-inf"):
        of(fails).log_density_and_score(DRAWS)
    with pytest.raises(InputError, match="`scores` raised ValueError: outside"):
        of(log_density, fails).log_density_and_score(DRAWS)
    with pytest.raises(InputError, match="`log_density` must return an array"):
        of(lambda rows: [1.0, rows]).log_density(DRAWS)
