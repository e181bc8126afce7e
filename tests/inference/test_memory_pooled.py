"""The memory of features together, as variances of longer and longer batches show it."""

import numpy as np
import pytest
from scipy.signal import lfilter

from polystein.inference import memory
from polystein.inference.memory import (
    Joining,
    Memory,
    joinings,
    pooled_memory,
    variance_curves,
)
from tests.inference.batch_cases import RULES, Case, every_case, flat_levels, remembering
from tests.reference import memory as literal


@every_case
@remembering
@pytest.mark.parametrize("first", [0, 1])
def test_the_pooled_memory_is_the_loop(
    counts: list[int], features: int, remembered: float, first: int
) -> None:
    for seed in range(5):
        case = Case(counts, features, seed, remembered)
        if first < len(case.levels):
            found = pooled_memory(case.curves, case.levels, first)
            expected = literal.pooled(case.table, case.groups, *case.known, RULES, first)
            assert found.level == expected.level
            assert found.deflation == pytest.approx(expected.deflation, rel=1e-10)
            assert found.rows == pytest.approx(expected.rows, rel=1e-9, abs=1e-9)


def autoregressive_curve(rho: float, length: int) -> float:
    """V_L/V of AR(1): 1 - 2 rho (1 - rho^L)/(L (1 - rho^2))."""
    return float(1.0 - 2.0 * rho * (1.0 - rho**length) / (length * (1.0 - rho**2)))


def lengths_of(level: Joining) -> set[float]:
    return set(level.rows.tolist())


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.9, -0.5])
def test_the_variances_of_autoregressions_are_known(rho: float) -> None:
    """A column for each of 1,500 chains of 512 rows; V is 1/(1 - rho)^2."""
    rng = np.random.default_rng(6)
    rows = lfilter([1.0], [1.0, -rho], rng.standard_normal((700, 1500)), axis=0)[-512:]
    sums, sizes = rows.reshape(64, 8, 1500).sum(axis=1), np.full(64, 8.0)
    levels = joinings(sizes, np.zeros(64, dtype=np.intp))
    for level, curve in zip(levels, variance_curves(sums, levels), strict=True):
        (length,) = lengths_of(level)
        # A chain's own mean takes off its variance, V_512/512, from each batch's V_L/L.
        own, whole = (autoregressive_curve(rho, int(n)) / (1.0 - rho) ** 2 for n in (length, 512))
        expected = (own - whole * length / 512.0) / (1.0 - length / 512.0)
        error = curve.std() / 1500**0.5
        assert abs(curve.mean() - expected) < 4.0 * error
        assert error < 0.03 * expected


@pytest.mark.parametrize("rho", [0.5, 0.9, 0.95])
def test_the_memory_of_an_autoregression_is_known(rho: float) -> None:
    """From exact V_L the lugsail gives V, but for rho^L, and M = 2 rho/(1 - rho^2)."""
    sizes, chains = np.full(256, 64.0), np.repeat(np.arange(4), 64)
    levels = joinings(sizes, chains)
    curves = np.array([[autoregressive_curve(rho, int(lengths_of(one).pop()))] for one in levels])
    found = pooled_memory(np.repeat(curves, 8, axis=1), levels)
    assert found.rows == pytest.approx(2.0 * rho / (1.0 - rho**2), rel=0.05)
    length = int(lengths_of(levels[found.level]).pop())
    assert autoregressive_curve(rho, 64) == pytest.approx(curves[0, 0])
    # A bit smaller than V_L/V: V is taken larger by half a standard error.
    assert 0.8 * curves[found.level, 0] < found.deflation < autoregressive_curve(rho, length)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_level_is_the_first_one_that_is_flat(level: int) -> None:
    curve = np.ones(5)
    for longer in range(level):
        curve[longer] = 0.5 ** (level - longer)
    found = pooled_memory(np.repeat(curve[:, None], 8, axis=1), flat_levels())
    assert found.level == level
    # V_L is V: only the uncertainty of the longer batches is left.
    assert found.rows == 0.0
    assert 0.5 < found.deflation < 1.0


