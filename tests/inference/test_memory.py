"""Joined batches, and the variances of sums over longer and longer ones."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystein.inference.memory import (
    chain_borders,
    group_starts,
    joinings,
    speeds,
    variance_curves,
)
from tests.inference.batch_cases import (
    Case,
    counts_of_chains,
    every_case,
    remembering,
)
from tests.reference import memory as literal

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
    assert group_starts(np.bincount(chains), together).tolist() == expected
    # Only where chains change matters, and not what they are called.
    assert (
        group_starts(np.diff(chain_borders(3 * chains + 2), append=chains.size), together).tolist()
        == expected
    )


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


def test_inputs_are_left_alone() -> None:
    case = Case([20, 9, 33], 3, 1)
    before: Any = [case.sums.copy(), case.sizes.copy(), case.curves]
    curves = case.curves
    speeds(curves, case.levels)
    case.levels[0].joined(case.sums)
    assert np.array_equal(case.sums, before[0])
    assert np.array_equal(case.sizes, before[1])
    assert np.array_equal(curves, before[2])
