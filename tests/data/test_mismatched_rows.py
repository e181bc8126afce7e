"""Scores of other rows are named, and nothing is said about those of the same rows."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.data import score_screen
from polystein.data.mismatched_rows import fits
from polystein.data.score_screen import score_warnings
from polystein.data.source import complete
from tests.data.targets import TARGETS, equicorrelated, gaussian
from tests.reference.mismatched_rows import left_by_halves
from tests.rows import Array
from tests.sources import CountingSample, MinimalSource
from tests.statistical.samplers import autoregressive

SEEN = ["normal, d=1", "normal, d=100", "normal, correlated .99", "Student-t(5)", "Gumbel"]


def said(draws: Array, scores: Array, **options: Any) -> str:
    return " ".join(str(one) for one in score_warnings(ps.Sample(draws, scores, **options)))


def chains(name: str, seed: int = 0, n: int = 500) -> tuple[Array, Array]:
    """Four chains of independent rows."""
    x = TARGETS[name].draw(np.random.default_rng([5, seed]), 4 * n)
    return x.reshape(4, n, -1), TARGETS[name].score(x).reshape(4, n, -1)


@pytest.mark.parametrize("name", SEEN)
def test_scores_that_are_one_row_off_are_named(name: str) -> None:
    for seed in range(3):
        x, s = chains(name, seed)
        assert "one row late" in said(x[:, 1:], s[:, :-1])
        assert "one row early" in said(x[:, :-1], s[:, 1:])
        assert "one row late" in said(x[0], np.roll(s[0], 1, axis=0))


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("order", [[1, 0, 2, 3], [3, 2, 1, 0], [1, 2, 3, 0]])
def test_chains_in_another_order_are_named(name: str, order: list[int]) -> None:
    for seed in range(3):
        x, s = chains(name, seed)
        words = said(x, s[order])
        assert "chains were in another order" in words
        assert f"chain 0 fits the scores of chain {order.index(0)}" in words


def test_how_well_both_are_explained_is_said() -> None:
    x, s = chains("normal, d=16")
    words = said(x[:, 1:], s[:, :-1])
    assert "explains 0% of the variance of the scores as given, and 100% of those one row" in words


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_autocorrelation_does_not_hide_it(memory: float) -> None:
    x = autoregressive(np.random.default_rng(1), 4, 1000, 8, memory)
    assert "one row late" in said(x[:, 1:], -x[:, :-1])
    assert "chain 1 fits the scores of chain 0" in said(x, -x[[1, 0, 2, 3]])


def test_a_shift_cannot_be_seen_at_high_autocorrelation() -> None:
    """Neighbouring rows are the same to a fit that explains four fifths; the docs say so."""
    z = autoregressive(np.random.default_rng(1), 4, 1000, 8, 0.99)
    x = stats.t(5).ppf(stats.norm.cdf(z))
    assert said(x[:, 1:], (-6.0 * x / (5.0 + x**2))[:, :-1]) == ""


def test_two_of_many_chains_are_named() -> None:
    x = np.random.default_rng(2).standard_normal((16, 200, 3))
    order = [0, 1, 9, *range(3, 9), 2, *range(10, 16)]
    assert "chain 2 fits the scores of chain 9" in said(x, -x[order])


def test_chains_of_other_lengths_are_looked_at() -> None:
    x = np.random.default_rng(3).standard_normal((900, 2))
    parts = [x[:200], x[200:500], x[500:]]
    late = MinimalSource([(part[1:], -part[:-1]) for part in parts], time_ordered=True)
    assert ["one row late" in str(one) for one in score_warnings(complete(late))] == [True]


def test_weights_do_not_hide_it() -> None:
    x = np.random.default_rng(4).standard_normal((2000, 3))
    weights = -0.1 * np.sum(x**2, axis=1)
    assert said(x, -x, log_weights=weights) == ""
    assert "one row early" in said(x[:-1], -x[1:], log_weights=weights[:-1])


def test_a_log_density_that_agrees_is_believed() -> None:
    """A chain that moves to its own score: that of the next row is a linear function of it."""
    x = np.full((1000, 1), 0.3)
    for row in range(999):
        x[row + 1] = 1.0 - 2.0 * x[row] ** 2
    facts = {"log_density": lambda points: (points - 2.0 * points**3 / 3.0)[:, 0]}
    assert "one row early" in said(x, 1.0 - 2.0 * x**2)
    assert said(x, 1.0 - 2.0 * x**2, facts=facts) == ""


def test_a_mismatch_is_named_beside_a_log_density() -> None:
    x, s = chains("normal, d=2")
    facts = {"log_density": lambda points: -0.5 * np.sum(points**2, axis=1)}
    assert "one row late" in said(x[:, 1:], s[:, :-1], facts=facts)


@pytest.mark.parametrize("n", [3, 50, 60, 100])
@pytest.mark.parametrize("d", [1, 10, 55, 120])
def test_few_rows_of_many_coordinates_say_nothing(n: int, d: int) -> None:
    x = np.random.default_rng([6, n, d]).standard_normal((4, n, d))
    target = gaussian(np.zeros(d), equicorrelated(d, 0.9) if d > 1 else np.eye(1))
    assert said(x, target.score(x.reshape(-1, d)).reshape(x.shape)) == ""


@pytest.mark.parametrize("count", [1, 4])
def test_chains_that_do_not_move_say_nothing(count: int) -> None:
    x = np.random.default_rng(7).standard_normal((4, 300, 2))
    x[:count] = x[:count, :1]
    s = -(x**3)
    assert "one row" not in said(x, s)
    assert "another order" not in said(x, s)


def test_huge_numbers_say_nothing() -> None:
    x = np.random.default_rng(8).standard_normal((4, 300, 2))
    assert said(x * 1e200, -x * 1e-200) == ""
    assert "one row" not in said(x * 1e300, -x * 1e300)


def test_check_warns_and_points_at_the_scores() -> None:
    x = autoregressive(np.random.default_rng(9), 4, 500, 3, 0.5)
    with pytest.warns(ps.ScoreWarning, match="one row late"):
        result = ps.check(x[:, 1:], -x[:, :-1], rng=0)
    assert result.verdict == "rejected"
    assert "one row late" in result.warnings[0]
    assert "look at the warning" in " ".join(str(result.effects).split())


def test_no_further_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    x = autoregressive(np.random.default_rng(10), 4, 500, 3, 0.5)
    with_guard, without = CountingSample(x, -x), CountingSample(x, -x)
    ps.check(with_guard, rng=0)
    monkeypatch.setattr(score_screen, "mismatch", lambda *_: None)
    ps.check(without, rng=0)
    np.testing.assert_array_equal(with_guard.reads, without.reads)


def test_fits_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(11)
    x = rng.standard_normal((3, 4, 20, 5))
    s = np.tanh(x[..., :4]) @ rng.standard_normal((4, 4)) + rng.standard_normal((3, 4, 20, 4))
    s[..., 3] = rng.standard_normal((3, 4, 20))
    for one, scores in zip(fits(x, s, s[::-1]), (s, s[::-1]), strict=True):
        expected = left_by_halves(x, scores)
        np.testing.assert_allclose(one.left.sum(axis=(0, 1)), expected, rtol=1e-6)
        squares = np.sum(scores**2, axis=(0, 1, 2))
        np.testing.assert_allclose(one.squares.sum(axis=(0, 1)), squares, rtol=1e-12)
        assert one.unexplained == pytest.approx(np.mean(expected / squares), rel=1e-6)
