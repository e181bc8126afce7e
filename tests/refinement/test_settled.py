"""Correlations and changes between the middle and the end, and the rules of settling."""

import numpy as np
import pytest
from scipy import stats

from polystein.refinement.kernels import Moves
from polystein.refinement.settled import (
    LEAST_SPEED,
    Edges,
    Settled,
    drifts,
    edges_of,
    rank_correlations,
    settled,
    squares_kept,
)
from polystein.refinement.within import unsettled_words

RNG = np.random.default_rng(0)


def moves(*, loss: float = 0.0, lost: float = 0.0, unmoved: float = 0.0, n: int = 1000) -> Moves:
    losses = np.where(np.arange(n) < lost * n, 1e3, loss)
    accepted = np.arange(n) >= unmoved * n
    return Moves(np.zeros(n, dtype=int), accepted, np.ones(n), losses, np.ones(n))


def test_correlations_are_spearmans_of_values_or_distances() -> None:
    first, second = RNG.standard_normal((2, 300, 3))
    second[:, 1] += 0.5 * first[:, 1]
    second[:, 2] = np.abs(first[:, 2]) * RNG.choice([-1.0, 1.0], size=300)
    found = rank_correlations(first, second)
    for column in range(3):
        pair = first[:, column], second[:, column]
        folded = [np.abs(one - np.median(one)) for one in pair]
        expected = max(stats.spearmanr(*pair).statistic, stats.spearmanr(*folded).statistic)
        assert found[column] == pytest.approx(expected, rel=1e-10)
    assert found[1] > 0.3
    assert found[2] > 0.9


def test_a_run_has_settled_if_all_three_rules_say_so() -> None:
    first, second = RNG.standard_normal((2, 1000, 2))
    assert settled(first, second, [moves()], trajectories=True).all
    assert not settled(first, first + second, [moves()], trajectories=True).all
    assert not settled(first, second, [moves(lost=0.02)], trajectories=True).all
    assert not settled(first, second, [moves(unmoved=0.03)], trajectories=True).all
    assert settled(first, second, [moves(unmoved=0.03), moves()], trajectories=True).all


def test_walks_are_not_judged_by_energy() -> None:
    first, second = RNG.standard_normal((2, 1000, 2))
    assert settled(first, second, [moves(lost=0.5)], trajectories=False).all


def test_a_coordinate_that_never_moves_has_not_settled() -> None:
    first, second = RNG.standard_normal((2, 100, 1))
    assert rank_correlations(np.ones((100, 1)), second)[0] == 1.0
    assert rank_correlations(first, first)[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("correlation", "drift"), [(0.18, 0.0), (0.0, 0.28)])
def test_few_rows_are_allowed_their_noise(correlation: float, drift: float) -> None:
    seen = np.array([correlation]), np.zeros(1), np.array([drift]), np.ones(1), 0.0, 0.0
    assert Settled(*seen, rows=250).all
    assert not Settled(*seen, rows=1000).all


@pytest.mark.parametrize(("rows", "enough"), [(20, False), (224, False), (225, True)])
def test_too_few_rows_cannot_tell(rows: int, enough: bool) -> None:
    first, second = np.random.default_rng(1).standard_normal((2, rows, 1))
    found = settled(first, second, [moves(n=rows)], trajectories=True)
    assert found.still
    assert found.all == enough
    if not enough:
        assert unsettled_words(found, ("a",)) == f"{rows} starts are too few to tell"


def test_a_few_rows_that_come_in_from_far_away_are_seen() -> None:
    first, second = RNG.standard_normal((2, 1000, 2))
    first[:5, 1] += 30.0
    found = settled(first, second, [moves()], trajectories=True)
    assert found.correlations.max() < 0.15
    assert found.moving.tolist() == [False, True]
    log_sd = abs(np.log(first[:, 1].std() / second[:, 1].std()))
    assert found.drifts[1] == pytest.approx(log_sd)


