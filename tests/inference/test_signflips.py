"""Statistics of batch sums under sign flips, against loops over flips and features."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest

from polystein.errors import ScaleError
from polystein.inference import signflips
from polystein.inference.signflips import (
    FlippedStatistics,
    at_least_as_extreme,
    gamma_law,
    is_decided,
    maximum_law,
    random_signs,
    tamed,
    unit_columns,
)
from tests.conftest import Array
from tests.reference import check as literal


def batch_sums(batches: int, features: int, seed: int = 4) -> Array:
    return np.random.default_rng(seed).standard_normal((batches, features))


# Signs and statistics


def test_signs_are_fair_and_leave_the_draws_as_they_are() -> None:
    signs = random_signs(401, 50, np.random.default_rng(0), unflipped_first=True)
    assert signs.shape == (401, 50)
    assert np.all(signs[0] == 1.0)
    assert set(np.unique(signs[1:])) == {-1.0, 1.0}
    assert abs(signs[1:].mean()) < 4.0 / np.sqrt(signs[1:].size)
    # Neither patterns nor batches go together.
    for table in (signs[1:], signs[1:].T):
        products = table @ table.T / table.shape[1]
        off = products[np.triu_indices(len(table), 1)]
        assert np.abs(off).max() < 6.0 / np.sqrt(table.shape[1])
    again = random_signs(401, 50, np.random.default_rng(0), unflipped_first=True)
    assert np.array_equal(signs, again)


def test_further_signs_are_all_random() -> None:
    signs = random_signs(400, 50, np.random.default_rng(0))
    assert signs.shape == (400, 50)
    assert not np.all(signs[0] == 1.0)
    # They are those that come after an unflipped pattern, too.
    after = random_signs(401, 50, np.random.default_rng(0), unflipped_first=True)
    assert np.array_equal(after[1:], signs)


def added(parts: list[Array], signs: Array) -> FlippedStatistics:
    """Statistics of features that come in parts, in their order."""
    found, place = FlippedStatistics(len(signs)), 0
    for part in parts:
        places = np.arange(place, place + part.shape[1])
        found.add(part, signs, places=places, unflipped=1.0)
        place += part.shape[1]
    return found


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_statistics_are_the_loops(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many columns are taken at once, and however many come as one part."""
    sums = batch_sums(9, 7)
    sums[:, 2] = 0.0
    sums[:, 5] += 3.0
    signs = random_signs(20, 9, np.random.default_rng(1), unflipped_first=True)
    monkeypatch.setattr(signflips, "_COLUMNS_AT_ONCE", columns)
    total, largest = literal.statistics(sums, signs)
    squares = [literal.t_statistic(column, signs[0]) ** 2 for column in sums.T]
    for parts in ([sums], [sums[:, :3], sums[:, 3:]], list(np.split(sums, 7, axis=1))):
        found = added(parts, signs)
        assert found.total == pytest.approx(total, rel=1e-10)
        assert found.largest == pytest.approx(largest, rel=1e-10)
        assert found.position == int(np.argmax(squares)) == 5


def test_a_factor_deflates_the_draws_alone() -> None:
    sums = batch_sums(12, 4) + 0.5
    signs = random_signs(20, 12, np.random.default_rng(1), unflipped_first=True)
    pools = [
        literal.Pool([0, 2], [[k] for k in range(12)], 0.6),
        literal.Pool([1, 3], [[k] for k in range(12)], 0.9),
    ]
    total, largest = literal.statistics(sums, signs, pools)
    found = FlippedStatistics(20)
    for pool in pools:
        own = np.array(pool.columns)
        found.add(sums[:, own], signs, places=own, unflipped=pool.deflation)
    assert found.total == pytest.approx(total, rel=1e-10)
    assert found.largest == pytest.approx(largest, rel=1e-10)
    plain = added([sums], signs)
    assert found.total[0] < plain.total[0]
    assert found.total[1:] == pytest.approx(plain.total[1:], rel=1e-12)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_the_position_is_the_place_that_was_given(place: int) -> None:
    """Features of one group need not be neighbours in their family."""
    sums = batch_sums(30, 7)
    sums[:, place] = 1.0 + 0.01 * np.arange(30)
    signs = random_signs(20, 30, np.random.default_rng(1), unflipped_first=True)
    found = FlippedStatistics(20)
    for own in (np.array([1, 3, 5]), np.array([0, 2, 4, 6])):
        found.add(sums[:, own], signs, places=100 + own)
    assert found.position == 100 + place


def single(sums: Array) -> Any:
    return sums.astype(np.float32)


def test_sums_in_single_precision_have_the_same_statistics_but_for_rounding() -> None:
    sums = batch_sums(40, 1100)
    sums[:, 700] += 3.0
    sums[:, 5] = 0.0
    signs = random_signs(100, 40, np.random.default_rng(1), unflipped_first=True)
    double = added([sums], signs)
    for parts in ([single(sums)], [sums[:, :300], single(sums[:, 300:])]):
        found = added(parts, signs)
        assert found.total == pytest.approx(double.total, rel=1e-5)
        assert found.largest == pytest.approx(double.largest, rel=1e-5)
        assert found.total.dtype == found.largest.dtype == np.float64
        assert found.position == double.position == 700
    assert signs.dtype == np.float64


