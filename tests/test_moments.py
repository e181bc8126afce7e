"""Mergeable sums: equal to the literal means, and to each other however they are merged."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError, ScaleError
from polystein.stein.moments import ColumnMoments
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import exact, stein

STRUCTURES = ["full", "diagonal"]


def assert_moments(mean: Any, matrices: Any, vector: Any, tolerance: float = 1e-12) -> None:
    assert np.asarray(mean.score) == pytest.approx(vector, abs=tolerance * np.abs(vector).max())
    assert len(mean.matrices) == len(matrices)
    for fast, literal in zip(mean.matrices, matrices, strict=True):
        assert np.asarray(fast).shape == literal.shape
        assert np.asarray(fast) == pytest.approx(literal, abs=tolerance * np.abs(literal).max())


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(7))
def test_moments_are_the_literal_means(xp: ModuleType, order: int, structure: Any) -> None:
    draws, scores = arbitrary_rows(50, 3)
    moments = ps.SteinMoments(order, structure=structure)
    mean = moments.update(xp.asarray(draws), xp.asarray(scores)).finalise()
    assert_moments(mean, *stein.stein_moments(draws, scores, order, structure))
    assert mean.weight_squares == pytest.approx(1 / 50, rel=1e-14)
    assert mean.squared_norms is None


@pytest.mark.parametrize("structure", STRUCTURES)
def test_weighted_moments_are_the_literal_means(xp: ModuleType, structure: Any) -> None:
    draws, scores = arbitrary_rows(50, 3)
    log_weights, weights = arbitrary_weights(50)
    sample = ps.Sample(xp.asarray(draws), xp.asarray(scores), log_weights=xp.asarray(log_weights))
    mean = ps.SteinMoments(4, structure=structure, norms=True).update(sample).finalise()
    assert_moments(mean, *stein.stein_moments(draws, scores, 4, structure, weights))
    norms = [stein.xi(x, s, 4, structure) for x, s in zip(draws, scores, strict=True)]
    expected = sum(w**2 * float(row @ row) for w, row in zip(weights, norms, strict=True))
    assert mean.squared_norms == pytest.approx(expected, rel=1e-12)
    assert mean.weight_squares == pytest.approx(float(weights @ weights), rel=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_updates_and_merges_equal_one_pass(xp: ModuleType, structure: Any, shift: float) -> None:
    draws, scores = arbitrary_rows(60, 3)
    # Parts so different that each has working coordinates of its own.
    draws[20:40] += shift
    draws[40:] *= 1.0 + shift

    def part(rows: slice) -> ps.SteinMoments:
        moments = ps.SteinMoments(4, structure=structure, norms=True)
        return moments.update(xp.asarray(draws[rows]), xp.asarray(scores[rows]))

    matrices, vector = exact.stein_moments(draws, scores, 4, structure)
    literal = [matrix.astype(float) for matrix in matrices], vector.astype(float)
    u = float(exact.u_statistic(draws, scores, 4, structure))
    first, second, third = slice(0, 20), slice(20, 40), slice(40, 60)
    left = part(first).merge(part(second)).merge(part(third))
    right = part(third).merge(part(first).merge(part(second)))
    empty = ps.SteinMoments(4, structure=structure, norms=True).merge(part(second))
    later = empty.merge(ps.SteinMoments(4, structure=structure, norms=True))
    grown = later.merge(part(first)).update(xp.asarray(draws[third]), xp.asarray(scores[third]))
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
    assert_moments(merged, [np.asarray(m) for m in whole.matrices], np.asarray(whole.score))
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


def test_no_rows_is_an_error() -> None:
    with pytest.raises(InputError, match="`update` must have been given draws"):
        ps.SteinMoments(2).finalise()


def test_the_unbiased_square_needs_the_norms() -> None:
    draws, scores = arbitrary_rows(10, 2)
    mean = ps.SteinMoments(1).update(draws, scores).finalise()
    with pytest.raises(InputError, match="`norms` must be True"):
        mean.unbiased_square()


@pytest.mark.parametrize("order", [-1, 1.5, True, "2", None])
def test_bad_orders_are_refused(order: Any) -> None:
    with pytest.raises(InputError, match=f"`order` must be an integer >= 0; got {order!r}"):
        ps.SteinMoments(order)


def test_an_unknown_structure_is_refused() -> None:
    with pytest.raises(InputError, match="`structure` must be 'full' or 'diagonal'; got 'sparse'"):
        ps.SteinMoments(1, structure="sparse")  # type: ignore[arg-type]


def test_moments_that_overflow_are_an_error() -> None:
    draws, scores = arbitrary_rows(20, 2)
    moments = ps.SteinMoments(6).update(draws * 2.0**200, scores)
    with pytest.raises(ScaleError, match="overflows in the coordinates of `draws`"):
        moments.finalise().norm()


def test_a_norm_whose_square_overflows_is_no_error() -> None:
    draws, scores = arbitrary_rows(20, 2)
    large, small = 2.0**700, 2.0**-700
    mean = ps.SteinMoments(0).update(draws, scores * large).finalise()
    assert mean.norm() == large * ps.psd(draws, scores, order=0)
    mean = ps.SteinMoments(0).update(draws, scores * small).finalise()
    assert mean.norm() == pytest.approx(small * ps.psd(draws, scores, order=0), rel=1e-14)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_column_moments_equal_numpy(joint: bool, weighted: bool) -> None:
    columns = np.random.default_rng(0).normal(1e6, 1.0, (90, 3))
    weights = arbitrary_weights(90)[1] if weighted else None

    def part(low: int, high: int) -> ColumnMoments:
        moments = ColumnMoments(3, joint=joint)
        return moments.update(columns[low:high], None if weights is None else weights[low:high])

    merged = part(0, 10).merge(part(10, 80)).merge(ColumnMoments(3, joint=joint))
    merged.update(columns[80:], None if weights is None else weights[80:])
    covariance = np.cov(columns.T, aweights=weights, ddof=0)
    expected = covariance if joint else np.diag(covariance)
    assert merged.mean == pytest.approx(np.average(columns, axis=0, weights=weights), rel=1e-14)
    assert merged.scatter / merged.weight == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_rows_of_no_weight_change_no_column_moments() -> None:
    columns = np.random.default_rng(0).normal(size=(5, 2))
    moments = ColumnMoments(2).update(columns, np.zeros(5)).update(columns, np.ones(5))
    assert moments.mean == pytest.approx(columns.mean(axis=0), rel=1e-14)
    assert moments.weight == 5.0


def test_another_dimension_is_refused() -> None:
    three, one = np.ones((5, 3)), np.ones((5, 1))
    with pytest.raises(InputError, match="`draws` must have 3 columns as before; got 1"):
        ps.SteinMoments(2).update(three, -three).update(one, -one)
    with pytest.raises(InputError, match="`draws` must have 1 columns as before; got 3"):
        ps.SteinMoments(2).update(one, -one).merge(ps.SteinMoments(2).update(three, -three))
