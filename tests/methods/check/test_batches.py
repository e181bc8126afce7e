"""Stretches of chains, the batches they make, and which rows of a block belong to which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystein.data import passes
from polystein.data.passes import every_row, visit_blocks
from polystein.data.source import Block, ChainRows, Layout, complete
from polystein.methods.check.batches import (
    MANY_CHAINS,
    MANY_SHORT_CHAINS,
    MOST_BATCHES_OF_CHAINS,
    MOST_BATCHES_OF_ROWS,
    ROWS_A_BATCH,
    SHORT_CHAIN,
    Batches,
    Stretch,
    chains_are_batches,
    cut,
)
from tests.reference import check as literal
from tests.sources import MinimalSource


def layout(*lengths: int) -> Layout:
    return Layout(lengths, 1, True)


lengths = st.lists(st.integers(1, 400), min_size=1, max_size=8)
of_chains = pytest.mark.parametrize("chains", [False, True])


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=40), st.booleans())
def test_stretches_are_those_of_the_loop(sizes: list[int], chains: bool) -> None:
    found = cut(layout(*sizes), chains=chains)
    many = 16 if min(sizes) < 64 else 32
    expected = literal.cut(
        sizes,
        ROWS_A_BATCH,
        MOST_BATCHES_OF_CHAINS if chains else MOST_BATCHES_OF_ROWS,
        whole=chains and len(sizes) >= many,
    )
    assert found.count == 1 + expected[-1][3]
    assert len(found.stretches) == len(expected)
    for own, wanted in zip(found.stretches, expected, strict=True):
        assert (own.chain, own.batch) == (wanted[0], wanted[3])
        # Rounding may move a border by a row.
        assert abs(own.start - wanted[1]) <= 1
        assert abs(own.stop - wanted[2]) <= 1


@given(lengths, st.booleans())
def test_all_rows_are_used_once(sizes: list[int], chains: bool) -> None:
    found = cut(layout(*sizes), chains=chains).stretches
    rows = [(s.chain, t) for s in found for t in range(s.start, s.stop)]
    assert rows == [(chain, t) for chain, size in enumerate(sizes) for t in range(size)]


@given(lengths, st.booleans())
def test_stretches_of_a_chain_are_of_nearly_equal_length(sizes: list[int], chains: bool) -> None:
    found = cut(layout(*sizes), chains=chains).stretches
    for chain, rows in enumerate(sizes):
        own = [s.stop - s.start for s in found if s.chain == chain]
        assert max(own) - min(own) <= 1
        # One that is too short is a whole chain.
        assert min(own) >= min(ROWS_A_BATCH, rows)


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=8), st.booleans())
def test_batches_are_numbered_and_few(sizes: list[int], chains: bool) -> None:
    found = cut(layout(*sizes), chains=chains)
    numbers = [stretch.batch for stretch in found.stretches]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(numbers[-1] + 1))
    assert numbers[-1] < (MOST_BATCHES_OF_CHAINS if chains else MOST_BATCHES_OF_ROWS)
    assert found.count == numbers[-1] + 1


@of_chains
def test_many_rows_make_as_many_batches_as_there_may_be(chains: bool) -> None:
    most = MOST_BATCHES_OF_CHAINS if chains else MOST_BATCHES_OF_ROWS
    for rows in (4 * most, 4 * most + 1, 100_000):
        found = cut(layout(rows), chains=chains).stretches
        assert len(found) == most
        assert min(stretch.stop - stretch.start for stretch in found) == rows // most


def test_four_chains_have_batches_that_halve_to_four() -> None:
    found = cut(layout(*[1000] * 4), chains=True)
    assert np.bincount(found.chain_of).tolist() == [64] * 4


@of_chains
def test_few_rows_make_batches_of_four(chains: bool) -> None:
    assert cut(layout(10), chains=chains).stretches == (Stretch(0, 0, 5, 0), Stretch(0, 5, 10, 1))
    assert cut(layout(799), chains=chains).count == 799 // ROWS_A_BATCH


@pytest.mark.parametrize(("count", "each"), [(MANY_CHAINS - 1, 8), (MANY_CHAINS, 1)])
def test_many_chains_are_the_batches(count: int, each: int) -> None:
    found = cut(layout(*[100] * count), chains=True)
    assert np.bincount([stretch.chain for stretch in found.stretches]).tolist() == [each] * count
    if each == 1:
        assert found.stretches == tuple(Stretch(k, 0, 100, k) for k in range(count))
    # Independent rows have no chains.
    assert cut(layout(*[100] * count), chains=False).count > 2 * count


@pytest.mark.parametrize(
    ("sizes", "whole"),
    [
        ([64] * 31, False),
        ([64] * 32, True),
        ([5000] * 32, True),
        ([63] * 15, False),
        ([63] * 16, True),
        ([64] * 16, False),
        # The shortest one decides.
        ([1000] * 15 + [63], True),
        ([1000] * 14 + [3], False),
        ([16] * 16, True),
    ],
)
def test_chains_are_batches_if_they_are_many_or_many_and_short(
    sizes: list[int], whole: bool
) -> None:
    assert (MANY_CHAINS, MANY_SHORT_CHAINS, SHORT_CHAIN) == (32, 16, 64)
    assert chains_are_batches(layout(*sizes)) == whole
    assert (cut(layout(*sizes), chains=True).count == len(sizes)) == whole


def test_more_chains_than_batches_share_them() -> None:
    found = cut(layout(*[6] * 300), chains=True).stretches
    assert [stretch[:3] for stretch in found] == [(chain, 0, 6) for chain in range(300)]
    counts = np.bincount([stretch.batch for stretch in found])
    assert counts.size == MOST_BATCHES_OF_CHAINS
    assert set(counts.tolist()) == {1, 2}


# What is known of batches


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.booleans())
def test_rows_and_chains_of_batches_are_counted(sizes: list[int], chains: bool) -> None:
    found = cut(layout(*sizes), chains=chains)
    rows, first = [0] * found.count, [-1] * found.count
    for chain, start, stop, batch in found.stretches:
        rows[batch] += stop - start
        if first[batch] < 0:
            first[batch] = chain
    assert found.rows.tolist() == rows
    assert found.chain_of.tolist() == first


@given(lengths, st.integers(0, 10**6))
def test_batches_before_a_row_hold_earlier_rows_only(sizes: list[int], seed: int) -> None:
    found = cut(layout(*sizes), chains=True)
    stops = [int(stop) for stop in np.random.default_rng(seed).integers(0, np.array(sizes) + 1)]
    early = set(found.before(stops).tolist())
    for batch in range(found.count):
        own = [s for s in found.stretches if s.batch == batch]
        assert (batch in early) == all(s.stop <= stops[s.chain] for s in own)


def test_a_batch_of_several_chains_is_early_if_all_of_them_are() -> None:
    batches = Batches((Stretch(0, 0, 6, 0), Stretch(1, 0, 6, 0), Stretch(2, 0, 6, 1)))
    assert batches.before([6, 6, 0]).tolist() == [0]
    assert batches.before([6, 5, 6]).tolist() == [1]
    assert batches.before([0, 0, 0]).size == 0


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


@pytest.mark.parametrize("rows", [1, 7, 5000])
@of_chains
@pytest.mark.parametrize("sizes", [[61], [61, 2, 33, 1, 40], [20] * 60, [6] * 300])
def test_segments_are_the_rows_of_the_batches(
    sizes: list[int], chains: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However rows are cut into blocks, and chains joined to them."""
    monkeypatch.setattr(passes, "block_rows", lambda dimension: rows)
    zeros = [np.zeros((size, 1)) for size in sizes]
    source = complete(MinimalSource([(part, part) for part in zeros], time_ordered=True))
    batches = cut(source.layout, chains=chains)
    expected, found, runs = labels(batches, sizes), [[] for _ in sizes], []

    def visit(block: Block) -> None:
        own = labels_of(batches, block)
        runs.append(len(block.chains))
        for run in block.chains:
            found[run.chain] += own[run.low : run.high]

    visit_blocks(source, every_row(source), visit)
    assert found == expected
    if rows == 5000:
        assert runs == [len(sizes)]


def test_a_block_between_batches_has_no_segment() -> None:
    batches = Batches((Stretch(0, 0, 10, 0), Stretch(0, 30, 40, 1)))
    rows = np.zeros((20, 1))
    assert batches.segments(Block(rows, rows, None, 0, 10)).number.size == 0
    assert labels_of(batches, Block(rows, rows, None, 0, 11)) == [-1] * 19 + [1]


def test_segments_of_joined_chains_are_counted_from_the_start_of_the_block() -> None:
    batches = Batches((Stretch(0, 0, 5, 0), Stretch(1, 0, 3, 0), Stretch(1, 4, 8, 1)))
    rows = np.zeros((7, 1))
    block = Block(rows, rows, None, 0, 3, (ChainRows(0, 3, 0, 2), ChainRows(1, 1, 2, 7)))
    assert [part.tolist() for part in batches.segments(block)] == [[0, 2, 5], [2, 4, 7], [0, 0, 1]]
