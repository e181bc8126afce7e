"""How long the slowest feature of the scores and spreads remembers, against loops."""

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.coordinates import RAW, Frame
from polystein.data.source import Rows
from polystein.methods.check import memory
from polystein.methods.check.memory import slowest_time
from tests.conftest import Array
from tests.inference.walks import walks
from tests.reference import autocorrelation as literal


def literal_slowest(draws: Array, scores: Array) -> float:
    """The largest over coordinates of s and of s x, chains first; at least 1."""
    slowest = 1.0
    for column in range(draws.shape[2]):
        for feature in (scores[..., column], scores[..., column] * draws[..., column]):
            parts = list(feature)
            time = literal.long_run_variance(parts) / literal.autocovariance(parts, 0)
            slowest = max(slowest, time)
    return slowest


def slow_sample(d: int, slow: int, *, in_spread: bool = False) -> tuple[Array, Array]:
    """Independent rows but for one coordinate, whose location or spread remembers."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((2, 90, d))
    walk = np.stack(walks((90, 90), columns=1, seed=1))[..., 0]
    walk = (walk - walk.mean()) / walk.std()
    draws[..., slow] = np.sign(draws[..., slow]) * np.exp(0.5 * walk) if in_spread else walk
    return draws, -draws


@pytest.mark.parametrize("in_spread", [False, True])
@pytest.mark.parametrize(("d", "slow"), [(1, 0), (3, 2), (5, 0)])
def test_the_slowest_time_is_the_largest_of_all(
    d: int, slow: int, in_spread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, scores = slow_sample(d, slow, in_spread=in_spread)
    expected = literal_slowest(draws, scores)
    assert expected > 3.0
    sample, rows = ps.Sample(draws, scores), [Rows(0, 0, 90), Rows(1, 0, 90)]
    assert slowest_time(sample, rows, RAW) == pytest.approx(expected, rel=1e-10)
    # However many coordinates and rows are read at once.
    monkeypatch.setattr(memory, "_COORDINATES_AT_ONCE", 2)
    monkeypatch.setattr(passes, "BLOCK_ELEMENTS", 1)
    assert slowest_time(sample, rows, RAW) == pytest.approx(expected, rel=1e-10)


def test_the_slowest_time_is_that_of_the_chosen_rows_in_the_given_frame() -> None:
    draws, scores = slow_sample(2, 0, in_spread=True)
    centre, scale = np.array([0.7, -0.2]), np.array([2.0, 0.5])
    found = slowest_time(
        ps.Sample(draws, scores), [Rows(0, 10, 70), Rows(1, 10, 70)], Frame(centre, scale)
    )
    part = np.s_[:, 10:70]
    expected = literal_slowest((draws[part] - centre) / scale, scores[part] * scale)
    assert found == pytest.approx(expected, rel=1e-10)
    assert found != pytest.approx(literal_slowest(draws[part], scores[part]), rel=1e-3)
    assert found != pytest.approx(literal_slowest(draws, scores), rel=1e-3)


def test_the_slowest_time_is_at_least_one() -> None:
    still = np.full((1, 100, 1), 2.0)
    alternating = np.tile([1.0, -1.0], 50)[None, :, None] * np.linspace(1.0, 2.0, 100)[:, None]
    parts = [alternating[0, :, 0]]
    assert literal.long_run_variance(parts) < 0.5 * literal.autocovariance(parts, 0)
    for scores in (alternating, still):
        assert slowest_time(ps.Sample(still, scores), [Rows(0, 0, 100)], RAW) == 1.0
