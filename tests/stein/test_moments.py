"""Sums of Stein features: equal to the literal means, or an error says why they are not."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import RAW, Frame
from polystein.data.passes import every_row
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.stein.basis import BoundedHermite, Hermite, LinearAndBounded
from polystein.stein.moments import SteinMean, stein_moments
from tests.reference import check, resolution, stein
from tests.rows import Array, arbitrary_rows, arbitrary_weights
from tests.stein.literal import assert_moments

STRUCTURES = ["full", "diagonal"]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(7))
def test_moments_are_the_literal_means(order: int, structure: Any) -> None:
    draws, scores = arbitrary_rows(50, 3)
    moments = ps.SteinMoments(order, structure=structure)
    mean = moments.update(draws, scores).finalise()
    assert_moments(mean, *stein.stein_moments(draws, scores, order, structure))
    assert mean.weight_squares == pytest.approx(1 / 50, rel=1e-14)
    assert mean.squared_norms is None


@pytest.mark.parametrize("structure", STRUCTURES)
def test_weighted_moments_are_the_literal_means(structure: Any) -> None:
    draws, scores = arbitrary_rows(50, 3)
    log_weights, weights = arbitrary_weights(50)
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    mean = ps.SteinMoments(4, structure=structure, norms=True).update(sample).finalise()
    assert_moments(mean, *stein.stein_moments(draws, scores, 4, structure, weights))
    norms = [stein.xi(x, s, 4, structure) for x, s in zip(draws, scores, strict=True)]
    expected = sum(w**2 * float(row @ row) for w, row in zip(weights, norms, strict=True))
    assert mean.squared_norms == pytest.approx(expected, rel=1e-12)
    assert mean.weight_squares == pytest.approx(float(weights @ weights), rel=1e-12)


def test_no_rows_is_an_error() -> None:
    with pytest.raises(InputError, match="there must be draws of positive weight"):
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


def test_another_dimension_is_refused() -> None:
    three, one = np.ones((5, 3)), np.ones((5, 1))
    with pytest.raises(InputError, match="`draws` must have 3 columns as before; got 1"):
        ps.SteinMoments(2).update(three, -three).update(one, -one)
    with pytest.raises(InputError, match="`draws` must have 1 columns as before; got 3"):
        ps.SteinMoments(2).update(one, -one).merge(ps.SteinMoments(2).update(three, -three))


# Other bases than powers


def literal_moments(draws: Array, scores: Array, name: str, order: int, structure: str) -> Any:
    """mu_i and mu_b for any basis: the maximiser times Z."""
    matrices, vector = resolution.maximiser(draws, scores, name, order, structure, None)
    mean = scores.mean(axis=0)
    z = float(mean @ mean) / float(vector @ mean)
    matrices = [z * (m if structure == "full" else np.diagonal(m)) for m in matrices]
    return matrices, mean


def moments_of(sample: ps.Sample, basis: Any, structure: Any, answer: Frame = RAW) -> SteinMean:
    sums = stein_moments(sample, every_row(sample), basis, structure, norms=True, answer=answer)
    # Only powers may be summed in another frame than the one of the answer.
    assert sums.working is answer
    return sums.finalise()


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(
    ("name", "basis"),
    [("hermite", Hermite(2)), ("hermite", Hermite(4)), ("bounded-hermite", BoundedHermite(3))],
)
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_other_bases_answer_for_draws_as_they_come(
    name: str, basis: Any, structure: Any, shift: float
) -> None:
    """Around 50 a working frame would change what the functions are."""
    draws, scores = arbitrary_rows(40, 3)
    # Functions without tails see nothing at 50.
    draws += 0.04 * shift if name == "bounded-hermite" else shift
    mean = moments_of(ps.Sample(draws, scores), basis, structure)
    literal = literal_moments(draws, scores, name, basis.order, structure)
    assert_moments(mean, *literal, tolerance=1e-10)


@pytest.mark.parametrize("name", ["hermite", "bounded-hermite"])
def test_other_bases_have_literal_norms(name: str) -> None:
    draws, scores = arbitrary_rows(20, 3)
    draws += 50.0 if name == "hermite" else 2.0
    basis = Hermite(2) if name == "hermite" else BoundedHermite(2)
    mean = moments_of(ps.Sample(draws, scores), basis, "full")
    ones = [np.ones((3, 3))] * 2
    table = resolution.entry_table(draws, scores, name, "full", ones, np.ones(3))
    assert mean.squared_norms == pytest.approx(float(np.sum(table**2)) / 20**2, rel=1e-10)


def test_the_basis_of_check_has_the_literal_means() -> None:
    draws, scores = arbitrary_rows(40, 3)
    draws += 1.5
    mean = moments_of(ps.Sample(draws, scores), LinearAndBounded(3), "full")
    rows = list(zip(draws, scores, strict=True))
    literal = [np.mean([check.matrix(x, s, i) for x, s in rows], axis=0) for i in (1, 2, 3)]
    assert_moments(mean, literal, scores.mean(axis=0))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_other_bases_answer_in_the_frame_they_are_asked_in(structure: Any) -> None:
    draws, scores = arbitrary_rows(40, 3)
    draws += 50.0
    frame = Frame(draws.mean(axis=0), draws.std(axis=0))
    mean = moments_of(ps.Sample(draws, scores), Hermite(3), structure, frame)
    standard = frame.apply(draws, scores)
    assert_moments(mean, *literal_moments(*standard, "hermite", 3, structure), tolerance=1e-10)


def test_one_row_has_no_unbiased_square() -> None:
    draws, scores = arbitrary_rows(1, 1)
    mean = ps.SteinMoments(1, norms=True).update(draws, scores).finalise()
    with pytest.raises(DegenerateError, match="at least two rows of positive weight"):
        mean.unbiased_square()
