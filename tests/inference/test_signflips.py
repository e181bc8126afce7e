"""Statistics of batch sums under sign flips, against loops over flips and features."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from polystein.errors import ScaleError
from polystein.inference import signflips
from polystein.inference.signflips import (
    calibrated_minimum,
    flipped_statistics,
    gamma_tail,
    maximum_tail,
    neighbour_correlations,
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
    signs = random_signs(400, 50, np.random.default_rng(0))
    assert signs.shape == (401, 50)
    assert np.all(signs[0] == 1.0)
    assert set(np.unique(signs[1:])) == {-1.0, 1.0}
    assert abs(signs[1:].mean()) < 4.0 / np.sqrt(signs[1:].size)
    assert np.array_equal(signs, random_signs(400, 50, np.random.default_rng(0)))


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_statistics_are_the_loops(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many columns are taken at once, and however many come as one part."""
    sums = batch_sums(9, 7)
    sums[:, 2] = 0.0
    sums[:, 5] += 3.0
    signs = random_signs(19, 9, np.random.default_rng(1))
    monkeypatch.setattr(signflips, "_COLUMNS_AT_ONCE", columns)
    total, largest = literal.statistics(sums, signs)
    squares = [literal.t_statistic(column, signs[0]) ** 2 for column in sums.T]
    for parts in ([sums], [sums[:, :3], sums[:, 3:]], list(np.split(sums, 7, axis=1))):
        found = flipped_statistics(iter(parts), signs)
        assert found.total == pytest.approx(total, rel=1e-10)
        assert found.largest == pytest.approx(largest, rel=1e-10)
        assert found.position == int(np.argmax(squares)) == 5


def single(sums: Array) -> Any:
    return sums.astype(np.float32)


def test_sums_in_single_precision_have_the_same_statistics_but_for_rounding() -> None:
    sums = batch_sums(40, 1100)
    sums[:, 700] += 3.0
    sums[:, 5] = 0.0
    signs = random_signs(99, 40, np.random.default_rng(1))
    double = flipped_statistics([sums], signs)
    for parts in ([single(sums)], [sums[:, :300], single(sums[:, 300:])]):
        found = flipped_statistics(parts, signs)
        assert found.total == pytest.approx(double.total, rel=1e-5)
        assert found.largest == pytest.approx(double.largest, rel=1e-5)
        assert found.total.dtype == found.largest.dtype == np.float64
        assert found.position == double.position == 700
    assert signs.dtype == np.float64


def test_patterns_of_signs_that_repeat_tie_in_single_precision() -> None:
    """A pattern and its opposite are the same; few batches have few patterns."""
    sums, signs = single(batch_sums(8, 700)), random_signs(499, 8, np.random.default_rng(1))
    same = np.flatnonzero(np.abs(signs.sum(axis=1)) == 8.0)
    assert same.size > 2
    found = flipped_statistics([sums], signs)
    for values in (found.total, found.largest):
        assert values[same] == pytest.approx(np.full(same.size, values[0]), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e30])
def test_single_precision_has_a_range_of_its_own(scale: float) -> None:
    sums = batch_sums(40, 30)
    signs = random_signs(19, 40, np.random.default_rng(1))
    with np.errstate(all="raise", under="ignore"):
        found = flipped_statistics([single(scale * sums)], signs)
    assert found.total == pytest.approx(flipped_statistics([sums], signs).total, rel=1e-4)
    # What is too small for it counts as zero.
    assert not flipped_statistics([single(1e-42 * sums)], signs).total.any()


def test_sums_that_are_all_zero_have_statistics_of_zero() -> None:
    found = flipped_statistics([np.zeros((9, 3))], random_signs(19, 9, np.random.default_rng(1)))
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


def test_tamed_sums_are_a_copy_over_the_largest() -> None:
    sums = np.array([[1.0, -8.0, 0.0], [-4.0, 2.0, 0.0]])
    before = sums.copy()
    assert tamed(sums).tolist() == [[0.25, -1.0, 0.0], [-1.0, 0.25, 0.0]]
    unit_columns(sums)
    neighbour_correlations(sums, np.ones(1, dtype=bool))
    assert np.array_equal(sums, before)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_sums_that_overflowed_are_refused(value: float) -> None:
    sums = batch_sums(9, 4)
    sums[3, 2] = value
    with pytest.raises(ScaleError, match="a batch sum overflows"):
        tamed(sums)


