"""Blocks: the runs that they are made of, and some of their rows."""

from typing import Any

import numpy as np
import pytest

from polystein.data.passes import every_row
from polystein.data.source import Block, ChainRows, chosen_rows
from tests.data.blocks import (
    GrainSource,
    assert_runs_are_right,
    joined,
    numbered_chains,
    seen,
    small_blocks,
)
from tests.rows import Array

ROWS = 60
DRAWS = numbered_chains(100)[0][0][20 : 20 + ROWS]


def single_block(weighted: bool = True) -> Block:
    """Sixty rows of one chain, from its row 20 on."""
    return Block(DRAWS, -DRAWS, np.arange(1.0, ROWS + 1.0) if weighted else None, 0, 20)


def joined_block(weighted: bool = True) -> Block:
    """Sixty rows of four chains, of which the third is of one row."""
    lengths = (20, 10, 1, 29)
    source = GrainSource(numbered_chains(*lengths), grain=1)
    (block,) = seen(source, every_row(source))
    assert len(block.chains) == 4
    return block._replace(weights=np.arange(1.0, ROWS + 1.0)) if weighted else block


BLOCKS: dict[str, Any] = {"single": single_block, "joined": joined_block}
MASKS: dict[str, Any] = {
    "every third": np.arange(ROWS) % 3 == 0,
    "the first": np.arange(ROWS) == 0,
    "the last": np.arange(ROWS) == ROWS - 1,
    "a stretch": (np.arange(ROWS) >= 7) & (np.arange(ROWS) < 45),
    "a stretch of one chain": (np.arange(ROWS) >= 3) & (np.arange(ROWS) < 9),
    "all but a chain": (np.arange(ROWS) < 20) | (np.arange(ROWS) >= 31),
    "the row of a chain of one": np.arange(ROWS) == 30,
    "at random": np.random.default_rng(0).random(ROWS) < 0.4,
}

every_block = pytest.mark.parametrize("kind", list(BLOCKS))
every_weight = pytest.mark.parametrize("weighted", [False, True])


def test_a_block_of_one_chain_is_one_run() -> None:
    assert single_block().chains == (ChainRows(0, 20, 0, ROWS),)


@every_block
@every_weight
@pytest.mark.parametrize("name", MASKS)
def test_chosen_rows_know_where_they_come_from(name: str, kind: str, weighted: bool) -> None:
    block, mask = BLOCKS[kind](weighted), MASKS[name]
    chosen = chosen_rows(block, mask)
    assert chosen is not None
    assert np.array_equal(chosen.draws, block.draws[mask])
    assert np.array_equal(chosen.scores, block.scores[mask])
    assert_runs_are_right(chosen)
    if weighted:
        assert np.array_equal(chosen.weights, block.weights[mask])
    else:
        assert chosen.weights is None


@every_block
def test_all_rows_are_the_block_itself_and_none_are_nothing(kind: str) -> None:
    block = BLOCKS[kind]()
    assert chosen_rows(block, np.ones(ROWS, dtype=bool)) is block
    assert chosen_rows(block, np.zeros(ROWS, dtype=bool)) is None


@every_block
def test_choosing_again_keeps_runs_right(kind: str) -> None:
    """Where the rows of a run have no gaps: its first row is all that a run says."""
    block = BLOCKS[kind]()
    once = chosen_rows(block, MASKS["a stretch"])
    assert once is not None
    again = chosen_rows(once, np.arange(once.rows) >= 15)
    assert again is not None
    assert np.array_equal(again.draws, block.draws[22:45])
    assert_runs_are_right(again)


def test_a_stretch_is_not_copied() -> None:
    block = single_block()
    chosen = chosen_rows(block, MASKS["a stretch"])
    assert chosen is not None
    assert np.shares_memory(chosen.draws, block.draws)
    assert np.shares_memory(chosen.scores, block.scores)


@every_weight
def test_rows_are_taken_in_order(weighted: bool) -> None:
    block, index = single_block(weighted), np.array([0, 3, 4, 59])
    taken = block.take(index)
    assert np.array_equal(taken.draws, DRAWS[index])
    assert np.array_equal(taken.scores, -DRAWS[index])
    assert (taken.chain, taken.start, taken.rows) == (0, 20, 4)
    assert block.take(index, 23).start == 23
    if weighted:
        assert np.array_equal(taken.weights, index + 1.0)
    else:
        assert taken.weights is None


@every_weight
@pytest.mark.parametrize(("low", "high"), [(0, 10), (7, 8), (50, 60), (0, 60)])
def test_a_part_of_a_block_starts_later(low: int, high: int, weighted: bool) -> None:
    block = single_block(weighted)
    part = block.part(low, high)
    assert_runs_are_right(part)
    assert (part.start, part.rows) == (20 + low, high - low)
    assert np.shares_memory(part.draws, block.draws)
    if weighted:
        assert np.array_equal(part.weights, np.arange(1.0, ROWS + 1.0)[low:high])


def own_rows(lengths: tuple[int, ...], chosen: list[Array]) -> list[Array]:
    """The chosen rows of all chains."""
    chains = numbered_chains(*lengths)
    return [draws[mask] for (draws, _), mask in zip(chains, chosen, strict=True)]


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_chosen_rows_of_all_blocks_are_those_of_all_chains(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, size)
    lengths = (20, 3, 1, 1, 70, 5)
    rng = np.random.default_rng(2)
    chosen: list[Any] = [rng.random(length) < 0.5 for length in lengths]
    source = GrainSource(numbered_chains(*lengths), grain=1)
    kept = []
    for block in seen(source, every_row(source)):
        masks = [chosen[run.chain][run.start :][: run.high - run.low] for run in block.chains]
        part = chosen_rows(block, np.concatenate(masks))
        if part is not None:
            assert_runs_are_right(part)
            kept.append(part)
    assert np.array_equal(joined(kept), np.concatenate(own_rows(lengths, chosen)))
