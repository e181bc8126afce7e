"""Variances of sums over longer and longer batches, and the memory that they show."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import binomtest

from polystein.inference import memory
from polystein.inference.memory import (
    Joining,
    Memory,
    group_starts,
    joinings,
    pooled_memory,
    speeds,
    variance_curves,
)
from tests.conftest import Array
from tests.reference import memory as literal

RULES = literal.Rules(
    memory.FEWEST_A_CHAIN,
    memory.FLAT,
    memory.MOST_INDEPENDENT,
    memory.LUGSAIL_ERRORS,
    memory.SLOWER_BY_CHANCE,
)


class Case:
    """Batch sums of several chains, for the code and for the loops."""

    def __init__(self, counts: list[int], features: int, seed: int, memory: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.chains = np.repeat(np.arange(len(counts)), counts)
        self.sizes = rng.integers(3, 9, self.chains.size).astype(float)
        noise = rng.standard_normal((self.chains.size, features))
        self.sums = lfilter([1.0], [1.0, -memory], noise, axis=0) * np.sqrt(self.sizes)[:, None]
        self.sums += self.sizes[:, None] * rng.normal(0.0, 3.0, features)

    @property
    def levels(self) -> list[Joining]:
        return joinings(self.sizes, self.chains)

    @property
    def groups(self) -> list[literal.Groups]:
        return literal.levels(self.chains.tolist(), RULES.fewest_a_chain)

    @property
    def known(self) -> tuple[list[float], list[int]]:
        return self.sizes.tolist(), self.chains.tolist()

    @property
    def table(self) -> Array:
        """The loops' V_L."""
        return literal.curves(self.sums, *self.known, self.groups)

    @property
    def curves(self) -> Array:
        return variance_curves(self.sums, self.levels)


CASES = [([64], 3), ([64, 64], 2), ([20, 9, 33], 4), ([1, 30, 2, 40], 3), ([7, 7, 7, 7], 1)]
every_case = pytest.mark.parametrize(("counts", "features"), CASES)
remembering = pytest.mark.parametrize("remembered", [0.0, 0.6, 0.95, -0.7])
counts_of_chains = st.lists(st.integers(1, 40), min_size=1, max_size=6)


# Joined batches


@given(counts_of_chains)
def test_joinings_are_those_of_the_loop(counts: list[int]) -> None:
    case = Case(counts, 1, 0)
    assert len(case.levels) == len(case.groups)
    for level, groups in zip(case.levels, case.groups, strict=True):
        assert level.starts.tolist() == [group[0] for group in groups]
        assert level.chains.tolist() == [case.chains[group[0]] for group in groups]
        assert level.rows == pytest.approx([case.sizes[group].sum() for group in groups])
        assert level.count == len(groups)
        assert level.freedom == len(groups) - len(counts)


@given(counts_of_chains)
def test_no_batch_of_a_chain_is_lost_or_joined_to_another_chain(counts: list[int]) -> None:
    case = Case(counts, 1, 0)
    for level in case.levels:
        assert level.rows.sum() == pytest.approx(case.sizes.sum(), rel=1e-12)
        for chain in range(len(counts)):
            own = level.rows[level.chains == chain].sum()
            assert own == pytest.approx(case.sizes[case.chains == chain].sum(), rel=1e-12)


@given(counts_of_chains, st.integers(1, 50))
def test_groups_start_where_those_of_the_loop_do(counts: list[int], together: int) -> None:
    chains = np.repeat(np.arange(len(counts)), counts)
    expected = [group[0] for group in literal.joined(chains.tolist(), together)]
    assert group_starts(chains, together).tolist() == expected
    # Only where chains change matters, and not what they are called.
    assert group_starts(3 * chains + 2, together).tolist() == expected


