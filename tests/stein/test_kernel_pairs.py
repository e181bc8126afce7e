"""Pairs of rows in square blocks, against the Stein kernel matrix written out."""

import numpy as np
import pytest

from polystein.stein.kernel import (
    IMQKernel,
    Kernel,
    pairs,
    quadratic_forms,
    stein_diagonal,
    stein_kernel,
    stein_rows,
)
from tests.conftest import arbitrary_rows
from tests.reference import kernels as literal
from tests.stein.kernels import KERNELS

both = pytest.mark.parametrize(("kernel", "reference"), KERNELS.values(), ids=KERNELS)


@both
def test_stein_kernel_of_two_sets_is_the_literal_one(
    kernel: Kernel, reference: literal.Kernel
) -> None:
    draws, scores = arbitrary_rows(25, 4)
    rows = stein_rows(draws, scores, draws.mean(axis=0))
    values = stein_kernel(kernel, pairs(rows.take(slice(0, 10)), rows.take(slice(10, 25))))
    expected = literal.stein_matrix(reference, draws, scores)
    assert values == pytest.approx(expected[:10, 10:], rel=1e-10, abs=1e-12)
    assert stein_diagonal(kernel, rows) == pytest.approx(np.diagonal(expected), rel=1e-12)


@both
def test_digits_survive_draws_far_from_the_origin(
    kernel: Kernel, reference: literal.Kernel
) -> None:
    draws, scores = arbitrary_rows(12, 2)
    draws = np.round(draws, 6)
    far = stein_rows(draws + 1e6, scores, (draws + 1e6).mean(axis=0))
    values = stein_kernel(kernel, pairs(far, far))
    assert values == pytest.approx(literal.stein_matrix(reference, draws, scores), abs=1e-8)


@both
def test_quadratic_forms_are_literal_whatever_the_block(
    kernel: Kernel, reference: literal.Kernel
) -> None:
    draws, scores = arbitrary_rows(40, 3)
    factors = np.random.default_rng(1).normal(size=(40, 5))
    rows = stein_rows(draws, scores, draws.mean(axis=0))
    matrix = literal.stein_matrix(reference, draws, scores)
    expected = [literal.v_statistic(matrix, column) for column in factors.T]
    for side in (1, 7, 16, 39, 40, 128):
        forms = quadratic_forms(rows, [kernel, kernel], factors, side=side)
        assert forms[0] == pytest.approx(expected, rel=1e-10)
        assert np.array_equal(forms[0], forms[1])


def test_progress_counts_blocks_on_and_above_the_diagonal() -> None:
    draws, scores = arbitrary_rows(25, 2)
    rows = stein_rows(draws, scores, draws.mean(axis=0))
    seen: list[tuple[int, int]] = []
    quadratic_forms(rows, [IMQKernel()], np.ones((25, 1)), lambda *done: seen.append(done), side=10)
    assert seen == [(done, 6) for done in range(1, 7)]
