"""Fast and slow features, told apart by the memory that they show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import binomtest

from polystein.inference import memory
from polystein.inference.memory import (
    Memory,
    speeds,
)
from tests.inference.batch_cases import (
    RULES,
    Case,
    counts_of_chains,
    every_case,
    flat_levels,
    remembering,
)
from tests.reference import memory as literal


@every_case
@remembering
def test_speeds_are_those_of_the_loop(counts: list[int], features: int, remembered: float) -> None:
    for seed in range(5):
        case = Case(counts, features, seed, remembered)
        slow = Case(counts, 1, seed + 100, 0.97)
        case.sums = np.hstack([case.sums, slow.sums])
        found = speeds(case.curves, case.levels)
        expected = literal.speeds(case.table, case.groups, *case.known, RULES)
        assert [np.flatnonzero(one.features).tolist() for one in found] == [
            features for features, _ in expected
        ]
        for one, (_, wanted) in zip(found, expected, strict=True):
            assert one.memory.level == wanted.level
            assert one.memory.deflation == pytest.approx(wanted.deflation, rel=1e-10)
            assert one.memory.rows == pytest.approx(wanted.rows, rel=1e-9, abs=1e-9)


@given(counts_of_chains, st.integers(1, 6), st.integers(0, 50))
def test_every_feature_has_one_speed(counts: list[int], features: int, seed: int) -> None:
    case = Case(counts, features, seed, 0.9 * (seed % 2))
    found = speeds(case.curves, case.levels)
    assert np.sum([one.features for one in found], axis=0).tolist() == [1] * features
    for one in found:
        assert 0 <= one.memory.level < len(case.levels)
        assert 0.0 < one.memory.deflation <= 1.0
        assert one.memory.rows >= 0.0


def slow_among_fast(seed: int, fast: int, rho: float) -> Case:
    """Features that forget at once, and a last one that does not, in four chains."""
    case = Case([64] * 4, 1 + fast, seed)
    case.sizes = np.full(256, 8.0)
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((4, 512, 1 + fast))
    rows[..., -1] = lfilter([1.0], [1.0, -rho], rows[..., -1], axis=1)
    case.sums = rows.reshape(256, 8, 1 + fast).sum(axis=1)
    return case


@pytest.mark.parametrize("fast", [3, 15, 63])
def test_a_slow_feature_does_not_hide_among_fast_ones(fast: int) -> None:
    rows = []
    for seed in range(10):
        case = slow_among_fast(seed, fast, 0.95)
        found = speeds(case.curves, case.levels)
        own = next(one for one in found if one.features[-1])
        others = next(one for one in found if one.features[0])
        assert not others.features[-1]
        assert own.memory.level > others.memory.level
        rows.append(own.memory.rows)
    # The truth is 19.5; one feature alone is uncertain.
    assert 10.0 < np.median(rows) < 40.0


@pytest.mark.slow
def test_equal_features_are_seldom_taken_apart() -> None:
    """By chance in one of a hundred families at the most."""
    apart = 0
    for seed in range(300):
        case = slow_among_fast(seed, 7, 0.0)
        apart += len(speeds(case.curves, case.levels)) > 1
    rate = memory.SLOWER_BY_CHANCE
    assert binomtest(apart, 300, rate, alternative="greater").pvalue > 0.01


@pytest.mark.filterwarnings("error")
def test_features_that_are_all_constant_are_one_speed() -> None:
    levels = flat_levels()
    (found,) = speeds(np.zeros((5, 3)), levels)
    assert found.features.tolist() == [True] * 3
    assert found.memory == Memory(0, 1.0, 0.0)


def test_no_features_have_no_speed() -> None:
    assert speeds(np.zeros((5, 0)), flat_levels()) == []
