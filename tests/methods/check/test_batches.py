"""Stretches of chains, the batches they make, and which rows of a block belong to which."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystein.data import passes
from polystein.data.passes import every_row, visit_blocks
from polystein.data.source import Block, Layout, Run, complete
from polystein.methods.check.batches import (
    FEWEST_ROWS,
    MOST_BATCHES,
    Batches,
    Stretch,
    cut,
)
from tests.reference import check as literal
from tests.sources import MinimalSource


def layout(*lengths: int) -> Layout:
    return Layout(lengths, 1, True)


def least_and_gap(time: float | None) -> tuple[int, int]:
    if time is None:
        return 4, 0
    return max(4, math.ceil(4.0 * time)), math.ceil(time)


lengths = st.lists(st.integers(1, 400), min_size=1, max_size=8)
times = st.none() | st.floats(1.0, 60.0)


@given(lengths, times)
def test_stretches_keep_their_distance_and_their_length(sizes: list[int], time: Any) -> None:
    least, gap = least_and_gap(time)
    found = cut(layout(*sizes), time).stretches
    for chain, rows in enumerate(sizes):
        own = [stretch for stretch in found if stretch.chain == chain]
        assert (own[0].start, own[-1].stop) == (0, rows)
        for before, after in itertools.pairwise(own):
            assert after.start - before.stop == gap
        sizes_of_own = [stretch.stop - stretch.start for stretch in own]
        assert max(sizes_of_own) - min(sizes_of_own) <= 1
        # One that is too short is a whole chain.
        assert min(sizes_of_own) >= min(least, rows)


@given(lengths)
def test_independent_rows_are_all_used_once(sizes: list[int]) -> None:
    found = cut(layout(*sizes), None).stretches
    rows = [(s.chain, t) for s in found for t in range(s.start, s.stop)]
    assert rows == [(chain, t) for chain, size in enumerate(sizes) for t in range(size)]


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=8), times)
def test_batches_are_numbered_and_few(sizes: list[int], time: Any) -> None:
    found = cut(layout(*sizes), time)
    numbers = [stretch.batch for stretch in found.stretches]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(numbers[-1] + 1))
    assert numbers[-1] < MOST_BATCHES
    assert found.count == numbers[-1] + 1


def test_many_rows_make_as_many_batches_as_there_may_be() -> None:
    for rows in (1000, 1001, 100_000):
        found = cut(layout(rows), None).stretches
        assert len(found) == MOST_BATCHES
        assert min(stretch.stop - stretch.start for stretch in found) == rows // MOST_BATCHES


def test_few_rows_make_batches_of_four() -> None:
    assert cut(layout(10), None).stretches == (Stretch(0, 0, 5, 0), Stretch(0, 5, 10, 1))
    assert cut(layout(999), None).count == 999 // FEWEST_ROWS


def test_chains_are_cut_with_a_time_between() -> None:
    """A time of 2.5 asks for 10 rows a stretch and 3 between; 36 rows hold three."""
    assert cut(layout(36, 5), 2.5).stretches == (
        Stretch(0, 0, 10, 0),
        Stretch(0, 13, 23, 1),
        Stretch(0, 26, 36, 2),
        Stretch(1, 0, 5, 3),
    )


def test_more_chains_than_batches_share_them() -> None:
    found = cut(layout(*[6] * 300), 1.0).stretches
    assert [stretch[:3] for stretch in found] == [(chain, 0, 6) for chain in range(300)]
    counts = np.bincount([stretch.batch for stretch in found])
    assert counts.size == MOST_BATCHES
    assert set(counts.tolist()) == {1, 2}


# Neighbours


def test_neighbours_are_batches_of_one_chain() -> None:
    """Chains of 9, 4 and 13 rows are cut into two, one and three batches."""
    found = cut(layout(9, 4, 13), None)
    assert [place.chain for place in found.stretches] == [0, 0, 1, 2, 2, 2]
    assert found.neighbours.tolist() == [True, False, False, True, True]


@given(lengths, times)
def test_neighbours_are_those_of_the_loop(sizes: list[int], time: Any) -> None:
    found = cut(layout(*sizes), time)
    assert found.neighbours.tolist() == literal.neighbours(found.stretches)


def test_one_batch_has_no_neighbour() -> None:
    assert cut(layout(3), None).neighbours.size == 0


# Segments of a block


def labels(batches: Batches, sizes: list[int]) -> list[list[int]]:
    """The batch of every row of every chain, row by row; -1 between batches."""
    result = [[-1] * size for size in sizes]
    for chain, start, stop, batch in batches.stretches:
        for t in range(start, stop):
            result[chain][t] = batch
    return result


def labels_of(batches: Batches, block: Block) -> list[int]:
    """The same for the rows of a block, from its segments."""
    result = [-1] * block.rows
    for low, high, batch in zip(*batches.segments(block), strict=True):
        assert 0 <= low < high <= block.rows
        assert set(result[low:high]) == {-1}
        result[low:high] = [int(batch)] * int(high - low)
    return result


@pytest.mark.parametrize("rows", [1, 3, 7, 50, 5000])
@pytest.mark.parametrize("time", [None, 1.0, 2.5, 11.0])
@pytest.mark.parametrize("sizes", [[61], [61, 2, 33, 1, 40], [20] * 60, [6] * 300])
def test_segments_are_the_rows_of_the_batches(
    sizes: list[int], time: float | None, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However rows are cut into blocks, and chains joined to them."""
    monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    zeros = [np.zeros((size, 1)) for size in sizes]
    source = complete(MinimalSource([(part, part) for part in zeros], time_ordered=True))
    batches = cut(source.layout, time)
    expected, found, runs = labels(batches, sizes), [[] for _ in sizes], []

    def visit(block: Block) -> None:
        own = labels_of(batches, block)
        runs.append(len(block.runs))
        for run in block.runs:
            found[run.chain] += own[run.low : run.high]

    visit_blocks(source, every_row(source), visit)
    assert found == expected
    if rows == 5000:
        assert runs == [len(sizes)]