# Neighbours


def test_correlations_of_neighbours_are_the_loop() -> None:
    sums = np.cumsum(batch_sums(40, 5), axis=0)
    sums[:, 3] = 7.0
    centred, correlation = neighbour_correlations(sums, np.ones(39, dtype=bool))
    assert correlation == pytest.approx([literal.lag_one(column) for column in sums.T], rel=1e-12)
    assert correlation[3] == 0.0
    assert centred.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-14)


def test_correlations_in_single_precision() -> None:
    """A column that varies only by rounding counts as uncorrelated there, too."""
    sums = np.cumsum(batch_sums(40, 5), axis=0)
    sums[:, 3] = 0.7 * (1.0 + 1e-8 * np.arange(40))
    _, correlation = neighbour_correlations(single(sums), np.ones(39, dtype=bool))
    wanted = [literal.lag_one(column) for column in sums.T]
    wanted[3] = 0.0
    assert correlation == pytest.approx(wanted, rel=1e-4)


def test_batches_across_a_border_are_no_neighbours() -> None:
    """The last batch of one chain and the first of the next."""
    sums, neighbours = batch_sums(12, 3), np.ones(11, dtype=bool)
    neighbours[[4, 8]] = False
    _, correlation = neighbour_correlations(sums, neighbours)
    centred = sums - sums.mean(axis=0)
    products = sum(centred[k] * centred[k + 1] for k in range(11) if k not in (4, 8))
    assert correlation == pytest.approx(products / np.sum(centred**2, axis=0), rel=1e-12)


# Tails


@pytest.mark.parametrize(
    ("tail", "law"),
    [(gamma_tail, literal.gamma_tail), (maximum_tail, literal.maximum_tail)],
)
def test_tails_are_those_of_the_fitted_laws(tail: Any, law: Any) -> None:
    reference = np.random.default_rng(8).chisquare(3.0, 200)
    values = np.array([0.1, 1.0, 4.0, 20.0])
    assert tail(values, reference) == pytest.approx(law(values, reference), rel=1e-10)


def test_the_tail_of_a_maximum_is_exact_for_independent_squares() -> None:
    """Of maxima of 6 squared normals each, tails are uniform."""
    largest = (np.random.default_rng(9).standard_normal((4000, 6)) ** 2).max(axis=1)
    assert kstest(maximum_tail(largest, largest), "uniform").pvalue > 0.01


@pytest.mark.parametrize("value", [1.0, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("tail", [gamma_tail, maximum_tail])
def test_tails_of_equal_values_are_numbers(tail: Any, value: float) -> None:
    """Where one batch holds all, every flip has the same statistic."""
    found = tail(np.full(10, value), np.full(10, value))
    assert np.all((found > 0.0) & (found <= 1.0))
    assert len(set(found.tolist())) == 1


# The smallest of several tails


@pytest.mark.parametrize("seed", range(4))
def test_the_calibrated_minimum_is_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tails, shares = rng.random((3, 50)), rng.dirichlet(np.ones(3))
    expected = literal.min_p(list(tails), shares.tolist())
    assert calibrated_minimum(tails, shares) == pytest.approx(expected, rel=1e-14)


def test_the_calibrated_minimum_by_hand() -> None:
    tails = np.array([[0.2, 0.1, 0.9, 0.5], [0.3, 0.6, 0.02, 0.3]])
    # Over equal shares the least are 0.4, 0.2, 0.04, 0.6: three of four are no larger than 0.4.
    assert calibrated_minimum(tails, np.array([0.5, 0.5])) == 0.75
    # Over 0.9 and 0.1 they are 0.22, 0.11, 0.2, 0.56.
    assert calibrated_minimum(tails, np.array([0.9, 0.1])) == 0.75
    assert calibrated_minimum(tails[1:], np.array([1.0])) == 0.75
    assert calibrated_minimum(tails[:1], np.array([1.0])) == 0.5


def test_columns_that_are_equal_but_for_rounding_count() -> None:
    tails = np.array([[0.1, 0.1 * (1.0 + 1e-12), 0.1 * (1.0 + 1e-6), 0.9]])
    assert calibrated_minimum(tails, np.ones(1)) == 0.5
    assert calibrated_minimum(np.ones((2, 7)), np.array([0.4, 0.6])) == 1.0