def test_a_chain_of_sixty_four_batches_halves_four_times() -> None:
    case = Case([64] * 4, 1, 0)
    assert [level.count // 4 for level in case.levels] == [64, 32, 16, 8, 4]


def test_what_is_left_over_joins_the_batch_before_it() -> None:
    case = Case([11], 1, 0)
    assert [level.starts.tolist() for level in case.levels] == [list(range(11)), [0, 2, 4, 6, 8]]
    assert case.levels[1].rows[-1] == case.sizes[8:].sum()


@pytest.mark.parametrize("counts", [[1], [1, 1, 1], [3, 3], [7, 2, 3]])
def test_too_few_batches_stay_as_they_are(counts: list[int]) -> None:
    (level,) = Case(counts, 1, 0).levels
    assert level.starts.tolist() == list(range(sum(counts)))


def test_joined_sums_are_sums_over_the_groups() -> None:
    case = Case([20, 9, 33], 4, 1)
    for level, groups in zip(case.levels, case.groups, strict=True):
        expected = [[case.sums[group, j].sum() for j in range(4)] for group in groups]
        assert level.joined(case.sums) == pytest.approx(np.array(expected), rel=1e-12)


# V_L


@every_case
@remembering
def test_variances_are_those_of_the_loop(
    counts: list[int], features: int, remembered: float
) -> None:
    case = Case(counts, features, 2, remembered)
    assert case.curves.shape == (len(case.levels), features)
    assert case.curves == pytest.approx(case.table, rel=1e-10)


@given(counts_of_chains.filter(lambda counts: max(counts) > 1), st.integers(0, 100))
def test_where_a_chain_is_does_not_matter(counts: list[int], seed: int) -> None:
    case = Case(counts, 3, seed)
    before = case.curves
    shifts = np.random.default_rng(seed).normal(0.0, 50.0, (len(counts), 3))
    case.sums = case.sums + case.sizes[:, None] * shifts[case.chains]
    assert case.curves == pytest.approx(before, rel=1e-9)


@given(st.floats(-1e3, 1e3).filter(lambda factor: abs(factor) > 1e-3))
def test_variances_grow_with_the_square_of_their_unit(factor: float) -> None:
    case = Case([20, 9], 3, 3)
    before = case.curves
    case.sums = factor * case.sums
    assert case.curves == pytest.approx(factor**2 * before, rel=1e-10)


def test_a_chain_of_one_batch_says_nothing_about_variances() -> None:
    alone, more = Case([30], 2, 4), Case([30], 2, 4)
    more.chains = np.append(alone.chains, 1)
    more.sizes, more.sums = np.append(alone.sizes, 5.0), np.vstack([alone.sums, [900.0, -7.0]])
    for level in (0, 1):
        own, other = (
            variance_curves(case.sums, [joinings(case.sizes, case.chains)[0]] * (level + 1))[level]
            for case in (alone, more)
        )
        assert other == pytest.approx(own, rel=1e-10)


def test_independent_rows_have_the_same_variance_in_batches_of_any_length() -> None:
    """Mean over 400 columns; the standard error of the mean is 0.03 at the longest."""
    rng = np.random.default_rng(5)
    sizes, chains = rng.integers(3, 9, 128).astype(float), np.repeat([0, 1], 64)
    sums = rng.standard_normal((128, 400)) * np.sqrt(2.0 * sizes)[:, None]
    curves = variance_curves(sums, joinings(sizes, chains)).mean(axis=1)
    assert curves == pytest.approx(np.full(5, 2.0), abs=0.16)


def test_weights_are_rows_that_repeat() -> None:
    """Sizes are sums of weights: twice the rows, twice the sums and half the variance per row."""
    case = Case([20, 9], 3, 3)
    twice = Case([20, 9], 3, 3)
    twice.sizes, twice.sums = 2.0 * case.sizes, 2.0 * case.sums
    assert twice.curves == pytest.approx(2.0 * case.curves, rel=1e-12)


def test_batches_without_weight_count_for_nothing() -> None:
    case, empty = Case([20], 2, 3), Case([20], 2, 3)
    empty.sizes = np.insert(case.sizes, 7, 0.0)
    empty.sums = np.insert(case.sums, 7, 0.0, axis=0)
    empty.chains = np.zeros(21, dtype=np.intp)
    assert empty.curves[0] == pytest.approx(case.curves[0], rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_chain_without_weight_is_no_error() -> None:
    case = Case([20, 20], 2, 3)
    case.sizes[20:], case.sums[20:] = 0.0, 0.0
    alone = Case([20], 2, 3)
    alone.sizes, alone.sums = case.sizes[:20], case.sums[:20]
    assert case.curves == pytest.approx(alone.curves, rel=1e-12)


# The memory of features together


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


def flat_levels(a_chain: int = 64, chains: int = 4) -> list[Joining]:
    return joinings(np.full(a_chain * chains, 8.0), np.repeat(np.arange(chains), a_chain))


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


# Fast and slow features


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


def test_inputs_are_left_alone() -> None:
    case = Case([20, 9, 33], 3, 1)
    before: Any = [case.sums.copy(), case.sizes.copy(), case.curves]
    curves = case.curves
    speeds(curves, case.levels)
    case.levels[0].joined(case.sums)
    assert np.array_equal(case.sums, before[0])
    assert np.array_equal(case.sizes, before[1])
    assert np.array_equal(curves, before[2])