def test_patterns_of_signs_that_repeat_tie_in_single_precision() -> None:
    """A pattern and its opposite are the same; few batches have few patterns."""
    sums, signs = (
        single(batch_sums(8, 700)),
        random_signs(2_000, 8, np.random.default_rng(1), unflipped_first=True),
    )
    same = np.flatnonzero(np.abs(signs.sum(axis=1)) == 8.0)
    assert same.size > 2
    assert len(set(signs[same, 0].tolist())) == 2
    found = added([sums], signs)
    for values in (found.total, found.largest):
        assert values[same] == pytest.approx(np.full(same.size, values[0]), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e30])
def test_single_precision_has_a_range_of_its_own(scale: float) -> None:
    sums = batch_sums(40, 30)
    signs = random_signs(20, 40, np.random.default_rng(1), unflipped_first=True)
    with np.errstate(all="raise", under="ignore"):
        found = added([single(scale * sums)], signs)
    assert found.total == pytest.approx(added([sums], signs).total, rel=1e-4)
    # What is too small for it counts as zero.
    assert not added([single(1e-42 * sums)], signs).total.any()


def test_sums_that_are_all_zero_have_statistics_of_zero() -> None:
    signs = random_signs(20, 9, np.random.default_rng(1), unflipped_first=True)
    found = added([np.zeros((9, 3))], signs)
    assert found.total.tolist() == found.largest.tolist() == [0.0] * 20


def test_unit_columns_have_a_sum_of_squares_of_one() -> None:
    sums = batch_sums(9, 4)
    sums[:, 1] = 0.0
    unit = unit_columns(sums)
    assert np.sum(unit**2, axis=0) == pytest.approx([1.0, 0.0, 1.0, 1.0], rel=1e-14)
    norms = np.sqrt(np.sum(sums**2, axis=0))
    assert unit * norms == pytest.approx(sums, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_squares_of_sums_neither_vanish_nor_overflow(scale: float) -> None:
    sums = batch_sums(9, 4)
    assert unit_columns(scale * sums) == pytest.approx(unit_columns(sums), rel=1e-13)


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_sums_of_extreme_squares_are_divided_by_the_largest(unit: float) -> None:
    sums = unit * np.array([[1.0, -8.0, 0.0], [-4.0, 2.0, 0.0]])
    before = sums.copy()
    assert tamed(sums).tolist() == [[0.25, -1.0, 0.0], [-1.0, 0.25, 0.0]]
    unit_columns(sums)
    assert np.array_equal(sums, before)


def test_ordinary_sums_are_left_as_they_are() -> None:
    sums = np.array([[1.0, -8.0, 0.0], [-4.0, 2.0, 0.0]])
    before = sums.copy()
    assert tamed(sums) is sums
    unit_columns(sums)
    added([sums], np.ones((3, 2)))
    assert np.array_equal(sums, before)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_sums_that_overflowed_are_refused(value: float) -> None:
    sums = batch_sums(9, 4)
    sums[3, 2] = value
    with pytest.raises(ScaleError, match="a batch sum overflows"):
        tamed(sums)


# Tails


VALUES = np.array([0.1, 1.0, 4.0, 20.0])


def products(sums: Array) -> Array:
    unit = unit_columns(sums)
    return unit @ unit.T


def test_the_tail_of_a_maximum_is_that_of_the_fitted_law() -> None:
    reference = np.random.default_rng(8).chisquare(3.0, 200)
    expected = literal.maximum_tail(VALUES, reference)
    assert maximum_law(reference)(VALUES) == pytest.approx(expected, rel=1e-10)


def test_the_tail_of_a_sum_is_that_of_all_patterns_of_signs() -> None:
    """Mean and variance of all 512 patterns of nine batches are those of the formula."""
    sums = batch_sums(9, 4)
    sums[:, 2] = 0.0
    moments = literal.sum_moments(sums)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=9)))
    totals = literal.statistics(sums, np.concatenate([np.ones((1, 9)), signs]))[0][1:]
    assert moments == pytest.approx((totals.mean(), totals.var()), rel=1e-12)
    expected = literal.gamma_tail(VALUES, *moments)
    assert gamma_law(products(sums))(VALUES) == pytest.approx(expected, rel=1e-9)


def test_the_tail_of_a_maximum_is_exact_for_independent_squares() -> None:
    """Of maxima of 6 squared normals each, tails are uniform."""
    largest = (np.random.default_rng(9).standard_normal((4000, 6)) ** 2).max(axis=1)
    assert kstest(maximum_law(largest)(largest), "uniform").pvalue > 0.01


