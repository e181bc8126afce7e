"""The trained test function: its features are the literal ones, in either form."""

import pickle
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import RAW, Frame
from polystein.data.passes import every_row
from polystein.errors import DegenerateError, ScaleError
from polystein.methods.gof import fit_witness
from polystein.stein.basis import Hermite, Monomial
from polystein.stein.dual import DualWitness
from polystein.stein.witness import (
    PrimalWitness,
    PulledBackWitness,
    dual_is_cheaper,
    feature_moments,
    fit_matrices,
    projected_moments,
)
from tests.reference import resolution, stein
from tests.rows import Array, arbitrary_rows, arbitrary_weights


def fitted(
    sample: ps.Sample,
    order: int,
    structure: Any = "full",
    *,
    frame: Frame = RAW,
    count: int = 10**9,
) -> Any:
    """Fit on all rows; by default with a `count` that rules the dual form out."""
    basis = Monomial(order)
    return fit_witness(sample, every_row(sample), basis, structure, frame=frame, count=count)


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
def test_primal_features_are_the_literal_ones(order: int, structure: Any) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    witness = fitted(ps.Sample(*train), order, structure)
    assert isinstance(witness, PrimalWitness)
    features = witness.project(*rows)
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
def test_centred_working_frames_give_the_literal_features(structure: Any, shift: Any) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    train, rows = (train[0] + shift, train[1]), (rows[0] + shift, rows[1])
    witness = fitted(ps.Sample(*train), 4, structure)
    assert isinstance(witness, PulledBackWitness)
    assert witness.frame is not RAW
    literal = literal_features(train, rows, 4, structure)
    assert_features(witness.project(*rows), literal)


@pytest.mark.parametrize("exponent", [-40, 30])
def test_scaled_working_frames_give_the_literal_features(exponent: int) -> None:
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    scale = 2.0**exponent
    train, rows = ((draws * scale, scores / scale) for draws, scores in (train, rows))
    witness = fitted(ps.Sample(*train), 3)
    assert isinstance(witness, PulledBackWitness)
    assert witness.frame is not RAW
    assert_features(witness.project(*rows), literal_features(train, rows, 3))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_primal_and_dual_features_agree_up_to_one_factor(order: int, weighted: bool) -> None:
    train, rows = arbitrary_rows(21, 15, seed=1), arbitrary_rows(12, 15, seed=2)
    log_weights = arbitrary_weights(21)[0] if weighted else None
    sample = ps.Sample(*train, log_weights=log_weights)
    primal, dual = fitted(sample, order), fitted(sample, order, count=1)
    assert isinstance(dual, DualWitness)
    assert dual.names == primal.names
    first, second = (witness.project(*rows) for witness in (primal, dual))
    factor = second[0, 0] / first[0, 0]
    # The primal form divides by Z.
    assert factor == pytest.approx(ps.psd(sample, order=order), rel=1e-11)
    assert_features(second / factor, first)


@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("count", [1, 10**9])
def test_features_in_another_frame_are_those_of_converted_rows(count: int, shift: float) -> None:
    """Both forms answer in the frame asked for, from raw rows."""
    (draws, scores), (new, new_scores) = (arbitrary_rows(30, 12, seed=seed) for seed in (1, 2))
    draws, new = draws + shift, new + shift
    frame = Frame(draws.mean(axis=0), draws.std(axis=0))
    witness = fitted(ps.Sample(draws, scores), 3, frame=frame, count=count)
    features = witness.project(new, new_scores)
    literal = literal_features(frame.apply(draws, scores), frame.apply(new, new_scores), 3)
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
    assert isinstance(fitted(sample, 3, count=1), DualWitness)
    # Raw powers of draws far from the origin take the way over a working frame.
    far = ps.Sample(sample.draws + 100.0, sample.scores)
    assert isinstance(fitted(far, 3, count=1), PulledBackWitness)


def test_features_are_named_with_the_score_last() -> None:
    sample = ps.Sample(*arbitrary_rows(30, 8))
    for witness in (fitted(sample, 2), fitted(sample, 2, count=1)):
        assert witness.names == ("x", "x^2", "score")
        assert witness.words == ("spread, correlation", "skewness", "location")


