"""Batches of test rows of the arm that trains."""

from typing import Any

import pytest

import polystein as ps
from polystein.data.split import BlockPartition
from polystein.methods.check import trained as module
from polystein.methods.check.trained import (
    BATCH_MEMORIES,
    FEWEST_A_CHAIN,
    FEWEST_TEST_BATCHES,
    MOST_TEST_BATCHES,
    ROWS_A_HALF,
    batches_of_tests,
)
from tests.methods.check.trained_rounds import (
    chains,
)

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")


def partition(*tested: tuple[int, int]) -> BlockPartition:
    stretches: Any = tuple({"weights": (0, start), "test": (start, stop)} for start, stop in tested)
    return BlockPartition(stretches)


def cut_of(*tested: tuple[int, int], memory: float = 0.0) -> Any:
    found = batches_of_tests(partition(*tested), memory, whole=len(tested) >= 16)
    return None if found is None else (found._halved, dict(found._chains))


def test_a_chain_has_four_batches_and_all_together_sixteen() -> None:
    """With a memory that leaves no more of them."""
    for count, each in ((1, 16), (2, 8), (3, 6), (4, 4), (8, 4), (15, 4)):
        halved, found = cut_of(*[(500, 1000)] * count, memory=1e6)
        assert halved
        assert [own.halves for own in found.values()] == [2 * each] * count
        assert [own.first for own in found.values()] == [2 * each * k for k in range(count)]
        assert all((own.start, own.stop) == (500, 1000) for own in found.values())


def test_batches_have_several_memories_where_there_are_enough_rows() -> None:
    """Never fewer than four a chain, nor more than the part of a chain of all."""
    seen = set()
    for remembered in (0.5, 1.0, 2.0, 5.0, 8.0, 12.5, 100.0):
        _, found = cut_of(*[(500, 1000)] * 4, memory=remembered)
        fitting = int(500 / (BATCH_MEMORIES * remembered))
        each = min(max(FEWEST_A_CHAIN, fitting), MOST_TEST_BATCHES // 4)
        assert {own.halves for own in found.values()} == {2 * each}
        seen.add(each)
    assert {FEWEST_A_CHAIN, MOST_TEST_BATCHES // 4} < seen


@pytest.mark.parametrize("memory", [0.0, 0.3])
def test_there_are_not_more_batches_than_are_useful(memory: float) -> None:
    for count in (1, 4, 10):
        _, found = cut_of(*[(0, 100_000)] * count, memory=memory)
        assert {own.halves for own in found.values()} == {2 * (MOST_TEST_BATCHES // count)}


def test_halves_have_at_least_two_rows() -> None:
    """16 batches of 32 halves are 64 rows of one chain, and 4 of each of four chains 16."""
    assert cut_of((10, 10 + 32 * ROWS_A_HALF)) is not None
    assert cut_of((10, 9 + 32 * ROWS_A_HALF)) is None
    assert cut_of(*[(10, 10 + 8 * ROWS_A_HALF)] * 4) is not None
    # One chain that is too short is one too many.
    assert cut_of(*[(10, 10 + 8 * ROWS_A_HALF)] * 3, (10, 9 + 8 * ROWS_A_HALF)) is None
    assert (FEWEST_A_CHAIN, FEWEST_TEST_BATCHES) == (4, 16)


@pytest.mark.parametrize("count", [16, 40, 128])
def test_many_chains_are_the_batches(count: int) -> None:
    halved, found = cut_of(*[(20, 40)] * count)
    assert not halved
    assert list(found.values()) == [(20, 40, 1, k) for k in range(count)]


@pytest.mark.parametrize(("count", "rows"), [(16, 60), (20, 60), (30, 60), (31, 40), (40, 40)])
def test_chains_that_are_batches_are_never_cut(
    count: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What chains remember is not known if they are one batch each: parts of them may depend."""
    cut_up: list[bool] = []

    class Spy(module.LugsailBatches):
        def __init__(self, *args: Any, halved: bool) -> None:
            cut_up.append(halved)
            super().__init__(*args, halved=halved)

    monkeypatch.setattr(module, "LugsailBatches", Spy)
    draws = chains(count, rows, 2, 0.7)
    ps.check(draws, -draws)
    assert not any(cut_up)


def test_more_chains_than_batches_share_them() -> None:
    halved, found = cut_of(*[(20, 40)] * 300)
    assert not halved
    numbers = [own.first for own in found.values()]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(MOST_TEST_BATCHES))