def test_rows_that_were_thrown_away_and_are_still_there_are_seen() -> None:
    """Ten rows of 1,000 make up the sd; means, log sds and ranks hardly change."""
    first, second = RNG.standard_normal((2, 1000, 2))
    first[:10, 1] -= 15.0
    second[:10, 1] -= 14.0
    found = settled(first, second, [moves()], trajectories=True)
    assert found.correlations.max() < 0.15
    assert found.drifts.max() < 0.15
    assert found.moving.tolist() == [False, True]
    centre = np.median(second[:, 1])
    squares = [(rows[:, 1] - centre) ** 2 for rows in (first, second)]
    assert found.kept[1] == pytest.approx(np.corrcoef(*squares)[0, 1])


def test_a_correlation_that_ranks_miss_is_seen_in_the_values() -> None:
    first, second = RNG.standard_normal((2, 1000, 1))
    first[:4, 0], second[:4, 0] = [30.0, 31.0, -30.0, -29.0], [28.0, 30.0, -31.0, -30.0]
    found = squares_kept(first, second)
    assert found[0] >= stats.pearsonr(first[:, 0], second[:, 0]).statistic > 0.5


def test_heavy_tails_may_change_more_by_chance() -> None:
    """The error of the log sd of n rows is sqrt((kurtosis - 1) / (4 n))."""
    first, second = RNG.standard_t(5.0, size=(2, 4000, 1))
    kurtosis = min(
        float(np.mean((rows - rows.mean()) ** 4) / rows.var() ** 2) for rows in (first, second)
    )
    _, noise = drifts(first, second)
    assert noise[0] == pytest.approx(np.sqrt((kurtosis - 1.0) / 2.0))
    assert noise[0] > 1.3
    assert drifts(*np.random.default_rng(3).uniform(size=(2, 1000, 1)))[1][0] == 1.0


@pytest.mark.parametrize("what", ["correlations", "kept", "drifts", "noise", "lost", "unmoved"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_a_number_has_not_settled(what: str, value: float) -> None:
    first, second = np.random.default_rng(2).standard_normal((2, 1000, 2))
    found = settled(first, second, [moves()], trajectories=True)
    assert found.all
    if isinstance(getattr(found, what), float):
        broken = found._replace(**{what: value})
    else:
        broken = found._replace(**{what: np.array([0.0, value])})
        assert broken.moving.tolist() == [False, True]
    assert not broken.all
    assert not found._replace(edges=Edges(np.nan, 0)).all


def test_rows_beyond_the_squares_of_all_numbers_have_not_settled() -> None:
    """Their fourth powers are infinite: no change of theirs is more than noise."""
    first, second = 1e90 * np.random.default_rng(3).standard_normal((2, 1000, 1))
    with np.errstate(all="ignore"):
        found = settled(first, second + 2e90, [moves()], trajectories=True)
    assert not found.all


def test_no_proposal_no_verdict() -> None:
    first, second = RNG.standard_normal((2, 1000, 2))
    walks = moves()._replace(kind=np.ones(1000, dtype=int))
    assert not settled(first, second, [walks], trajectories=True).all
    assert np.isnan(edges_of([(first, walks)], 0.3).speed)


def test_edges_are_told_by_the_rows_on_them() -> None:
    rows = np.random.default_rng(4).standard_normal((1000, 3))
    slow = rows[:, 1] < np.quantile(rows[:, 1], 0.02)
    made = moves()._replace(chance=np.where(slow, 0.1, 0.9))
    found = edges_of([(rows, made)] * 3, 0.3)
    assert found == Edges(pytest.approx(0.03), 1)
    state = settled(rows, -rows[::-1], [made], trajectories=True, edges=found)
    assert state.held_up
    assert not state.all
    assert "from the edge of `b`" in unsettled_words(state, ("a", "b", "c"))
    assert not state._replace(edges=Edges(LEAST_SPEED, 1)).held_up
    # Shorter steps say nothing.
    short = made._replace(chance=np.full(1000, 0.9), factor=np.where(slow, 0.1, 1.0))
    assert edges_of([(rows, short)], 0.3).speed == pytest.approx(0.27)
