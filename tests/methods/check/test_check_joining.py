"""Batches whose sums agree with their neighbours' are joined, against the loop."""

import math
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.methods.check import batch_sums, check
from polystein.methods.check.batch_sums import BatchSums
from polystein.methods.check.batches import Stretch, cut
from polystein.methods.check.chain_memory import memory_in_batches
from polystein.methods.check.check import join_what_agrees
from polystein.methods.check.families import BASIS
from polystein.methods.check.flips_arm import FEWEST_BATCHES
from tests.conftest import Array
from tests.methods.check.sums import ORDERS, GivenSums, literal_families
from tests.reference import check as literal
from tests.sources import CountingSample

PLAIN = Frame(np.zeros(2), np.ones(2))


def slow_product(seed: int, chains: int, rows: int, change: float = 0.02) -> Array:
    """Exact draws of N(0, I) whose coordinates are independent in time, but not their product."""
    rng = np.random.default_rng([seed, 1])
    signs = np.cumprod(np.where(rng.random((chains, rows)) < change, -1.0, 1.0), axis=1)
    draws = rng.standard_normal((chains, rows, 2))
    draws[..., 1] = np.abs(draws[..., 1]) * np.sign(draws[..., 0]) * signs
    return draws


def sums_of(draws: Array) -> tuple[CountingSample, BatchSums]:
    """Sums over batches as short as those of independent rows."""
    sample = CountingSample(draws, -draws)
    places = cut(sample.layout, 1.0)
    return sample, BatchSums(sample, PLAIN, BASIS, places, tuple(ORDERS.values())).take()


def joined_by_hand(draws: Array, stretches: list[Stretch]) -> GivenSums:
    """Sums over batches, joined until the loop finds no memory in them."""
    rows = draws, -draws, None
    diagonal = literal.diagonal_sums(*rows, stretches, BASIS.order)
    pairs = {order: literal.pair_sums(*rows, stretches, order) for order in ORDERS.values()}
    while True:
        sums: Any = GivenSums(diagonal, pairs)
        columns = np.concatenate(list(literal_families(sums).values()), axis=1)
        follows = literal.neighbours(stretches)
        if sums.count < FEWEST_BATCHES or not any(follows):
            return sums
        remembered = literal.memory(columns, follows)
        if remembered <= 1.0:
            return sums
        groups = literal.groups(stretches, max(2, math.ceil(remembered)))
        number = {batch: k for k, group in enumerate(groups) for batch in group}
        stretches = [place._replace(batch=number[place.batch]) for place in stretches]
        diagonal = literal.joined_sums(diagonal, groups)
        pairs = {order: literal.joined_sums(one, groups) for order, one in pairs.items()}


@pytest.mark.parametrize(("chains", "rows"), [(1, 800), (3, 300)])
@pytest.mark.parametrize("seed", range(3))
def test_what_agrees_is_joined_as_in_the_loop(seed: int, chains: int, rows: int) -> None:
    draws = slow_product(seed, chains, rows)
    sample, sums = sums_of(draws)
    before = sums.count
    expected = joined_by_hand(draws, list(sums.batches.stretches))
    join_what_agrees(sums)
    assert sums.count == expected.count < 0.7 * before
    assert sums.diagonal == pytest.approx(expected.diagonal, rel=1e-10, abs=1e-10)
    for order in ORDERS.values():
        found = np.concatenate(list(sums.pairs(order)), axis=1)
        assert found == pytest.approx(next(expected.pairs(order)), rel=1e-10, abs=1e-10)
    assert sums.count < FEWEST_BATCHES or memory_in_batches(sums) == 1.0
    assert sample.mean_reads == 1.0


@pytest.mark.parametrize("chains", [1, 4])
def test_batches_that_do_not_agree_stay_as_they_are(chains: int) -> None:
    draws = np.random.default_rng(0).standard_normal((chains, 1000 // chains, 2))
    _, sums = sums_of(draws)
    before = sums.count
    join_what_agrees(sums)
    assert sums.count == before


def test_batches_of_different_chains_do_not_agree() -> None:
    """Chains too short for two batches: what is alike in them is evidence, and stays."""
    draws = np.random.default_rng(0).standard_normal((100, 101, 2))[:, :7]
    draws += np.repeat([3.0, -3.0], 50)[:, None, None]
    with pytest.warns(ps.DependenceWarning):
        _, sums = sums_of(draws)
    assert not sums.neighbours.any()
    join_what_agrees(sums)
    assert sums.count == 100


@pytest.mark.parametrize("numbers", [1, 700])
def test_pairs_beyond_the_budget_are_joined_alike(
    numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = slow_product(0, 2, 500)
    _, whole = sums_of(draws)
    join_what_agrees(whole)
    monkeypatch.setattr(batch_sums, "PAIR_NUMBERS", numbers)
    _, parts = sums_of(draws)
    join_what_agrees(parts)
    assert parts.count == whole.count
    for order in ORDERS.values():
        found, expected = (np.concatenate(list(s.pairs(order)), axis=1) for s in (parts, whole))
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.filterwarnings("ignore::polystein.LowESSWarning")
def test_check_joins_the_batches_of_a_slow_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of independent rows it joins none, nor those that the caller calls independent."""
    counts: list[tuple[int, int]] = []

    def spy(sums: BatchSums) -> None:
        before = sums.count
        join_what_agrees(sums)
        counts.append((before, sums.count))

    monkeypatch.setattr(check, "join_what_agrees", spy)
    draws = slow_product(0, 2, 600)
    ps.check(draws, -draws, rng=0)
    ((before, after),) = counts
    assert FEWEST_BATCHES <= after < 0.7 * before
    counts.clear()
    plain = np.random.default_rng(0).standard_normal((1200, 2))
    ps.check(plain, -plain, rng=0)
    ps.check(plain, -plain, iid=True, rng=0)
    ((before, after),) = counts
    assert after == before
