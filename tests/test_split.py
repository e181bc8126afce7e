"""Splits give every row one role, at random, and never reorder."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polystein as ps
from polystein.errors import InputError
from polystein.protocols import Layout, Partition, Role
from tests.conftest import row_numbers

ROLES: tuple[Role, ...] = ("witness", "weights", "test")


def partition_of(n: int, split: ps.RandomSplit | None = None, seed: int = 0) -> Partition:
    split = ps.RandomSplit() if split is None else split
    return split.partition(Layout((n,), 2, False), np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("n", "split", "counts"),
    [
        (1000, ps.RandomSplit(0.7), (350, 350, 300)),
        (10, ps.RandomSplit(0.7), (4, 3, 3)),
        (100, ps.RandomSplit(0.5, 0.2), (40, 10, 50)),
        (99, ps.RandomSplit(0.29), (14, 14, 71)),
    ],
)
def test_shares_are_those_of_the_paper(n: int, split: ps.RandomSplit, counts: Any) -> None:
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
def test_shares_outside_the_open_unit_interval_are_refused(argument: str, value: Any) -> None:
    message = f"`{argument}` must be a share strictly between 0 and 1; got {value!r}"
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