def test_feature_moments_are_the_literal_mean_and_covariance() -> None:
    draws, scores = arbitrary_rows(40, 3)
    sample = ps.Sample(draws, scores)
    moments = feature_moments(sample, every_row(sample), fitted(sample, 3))
    table = literal_features((draws, scores), (draws, scores), 3)
    mean, covariance = stein.mean_and_covariance(table)
    assert moments.mean == pytest.approx(mean, rel=1e-11)
    assert moments.covariance == pytest.approx(covariance, rel=1e-10)
    assert moments.rows == 40


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


# Other bases, and the matrices at hand


@pytest.mark.parametrize("count", [1, 10**9])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_other_bases_are_fitted_to_draws_as_they_come(count: int, shift: float) -> None:
    """Hermite polynomials have no way back from a working frame, and need none."""
    (draws, scores), (new, new_scores) = (arbitrary_rows(20, 8, seed=seed) for seed in (1, 2))
    sample = ps.Sample(draws + shift, scores)
    witness = fit_witness(sample, every_row(sample), Hermite(2), count=count)
    matrices, vector = resolution.maximiser(draws + shift, scores, "hermite", 2, "full", None)
    entries = resolution.entry_table(new + shift, new_scores, "hermite", "full", matrices, vector)
    bounds = [0, 64, 128, 136]
    literal = np.add.reduceat(entries, bounds[:-1], axis=1)
    features = witness.project(new + shift, new_scores)
    assert_features(features * (literal[0, 0] / features[0, 0]), literal, 1e-10)


def test_matrices_are_at_hand_however_few_the_rows_are() -> None:
    draws, scores = arbitrary_rows(10, 8)
    sample, frame = ps.Sample(draws, scores), Frame(draws.mean(axis=0), draws.std(axis=0))
    witness = fit_matrices(sample, every_row(sample), Monomial(3), frame=frame)
    assert isinstance(witness, PrimalWitness)
    matrices, vector = stein.maximiser(*frame.apply(draws, scores), 3)
    for found, literal in zip([*witness.A, witness.b], [*matrices, vector], strict=True):
        assert found == pytest.approx(literal, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_a_scaled_witness_has_its_matrices_scaled(structure: Any) -> None:
    """By a factor for each row of A_i, or for each entry."""
    train, rows = arbitrary_rows(40, 3, seed=1), arbitrary_rows(15, 3, seed=2)
    witness = fitted(ps.Sample(*train), 2, structure)
    rng = np.random.default_rng(0)
    of_rows = [rng.normal(size=3) for _ in range(3)]
    of_entries = [rng.normal(size=witness.A[0].shape) for _ in range(2)]
    for factors in (of_rows, [*of_entries, of_rows[-1]]):
        columns = [
            factor[:, None] if factor.ndim < matrix.ndim else factor
            for factor, matrix in zip(factors[:-1], witness.A, strict=True)
        ]
        scaled = [f * matrix for f, matrix in zip(columns, witness.A, strict=True)]
        literal = stein.features(*rows, scaled, factors[-1] * witness.b, structure)
        assert_features(witness.scaled(factors).project(*rows), literal)


@pytest.mark.parametrize("joint", [True, False])
def test_moments_of_any_projection_are_those_of_its_columns(joint: bool) -> None:
    class Products:
        def project(self, draws: Array, scores: Array) -> Array:
            return draws * scores

    draws, scores = arbitrary_rows(40, 3)
    log_weights, weights = arbitrary_weights(40)
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    found = projected_moments(sample, every_row(sample), Products(), 3, joint=joint)
    covariance = np.cov((draws * scores).T, aweights=weights, ddof=0)
    assert found.mean == pytest.approx(weights @ (draws * scores), rel=1e-11)
    assert found.covariance == pytest.approx(covariance if joint else np.diag(covariance))


# Pickles


@pytest.mark.parametrize(
    ("kind", "shift", "count"),
    [(PrimalWitness, 0.0, 10**9), (PulledBackWitness, 100.0, 10**9), (DualWitness, 0.0, 1)],
)
def test_a_witness_survives_pickling(kind: Any, shift: float, count: int) -> None:
    draws, scores = arbitrary_rows(20, 8, seed=1)
    witness = fitted(ps.Sample(draws + shift, scores), 3, count=count)
    assert type(witness) is kind
    copy = pickle.loads(pickle.dumps(witness))
    new, new_scores = arbitrary_rows(15, 8, seed=2)
    found, expected = (each.project(new + shift, new_scores) for each in (copy, witness))
    assert np.array_equal(found, expected)
    assert (copy.names, copy.words) == (witness.names, witness.words)
