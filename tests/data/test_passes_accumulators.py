"""Every accumulator: on threads, merged in any order, cut anywhere and pickled, it is the same."""

import copy
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import working_frame
from polystein.data.passes import SERIAL, every_row, run_pass
from polystein.data.source import Block, Source
from polystein.scale.threads import Threads
from tests.data.accumulators import BEHIND_OTHERS, CASES, Given, accumulator_classes
from tests.data.blocks import seen, small_blocks
from tests.rows import arbitrary_rows
from tests.sources import MinimalSource, WeightedSource

LENGTHS = (50, 7, 90, 33, 4, 4, 4, 21)
#: Chains in different working frames, and chains with weights.
two_kinds = pytest.mark.parametrize("kind", ["far", "weighted"])
every_case = pytest.mark.parametrize("name", CASES)


def source_of(kind: str) -> Source:
    """Independent rows, ragged chains with weights, and ragged chains far from each other.

    One draw stands out, one repeats, and one in ten of the weights is 0.
    """
    rows = sum(LENGTHS)
    draws, scores = arbitrary_rows(rows, 3)
    draws[63, 1], draws[180] = 40.0, draws[17]
    if kind == "rows":
        return ps.Sample(draws, scores)
    if kind == "far":
        # A part on a scale of its own, too, so that working frames differ from block to block.
        draws[100:] += 1000.0
        draws[180:] *= 30.0
    ends = np.cumsum(LENGTHS)[:-1]
    chains = list(zip(np.split(draws, ends), np.split(scores, ends), strict=True))
    if kind != "weighted":
        return ps.data.source.complete(MinimalSource(chains, time_ordered=True))
    log_weights = np.random.default_rng(4).normal(300.0, 1.0, rows)
    log_weights[::10] = -np.inf
    names = ("a", "b", "c")
    parts = np.split(log_weights, ends)
    return ps.data.source.complete(WeightedSource(chains, parts, names, time_ordered=True))


@cache
def given(kind: str) -> Given:
    split: Any = ps.RandomSplit() if kind == "rows" else ps.BlockSplit(gap=1)
    return Given.of(source_of(kind), split)


def taken(name: str, on: Given, **options: Any) -> Any:
    accumulator = CASES[name].make(on)
    run_pass(on.source, every_row(on.source), accumulator, **options)
    return accumulator


@cache
def numbers_of_one_pass(name: str, kind: str) -> list[Any]:
    return CASES[name].read(taken(name, given(kind)))


def assert_same(name: str, found: Any, expected: list[Any], tolerance: float = 1e-12) -> None:
    """Numbers equal to this part of the largest beside them."""
    for value, wanted in zip(CASES[name].read(found), expected, strict=True):
        size = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
        assert np.shape(value) == np.shape(wanted)
        # As `pytest.approx` does, which looks at one number after the other.
        np.testing.assert_allclose(
            value, wanted, rtol=0.0, atol=tolerance * float(size), equal_nan=False
        )


def test_every_accumulator_is_among_the_cases() -> None:
    tried = {name.split()[0] for name in CASES}
    assert tried == accumulator_classes() - BEHIND_OTHERS


def test_far_rows_have_different_working_frames() -> None:
    blocks = seen(source_of("far"), every_row(source_of("far")), most=20)
    scales = {str(working_frame(block.draws).scale) for block in blocks}
    assert len(scales) > 3


@every_case
@pytest.mark.parametrize(("count", "kind"), [(3, "weighted"), (50, "far")])
def test_threads_give_the_answer_of_one(
    name: str, kind: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, 20)
    on = given(kind)
    serial = taken(name, on, executor=SERIAL)
    threads = taken(name, on, executor=Threads(count, 1))
    assert_same(name, threads, CASES[name].read(serial))


@every_case
@pytest.mark.parametrize(("rows", "kind"), [(7, "rows"), (1, "far")])
def test_blocks_of_any_length_give_the_same(name: str, kind: str, rows: int) -> None:
    found = taken(name, given(kind), most=rows)
    assert_same(name, found, numbers_of_one_pass(name, kind), tolerance=1e-11)


def dealt(name: str, on: Given, blocks: list[Block]) -> list[Any]:
    """Three accumulators, to which the blocks are dealt one after the other, and one without."""
    parts = [CASES[name].make(on).zero() for _ in range(4)]
    for number, block in enumerate(blocks):
        parts[number % 3].update(block)
    return parts


@two_kinds
@every_case
def test_parts_are_merged_in_any_order(name: str, kind: str) -> None:
    on = given(kind)
    blocks = seen(on.source, every_row(on.source), most=20)
    whole = dealt(name, on, blocks)
    # The one without rows comes last, first and in between.
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
        parts = copy.deepcopy(whole)
        first, *others = (parts[number] for number in order)
        for other in others:
            assert first.merge(other) is first
        assert_same(name, first, numbers_of_one_pass(name, kind))


@every_case
def test_rows_may_come_after_a_merge(name: str) -> None:
    kind = "far"
    on = given(kind)
    blocks = seen(on.source, every_row(on.source), most=20)
    first, second = (CASES[name].make(on) for _ in range(2))
    for accumulator, part in ((first, blocks[:3]), (second, blocks[3:7])):
        for block in part:
            accumulator.update(block)
    first.merge(second)
    for block in blocks[7:]:
        first.update(block)
    assert_same(name, first, numbers_of_one_pass(name, kind))


@two_kinds
@every_case
def test_merging_leaves_the_other_alone(name: str, kind: str) -> None:
    on = given(kind)
    other = taken(name, on)
    before = pickle.dumps(CASES[name].read(other))
    merged = CASES[name].make(on).merge(other)
    for block in seen(on.source, every_row(on.source), most=20):
        merged.update(block)
    assert pickle.dumps(CASES[name].read(other)) == before


@two_kinds
@every_case
def test_accumulators_survive_pickling(name: str, kind: str) -> None:
    """Before, in the midst of and after a pass, and they go on as if nothing had happened."""
    on = given(kind)
    accumulator = pickle.loads(pickle.dumps(CASES[name].make(on)))
    for number, block in enumerate(seen(on.source, every_row(on.source), most=20)):
        accumulator.update(block)
        if number % 4 == 0:
            accumulator = pickle.loads(pickle.dumps(accumulator))
    accumulator = pickle.loads(pickle.dumps(accumulator))
    assert_same(name, accumulator, numbers_of_one_pass(name, kind))
    assert_same(name, accumulator.zero().merge(accumulator), CASES[name].read(accumulator))


@every_case
def test_a_fresh_accumulator_has_no_rows(name: str) -> None:
    """One that was made from one with rows is one that never had any."""
    on = given("weighted")
    fresh = taken(name, on).zero()
    run_pass(on.source, every_row(on.source), fresh)
    assert_same(name, fresh, numbers_of_one_pass(name, "weighted"), tolerance=0.0)