@pytest.mark.parametrize("value", [1.0, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("law", [gamma_law, maximum_law])
def test_tails_of_equal_values_are_numbers(law: Any, value: float) -> None:
    """Where one batch holds all, every flip has the same statistic."""
    one_batch = np.diag([value, 0.0, 0.0])
    found = law(one_batch if law is gamma_law else np.full(10, value))(np.full(10, value))
    assert np.all((found > 0.0) & (found <= 1.0))
    assert len(set(found.tolist())) == 1


@pytest.mark.parametrize("law", [gamma_law, maximum_law])
def test_tails_fall_from_one_to_zero(law: Any) -> None:
    reference = np.random.default_rng(8).chisquare(3.0, 200)
    of_sums = products(batch_sums(40, 3))
    found = law(of_sums if law is gamma_law else reference)(np.linspace(0.0, 600.0, 500))
    assert np.all(np.diff(found) <= 0.0)
    assert found[0] == pytest.approx(1.0)
    assert 0.0 <= found[-1] < 1e-50


# The smallest of several tails


def extreme(tails: Array, shares: Array) -> int:
    """The number of extreme patterns by their tails, which are those of their negatives."""
    statistics = [(-own, np.negative) for own in tails]
    return at_least_as_extreme(statistics, shares.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_extreme_flips_is_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tails, shares = rng.random((3, 50)), rng.dirichlet(np.ones(3))
    expected = literal.extreme(list(tails), shares.tolist())
    assert extreme(tails, shares) == expected


def test_the_number_of_extreme_flips_by_hand() -> None:
    tails = np.array([[0.2, 0.1, 0.9, 0.5], [0.3, 0.6, 0.02, 0.3]])
    # Over equal shares the least are 0.4, 0.2, 0.04, 0.6: three of four are no larger than 0.4.
    assert extreme(tails, np.array([0.5, 0.5])) == 3
    # Over 0.9 and 0.1 they are 0.22, 0.11, 0.2, 0.56.
    assert extreme(tails, np.array([0.9, 0.1])) == 3
    assert extreme(tails[1:], np.array([1.0])) == 3
    assert extreme(tails[:1], np.array([1.0])) == 2


def test_columns_that_are_equal_but_for_rounding_count() -> None:
    tails = np.array([[0.1, 0.1 * (1.0 + 1e-12), 0.1 * (1.0 + 1e-6), 0.9]])
    assert extreme(tails, np.ones(1)) == 2
    assert extreme(np.ones((2, 7)), np.array([0.4, 0.6])) == 7


@given(st.integers(1, 400), st.integers(0, 3))
def test_the_draws_always_count(flips: int, seed: int) -> None:
    tails = np.random.default_rng(seed).random((2, flips))
    assert 1 <= extreme(tails, np.array([0.3, 0.7])) <= flips


@pytest.mark.parametrize("first", [0.0, 4.0, 9.0, 30.0, 900.0])
@pytest.mark.parametrize("flips", [20, 500, 2_000])
def test_tails_that_are_not_computed_would_not_count(first: float, flips: int) -> None:
    """The draws may be anywhere among their flips, and flips may tie with them."""
    rng = np.random.default_rng(flips)
    totals, largest = rng.chisquare(5.0, flips), rng.chisquare(1.0, (4, flips)).max(axis=0)
    totals[:2], largest[[0, 5]] = first, 0.5 * first
    statistics = [
        (totals, gamma_law(products(batch_sums(40, 5)))),
        (largest, maximum_law(largest)),
    ]
    tails = [law(values).tolist() for values, law in statistics]
    assert at_least_as_extreme(statistics, [0.3, 0.7]) == literal.extreme(tails, [0.3, 0.7])


# When flips stop


@given(
    st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))),
    st.lists(st.floats(0.001, 0.2), max_size=4),
)
def test_decisions_are_those_of_the_loop(counts: tuple[int, int], levels: list[float]) -> None:
    assert is_decided(*counts, levels) == literal.is_decided(*counts, levels)


def test_a_p_value_near_a_level_is_undecided() -> None:
    """Of 500 flips three standard errors of 0.05 are 0.029."""
    assert not is_decided(25, 500, [0.05])
    assert not is_decided(38, 500, [0.05])
    assert is_decided(50, 500, [0.05])
    assert is_decided(9, 500, [0.05])
    assert not is_decided(9, 500, [0.05, 0.01])
    # More flips decide it.
    assert not is_decided(1_060, 20_000, [0.05])
    assert is_decided(1_160, 20_000, [0.05])


def test_without_levels_all_is_decided() -> None:
    assert is_decided(25, 500, [])


def test_the_smallest_p_value_is_undecided_near_small_levels_only() -> None:
    """1 of 500, whose standard error is about 0.002."""
    assert not is_decided(1, 500, [0.001])
    assert not is_decided(1, 500, [0.0076])
    assert is_decided(1, 500, [0.05])


def test_all_flips_alike_are_decided() -> None:
    """A p-value of 1 has no error."""
    assert is_decided(500, 500, [0.1, 0.05])
    assert not is_decided(500, 500, [1.0])


def test_seldom_does_a_decision_fall_on_the_wrong_side() -> None:
    """Counts of 500 flips at a true p-value of 0.06 are decided below 0.05 in 1 of 1,000."""
    counts = np.random.default_rng(0).binomial(500, 0.06, 5_000)
    wrong = sum(is_decided(int(count), 500, [0.05]) and count <= 25 for count in counts)
    assert binomtest(wrong, 5_000, 0.001, alternative="greater").pvalue > 0.01
