"""Kernels, their derivatives, and the median of the distances."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.stein.kernel import (
    MEDIAN_ROWS,
    GaussianKernel,
    IMQKernel,
    Kernel,
    fixed_kernel,
    median_distance,
)
from tests.conftest import Array, arbitrary_rows
from tests.reference import kernels as literal
from tests.stein.kernels import KERNELS

both = pytest.mark.parametrize(("kernel", "reference"), KERNELS.values(), ids=KERNELS)


def difference_quotient(f: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    """Central differences, one for each coordinate."""
    units = step * np.eye(at.size)
    return np.array([(f(at + unit) - f(at - unit)) / (2 * step) for unit in units])


@both
def test_the_literal_derivatives_are_those_of_the_kernel(
    kernel: Kernel, reference: literal.Kernel
) -> None:
    x, y = arbitrary_rows(3, 3)[0][:2]
    in_x = difference_quotient(lambda at: reference.value(at, y), x)
    in_y = difference_quotient(lambda at: reference.value(x, at), y)
    cross = sum(
        float(difference_quotient(lambda at, i=i: reference.gradient_x(x, at)[i], y)[i])
        for i in range(3)
    )
    assert reference.gradient_x(x, y) == pytest.approx(in_x, abs=1e-8)
    assert reference.gradient_y(x, y) == pytest.approx(in_y, abs=1e-8)
    assert reference.trace(x, y) == pytest.approx(cross, abs=1e-8)


@pytest.mark.parametrize("n", [6, 7, 41])
def test_median_is_the_literal_one(n: int) -> None:
    draws, _ = arbitrary_rows(n, 3)
    assert median_distance(draws) == pytest.approx(literal.median_distance(draws), rel=1e-12)


def test_median_bandwidth_is_the_deviation_of_the_gaussian() -> None:
    """Two rows at distance 3 have the kernel exp(-9/(2 * 9)) = exp(-1/2)."""
    draws = np.array([[0.0], [3.0]])
    kernel = fixed_kernel(GaussianKernel(), draws)
    assert kernel == GaussianKernel(bandwidth=3.0)
    assert kernel.profile(np.array([9.0])).value[0] == pytest.approx(math.exp(-0.5))


def test_median_of_many_rows_is_that_of_some_and_always_the_same() -> None:
    draws = np.random.default_rng(0).standard_normal((3 * MEDIAN_ROWS, 2))
    first, again = median_distance(draws), median_distance(draws.copy())
    assert first == again
    # The median distance of N(0, I) in two dimensions, sqrt(4 log 2).
    assert first == pytest.approx(math.sqrt(4 * math.log(2)), rel=0.05)


def test_a_width_that_is_given_stays() -> None:
    draws, _ = arbitrary_rows(10, 2)
    for kernel in (IMQKernel(), GaussianKernel(0.5)):
        assert fixed_kernel(kernel, draws) is kernel


def test_equal_rows_have_no_median() -> None:
    with pytest.raises(DegenerateError, match="median of the distances"):
        fixed_kernel(GaussianKernel(), np.ones((30, 2)))


@pytest.mark.parametrize("c", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_c_must_be_positive(c: Any) -> None:
    with pytest.raises(InputError, match=r"`c` must be a positive number; got"):
        IMQKernel(c=c)


def test_a_c_whose_square_overflows_is_an_error() -> None:
    draws = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ScaleError, match="the square of `c` of the kernel overflows"):
        ps.ksd(draws, -draws, kernel=IMQKernel(c=1e300))


@pytest.mark.parametrize("beta", [0.0, 0.5, math.nan, -math.inf, None])
def test_beta_must_be_negative(beta: Any) -> None:
    with pytest.raises(InputError, match=r"`beta` must be a negative number; got"):
        IMQKernel(beta=beta)


# An array is no number, and compares with "median" element by element.
ARRAY = np.array([1.0, 2.0])


@pytest.mark.parametrize("bandwidth", [0.0, -2.0, math.nan, math.inf, "mean", None, True, ARRAY])
def test_bandwidth_must_be_positive_or_the_median(bandwidth: Any) -> None:
    with pytest.raises(InputError, match=r"`bandwidth` must be a positive number or 'median'; got"):
        GaussianKernel(bandwidth=bandwidth)


def test_a_kernel_without_a_width_cannot_be_evaluated() -> None:
    with pytest.raises(InputError, match="`bandwidth` must be a number"):
        GaussianKernel().profile(np.zeros(1))


@pytest.mark.parametrize("kernel", ["imq", None, IMQKernel])
def test_other_kernels_are_refused(kernel: Any) -> None:
    with pytest.raises(InputError, match="`kernel` must be an IMQKernel or a GaussianKernel"):
        fixed_kernel(kernel, np.zeros((2, 1)))


def test_widths_whose_squares_leave_the_range_of_a_float64() -> None:
    draws = np.random.default_rng(0).standard_normal((40, 2))
    wide = ps.ksd(draws, -draws, kernel=GaussianKernel(1e300))
    assert wide == pytest.approx(ps.ksd(draws, -draws, kernel=GaussianKernel(1e20)), rel=1e-12)
    with pytest.raises(ps.ScaleError):
        ps.ksd(draws, -draws, kernel=GaussianKernel(1e-300))
