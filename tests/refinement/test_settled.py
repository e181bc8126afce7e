"""Rank correlations, and the three rules of settling."""

import numpy as np
import pytest
from scipy import stats

from polystein.refinement.kernels import Moves
from polystein.refinement.settled import Settled, rank_correlations, settled
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
    seen = np.array([correlation]), np.array([drift]), 0.0, 0.0
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
