"""PSD, lambda-PSD and o-PSD: the literal numbers, or an error."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError, ScaleError
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import stein

STRUCTURES = ["full", "diagonal"]
FUNCTIONS: list[Any] = [ps.psd, ps.lambda_psd, ps.o_psd]


# PSD


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(7))
@pytest.mark.parametrize("estimator", ["u", "v"])
def test_psd_is_the_literal_one(order: int, structure: Any, estimator: Any) -> None:
    draws, scores = arbitrary_rows(40, 3)
    literal = {"u": stein.psd_u, "v": stein.psd_v}[estimator](draws, scores, order, structure)
    value = ps.psd(
        draws,
        scores,
        order=order,
        structure=structure,
        estimator=estimator,
    )
    assert type(value) is float
    assert value == pytest.approx(literal, rel=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", [0, 1, 4])
@pytest.mark.parametrize("estimator", ["u", "v"])
def test_weighted_psd_is_the_literal_one(order: int, structure: Any, estimator: Any) -> None:
    draws, scores = arbitrary_rows(40, 3)
    log_weights, weights = arbitrary_weights(40)
    function = {"u": stein.psd_u, "v": stein.psd_v}[estimator]
    sample = ps.Sample(draws, scores, log_weights=log_weights)
    value = ps.psd(sample, order=order, structure=structure, estimator=estimator)
    assert value == pytest.approx(function(draws, scores, order, structure, weights), rel=1e-10)


def test_the_unbiased_square_may_be_negative() -> None:
    draws = np.random.default_rng(3).standard_normal((50, 2))
    value = ps.psd(draws, -draws, order=1, estimator="u")
    assert value == pytest.approx(stein.psd_u(draws, -draws, 1), rel=1e-10)
    assert value < 0.0


def test_chains_count_as_their_rows() -> None:
    draws, scores = arbitrary_rows(60, 3)
    chains = draws.reshape(3, 20, 3), scores.reshape(3, 20, 3)
    for function in FUNCTIONS:
        assert function(*chains, order=1) == pytest.approx(
            function(draws, scores, order=1), rel=1e-12
        )


def test_high_dimensions_with_few_draws_are_no_problem() -> None:
    draws, scores = arbitrary_rows(30, 50)
    assert ps.psd(draws, scores, order=3) == pytest.approx(stein.psd_v(draws, scores, 3), rel=1e-10)


# lambda-PSD


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(5))
def test_lambda_psd_is_the_literal_one(order: int, structure: Any) -> None:
    draws, scores = arbitrary_rows(60, 3)
    value = ps.lambda_psd(draws, scores, order=order, structure=structure)
    assert value == pytest.approx(stein.lambda_psd(draws, scores, order, structure), rel=1e-10)


def test_lambda_psd_in_the_dual_form_is_the_literal_one() -> None:
    draws, scores = arbitrary_rows(30, 60)
    literal = stein.lambda_psd(draws, scores, 2)
    assert ps.lambda_psd(draws, scores, order=2) == pytest.approx(literal, rel=1e-10)


def test_weighted_lambda_psd_counts_rows_as_often_as_they_weigh() -> None:
    draws, scores = arbitrary_rows(40, 3)
    times = np.random.default_rng(1).integers(1, 4, 40)
    weighted = ps.Sample(draws, scores, log_weights=np.log(times))
    repeated = np.repeat(draws, times, axis=0), np.repeat(scores, times, axis=0)
    for function in (ps.lambda_psd, ps.psd):
        assert function(weighted, order=3) == pytest.approx(function(*repeated, order=3), rel=1e-10)
    plug_in = ps.o_psd(*repeated, order=1, shrinkage=0.0)
    assert ps.o_psd(weighted, order=1, shrinkage=0.0) == pytest.approx(plug_in, rel=1e-10)


def test_a_ridge_lowers_lambda_psd() -> None:
    draws, scores = arbitrary_rows(60, 3)
    values = [ps.lambda_psd(draws, scores, order=3, ridge=ridge) for ridge in (0.0, 0.1, 1.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2]


def test_lambda_psd_falls_with_the_root_of_a_large_ridge() -> None:
    rows = arbitrary_rows(80, 2)
    large, largest = (ps.lambda_psd(*rows, order=3, ridge=ridge) for ridge in (1e100, 1e308))
    assert largest == pytest.approx(1e-104 * large, rel=1e-12)


@pytest.mark.parametrize("ridge", [-0.1, float("nan"), float("inf")])
def test_bad_ridges_are_refused(ridge: float) -> None:
    with pytest.raises(InputError, match=f"`ridge` must be a finite number >= 0; got {ridge!r}"):
        ps.lambda_psd(*arbitrary_rows(60, 2), order=2, ridge=ridge)


# o-PSD


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("order", range(4))
def test_o_psd_is_the_literal_one(order: int, structure: Any) -> None:
    draws, scores = arbitrary_rows(120, 2)
    value = ps.o_psd(draws, scores, order=order, structure=structure, shrinkage=0.0)
    assert value == pytest.approx(stein.o_psd(draws, scores, order, structure), rel=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_full_shrinkage_is_the_diagonal_covariance(structure: Any) -> None:
    draws, scores = arbitrary_rows(120, 2)
    rows = np.array([stein.xi(x, s, 2, structure) for x, s in zip(draws, scores, strict=True)])
    expected = stein.o_psd(draws, scores, 2, structure, np.diag(rows.var(axis=0)))
    value = ps.o_psd(draws, scores, order=2, structure=structure, shrinkage=1.0)
    assert value == pytest.approx(expected, rel=1e-10)


def test_partial_shrinkage_draws_correlations_to_zero() -> None:
    draws, scores = arbitrary_rows(120, 2)
    rows = np.array([stein.xi(x, s, 2) for x, s in zip(draws, scores, strict=True)])
    covariance = np.cov(rows.T, ddof=0)
    shrunk = 0.7 * covariance + 0.3 * np.diag(np.diag(covariance))
    expected = stein.o_psd(draws, scores, 2, "full", shrunk)
    value = ps.o_psd(draws, scores, order=2, shrinkage=0.3)
    assert value == pytest.approx(expected, rel=1e-10)


def test_the_default_shrinkage_is_that_of_schaefer_and_strimmer() -> None:
    draws, scores = arbitrary_rows(50, 2)
    rows = np.array([stein.xi(x, s, 1) for x, s in zip(draws, scores, strict=True)])
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    variance, square = 0.0, 0.0
    for i in range(rows.shape[1]):
        for j in range(rows.shape[1]):
            if i != j:
                products = standard[:, i] * standard[:, j]
                variance += np.var(products) / 50
                square += np.mean(products) ** 2
    assert 0.0 < variance / square < 1.0
    explicit = ps.o_psd(draws, scores, order=1, shrinkage=variance / square)
    assert ps.o_psd(draws, scores, order=1) == pytest.approx(explicit, rel=1e-10)


def test_o_psd_is_defined_with_more_parameters_than_draws() -> None:
    draws, scores = arbitrary_rows(30, 8)
    assert 0.0 < ps.o_psd(draws, scores, order=2) < np.inf
    with pytest.raises(DegenerateError, match="too few draws for the features"):
        ps.o_psd(draws, scores, order=2, shrinkage=0.0)


def test_above_4096_parameters_the_covariance_is_diagonal() -> None:
    draws, scores = arbitrary_rows(70, 64)
    mean, spread = (scores[:, :, None] * draws[:, None, :]), scores
    phi = mean + np.eye(64)
    rows = np.concatenate([phi.reshape(70, -1), spread], axis=1)
    expected = float(np.sum((rows.mean(axis=0) / rows.std(axis=0)) ** 2))
    assert rows.shape[1] == 4160
    assert ps.o_psd(draws, scores, order=1) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("target", "independent"), [("gaussian", 14), ("logistic", 20)])
def test_o_psd_of_perfect_draws_is_near_the_number_of_independent_features_over_n(
    target: str, independent: int
) -> None:
    """Order 1, d = 4: d^2 + d = 20 features, of which 6 repeat if the target is Gaussian."""
    rng, n, values = np.random.default_rng(3), 4000, []
    factor = np.linalg.cholesky(np.full((4, 4), 0.5) + 0.5 * np.eye(4))
    for _ in range(60):
        if target == "gaussian":
            noise = rng.standard_normal((n, 4))
            draws, scores = noise @ factor.T + 1.0, -np.linalg.solve(factor.T, noise.T).T
        else:
            draws = rng.logistic(size=(n, 4))
            scores = -np.tanh(draws / 2.0)
        values.append(n * ps.o_psd(draws, scores, order=1, shrinkage=0.0))
    rows = [stein.xi(draw, score, 1) for draw, score in zip(draws[:100], scores[:100], strict=True)]
    assert np.linalg.matrix_rank(np.cov(np.array(rows).T)) == independent
    error = np.std(values) / len(values) ** 0.5
    assert error < 0.06 * independent
    # 14 and 20 are more than six standard errors apart; 5 % is for n that is finite.
    assert abs(np.mean(values) - independent) < 3.0 * error + 0.05 * independent


def test_o_psd_is_invariant_to_shifts() -> None:
    """Sigma^-1 undoes any change of basis, and a shift only mixes the features."""
    draws, scores = arbitrary_rows(200, 2)
    here = ps.o_psd(draws, scores, order=3, shrinkage=0.0)
    there = ps.o_psd(draws + 128.0, scores, order=3, shrinkage=0.0)
    assert there == pytest.approx(here, rel=1e-8)


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, float("nan")])
def test_bad_shrinkages_are_refused(shrinkage: float) -> None:
    with pytest.raises(InputError, match=rf"`shrinkage` must be in \[0, 1\]; got {shrinkage!r}"):
        ps.o_psd(*arbitrary_rows(60, 2), order=2, shrinkage=shrinkage)


# All three


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("order", [-1, 1.5, True, "2", None, float("nan")])
def test_bad_orders_are_refused(function: Any, order: Any) -> None:
    with pytest.raises(InputError, match=f"`order` must be an integer >= 0; got {order!r}"):
        function(*arbitrary_rows(30, 2), order=order)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_integers_of_numpy_are_orders(function: Any) -> None:
    rows = arbitrary_rows(60, 2)
    assert function(*rows, order=np.int64(2)) == function(*rows, order=2)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_unknown_structure_is_refused(function: Any) -> None:
    with pytest.raises(InputError, match="`structure` must be 'full' or 'diagonal'; got 'dense'"):
        function(*arbitrary_rows(30, 2), order=1, structure="dense")


def test_an_unknown_estimator_is_refused() -> None:
    with pytest.raises(InputError, match="`estimator` must be 'u' or 'v'; got 'w'"):
        ps.psd(*arbitrary_rows(30, 2), order=1, estimator="w")  # type: ignore[arg-type]


def test_one_draw_is_too_few_for_a_variance() -> None:
    one = np.ones((1, 1))
    assert ps.psd(one, one, order=1) == pytest.approx(5**0.5, rel=1e-15)
    with pytest.raises(InputError, match="`draws` must have at least 2 rows; got 1"):
        ps.psd(one, one, order=1, estimator="u")
    for function in (ps.lambda_psd, ps.o_psd):
        with pytest.raises(InputError, match="`draws` must have at least 2 rows; got 1"):
            function(one, one, order=1)


def test_constant_scores_carry_no_variance() -> None:
    draws, _ = arbitrary_rows(50, 2)
    for function in (ps.lambda_psd, ps.o_psd):
        with pytest.raises(DegenerateError):
            function(draws, np.ones_like(draws), order=0)


def test_all_weight_on_one_draw_is_an_error() -> None:
    log_weights = np.full(50, -np.inf)
    log_weights[3] = 0.0
    sample = ps.Sample(*arbitrary_rows(50, 2), log_weights=log_weights)
    with pytest.raises((DegenerateError, InputError)):
        ps.psd(sample, order=1, estimator="u")
    for function in (ps.lambda_psd, ps.o_psd):
        with pytest.raises((DegenerateError, InputError)):
            function(sample, order=1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_overflow_is_an_error_and_not_infinity(function: Any) -> None:
    draws, scores = arbitrary_rows(60, 2)
    with pytest.raises(ScaleError, match="overflows in the coordinates of `draws`"):
        function(draws * 1e80, scores / 1e80, order=6)


def test_an_unbiased_square_that_overflows_is_an_error() -> None:
    draws, scores = arbitrary_rows(60, 2)
    big = draws * 1e40, scores / 1e40
    assert ps.psd(*big, order=6) > 1e190
    with pytest.raises(ScaleError, match="overflows in the coordinates of `draws`"):
        ps.psd(*big, order=6, estimator="u")


def test_huge_draws_that_do_not_overflow_the_answer_have_one() -> None:
    """At order 1, scores undo the scale of draws."""
    draws, scores = arbitrary_rows(60, 2)
    expected = ps.psd(draws, scores, order=1) ** 2 - ps.psd(draws, scores, order=0) ** 2
    assert ps.psd(draws * 1e200, scores / 1e200, order=1) == pytest.approx(expected**0.5, rel=1e-12)
