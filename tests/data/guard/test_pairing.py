"""Labels that differ are refused, scores of other rows are named, and nothing else is said.

`integration/` tries labels of the real pandas and xarray.
"""

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.data.guard import scores
from polystein.data.guard.pairing import fits, require_same_names
from polystein.data.guard.scores import score_warnings
from polystein.data.source import complete
from tests.data.targets import TARGETS, equicorrelated, gaussian
from tests.reference.mismatched_rows import left_by_halves
from tests.rows import Array
from tests.sources import CountingSample, MinimalSource
from tests.statistical.samplers import autoregressive

DRAWS = np.random.default_rng(0).standard_normal((40, 2))


class Index(tuple[Any, ...]):
    """As much of an index of pandas as labels need."""

    def equals(self, other: Any) -> bool:
        return tuple(self) == tuple(other)


class RangeIndex(Index):
    """Labels that nobody chose, if they begin at 0."""

    def __new__(cls, start: int, stop: int) -> "RangeIndex":
        return super().__new__(cls, range(start, stop))

    @property
    def start(self) -> int:
        return int(self[0])

    step = 1


class DataFrame:
    """As much of a pandas DataFrame as the door asks for."""

    def __init__(self, columns: Index, index: Index | None = None) -> None:
        self.columns, self.index = columns, index or RangeIndex(0, 40)

    def to_numpy(self) -> Any:
        return DRAWS


class DataArray:
    """As much of an xarray DataArray as the door asks for."""

    def __init__(self, dims: str, values: Any = DRAWS, **indexes: Index) -> None:
        self.dims, self.indexes, self.values = tuple(dims.split()), indexes, values
        self.shape = values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


DataFrame.__module__ = "pandas.core.frame"
DataArray.__module__ = "xarray.core.dataarray"

AB, BA, GRADIENTS = Index("ab"), Index("ba"), Index(("grad_a", "grad_b"))
LATER, LATEST = RangeIndex(1000, 1040), RangeIndex(2000, 2040)


@pytest.mark.parametrize(
    ("draws", "scores", "message"),
    [
        (DataFrame(AB), DataFrame(BA), "the columns of `draws`, a, b, in that order; got b, a"),
        (DataFrame(AB), DataFrame(BA), "Pass `scores[draws.columns]`, or `scores.to_numpy()`"),
        (DataFrame(AB), DataFrame(Index("ac")), "got a, c"),
        (DataFrame(AB, LATER), DataFrame(AB, LATEST), "the index of `draws`, 1000, 1001, "),
        (DataFrame(AB, LATER), DataFrame(AB, LATEST), "Pass `scores.loc[draws.index]`"),
        (DataArray("draw p", p=AB), DataArray("draw p", p=BA), "dimension 'p' of `draws`, a, b"),
        (DataArray("draw p", p=AB), DataArray("draw p", p=BA), "Pass `scores.reindex_like(draws)`"),
        (DataArray("draw p", p=AB), DataArray("draw p", p=GRADIENTS), "`scores.drop_vars('p')`"),
        (DataArray("draw p", draw=LATER), DataArray("draw p", draw=LATEST), "dimension 'draw'"),
        (DataArray("i j"), DataArray("j i"), "in the order of `draws`, i, j; got j, i"),
        (DataArray("i j"), DataArray("j i"), "Pass `scores.transpose(*draws.dims)`"),
        (DataFrame(AB), DataArray("draw p", p=BA), "of `draws`, a, b, in that order; got b, a"),
    ],
)
def test_other_labels_are_refused(draws: Any, scores: Any, message: str) -> None:
    with pytest.raises(ps.InputError, match=f"^`scores` must have .*{re.escape(message)}"):
        ps.Sample(draws, scores)


@pytest.mark.parametrize(
    ("draws", "scores"),
    [
        (DataFrame(AB), DataFrame(AB)),
        (DataFrame(AB), DataFrame(RangeIndex(0, 2))),
        (DataFrame(AB, LATER), DataFrame(AB)),
        (DataFrame(AB), DataFrame(GRADIENTS)),
        (DataFrame(AB), DRAWS),
        (DataFrame(AB), lambda x: -x),
        (DataArray("draw p", p=AB), DataArray("draw p", p=AB)),
        (DataArray("draw p", p=AB), DataArray("draw p")),
        (DataArray("draw p", p=AB), DataArray("draw q", q=GRADIENTS)),
    ],
)
def test_the_same_labels_and_labels_of_one_side_are_accepted(draws: Any, scores: Any) -> None:
    assert ps.Sample(draws, scores).layout.total == 40


def test_a_difference_far_behind_is_named() -> None:
    many = Index(range(100, 140))
    other = Index((*many[:-2], many[-1], many[-2]))
    with pytest.raises(ps.InputError, match=r"107, \.\.\. \(the first .* 38: 138 against 139\)"):
        ps.Sample(DataFrame(AB, many), DataFrame(AB, other))


def test_a_monitor_looks_at_labels_too() -> None:
    watched = ps.Monitor(None, 1, looks=(500,), chains=1)
    with pytest.raises(ps.InputError, match="dimension 'p'"):
        watched.update(DataArray("draw p", p=AB), DataArray("draw p", p=BA))
    assert watched.n_draws == (0,)


@pytest.mark.parametrize("scores", ["abc", "xyz", "abcd"])
def test_names_may_be_the_same_or_others_altogether(scores: str) -> None:
    require_same_names("abc", scores)


@pytest.mark.parametrize("scores", ["acb", "bax", "abx"])
def test_names_in_another_order_are_refused(scores: str) -> None:
    with pytest.raises(ps.InputError, match="in the order of `draws`, a, b, c; got "):
        require_same_names("abc", scores)


# Rows that do not belong together

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
    monkeypatch.setattr(scores, "mismatch", lambda *_: None)
    ps.check(without, rng=0)
    np.testing.assert_array_equal(with_guard.reads, without.reads)


def test_fits_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(11)
    x = rng.standard_normal((3, 4, 20, 5))
    s = np.tanh(x[..., :4]) @ rng.standard_normal((4, 4)) + rng.standard_normal((3, 4, 20, 4))
    s[..., 3] = rng.standard_normal((3, 4, 20))
    for one, aligned in zip(fits(x, s, s[::-1]), (s, s[::-1]), strict=True):
        expected = left_by_halves(x, aligned)
        np.testing.assert_allclose(one.left.sum(axis=(0, 1)), expected, rtol=1e-6)
        squares = np.sum(aligned**2, axis=(0, 1, 2))
        np.testing.assert_allclose(one.squares.sum(axis=(0, 1)), squares, rtol=1e-12)
        assert one.unexplained == pytest.approx(np.mean(expected / squares), rel=1e-6)
