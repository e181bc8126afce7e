"""What a pass hands over, and sources that write down what is read of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from polystein.data.passes import SERIAL, run_pass
from polystein.data.source import Block, ChainRows, Rows, Source
from tests.rows import Array
from tests.sources import MinimalSource


class Recorder:
    """An accumulator that keeps copies of the blocks it is given."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def zero(self) -> Recorder:
        return Recorder()

    def update(self, block: Block) -> None:
        weights = None if block.weights is None else block.weights.copy()
        copy = block._replace(draws=block.draws.copy(), scores=block.scores.copy(), weights=weights)
        self.blocks.append(copy)

    def merge(self, other: Recorder) -> Recorder:
        self.blocks += other.blocks
        return self


class GrainSource(MinimalSource, Source):
    """Rows in groups, of which a list says what is read: chain, start, stop."""

    def __init__(
        self, chains: list[tuple[Array, Array]], *, grain: int, time_ordered: bool = True
    ) -> None:
        super().__init__(chains, time_ordered=time_ordered)
        self.grain = grain
        self.calls: list[tuple[int, int, int]] = []

    def read(self, chain: int, start: int, stop: int) -> Block:
        self.calls.append((chain, start, stop))
        return super().read(chain, start, stop)


def seen(source: Source, rows: Iterable[Rows], **options: Any) -> list[Block]:
    """Copies of all blocks of a pass, in the order of the merged accumulators."""
    recorder = Recorder()
    run_pass(source, rows, recorder, **{"executor": SERIAL, **options})
    return recorder.blocks


def joined(blocks: list[Block]) -> Any:
    return np.concatenate([block.draws for block in blocks])


def runs(blocks: list[Block]) -> list[tuple[int, int, int]]:
    """Chain, first row and number of rows of every run of the blocks."""
    return [(run.chain, run.start, run.high - run.low) for block in blocks for run in block.chains]


def numbered_chains(*lengths: int, d: int = 2) -> list[tuple[Array, Array]]:
    """Chains whose draws tell chain and row: chain + row / 10^6 in every coordinate."""
    result = []
    for chain, length in enumerate(lengths):
        draws = np.repeat(chain + np.arange(length)[:, None] / 1e6, d, axis=1)
        result.append((draws, -draws))
    return result


def assert_runs_are_right(block: Block) -> None:
    """Runs cover the rows of a block of `numbered_chains`, and say where they come from."""
    assert [run.low for run in block.chains] == [0, *(run.high for run in block.chains[:-1])]
    assert block.chains[-1].high == block.rows
    assert (block.chain, block.start) == block.chains[0][:2]
    for run in block.chains:
        assert_run_is_right(block, run)


def assert_run_is_right(block: Block, run: ChainRows) -> None:
    assert run.low < run.high
    part = block.draws[run.low : run.high, 0]
    assert np.all(part.astype(int) == run.chain)
    assert part[0] == pytest.approx(run.chain + run.start / 1e6, abs=1e-9)
    assert np.array_equal(block.scores, -block.draws)


def small_blocks(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Let no block have more rows than this."""
    monkeypatch.setattr("polystein.data.passes.block_rows", lambda dimension: rows)
    # The search for repeats has longer blocks.
    monkeypatch.setattr("polystein.data.guard.repeats.rows_of_few_columns", lambda dimension: rows)
