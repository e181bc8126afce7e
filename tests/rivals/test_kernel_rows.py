"""All rows of a source for kernel tests, and multipliers for them."""

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError
from polystein.inference.multipliers import multipliers
from polystein.methods.wild_bootstrap import resampling_seed
from polystein.rivals.kernel_rows import held_rows, held_stein_rows, wild_factors
from polystein.stein.kernel import (
    Kernel,
    stein_diagonal,
    unbiased_square,
)
from tests.conftest import arbitrary_rows, arbitrary_weights
from tests.reference import kernels as literal
from tests.stein.kernels import KERNELS

both = pytest.mark.parametrize(("kernel", "reference"), KERNELS.values(), ids=KERNELS)


def weighted_chains() -> tuple[ps.Sample, literal.Array]:
    draws, scores = (part.reshape(2, 20, 3) for part in arbitrary_rows(40, 3))
    log_weights, weights = arbitrary_weights(40)
    return ps.Sample(draws, scores, log_weights=log_weights.reshape(2, 20)), weights


def test_all_rows_are_held_about_their_mean_with_weights_that_sum_to_1() -> None:
    source, weights = weighted_chains()
    draws, scores = arbitrary_rows(40, 3)
    rows, found = held_stein_rows(source)
    assert found == pytest.approx(weights, rel=1e-12)
    assert rows.draws == pytest.approx(draws - draws.mean(axis=0), rel=1e-12)
    assert np.array_equal(rows.scores, scores)
    held = held_rows(source)
    assert np.array_equal(held[0], draws)
    assert np.array_equal(held[1], scores)


@both
def test_the_unbiased_square_is_the_literal_one(kernel: Kernel, reference: literal.Kernel) -> None:
    source, weights = weighted_chains()
    matrix = literal.stein_matrix(reference, *arbitrary_rows(40, 3))
    found = unbiased_square(kernel, *held_stein_rows(source), literal.v_statistic(matrix, weights))
    assert found == pytest.approx(literal.u_statistic(matrix, weights), rel=1e-10)


@both
def test_factors_are_the_weights_and_their_products_with_multipliers(
    kernel: Kernel, reference: literal.Kernel
) -> None:
    source, weights = weighted_chains()
    rows, held = held_stein_rows(source)
    factors = wild_factors(source, held, 9, resampling_seed(5), 3.0)
    stream = multipliers(9, resampling_seed(5), 3.0)
    drawn = np.concatenate([np.ones((1, 40)), np.hstack([stream.draw(0, 20), stream.draw(1, 20)])])
    assert pytest.approx(drawn * weights, rel=1e-12) == factors.T
    diagonal = np.diagonal(literal.stein_matrix(reference, *arbitrary_rows(40, 3)))
    found = (factors**2).T @ stein_diagonal(kernel, rows)
    assert found == pytest.approx((drawn * weights) ** 2 @ diagonal, rel=1e-10)


def test_pairs_that_say_nothing_are_errors() -> None:
    draws, scores = arbitrary_rows(20, 2)
    for hold in (held_rows, held_stein_rows):
        with pytest.raises(InputError, match="at least 2 rows"):
            hold(ps.Sample(draws[:1, :1], scores[:1, :1]))
        with pytest.raises(DegenerateError, match="`scores` are all zero"):
            hold(ps.Sample(draws, 0.0 * scores))
