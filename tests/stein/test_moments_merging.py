"""Sums of different rows: merged in any order, weighed on any scale, they are those of all rows."""

import pickle
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import SERIAL, block_rows, every_row, run_pass
from polystein.data.source import Block
from polystein.errors import InputError
from polystein.scale.threads import Threads
from polystein.stein.basis import Hermite, Monomial
from polystein.stein.moments import SteinMean, SteinMoments, SteinSums, merge_all, stein_moments
from tests.reference import exact, stein
from tests.rows import Array, arbitrary_rows, arbitrary_weights
from tests.stein.literal import assert_moments

STRUCTURES = ["full", "diagonal"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_updates_and_merges_equal_one_pass(structure: Any, shift: float) -> None:
    draws, scores = arbitrary_rows(60, 3)
    # Parts so different that each has working coordinates of its own.
    draws[20:40] += shift
    draws[40:] *= 1.0 + shift

    def part(rows: slice) -> ps.SteinMoments:
        moments = ps.SteinMoments(4, structure=structure, norms=True)
        return moments.update(draws[rows], scores[rows])

    matrices, vector = exact.stein_moments(draws, scores, 4, structure)
    literal = [matrix.astype(float) for matrix in matrices], vector.astype(float)
    u = float(exact.u_statistic(draws, scores, 4, structure))
    first, second, third = slice(0, 20), slice(20, 40), slice(40, 60)
    left = part(first).merge(part(second)).merge(part(third))
    right = part(third).merge(part(first).merge(part(second)))
    empty = ps.SteinMoments(4, structure=structure, norms=True).merge(part(second))
    later = empty.merge(ps.SteinMoments(4, structure=structure, norms=True))
    grown = later.merge(part(first)).update(draws[third], scores[third])
    for moments in (left, right, grown):
        assert_moments(moments.finalise(), *literal)
        assert moments.finalise().unbiased_square() == pytest.approx(u, rel=1e-10)


def test_merging_weighted_parts_equals_one_pass() -> None:
    """Each part's log-weights stand on the same scale as the others'."""
    draws, scores = arbitrary_rows(60, 3)
    log_weights, _ = arbitrary_weights(60)

    def part(rows: slice) -> ps.SteinMoments:
        sample = ps.Sample(draws[rows], scores[rows], log_weights=log_weights[rows])
        return ps.SteinMoments(3, norms=True).update(sample)

    whole = part(slice(0, 60)).finalise()
    merged = part(slice(0, 25)).merge(part(slice(25, 60))).finalise()
    assert_moments(merged, whole.matrices, whole.score)
    assert merged.weight_squares == pytest.approx(whole.weight_squares, rel=1e-12)
    assert merged.unbiased_square() == pytest.approx(whole.unbiased_square(), rel=1e-11)


def test_merging_leaves_the_other_alone() -> None:
    draws, scores = arbitrary_rows(40, 2)
    first = ps.SteinMoments(3).update(draws[:20], scores[:20])
    second = ps.SteinMoments(3).update(draws[20:] + 100.0, scores[20:])
    before = second.finalise().norm()
    first.merge(second)
    assert second.finalise().norm() == before


@pytest.mark.parametrize(
    "other",
    [ps.SteinMoments(2), ps.SteinMoments(3, structure="diagonal"), ps.SteinMoments(3, norms=True)],
)
def test_unlike_sums_do_not_merge(other: ps.SteinMoments) -> None:
    with pytest.raises(InputError, match="`other` must have the same basis, structure and norms"):
        ps.SteinMoments(3).merge(other)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_two_threads_give_the_moments_of_one(structure: Any) -> None:
    n = 2 * block_rows(2) + 500
    draws, scores = arbitrary_rows(n, 2)
    draws += [0.0, 50.0]
    sample = ps.Sample(draws, scores)

    def summed(executor: Any) -> SteinMean:
        sums = SteinSums(SteinMoments.empty(Monomial(4), structure, norms=True), sample.log_scale)
        run_pass(sample, every_row(sample), sums, executor=executor)
        return sums.moments.finalise()

    one, two = summed(SERIAL), summed(Threads(2, 1))
    assert two.norm() == pytest.approx(one.norm(), rel=1e-12)
    assert two.unbiased_square() == pytest.approx(one.unbiased_square(), rel=1e-11)
    for first, second in zip(one.matrices, two.matrices, strict=True):
        scale = np.max(np.abs(first))
        assert second == pytest.approx(first, abs=1e-12 * scale)


# Weights on different scales


def weighted_moments(draws: Array, scores: Array, log_weights: Array | None) -> ps.SteinMoments:
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    return ps.SteinMoments(3, norms=True).update(sample)


@pytest.mark.parametrize("first_is_large", [False, True])
@pytest.mark.parametrize("step", [3.0, 30.0, 700.0])
def test_weights_on_different_scales_are_those_of_one_pass(
    step: float, first_is_large: bool
) -> None:
    draws, scores = arbitrary_rows(60, 3)
    log_weights = np.random.default_rng(1).normal(0.0, 1.0, 60)
    log_weights[slice(0, 25) if first_is_large else slice(25, 60)] += step
    weights = np.exp(log_weights - log_weights.max())
    literal = stein.stein_moments(draws, scores, 3, weights=weights / weights.sum())
    whole = weighted_moments(draws, scores, log_weights).finalise()
    first = weighted_moments(draws[:25], scores[:25], log_weights[:25])
    second = weighted_moments(draws[25:], scores[25:], log_weights[25:])
    grown = weighted_moments(draws[:25], scores[:25], log_weights[:25]).update(
        ps.Sample(draws[25:], scores[25:], log_weights=log_weights[25:])
    )
    for found in (grown.finalise(), first.merge(second).finalise()):
        assert_moments(found, *literal)
        assert found.weight_squares == pytest.approx(whole.weight_squares, rel=1e-12)
        assert found.unbiased_square() == pytest.approx(whole.unbiased_square(), rel=1e-11)


@pytest.mark.parametrize("scale", [-700.0, -3.0, 3.0, 700.0])
def test_rows_without_weights_weigh_one_beside_weighted_rows(scale: float) -> None:
    draws, scores = arbitrary_rows(60, 3)
    log_weights = np.random.default_rng(1).normal(scale, 1.0, 60)
    log_weights[25:] = 0.0
    whole = weighted_moments(draws, scores, log_weights).finalise()
    weighted = weighted_moments(draws[:25], scores[:25], log_weights[:25])
    plain = weighted_moments(draws[25:], scores[25:], None)
    merged = weighted_moments(draws[25:], scores[25:], None).merge(weighted)
    for found in (
        merged.finalise(),
        weighted.merge(plain).finalise(),
        plain.update(ps.Sample(draws[:25], scores[:25], log_weights=log_weights[:25])).finalise(),
    ):
        assert_moments(found, whole.matrices, whole.score)
        assert found.weight_squares == pytest.approx(whole.weight_squares, rel=1e-12)


# Several accumulators at once


def test_all_are_merged_and_left_as_they_are() -> None:
    draws, scores = arbitrary_rows(60, 3)
    draws[20:40] += 100.0
    parts = [
        ps.SteinMoments(3, norms=True).update(draws[low : low + 20], scores[low : low + 20])
        for low in (0, 20, 40)
    ]
    before = [part.finalise().norm() for part in parts]
    assert_moments(merge_all(parts).finalise(), *stein.stein_moments(draws, scores, 3), 1e-10)
    assert [part.finalise().norm() for part in parts] == before


def test_a_fresh_accumulator_is_of_the_same_kind_without_rows() -> None:
    draws, scores = arbitrary_rows(20, 3)
    moments = SteinMoments.empty(Hermite(2), "diagonal", norms=True)
    moments.add(Block(draws, scores, None, 0, 0))
    fresh = moments.zero()
    assert (fresh.weight, moments.weight) == (0.0, 20.0)
    assert fresh.basis == moments.basis == Hermite(2)
    assert fresh.merge(moments).finalise().norm() == moments.finalise().norm()


# Pickles


@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("first_rows", [0, 20])
def test_sums_go_on_after_pickling(first_rows: int, weighted: bool, shift: float) -> None:
    draws, scores = arbitrary_rows(60, 3)
    draws += shift
    log_weights = arbitrary_weights(60)[0] if weighted else None

    def rows(low: int, high: int) -> ps.Sample:
        own = None if log_weights is None else log_weights[low:high]
        return ps.Sample(draws[low:high], scores[low:high], log_weights=own)

    def summed(keep: Any) -> ps.SteinMoments:
        moments = ps.SteinMoments(4, norms=True)
        if first_rows:
            moments.update(rows(0, first_rows))
        moments = keep(moments).update(rows(first_rows, 40))
        return keep(moments).merge(keep(ps.SteinMoments(4, norms=True).update(rows(40, 60))))

    expected = summed(lambda moments: moments).finalise()
    found = summed(lambda moments: pickle.loads(pickle.dumps(moments))).finalise()
    assert np.array_equal(found.score, expected.score)
    for matrix, other in zip(found.matrices, expected.matrices, strict=True):
        assert np.array_equal(matrix, other)
    assert found.unbiased_square() == pytest.approx(expected.unbiased_square(), rel=1e-13)


def test_a_fresh_accumulator_of_a_pickled_one_takes_the_same_detour() -> None:
    """Raw powers of draws far away are summed in another frame, in another process too."""
    draws, scores = arbitrary_rows(60, 3)
    sample = ps.Sample(draws + 1e6, scores)
    moments = stein_moments(sample, every_row(sample), Monomial(4))
    fresh = pickle.loads(pickle.dumps(moments)).zero().update(sample)
    assert moments.working.scale is not None
    assert fresh.working.scale is not None
    assert_moments(fresh.finalise(), moments.finalise().matrices, moments.finalise().score)
