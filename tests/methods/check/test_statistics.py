"""The table of all statistics, and shares of the level: those written out, for any correlation."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.methods.check import flips, net
from polystein.methods.check.check import USUAL_LEVELS
from polystein.methods.check.forms import total_correlation
from polystein.methods.check.statistics import (
    AGREEMENT,
    FLIPS,
    NET,
    OF_FLIPS,
    SHARES_OF_CHAINS,
    SHARES_OF_ROWS,
    STATISTICS,
    TRAINED,
    flip_shares,
)
from tests.conftest import Array
from tests.methods.check.sums import SHARES, shares_of

EVERY = tuple(SHARES)


def found(
    moments: Array, rows: float = 1000.0, judged: Any = EVERY, left_out: Any = ()
) -> dict[str, float]:
    """Shares by the correlation of scores with these moments, as the sign flips find it."""
    kept = [j for j in range(len(moments)) if j not in left_out]
    correlation = total_correlation(moments[np.ix_(kept, kept)]) - len(kept) / (4.0 * rows)
    return flip_shares(judged, len(kept), correlation)


def written_out(moments: Array, rows: float = 1000.0, left_out: Any = ()) -> dict[str, float]:
    diagonal = np.zeros((1, 2, len(moments)))
    sums = SimpleNamespace(score_products=moments, sizes=np.array([rows]), diagonal=diagonal)
    shares = shares_of(sums, left_out)
    return {name: share / sum(shares.values()) for name, share in shares.items()}


def equal(correlation: float, d: int) -> Array:
    return (1.0 - correlation) * np.eye(d) + correlation


def test_no_more_statistics_than_there_were() -> None:
    names = [one.name for arm in STATISTICS.values() for one in arm]
    assert len(names) == len(set(names)) == 24


@pytest.mark.parametrize("arm", STATISTICS)
def test_statistics_of_an_arm_have_its_whole_level(arm: str) -> None:
    whole = {FLIPS: 0.765, TRAINED: 0.005, AGREEMENT: 0.05, NET: 0.18}[arm]
    assert SHARES_OF_CHAINS[arm] == whole
    assert sum(one.share for one in STATISTICS[arm]) == pytest.approx(whole, abs=1e-12)
    assert sum(one.correlated for one in STATISTICS[arm]) == pytest.approx(whole, abs=1e-12)
    assert all(one.looks_at and one.features for one in STATISTICS[arm])


def test_statistics_of_a_family_have_the_same_minima() -> None:
    """Features are left out of both or of none."""
    minima: dict[str, tuple[int, float]] = {}
    for one in OF_FLIPS:
        family = one.name.split(":")[0]
        assert minima.setdefault(family, (one.batches, one.rows)) == (one.batches, one.rows)


@pytest.mark.parametrize("shares", [SHARES_OF_CHAINS, SHARES_OF_ROWS])
def test_flips_are_enough_for_the_shares_of_their_arms(shares: dict[str, float]) -> None:
    """The smallest p-value that flips can give rejects at every level that people use."""
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    for arm, module in ((FLIPS, flips), (NET, net)):
        assert max(USUAL_LEVELS) * shares[arm] > 1.0 / module.FIRST_PATTERNS
        assert 1.0 / module.FURTHER_PATTERNS[-1] < min(USUAL_LEVELS) * shares[arm]


def test_the_table_has_the_shares_written_out() -> None:
    assert {one.name: (one.share, one.correlated) for one in OF_FLIPS} == SHARES


@pytest.mark.parametrize("d", [2, 8, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.25, 0.3, 0.9])
def test_shares_are_those_written_out(correlation: float, d: int) -> None:
    moments = 3.0 * equal(correlation, d)
    assert found(moments) == pytest.approx(written_out(moments), abs=1e-12)
    if d > 2:
        assert found(moments, left_out=(0,)) == pytest.approx(
            written_out(moments, left_out=(0,)), abs=1e-12
        )


def test_shares_pass_from_uncorrelated_to_correlated_ones() -> None:
    """Somewhere between they are between."""
    hotelling = [found(equal(c, 8))["Hotelling: sum"] for c in (0.0, 0.2, 0.25, 0.9)]
    assert hotelling == sorted(hotelling)
    assert hotelling[0] == pytest.approx(SHARES["Hotelling: sum"][0] / 0.765)
    assert hotelling[-1] == pytest.approx(SHARES["Hotelling: sum"][1] / 0.765)
    assert hotelling[0] < hotelling[1] < hotelling[-1]


def test_without_hotelling_the_scores_have_the_share_of_all_locations() -> None:
    judged = [name for name in EVERY if name != "Hotelling: sum"]
    shares = flip_shares(judged, 8, 0.0)
    assert shares["score: sum"] == pytest.approx(0.295 / 0.765)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_what_is_not_judged_leaves_its_share_in_proportion() -> None:
    every, fewer = flip_shares(EVERY, 8, 0.0), flip_shares(EVERY[1:], 8, 0.0)
    assert set(fewer) == set(EVERY[1:])
    ratios = [fewer[name] / every[name] for name in fewer]
    assert max(ratios) == pytest.approx(min(ratios))
    assert flip_shares(["waves: max"], 2, 0.0) == {"waves: max": 1.0}


def test_a_constant_score_has_no_correlation() -> None:
    moments = equal(0.5, 3)
    moments[2] = moments[:, 2] = 0.0
    assert total_correlation(moments) == pytest.approx(total_correlation(equal(0.5, 2)))
    assert total_correlation(np.zeros((2, 2))) == 0.0


def test_coordinates_that_are_one_are_correlated() -> None:
    assert total_correlation(np.ones((3, 3))) > 1.0


def test_units_do_not_matter() -> None:
    units = np.array([1e-120, 1.0, 1e130])
    moments = equal(0.5, 3) * units * units[:, None]
    assert total_correlation(moments) == pytest.approx(total_correlation(equal(0.5, 3)))


def test_location_in_two_coordinates_has_the_shares_that_the_page_says() -> None:
    """docs/check.md, on the price of looking everywhere."""
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    parts = ps.check(draws, -draws, iid=True).evidence.parts
    location = {part.name: part.level_share for part in parts if part.words.startswith("location")}
    first = location.pop("score: sum")
    assert len(location) == 3
    assert (round(first, 2), round(sum(location.values()), 2)) == (0.4, 0.01)
