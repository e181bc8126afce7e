"""Frozen distributions of SciPy against exact scores and central differences."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.adapters.scipy import derivative

FROZEN: dict[str, tuple[Any, Any]] = {
    "norm": (stats.norm(2.0, 3.0), lambda x: -(x - 2.0) / 9.0),
    "t": (stats.t(5.0, 1.0, 2.0), lambda x: -6.0 * (x - 1.0) / (20.0 + (x - 1.0) ** 2)),
    "gumbel_r": (stats.gumbel_r(), lambda x: np.exp(-x) - 1.0),
    "logistic": (stats.logistic(1.0), lambda x: -np.tanh((x - 1.0) / 2.0)),
    "gamma": (stats.gamma(4.0), lambda x: 3.0 / x - 1.0),
    "beta": (stats.beta(3.0, 4.0), lambda x: 2.0 / x - 3.0 / (1.0 - x)),
    "lognorm": (stats.lognorm(0.5), lambda x: -1.0 / x - np.log(x) / (0.25 * x)),
}


@pytest.mark.parametrize("name", FROZEN)
def test_one_dimensional_distributions(name: str) -> None:
    frozen, score = FROZEN[name]
    draws = frozen.rvs(size=(4, 250, 2), random_state=np.random.default_rng(1))
    sample = ps.from_scipy(frozen, draws)
    np.testing.assert_allclose(sample.scores, score(draws), rtol=1e-8, atol=1e-8)
    assert sample.layout.lengths == (250,) * 4
    facts = sample.facts.log_density
    assert facts is not None
    np.testing.assert_allclose(facts(draws[0]), frozen.logpdf(draws[0]).sum(axis=1))


def test_each_coordinate_may_have_its_own() -> None:
    draws = np.random.default_rng(0).standard_normal((100, 2))
    sample = ps.from_scipy([stats.norm(), stats.norm(0.0, 2.0)], draws, names=["a", "b"], thin=2)
    np.testing.assert_allclose(sample.scores, -draws[::2] / [1.0, 4.0])
    assert sample.names == ("a", "b")


def test_multivariate_normal_and_t() -> None:
    rng = np.random.default_rng(0)
    matrix, centre = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([1.0, -1.0])
    draws = rng.multivariate_normal(centre, matrix, size=200)
    pulled = (draws - centre) @ np.linalg.inv(matrix)
    normal = ps.from_scipy(stats.multivariate_normal(centre, matrix), draws)
    np.testing.assert_allclose(normal.scores, -pulled)
    student = ps.from_scipy(stats.multivariate_t(centre, matrix, df=4), draws)
    distance = np.sum(pulled * (draws - centre), axis=1, keepdims=True)
    np.testing.assert_allclose(student.scores, -6.0 * pulled / (4.0 + distance))
    limit = ps.from_scipy(stats.multivariate_t(centre, matrix, df=np.inf), draws)
    np.testing.assert_allclose(limit.scores, -pulled)


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (stats.expon(), "a density that vanishes at the ends of its support; got 1 at 0"),
        (stats.uniform(), "a density that vanishes"),
        (stats.norm, "must be frozen"),
        (stats.poisson(3.0), "must be a frozen continuous distribution"),
        ([stats.norm()], "one for each of 2 coordinates; got 1"),
        (stats.multivariate_normal(np.zeros(3)), "the dimension of the draws, 2; got 3"),
    ],
)
def test_what_has_no_score_is_refused(distribution: Any, message: str) -> None:
    with pytest.raises(ps.InputError, match=message):
        ps.from_scipy(distribution, np.ones((30, 2)) * 0.5)


def test_draws_of_one_axis_are_refused() -> None:
    with pytest.raises(ps.InputError, match=r"must have the shape \(n, d\)"):
        ps.from_scipy(stats.norm(), np.zeros(30))


def test_derivatives_have_ten_digits() -> None:
    at = np.linspace(-2.0, 2.0, 41)
    found = derivative(np.sin, at, np.full(at.shape, 0.3))
    np.testing.assert_allclose(found, np.cos(at), atol=1e-10)
