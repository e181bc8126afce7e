"""Roles asked for block by block are those of the partition's stretches."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import DrawMoments
from polystein.data.passes import SERIAL, every_row, run_pass
from polystein.data.source import Source
from polystein.data.split import ForRoles, Partition
from polystein.scale.threads import Threads
from polystein.types import Role
from tests.data.blocks import GrainSource, Recorder, joined, numbered_chains, seen, small_blocks
from tests.rows import Array

ROLES: tuple[Role, ...] = ("witness", "weights", "gap", "test")
SOME_ROLES = [roles for count in (1, 2, 4) for roles in combinations(ROLES, count)]
LAYOUTS = {"one chain": (90,), "ragged": (30, 2, 61, 3, 8), "short": (4,) * 25}
SPLITS: dict[str, Any] = {
    "random": ps.RandomSplit(),
    "mostly test": ps.RandomSplit(0.1, 0.4),
    "block": ps.BlockSplit(gap=0),
    "block with a gap": ps.BlockSplit(0.4, gap=5),
    "automatic gap": ps.BlockSplit(),
    "chain": ps.ChainSplit(),
}
CASES = [
    (split, layout)
    for split in SPLITS
    for layout in LAYOUTS
    if (split, layout) not in {("chain", "one chain"), ("block with a gap", "short")}
]

every_case = pytest.mark.parametrize(("split", "layout"), CASES)


def partitioned(split: str, layout: str) -> tuple[GrainSource, Partition]:
    """Numbered rows and their roles; an automatic gap is of three rows."""
    source = GrainSource(numbered_chains(*LAYOUTS[layout]), grain=1)
    partition = SPLITS[split].partition(source.layout, np.random.default_rng(0))
    return source, partition.with_gap(3) if partition.awaits_gap else partition


def rows_of(source: Source, partition: Partition, *roles: Role) -> Array:
    """The rows that the partition's stretches give."""
    blocks = [block.draws for block in seen(source, partition.rows(*roles))]
    return np.concatenate([np.zeros((0, 2)), *blocks])


@every_case
@pytest.mark.parametrize("size", [1, 7])
def test_masks_are_the_rows_of_the_roles(
    split: str, layout: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, partition = partitioned(split, layout)
    expected = {roles: rows_of(source, partition, *roles) for roles in SOME_ROLES}
    small_blocks(monkeypatch, size)
    blocks = seen(source, every_row(source))
    for roles, rows in expected.items():
        masks = [partition.mask(block, *roles) for block in blocks]
        assert all(len(mask) == block.rows for mask, block in zip(masks, blocks, strict=True))
        assert np.array_equal(joined(blocks)[np.concatenate(masks)], rows)
        assert len(rows) == partition.count(*roles)


@every_case
def test_every_row_has_one_role(split: str, layout: str) -> None:
    source, partition = partitioned(split, layout)
    (block,) = seen(source, every_row(source))
    assert len(block.chains) == len(LAYOUTS[layout])
    held = sum(partition.mask(block, role).astype(int) for role in ROLES)
    assert np.array_equal(held, np.ones(block.rows))


@every_case
@pytest.mark.parametrize(("size", "executor"), [(1, SERIAL), (7, Threads(3, 1))], ids=repr)
def test_an_accumulator_for_roles_takes_their_rows(
    split: str, layout: str, size: int, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, partition = partitioned(split, layout)
    training, test = (rows_of(source, partition, *roles) for roles in (ROLES[:2], ROLES[3:]))
    small_blocks(monkeypatch, size)
    selected = ForRoles(partition, ROLES[:2], Recorder())
    moments = ForRoles(partition, ROLES[3:], DrawMoments(2))
    run_pass(source, every_row(source), selected, moments, executor=executor)
    assert np.array_equal(joined(selected.accumulator.blocks), training)
    centre = moments.accumulator.standard_frame().centre
    assert centre == pytest.approx(test.mean(axis=0), rel=1e-12)


def test_an_accumulator_for_a_role_that_no_row_has_stays_empty() -> None:
    source, partition = partitioned("random", "ragged")
    selected = ForRoles(partition, ("gap",), Recorder())
    run_pass(source, every_row(source), selected)
    assert selected.accumulator.blocks == []
