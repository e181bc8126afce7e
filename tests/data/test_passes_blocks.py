"""How rows are cut into blocks: short chains joined, chosen rows gathered, groups read whole."""

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data import passes
from polystein.data.passes import SERIAL, every_row, visit_blocks
from polystein.data.source import Block, Rows
from polystein.scale.threads import Threads
from tests.data.blocks import (
    GrainSource,
    assert_runs_are_right,
    joined,
    numbered_chains,
    runs,
    seen,
    small_blocks,
)
from tests.rows import Array, arbitrary_rows

RAGGED = (5, 1, 40, 3, 3, 3, 17, 8, 100, 2)
EXECUTORS: list[Any] = [SERIAL, Threads(2, 1), Threads(3, 1)]


def numbered(*lengths: int, grain: int = 1) -> GrainSource:
    return GrainSource(numbered_chains(*lengths), grain=grain)


# Short chains


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
@pytest.mark.parametrize("size", [1, 2, 7, 16, 50, 1000])
def test_runs_say_where_rows_come_from(
    size: int, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, size)
    source = numbered(*RAGGED)
    blocks = seen(source, every_row(source), executor=executor)
    for block in blocks:
        assert_runs_are_right(block)
        assert block.rows <= size
    assert np.array_equal(
        joined(blocks), np.concatenate([rows for rows, _ in numbered_chains(*RAGGED)])
    )


@pytest.mark.parametrize(
    ("size", "cut"),
    [
        (10, [[(0, 0, 4), (1, 0, 4)], [(2, 0, 4), (3, 0, 4)]]),
        (12, [[(0, 0, 4), (1, 0, 4), (2, 0, 4)], [(3, 0, 4)]]),
        (16, [[(0, 0, 4), (1, 0, 4), (2, 0, 4), (3, 0, 4)]]),
        (3, [[(0, 0, 3)], [(0, 3, 1)], [(1, 0, 3)], [(1, 3, 1)],
             [(2, 0, 3)], [(2, 3, 1)], [(3, 0, 3)], [(3, 3, 1)]]),
    ],
)  # fmt: skip
def test_chains_are_joined_as_long_as_they_fit(size: int, cut: Any) -> None:
    source = numbered(4, 4, 4, 4)
    assert [runs([block]) for block in seen(source, every_row(source), most=size)] == cut


