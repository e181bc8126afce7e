"""The trained test function: its features are the literal ones, in either form."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps
from polystein.data.coordinates import RAW, Coordinates
from polystein.data.passes import every_row
from polystein.errors import DegenerateError, ScaleError
from polystein.stein.basis import Monomial
from polystein.stein.witness import (
    DualWitness,
    PrimalWitness,
    dual_is_cheaper,
    feature_moments,
    feature_names,
    fit_witness,
)
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import stein

Array = NDArray[np.float64]


def fitted(
    sample: ps.Sample,
    order: int,
    structure: Any = "full",
    *,
    answer: Coordinates = RAW,
    count: int = 10**9,
) -> Any:
    """Fit on all rows; by default with a `count` that rules the dual form out."""
    basis = Monomial(order)
    return fit_witness(sample, every_row(sample), basis, structure, answer=answer, count=count)


def literal_features(
    train: tuple[Array, Array],
    rows: tuple[Array, Array],
    order: int,
    structure: str = "full",
    weights: Array | None = None,
) -> Array:
    matrices, vector = stein.maximiser(*train, order, structure, weights)
    return stein.features(*rows, matrices, vector, structure)


def assert_features(features: Array, literal: Array, tolerance: float = 1e-11) -> None:
    """Equal column by column, relative to the column's largest entry."""
    assert features.shape == literal.shape
    scale = np.abs(literal).max(axis=0)
    assert np.max(np.abs(features - literal) / scale) < tolerance


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("order", range(7))
def test_primal_features_are_the_literal_ones(xp: ModuleType, order: int, structure: Any) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    witness = fitted(ps.Sample(*map(xp.asarray, train)), order, structure)
    assert isinstance(witness, PrimalWitness)
    features = witness.project(*map(xp.asarray, rows))
    assert isinstance(features, np.ndarray)
    assert_features(features, literal_features(train, rows, order, structure))


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_weights_of_the_training_rows_count(structure: Any) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    log_weights, weights = arbitrary_weights(40)
    witness = fitted(ps.Sample(*train, log_weights=log_weights), 3, structure)
    literal = literal_features(train, rows, 3, structure, weights)
    assert_features(witness.project(*rows), literal)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("shift", [100.0, np.array([0.0, -30.0, 1000.0])])
def test_centred_working_coordinates_give_the_literal_features(
    xp: ModuleType, structure: Any, shift: Any
) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    train, rows = (train[0] + shift, train[1]), (rows[0] + shift, rows[1])
    witness = fitted(ps.Sample(*map(xp.asarray, train)), 4, structure)
    assert witness.working is not RAW
    literal = literal_features(train, rows, 4, structure)
    assert_features(witness.project(*map(xp.asarray, rows)), literal)


@pytest.mark.parametrize("exponent", [-40, 30])
def test_scaled_working_coordinates_give_the_literal_features(exponent: int) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    scale = 2.0**exponent
    train, rows = ((draws * scale, scores / scale) for draws, scores in (train, rows))
    witness = fitted(ps.Sample(*train), 3)
    assert witness.working is not RAW
    assert_features(witness.project(*rows), literal_features(train, rows, 3))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_primal_and_dual_features_agree_up_to_one_factor(
    xp: ModuleType, order: int, weighted: bool
) -> None:
    train, rows = arbitrary_rows(21, 15, seed=1), arbitrary_rows(12, 15, seed=2)
    log_weights = arbitrary_weights(21)[0] if weighted else None
    sample = ps.Sample(*map(xp.asarray, train), log_weights=log_weights)
    primal, dual = fitted(sample, order), fitted(sample, order, count=1)
    assert isinstance(dual, DualWitness)
    assert dual.names == primal.names
    first, second = (witness.project(*map(xp.asarray, rows)) for witness in (primal, dual))
    factor = second[0, 0] / first[0, 0]
    # The primal form divides by Z.
    assert factor == pytest.approx(ps.psd(sample, order=order), rel=1e-11)
    assert_features(second / factor, first)


