"""Accumulators of parts of the rows, merged in any order, are the accumulator of all rows."""

import itertools
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.inference.variance import LongRun
from tests.conftest import Array
from tests.statistical.samplers import autoregressive

LENGTHS = (70, 45)
RULES: list[Any] = [ps.IID(), ps.InitialSequence(), ps.BatchMeans(), ps.BatchMeans(length=9)]
# Chain, first row, row after the last: cut within chains, and not at multiples of a batch.
PIECES = [(0, 0, 11), (0, 11, 12), (0, 12, 70), (1, 0, 30), (1, 30, 45)]
# Which of the pieces each accumulator is given.
CUTS = {
    "halves": [(0, 1, 2), (3, 4)],
    "late first": [(4, 2), (3, 1, 0)],
    "thirds": [(0, 3), (4,), (1, 2)],
    "one without rows": [(0, 1, 4), (), (2, 3)],
}


def rows(weighted: bool) -> tuple[list[Array], list[Array] | None]:
    """Three columns of chains that remember, far from 0, and weights on an odd scale."""
    rng = np.random.default_rng(3)
    mixing = np.array([[1.0, 0.5, -2.0], [0.0, 1.0, 3.0], [0.0, 0.0, 0.1]])
    chains = [autoregressive(rng, 1, n, 3, 0.7)[0] @ mixing + 20.0 for n in LENGTHS]
    return chains, [1e-3 * rng.exponential(size=n) for n in LENGTHS] if weighted else None


def accumulated(rule: Any, pieces: Any, weighted: bool) -> Any:
    """An accumulator of these pieces, in this order."""
    chains, weights = rows(weighted)
    accumulator = rule.accumulator(LENGTHS, 3)
    for chain, start, stop in pieces:
        part = None if weights is None else weights[chain][start:stop]
        accumulator.update(chains[chain][start:stop], part, chain, start)
    return accumulator


def assert_equal(found: LongRun, expected: LongRun, tolerance: float = 1e-12) -> None:
    for name, value in expected._asdict().items():
        size = float(np.abs(value[np.isfinite(value)]).max(initial=0.0))
        approximately = pytest.approx(value, rel=tolerance, abs=tolerance * size)
        assert getattr(found, name) == approximately, name


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_parts_merged_in_any_order_are_the_whole(rule: Any, cut: Any, weighted: bool) -> None:
    whole = accumulated(rule, [(0, 0, 70), (1, 0, 45)], weighted).finalise()
    for order in itertools.permutations(cut):
        first, *others = (
            accumulated(rule, [PIECES[number] for number in part], weighted) for part in order
        )
        for other in others:
            assert first.merge(other) is first
        assert_equal(first.finalise(), whole)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_how_merges_are_nested_does_not_matter(rule: Any, weighted: bool) -> None:
    a, b, c = (accumulated(rule, PIECES[part], weighted) for part in np.s_[:2, 2:3, 3:])
    assert_equal(a.merge(b.merge(c)).finalise(), accumulated(rule, PIECES, weighted).finalise())


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_merge_leaves_the_other_accumulator_alone(rule: Any, weighted: bool) -> None:
    other = accumulated(rule, PIECES[3:], weighted)
    before = other.finalise()
    merged = accumulated(rule, [], weighted).merge(other)
    assert_equal(merged.finalise(), before)
    chains, weights = rows(weighted)
    merged.update(chains[0], None if weights is None else weights[0], 0, 0)
    assert_equal(other.finalise(), before, tolerance=0.0)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rows_may_come_after_a_merge(rule: Any) -> None:
    chains, _ = rows(weighted=False)
    accumulator = accumulated(rule, PIECES[:2], False).merge(accumulated(rule, PIECES[3:], False))
    accumulator.update(chains[0][12:], None, 0, 12)
    assert_equal(accumulator.finalise(), accumulated(rule, PIECES, False).finalise())


def test_parts_without_weight_change_nothing() -> None:
    """Rows of weight 0 are rows of no weight, in whichever accumulator they are."""
    chains, weights = rows(weighted=True)
    assert weights is not None
    weights[0][:12] = 0.0
    parts = []
    for stretch in (slice(0, 12), slice(12, 70)):
        part = ps.IID().accumulator(LENGTHS, 3)
        part.update(chains[0][stretch], weights[0][stretch], 0, stretch.start)
        parts.append(part)
    alone = ps.IID().accumulator(LENGTHS, 3)
    alone.update(chains[0][12:], weights[0][12:], 0, 12)
    assert_equal(parts[0].merge(parts[1]).finalise(), alone.finalise())
