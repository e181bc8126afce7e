"""Splits give every row one role, at random or by time, and never reorder."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import polystein as ps
from polystein.data.source import Layout
from polystein.data.split import Partition
from polystein.errors import InputError
from polystein.types import Role
from tests.rows import row_numbers

ROLES: tuple[Role, ...] = ("witness", "weights", "test")
EVERY_ROLE: tuple[Role, ...] = (*ROLES[:2], "gap", "test")
TIMED: list[Any] = [ps.BlockSplit(gap=0), ps.BlockSplit(gap=7), ps.BlockSplit(), ps.ChainSplit()]


def partition_of(n: int, split: ps.RandomSplit | None = None, seed: int = 0) -> Partition:
    split = ps.RandomSplit() if split is None else split
    return split.partition(Layout((n,), 2, False), np.random.default_rng(seed))


# At random


@pytest.mark.parametrize(
    ("n", "split", "counts"),
    [
        (1000, ps.RandomSplit(0.7), (350, 350, 300)),
        (10, ps.RandomSplit(0.7), (4, 3, 3)),
        (100, ps.RandomSplit(0.5, 0.2), (40, 10, 50)),
        (99, ps.RandomSplit(0.29), (14, 14, 71)),
    ],
)
def test_fractions_are_those_of_the_paper(n: int, split: ps.RandomSplit, counts: Any) -> None:
    partition = partition_of(n, split)
    assert tuple(partition.count(role) for role in ROLES) == counts
    assert partition.count("witness", "weights") == counts[0] + counts[1]
    assert partition.count("gap") == 0


def test_every_row_has_one_role_and_order_is_kept() -> None:
    partition = partition_of(101)
    rows = [row_numbers(partition.rows(role)) for role in ROLES]
    assert all(np.all(np.diff(part) > 0) for part in rows)
    assert sorted(np.concatenate(rows)) == list(range(101))
    both = row_numbers(partition.rows("witness", "weights"))
    assert np.array_equal(both, np.sort(np.concatenate(rows[:2])))


def test_chains_keep_their_rows_apart() -> None:
    layout = Layout((30, 20), 2, True)
    partition = ps.RandomSplit().partition(layout, np.random.default_rng(0))
    stretches = [(rows.chain, rows.start, rows.stop) for rows in partition.rows("test")]
    assert stretches == [(0, 0, 30), (1, 0, 20)]
    masks = [rows.mask for rows in partition.rows("test") if rows.mask is not None]
    assert [len(mask) for mask in masks] == [30, 20]
    assert sum(int(mask.sum()) for mask in masks) == partition.count("test") == 15


def test_every_row_is_as_likely_to_test() -> None:
    rng = np.random.default_rng(5)
    layout = Layout((10,), 2, False)
    counts = np.zeros(10)
    for _ in range(2000):
        counts[row_numbers(ps.RandomSplit(0.7).partition(layout, rng).rows("test"))] += 1
    assert counts.sum() == 6000
    assert min(stats.binomtest(int(k), 2000, 0.3).pvalue for k in counts) > 0.001


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.5, float("nan"), True, "0.7", None])
@pytest.mark.parametrize("argument", ["train", "weights"])
def test_fractions_outside_the_open_unit_interval_are_refused(argument: str, value: Any) -> None:
    message = f"`{argument}` must be a fraction strictly between 0 and 1; got {value!r}"
    with pytest.raises(InputError, match=message):
        ps.RandomSplit(**{argument: value})


@pytest.mark.parametrize(
    ("n", "role", "left", "least"),
    [(1, "witness", 0, 1), (4, "weights", 1, 2), (3, "weights", 1, 2)],
)
def test_too_few_rows_are_refused(n: int, role: str, left: int, least: int) -> None:
    message = rf"`draws` must have more rows for .*: of {n} it leaves {left} .*'{role}'.* {least}"
    with pytest.raises(InputError, match=message):
        partition_of(n)


def test_too_few_rows_to_test_are_refused() -> None:
    message = "of 10 it leaves 1 for the role 'test', which needs at least 2"
    with pytest.raises(InputError, match=message):
        partition_of(10, ps.RandomSplit(0.9))


def test_the_tests_refuse_too_few_draws() -> None:
    for test in (ps.psd_test, ps.lambda_psd_test):
        with pytest.raises(InputError, match="`draws` must have more rows for RandomSplit"):
            test(np.arange(3.0)[:, None], np.ones((3, 1)), order=1, rng=0)


# By time: blocks of every chain, and whole chains


def timed_partition(split: Any, *lengths: int) -> Partition:
    result: Partition = split.partition(Layout(lengths, 2, True), np.random.default_rng(0))
    return result


def stretches(partition: Partition, *roles: Role) -> list[tuple[int, int, int]]:
    """(chain, start, stop); a split that keeps time needs no mask."""
    parts = list(partition.rows(*roles))
    assert all(rows.mask is None for rows in parts)
    return [(rows.chain, rows.start, rows.stop) for rows in parts]


def rows_of(partition: Partition, *roles: Role) -> list[tuple[int, int]]:
    return [
        (chain, row)
        for chain, start, stop in stretches(partition, *roles)
        for row in range(start, stop)
    ]


@given(
    lengths=st.lists(st.integers(24, 90), min_size=2, max_size=5),
    train=st.floats(0.3, 0.6),
    weights=st.floats(0.2, 0.8),
    gap=st.integers(0, 60),
    rule=st.sampled_from(["fixed", "auto", "chains"]),
)
def test_every_row_has_one_role_and_time_is_kept(
    lengths: list[int], train: float, weights: float, gap: int, rule: str
) -> None:
    if rule == "chains":
        partition = timed_partition(ps.ChainSplit(train, weights), *lengths)
    elif rule == "auto":
        partition = timed_partition(ps.BlockSplit(train, "auto", weights), *lengths).with_gap(gap)
    else:
        partition = timed_partition(ps.BlockSplit(train, min(gap, 5), weights), *lengths)
    parts = [rows_of(partition, role) for role in EVERY_ROLE]
    every = [(chain, row) for chain, length in enumerate(lengths) for row in range(length)]
    assert sorted(row for part in parts for row in part) == every
    assert all(part == sorted(part) for part in parts)
    assert [partition.count(role) for role in EVERY_ROLE] == [len(part) for part in parts]
    assert rows_of(partition, *EVERY_ROLE) == every
    assert partition.count(*EVERY_ROLE) == sum(lengths)


def test_blocks_train_early_and_test_late() -> None:
    partition = timed_partition(ps.BlockSplit(0.5, gap=10), 100, 60)
    assert stretches(partition, "witness") == [(0, 0, 25), (1, 0, 15)]
    assert stretches(partition, "weights") == [(0, 25, 50), (1, 15, 30)]
    assert stretches(partition, "gap") == [(0, 50, 60), (1, 30, 40)]
    assert stretches(partition, "test") == [(0, 60, 100), (1, 40, 60)]
    assert stretches(partition, "witness", "weights") == [(0, 0, 50), (1, 0, 30)]
    # Asked for in any order, they come in time order, and only where they touch as one.
    assert stretches(partition, "test", "witness") == [
        (0, 0, 25), (0, 60, 100), (1, 0, 15), (1, 40, 60),
    ]  # fmt: skip


def test_the_generator_plays_no_part() -> None:
    for split in TIMED:
        rng = np.random.default_rng(3)
        split.partition(Layout((50, 50), 2, True), rng)
        assert rng.random() == np.random.default_rng(3).random()


def test_only_an_automatic_gap_is_awaited() -> None:
    assert [timed_partition(split, 50, 50).awaits_gap for split in TIMED] == [
        False, False, True, False,
    ]  # fmt: skip
    automatic = timed_partition(ps.BlockSplit(), 50, 50)
    assert automatic.count("gap") == 0
    assert not automatic.with_gap(3).awaits_gap


@pytest.mark.parametrize(("gap", "dropped"), [(0, 0), (3, 3), (25, 25), (26, 25), (10**9, 25)])
def test_an_automatic_gap_leaves_half_of_the_test_rows(gap: int, dropped: int) -> None:
    partition = timed_partition(ps.BlockSplit(), 100, 100).with_gap(gap)
    assert stretches(partition, "test") == [(c, 50 + dropped, 100) for c in (0, 1)]
    assert partition.count("gap") == 2 * dropped
    assert stretches(partition, "witness", "weights") == [(0, 0, 50), (1, 0, 50)]


def test_whole_chains_train_or_test() -> None:
    partition = timed_partition(ps.ChainSplit(0.5, 0.25), 20, 40, 30, 10)
    assert stretches(partition, "witness") == [(0, 0, 15), (1, 0, 30)]
    assert stretches(partition, "weights") == [(0, 15, 20), (1, 30, 40)]
    assert stretches(partition, "test") == [(2, 0, 30), (3, 0, 10)]
    assert partition.count("gap") == 0


@pytest.mark.parametrize(
    ("train", "chains", "training"), [(0.01, 4, 1), (0.99, 4, 3), (0.5, 2, 1), (0.7, 10, 7)]
)
def test_at_least_one_chain_trains_and_one_tests(train: float, chains: int, training: int) -> None:
    partition = timed_partition(ps.ChainSplit(train), *[20] * chains)
    assert {chain for chain, _, _ in stretches(partition, "test")} == set(range(training, chains))


# Errors of splits that keep time


@pytest.mark.parametrize("gap", [-1, 1.5, "none", None, float("nan")])
def test_bad_gaps_are_refused(gap: Any) -> None:
    with pytest.raises(InputError, match=r"`gap` must be an integer >= 0 or 'auto'; got"):
        ps.BlockSplit(gap=gap)


@pytest.mark.parametrize("split", [ps.BlockSplit, ps.ChainSplit])
@pytest.mark.parametrize("argument", ["train", "weights"])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, float("nan"), "half"])
def test_bad_fractions_are_refused(split: Any, argument: str, value: Any) -> None:
    message = f"`{argument}` must be a fraction strictly between 0 and 1; got {value!r}"
    with pytest.raises(InputError, match=message):
        split(**{argument: value})


def test_one_chain_cannot_be_split_by_chains() -> None:
    with pytest.raises(InputError, match=r"`draws` must have at least 2 chains.*got 1 chain"):
        timed_partition(ps.ChainSplit(), 100)


@pytest.mark.parametrize("gap", [49, 50, 1000])
def test_a_gap_that_leaves_nothing_to_test_is_refused(gap: int) -> None:
    left = max(0, 50 - gap)
    message = rf"of 100 it leaves {left} for the role 'test', which needs at least 2"
    with pytest.raises(InputError, match=message):
        timed_partition(ps.BlockSplit(gap=gap), 100)


def test_a_witness_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="leaves 0 for the role 'witness'"):
        timed_partition(ps.BlockSplit(0.1), 9, 9)


def test_they_say_what_they_are() -> None:
    assert repr(ps.BlockSplit()) == "BlockSplit(train=0.5, gap='auto', weights=0.5)"
    assert repr(ps.ChainSplit(0.25)) == "ChainSplit(train=0.25, weights=0.5)"
    assert ps.BlockSplit(gap=3) == ps.BlockSplit(gap=3) != ps.BlockSplit(gap=4)