@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("count", [1, 10**9])
def test_features_in_other_coordinates_are_those_of_converted_rows(
    count: int, shift: float
) -> None:
    """Both forms answer in the coordinates asked for, from raw rows."""
    (draws, scores), (new, new_scores) = (arbitrary_rows(30, 12, seed=seed) for seed in (1, 2))
    draws, new = draws + shift, new + shift
    answer = Coordinates(draws.mean(axis=0), draws.std(axis=0))
    witness = fitted(ps.Sample(draws, scores), 3, answer=answer, count=count)
    features = witness.project(new, new_scores)
    literal = literal_features(answer.apply(draws, scores), answer.apply(new, new_scores), 3)
    assert_features(features * (literal[0, 0] / features[0, 0]), literal)


@pytest.mark.parametrize("count", [1, 10**9])
def test_draws_far_from_the_origin_are_right_in_either_form(count: int) -> None:
    (draws, scores), (new, new_scores) = (arbitrary_rows(30, 12, seed=seed) for seed in (1, 2))
    witness = fitted(ps.Sample(draws + 100.0, scores), 3, count=count)
    features = witness.project(new + 100.0, new_scores)
    literal = literal_features((draws + 100.0, scores), (new + 100.0, new_scores), 3)
    assert_features(features * (literal[0, 0] / features[0, 0]), literal)


def test_the_dual_form_is_for_few_rows_in_many_dimensions() -> None:
    assert dual_is_cheaper(60, 200, 2)
    assert not dual_is_cheaper(200, 60, 2)
    assert not dual_is_cheaper(10, 1000, 0)
    sample = ps.Sample(*arbitrary_rows(30, 8))
    assert isinstance(fitted(sample, 0, count=1), PrimalWitness)
    assert isinstance(fitted(sample, 3, "diagonal", count=1), PrimalWitness)


def test_features_are_named_with_the_score_last() -> None:
    assert feature_names(Monomial(3)) == ("x", "x^2", "x^3", "score")
    assert feature_names(Monomial(0)) == ("score",)
    assert fitted(ps.Sample(*arbitrary_rows(30, 2)), 2).names == ("x", "x^2", "score")


def test_feature_moments_are_the_literal_mean_and_covariance(xp: ModuleType) -> None:
    draws, scores = arbitrary_rows(40, 3)
    sample = ps.Sample(xp.asarray(draws), xp.asarray(scores))
    moments = feature_moments(sample, every_row(sample), fitted(sample, 3))
    table = literal_features((draws, scores), (draws, scores), 3)
    mean, covariance = stein.mean_and_covariance(table)
    assert moments.mean == pytest.approx(mean, rel=1e-11)
    assert moments.covariance == pytest.approx(covariance, rel=1e-10)
    assert moments[2] == 40


def test_the_mean_of_all_features_is_the_discrepancy() -> None:
    """Proposition 3.2: the maximiser attains Z on its own rows."""
    sample = ps.Sample(*arbitrary_rows(50, 3))
    moments = feature_moments(sample, every_row(sample), fitted(sample, 4))
    assert moments.mean.sum() == pytest.approx(ps.psd(sample, order=4), rel=1e-12)


def test_no_discrepancy_is_no_witness() -> None:
    draws, _ = arbitrary_rows(30, 2)
    with pytest.raises(DegenerateError, match=r"every Stein moment .* is exactly zero"):
        fitted(ps.Sample(draws, np.zeros_like(draws)), 0)


def test_features_that_overflow_are_an_error() -> None:
    draws, scores = arbitrary_rows(30, 2)
    witness = fitted(ps.Sample(draws, scores), 6)
    far = ps.Sample(draws * 1e60, scores)
    with pytest.raises(ScaleError, match="a feature overflows in the coordinates of `draws`"):
        feature_moments(far, every_row(far), witness)