def test_a_curve_that_grows_to_the_end_is_taken_at_the_last_but_one() -> None:
    curve = 2.0 ** np.arange(5)
    found = pooled_memory(np.repeat(curve[:, None], 8, axis=1), flat_levels())
    assert found.level == 3
    assert found.deflation < 8.0 / (2.0 * 16.0 - 8.0)
    assert found.rows == pytest.approx(64.0 * (1.0 - 8.0 / 24.0))


def test_a_curve_that_falls_needs_no_deflation() -> None:
    """Antithetic chains: sums over longer batches vary less than they would."""
    curve = 0.25 ** np.arange(5)
    found = pooled_memory(np.repeat(curve[:, None], 3, axis=1), flat_levels())
    assert found == Memory(0, 1.0, pytest.approx(0.0))


@pytest.mark.filterwarnings("error")
def test_a_curve_that_rises_and_falls_far_needs_no_deflation() -> None:
    """2 V_2L - V_L is negative; nothing overflows where it stands in for V."""
    curve = np.array([1.0, 50.0, 2.0])
    levels = flat_levels(16)
    found = pooled_memory(np.repeat(curve[:, None], 8, axis=1), levels)
    assert found == Memory(1, 1.0, pytest.approx(0.0))


def test_small_growth_is_flat_and_an_error_more_is_not() -> None:
    levels = flat_levels()
    for growth, level in ((0.09, 0), (0.9, 1)):
        curve = np.array([1.0, 1.0, 1.0, 1.0, 1.0]) + growth * (np.arange(5) > 0)
        assert pooled_memory(np.repeat(curve[:, None], 8, axis=1), levels).level == level


def test_features_count_as_independent_up_to_a_number() -> None:
    """More of them have a smaller error, until there are eight."""
    curve = 1.0 + 0.3 * (np.arange(5) > 0)
    found = [
        pooled_memory(np.repeat(curve[:, None], count, axis=1), flat_levels(chains=8)).deflation
        for count in (1, 2, 4, 8, 16, 200)
    ]
    assert found[0] < found[1] < found[2] < found[3]
    assert found[3] == pytest.approx(found[4], rel=1e-12) == pytest.approx(found[5], rel=1e-12)
    assert memory.MOST_INDEPENDENT == 8


@pytest.mark.filterwarnings("error")
def test_constant_columns_remember_nothing() -> None:
    case = Case([30, 30], 3, 1, 0.9)
    table = case.curves
    with_zeros = np.insert(table, 1, 0.0, axis=1)
    own, other = (pooled_memory(curves, case.levels) for curves in (table, with_zeros))
    assert own.deflation == pytest.approx(other.deflation, rel=1e-12)
    assert own.rows == pytest.approx(other.rows, rel=1e-12)
    nothing = pooled_memory(np.zeros((len(case.levels), 2)), case.levels)
    assert nothing == Memory(0, 1.0, 0.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_scales_do_not_matter(scale: float) -> None:
    """Columns are tamed before, so that squares of 1e-150 still are numbers."""
    case = Case([30, 30], 3, 1, 0.9)
    before = pooled_memory(case.curves, case.levels)
    case.sums = case.sums * np.array([1.0, scale, 1.0])
    found = pooled_memory(case.curves, case.levels)
    assert found.level == before.level
    assert found[1:3] == pytest.approx(before[1:3], rel=1e-9)


@pytest.mark.parametrize("counts", [[3], [1, 1], [7]])
def test_one_level_shows_no_memory(counts: list[int]) -> None:
    case = Case(counts, 2, 1)
    assert len(case.levels) == 1
    assert pooled_memory(case.curves, case.levels) == Memory(0, 1.0, 0.0)