def test_a_block_between_batches_has_no_segment() -> None:
    batches = Batches((Stretch(0, 0, 10, 0), Stretch(0, 30, 40, 1)))
    rows = np.zeros((20, 1))
    assert batches.segments(Block(rows, rows, None, 0, 10)).batch.size == 0
    assert labels_of(batches, Block(rows, rows, None, 0, 11)) == [-1] * 19 + [1]


def test_segments_of_joined_chains_are_counted_from_the_start_of_the_block() -> None:
    batches = Batches((Stretch(0, 0, 5, 0), Stretch(1, 0, 3, 0), Stretch(1, 4, 8, 1)))
    rows = np.zeros((7, 1))
    block = Block(rows, rows, None, 0, 3, (Run(0, 3, 0, 2), Run(1, 1, 2, 7)))
    assert [part.tolist() for part in batches.segments(block)] == [[0, 2, 5], [2, 4, 7], [0, 0, 1]]


# Joined batches


@given(lengths, times, st.lists(st.integers(2, 9), min_size=1, max_size=3))
def test_joined_batches_are_those_of_the_loop(
    sizes: list[int], time: Any, counts: list[int]
) -> None:
    """Joined once or several times over."""
    batches = cut(layout(*sizes), time)
    for count in counts:
        expected = literal.groups(batches.stretches, count)
        starts, joined = batches.merged(count)
        assert starts.tolist() == [group[0] for group in expected]
        number = {batch: k for k, group in enumerate(expected) for batch in group}
        assert joined.stretches == tuple(
            (chain, start, stop, number[batch]) for chain, start, stop, batch in batches.stretches
        )
        assert joined.count == len(expected)
        assert joined.neighbours.tolist() == literal.neighbours(joined.stretches)
        batches = joined


def test_what_is_left_over_at_the_end_of_a_chain_joins_the_group_before_it() -> None:
    """Seven, two and four batches of three chains, three of them at a time."""
    batches = cut(layout(28, 8, 16), None)
    assert np.bincount([place.chain for place in batches.stretches]).tolist() == [7, 2, 4]
    starts, joined = batches.merged(3)
    assert starts.tolist() == [0, 3, 7, 9]
    assert [place.batch for place in joined.stretches] == [0] * 3 + [1] * 4 + [2] * 2 + [3] * 4
    assert joined.neighbours.tolist() == [True, False, False]


def test_batches_of_different_chains_are_not_joined() -> None:
    batches = cut(layout(*[4] * 30), None)
    starts, joined = batches.merged(5)
    assert starts.tolist() == list(range(30))
    assert joined.stretches == batches.stretches
