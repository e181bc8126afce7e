"""The guard names what is wrong with scores, and says nothing about those that are right."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.guard.scores import mean_and_error, score_warnings
from polystein.data.source import complete
from tests.data.targets import TARGETS, gaussian, log_gamma
from tests.rows import Array
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive

CORRELATED = gaussian(np.array([1.0, -3.0, 0.5]), np.diag([1.0, 4.0, 0.2]) + 0.1)


def said(draws: Array, scores: Array, **options: Any) -> list[str]:
    return [str(one) for one in score_warnings(ps.Sample(draws, scores, **options))]


def rows(n: int = 1000, seed: int = 0) -> tuple[Array, Array]:
    x = CORRELATED.draw(np.random.default_rng(seed), n)
    return x, CORRELATED.score(x)


@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_said_about_correct_draws(name: str, n: int) -> None:
    assert len(TARGETS) == 30
    for seed in range(3):
        x = TARGETS[name].draw(np.random.default_rng([9, n, seed]), n)
        assert said(x, TARGETS[name].score(x)) == []


@pytest.mark.parametrize("memory", [0.5, 0.9, 0.98])
def test_nothing_is_said_about_correct_chains(memory: float) -> None:
    for seed in range(5):
        x = autoregressive(np.random.default_rng(seed), 4, 1000, 5, memory)
        assert said(x, -x) == []


@pytest.mark.parametrize("fault", [1.15, 0.7, 2.0])
def test_nothing_is_said_about_a_sampler_that_is_wrong(fault: float) -> None:
    """That is for the verdict."""
    x, _ = rows()
    wide = x.mean(axis=0) + fault * (x - x.mean(axis=0))
    assert said(wide, CORRELATED.score(wide)) == []


@pytest.mark.parametrize("name", ["normal, d=1", "normal, d=100", "Student-t(5)", "Gumbel"])
def test_a_wrong_sign_is_named(name: str) -> None:
    x = TARGETS[name].draw(np.random.default_rng(0), 1000)
    (words,) = said(x, -TARGETS[name].score(x))
    assert "sign were wrong" in words
    assert "Pass `-scores`" in words


def test_a_wrong_sign_of_a_correlated_target_is_named() -> None:
    x, s = rows()
    assert "sign were wrong" in said(x, -s)[0]


def test_a_wrong_order_is_named() -> None:
    """PyMC's trap: the value variable of a scale comes second, its draws come last."""
    target = gaussian(np.zeros(6), np.diag([1.0, 0.3, 1.0, 2.0, 1.0, 5.0]))
    x = target.draw(np.random.default_rng(1), 1000)
    order = [0, 2, 3, 4, 5, 1]
    names = ["mu", "tau", "z[0]", "z[1]", "z[2]", "z[3]"]
    (words,) = said(x, target.score(x)[:, order], names=names)
    assert "columns were in another order" in words
    assert "tau fits column 5" in words


def test_two_columns_that_are_swapped_are_named() -> None:
    x, s = rows()
    assert "x[1] fits column 2; x[2] fits column 1" in said(x, s[:, [0, 2, 1]])[0]


def test_scores_of_the_logarithm_at_draws_of_the_scale_are_named() -> None:
    target = log_gamma(3.0, 2)
    y = target.draw(np.random.default_rng(2), 1000)
    (words,) = said(np.exp(y), target.score(y), names=["sigma", "tau"])
    assert "`draws` of sigma live on (0, inf)" in words
    assert "Is this sigma rather than log sigma?" in words


def test_a_density_that_is_cut_off_is_named() -> None:
    """The half-normal law on its own scale, without any transform."""
    x = np.abs(np.random.default_rng(3).standard_normal((1000, 1)))
    assert "live on (0, inf)" in said(x, -x)[0]


def test_scores_that_explode_near_the_border_are_named() -> None:
    x = np.random.default_rng(4).gamma(1.2, size=(2000, 1))
    assert "explode near the border" in said(x, 0.2 / x - 1.0)[0]


def test_draws_between_0_and_1_are_named() -> None:
    x = np.random.default_rng(5).beta(2.0, 5.0, size=(1000, 1))
    logit_scores = 2.0 - 7.0 * x
    (words,) = said(x, logit_scores)
    assert "live on (0, 1)" in words
    assert "logit" in words


def test_zeros_are_refused() -> None:
    x, s = rows()
    with pytest.raises(ps.InputError, match=r"`scores` must not be 0 .* got zeros for x\[1\]"):
        said(x, s * [1.0, 0.0, 1.0])
    with pytest.raises(ps.InputError, match="`scores` must not be 0"):
        ps.check(x, np.zeros_like(x), rng=0)


def test_constant_scores_are_named() -> None:
    x, s = rows()
    s[:, 2] = -1.0
    assert "the same at all draws for x[2]" in said(x, s)[0]