def test_the_end_of_a_long_chain_is_joined_to_the_next() -> None:
    source = numbered(25, 4)
    found = [runs([block]) for block in seen(source, every_row(source), most=10)]
    assert found == [[(0, 0, 10)], [(0, 10, 10)], [(0, 20, 5), (1, 0, 4)]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stretch", [(0, 6), (0, 4), (2, 6), (3, 4)])
def test_chains_that_are_alike_are_read_at_once(
    stretch: tuple[int, int], weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes is what one read for each chain gives."""
    draws, scores = (rows.reshape(11, 6, 2) for rows in arbitrary_rows(66, 2))
    log_weights = np.linspace(-1.0, 0.5, 66).reshape(11, 6) if weighted else None
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    rows = [Rows(chain, *stretch) for chain in range(1, 11)]
    together = seen(sample, rows, most=20)
    monkeypatch.setattr(ps.Sample, "read_chains", None)
    apart = seen(sample, rows, most=20)
    assert len(together) == len(apart)
    for one, other in zip(together, apart, strict=True):
        assert one.chains == other.chains
        assert (one.chain, one.start) == (other.chain, other.start)
        assert np.array_equal(one.draws, other.draws)
        assert np.array_equal(one.scores, other.scores)
        assert (one.weights is not None) == weighted
        assert np.array_equal(one.weights_or_ones, other.weights_or_ones)


@pytest.mark.parametrize(
    "rows",
    [
        [Rows(0, 0, 5), Rows(1, 0, 4)],
        [Rows(0, 0, 5), Rows(2, 0, 5)],
        [Rows(0, 0, 2), Rows(0, 3, 5)],
        [Rows(0, 0, 5)],
    ],
)
def test_other_chains_are_read_one_by_one(
    rows: list[Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, scores = (part.reshape(3, 6, 2) for part in arbitrary_rows(18, 2))

    def never(*_: object) -> Block:
        raise AssertionError("these chains are not alike")

    monkeypatch.setattr(ps.Sample, "read_chains", never)
    (block,) = seen(ps.Sample(draws, scores), rows)
    wanted = np.concatenate([draws[chain, start:stop] for chain, start, stop, _ in rows])
    assert np.array_equal(block.draws, wanted)


def test_a_subclass_that_reads_in_its_own_way_is_asked_chain_by_chain() -> None:
    """Rows must not come from behind its back."""
    draws, scores = (rows.reshape(5, 6, 2) for rows in arbitrary_rows(30, 2))

    class Doubled(ps.Sample):
        def read(self, chain: int, start: int, stop: int) -> Block:
            block = super().read(chain, start, stop)
            return block._replace(draws=2.0 * block.draws)

    doubled = Doubled(draws, scores)
    (block,) = seen(doubled, every_row(doubled))
    assert np.array_equal(block.draws, 2.0 * draws.reshape(-1, 2))


def test_a_block_of_one_chain_is_not_copied() -> None:
    draws, scores = arbitrary_rows(30, 2)
    sample = ps.Sample(draws, scores)

    def visit(block: Block) -> None:
        assert np.shares_memory(block.draws, draws)
        assert block.joined is None

    visit_blocks(sample, every_row(sample), visit, most=20)


@pytest.mark.parametrize("weighted", [False, True])
def test_joined_blocks_carry_weights(weighted: bool) -> None:
    draws, scores = (table.reshape(4, 5, 2) for table in arbitrary_rows(20, 2))
    log_weights = np.log(np.arange(1.0, 21.0)).reshape(4, 5) if weighted else None
    (block,) = seen(sample := ps.Sample(draws, scores, log_weights=log_weights), every_row(sample))
    assert len(block.chains) == 4
    if weighted:
        assert block.weights == pytest.approx(np.arange(1.0, 21.0) / 20.0, rel=1e-14)
    else:
        assert block.weights is None


# No more rows than asked for


@pytest.mark.parametrize("most", [-1, 0, 1, 8, 20, 10**6])
@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_a_pass_can_ask_for_smaller_blocks(most: int, executor: Any) -> None:
    """A block has a row at least, and short chains are joined to no more than was asked for."""
    source = numbered(20, 3, 3, 3, 20)
    blocks = seen(source, every_row(source), most=most, executor=executor)
    assert max(block.rows for block in blocks) <= max(1, most)
    assert len(joined(blocks)) == 49
    for block in blocks:
        assert_runs_are_right(block)


@pytest.mark.parametrize(
    ("columns", "rows"), [(1, 8192), (2, 8192), (4, 8192), (16, 3072), (64, 768), (200, 400)]
)
def test_work_of_many_steps_has_longer_blocks(columns: int, rows: int) -> None:
    """Twice as long as those that stay in cache, where these are not long anyway."""
    # More numbers than a small sample has, which is one block.
    length = max(70_000 // columns, 4 * rows + 1)
    draws = np.broadcast_to(np.arange(float(length))[:, None], (length, columns))
    source = ps.Sample(draws, draws)
    blocks = seen(source, every_row(source), many_steps=True)
    assert [block.start for block in blocks] == list(range(0, length, rows))
    assert np.array_equal(joined(blocks), draws)


@pytest.mark.parametrize("many_steps", [False, True])
def test_work_of_any_number_of_steps_keeps_to_the_most_rows(many_steps: bool) -> None:
    source = ps.Sample(np.zeros((5_000, 4)), np.zeros((5_000, 4)))
    blocks = seen(source, every_row(source), most=9, many_steps=many_steps)
    assert max(block.rows for block in blocks) == 9


@pytest.mark.parametrize(("rows", "stops"), [(8, [8, 16, 20]), (20, [20])])
def test_blocks_end_with_their_chain_where_the_next_does_not_fit(
    rows: int, stops: list[int]
) -> None:
    source = numbered(20, 20)
    starts = [0, *stops[:-1]]
    ends = list(zip(starts, stops, strict=True))
    expected = [(chain, start, stop - start) for chain in (0, 1) for start, stop in ends]
    blocks = seen(source, every_row(source), most=rows)
    assert [runs([block]) for block in blocks] == [[run] for run in expected]


@pytest.mark.parametrize(
    ("length", "columns", "count"), [(1000, 16, 1), (1100, 16, 4), (5000, 2, 4)]
)
def test_a_small_sample_is_one_block(length: int, columns: int, count: int) -> None:
    """A larger one is cut so that blocks stay in cache."""
    source = ps.Sample(
        *(rows.reshape(4, length, columns) for rows in arbitrary_rows(4 * length, columns))
    )
    blocks = seen(source, every_row(source))
    assert len(blocks) == count
    assert len(seen(source, every_row(source), most=1000)) > 3


# Rows chosen by a mask


def mask_of(share: float, n: int = 3000) -> Any:
    if share in (0.0, 1.0):
        return np.full(n, bool(share))
    return np.random.default_rng(0).random(n) < share


MASKS = {f"{share:.0%}": mask_of(share) for share in (0.0, 0.01, 0.35, 1.0)}
# Rows that are not spread evenly, so that blocks have to be cut.
MASKS["first rows"] = np.arange(3000) < 900
MASKS["last rows"] = np.arange(3000) >= 2900


@pytest.mark.parametrize("executor", [SERIAL, Threads(3, 1)], ids=repr)
@pytest.mark.parametrize(("size", "grain"), [(1, 64), (7, 1), (128, 64), (10_000, 500)])
@pytest.mark.parametrize("name", MASKS)
def test_chosen_rows_come_in_order_and_once(
    name: str, size: int, executor: Any, grain: int
) -> None:
    mask = MASKS[name]
    source = numbered(3010, grain=grain)
    blocks = seen(source, [Rows(0, 10, 3010, mask)], most=size, executor=executor)
    assert all(1 <= block.rows <= size for block in blocks)
    found = np.concatenate([np.zeros((0, 2)), *(block.draws for block in blocks)])
    assert np.array_equal(found, numbered_chains(3010)[0][0][10:][mask])
    for block in blocks:
        assert_runs_are_right(block)


@pytest.mark.parametrize("share", [0.01, 0.35, 0.9])
def test_blocks_of_chosen_rows_are_nearly_full(share: float) -> None:
    source = numbered(300_000)
    blocks = seen(source, [Rows(0, 0, 300_000, mask_of(share, 300_000))], most=400)
    rows = [block.rows for block in blocks]
    assert np.mean(rows) > 0.75 * 400
    # Each is read at once: hardly any has to be cut in two.
    assert len(source.calls) >= 0.95 * len(blocks)


def test_nothing_is_read_where_no_row_is_chosen() -> None:
    source = numbered(3000)
    mask = np.zeros(3000, dtype=bool)
    assert seen(source, [Rows(0, 0, 3000, mask)]) == []
    mask[:10] = True
    assert len(joined(seen(source, [Rows(0, 0, 3000, mask)], most=1))) == 10
    assert max(stop for _, _, stop in source.calls) < 400


# Groups of rows that are stored together


def assert_groups_are_read_once(source: GrainSource, stretches: list[Rows]) -> None:
    """Reads cover the stretches, one after the other, and are cut between groups only."""
    for chain, start, stop, _ in stretches:
        reads = sorted((low, high) for own, low, high in source.calls if own == chain)
        assert (reads[0][0], reads[-1][1]) == (start, stop)
        for (_, high), (low, _) in pairwise(reads):
            assert low == high
            assert low % source.grain == 0


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
@pytest.mark.parametrize("size", [7, 500, 1200])
@pytest.mark.parametrize("masked", [False, True])
def test_groups_are_read_whole_and_once(size: int, executor: Any, masked: bool) -> None:
    """From the first row of a chain or from the middle of a group, all rows or some of them."""
    source = numbered(1230, 4_000, 499, grain=500)
    rng = np.random.default_rng(1)
    stretches = [
        Rows(chain, start, stop, rng.random(stop - start) < 0.3 if masked else None)
        for chain, start, stop in ((0, 0, 1230), (1, 730, 3_999), (2, 1, 499))
    ]
    blocks = seen(source, stretches, executor=executor, most=size)
    assert_groups_are_read_once(source, stretches)
    assert all(block.rows <= size for block in blocks)
    expected = [
        source.read(chain, start, stop).draws[slice(None) if mask is None else mask]
        for chain, start, stop, mask in stretches
    ]
    assert np.array_equal(joined(blocks), np.concatenate(expected))
    for block in blocks:
        assert_runs_are_right(block)


def arbitrary_source(*lengths: int, grain: int) -> GrainSource:
    rows: list[tuple[Array, Array]] = [arbitrary_rows(n, 3, seed) for seed, n in enumerate(lengths)]
    return GrainSource(rows, grain=grain, time_ordered=len(lengths) > 1)


def test_reads_are_as_long_as_groups_and_blocks_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, calls in ((7, 12), (500, 12), (999, 12), (1000, 6), (8192, 1)):
        small_blocks(monkeypatch, size)
        source = arbitrary_source(5800, grain=500)
        ps.psd(source, order=2)
        assert len(source.calls) == calls


@pytest.mark.parametrize("size", [7, 300, 1200])
@pytest.mark.parametrize("grain", [1, 500])
def test_groups_do_not_change_results(
    size: int, grain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ps.psd_test(arbitrary_source(1730, grain=1), order=3, rng=0)
    small_blocks(monkeypatch, size)
    found = ps.psd_test(arbitrary_source(1730, grain=grain), order=3, rng=0)
    assert found.statistic == pytest.approx(whole.statistic, rel=1e-11)


def test_freed_memory_is_kept_once_for_the_whole_process() -> None:
    """What is asked for is let go at once: nothing stays behind."""
    passes._keep_freed_memory.cache_clear()
    tracemalloc.start()
    source = numbered(30)
    for _ in range(2):
        seen(source, every_row(source))
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert current < 100_000 < 8 * passes._KEPT <= peak
    assert passes._keep_freed_memory.cache_info().misses == 1
