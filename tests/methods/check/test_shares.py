"""Shares of the level: those written out, for any correlation."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.methods.check.shares import CORRELATED, UNCORRELATED, Shares, total_correlation
from tests.conftest import Array
from tests.methods.check.sums import SHARES, shares_of


def sums_with(moments: Array, rows: float = 1000.0) -> Any:
    d = len(moments)
    diagonal = np.zeros((1, 2, d))
    return SimpleNamespace(score_products=moments, sizes=np.array([rows]), diagonal=diagonal)


def found(sums: Any, left_out: Any = ()) -> dict[str, float]:
    shares = Shares(sums, np.isin(np.arange(sums.diagonal.shape[2]), left_out))
    result = {}
    for name in UNCORRELATED:
        total, largest = shares.of(name)
        result |= {f"{name}: sum": total, f"{name}: max": largest}
    return {name: share for name, share in result.items() if name in SHARES}


def equal(correlation: float, d: int) -> Array:
    return (1.0 - correlation) * np.eye(d) + correlation


@pytest.mark.parametrize("table", [UNCORRELATED, CORRELATED])
def test_all_statistics_together_have_the_whole_level(table: Any) -> None:
    assert sum(total + largest for total, largest in table.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("d", [2, 8, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.25, 0.3, 0.9])
def test_shares_are_those_written_out(correlation: float, d: int) -> None:
    sums = sums_with(3.0 * equal(correlation, d))
    assert found(sums) == pytest.approx(shares_of(sums), abs=1e-12)
    assert found(sums, (0,)) == pytest.approx(shares_of(sums, (0,)), abs=1e-12)


def test_shares_pass_from_one_table_to_the_other() -> None:
    """Somewhere between they are between."""
    hotelling = [
        found(sums_with(equal(correlation, 8)))["Hotelling: sum"]
        for correlation in (0.0, 0.2, 0.25, 0.9)
    ]
    assert hotelling == sorted(hotelling)
    assert hotelling[0] == UNCORRELATED["Hotelling"][0]
    assert hotelling[-1] == CORRELATED["Hotelling"][0]
    assert hotelling[0] < hotelling[1] < hotelling[-1]


@pytest.mark.parametrize(("d", "rows"), [(1, 1000.0), (10, 19.0)])
def test_without_a_metric_the_scores_have_the_share_of_all_locations(d: int, rows: float) -> None:
    sums = sums_with(equal(0.9, d), rows)
    assert not Shares(sums, np.zeros(d, dtype=bool)).has_metric
    assert found(sums)["score: sum"] == pytest.approx(0.42)


def test_a_constant_score_has_no_correlation() -> None:
    moments = equal(0.5, 3)
    moments[2] = moments[:, 2] = 0.0
    assert total_correlation(moments) == pytest.approx(total_correlation(equal(0.5, 2)))
    assert total_correlation(np.zeros((2, 2))) == 0.0


def test_coordinates_that_are_one_are_correlated() -> None:
    assert total_correlation(np.ones((3, 3))) > 1.0
    assert found(sums_with(np.ones((3, 3))))["Hotelling: sum"] == CORRELATED["Hotelling"][0]


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
    assert len(location) == 4
    assert (round(first, 2), round(sum(location.values()), 2)) == (0.47, 0.08)