def test_other_units_are_named() -> None:
    x, s = rows()
    (words,) = said(x * [1.0, 1000.0, 1.0], s)
    assert "wildly different scales for x[1]" in words
    assert "wildly different scales for x[1]" in said(x * [1.0, 1e-4, 1.0], s)[0]


def test_single_precision_is_named() -> None:
    x, s = rows()
    assert "digits of float32" in said(x, s.astype(np.float32))[0]
    assert said(np.round(x, 2), -np.round(x, 2)) == []


def test_the_log_density_is_asked() -> None:
    """Without the Jacobian of the logarithm the scores are off by 1."""
    target = log_gamma(2.0, 2)
    y = target.draw(np.random.default_rng(0), 500)

    def log_density(x: Array) -> Array:
        return np.asarray(np.sum(2.0 * x - np.exp(x), axis=1))

    def words(scores: Array) -> list[str]:
        return said(y, scores, facts={"log_density": log_density}, names=["a", "b"])

    assert words(target.score(y)) == []
    (jacobian,) = words(target.score(y) - [1.0, 0.0])
    assert "`scores` of a are not the gradient of the log-density" in jacobian
    assert "the Jacobian of a log transform" in jacobian
    assert "Their sign is wrong" in words(-target.score(y))[0]
    (term,) = words(target.score(y) + np.array([0.0, 0.3]))
    assert "`scores` of b" in term
    assert "the same at all draws" in term
    assert "same model" in words(target.score(y) * [1.1, 1.0])[0]


def test_a_log_density_in_single_precision_is_not_blamed() -> None:
    x, s = rows()

    def log_density(points: Array) -> Array:
        precision = np.linalg.inv(np.diag([1.0, 4.0, 0.2]) + 0.1)
        away = points - [1.0, -3.0, 0.5]
        return -0.5 * np.sum((away @ precision) * away, axis=1, dtype=np.float64).astype(np.float32)

    assert said(x, s, facts={"log_density": log_density}) == []


def test_a_likelihood_in_single_precision_is_not_blamed_and_still_judges() -> None:
    """Of a sum of many terms rounding leaves few digits to differences over short steps."""
    x = np.random.default_rng(3).normal(1.0, 0.05, size=(500, 2))
    data = np.random.default_rng(4).normal(1.0, 1.0, size=400).astype(np.float32)

    def log_density(points: Array) -> Array:
        away = points.astype(np.float32)[:, :, None] - data
        return np.asarray(-0.5 * np.square(away).sum(axis=(1, 2)) - np.float32(700.0))

    scores = np.sum(data.astype(np.float64) - x[:, :, None], axis=2)
    assert said(x, scores, facts={"log_density": log_density}) == []
    (words,) = said(x, scores - [20.0, 0.0], facts={"log_density": log_density}, names=["a", "b"])
    assert "`scores` of a are not the gradient of the log-density" in words


def test_a_kink_of_the_log_density_is_not_blamed() -> None:
    x = np.random.default_rng(0).laplace(size=(500, 3))
    facts = {"log_density": lambda points: -np.abs(points).sum(axis=1)}
    assert said(x, -np.sign(x), facts=facts) == []


def test_weights_are_heeded() -> None:
    """Draws that are twice too wide, and the weights that put them right: no word of the guard."""
    x = 2.0 * np.random.default_rng(0).standard_normal((4000, 2))
    log_weights = -0.5 * np.sum(x**2 * 0.75, axis=1)
    assert said(x, -x, log_weights=log_weights) == []
    assert "sign were wrong" in said(x, x, log_weights=log_weights)[0]


def test_any_source_is_looked_at() -> None:
    x, s = rows(900)
    source = MinimalSource([(x[:300], -s[:300]), (x[300:], -s[300:])], time_ordered=True)
    assert ["sign were wrong" in str(one) for one in score_warnings(complete(source))] == [True]


def test_few_rows_say_nothing() -> None:
    x, s = rows(40)
    assert said(x, -s) == []


def test_check_warns_and_keeps_the_warning() -> None:
    x, s = rows()
    with pytest.warns(ps.ScoreWarning, match="sign were wrong") as caught:
        result = ps.check(x, -s, iid=True, rng=0)
    assert [item.filename for item in caught] == [__file__]
    assert "sign were wrong" in result.warnings[0]
    assert ", with 1 warning: " in " ".join(str(result).split())


def test_errors_of_means_allow_for_memory() -> None:
    """Against the exact standard error of the mean of an AR(1) chain, on average."""
    found = []
    for seed in range(40):
        x = autoregressive(np.random.default_rng(seed), 1, 2000, 1, 0.8)[0]
        found.append(mean_and_error(x)[1][0] ** 2)
    exact = (1.0 + 0.8) / (1.0 - 0.8) / 2000
    assert np.mean(found) == pytest.approx(exact, rel=0.25)
