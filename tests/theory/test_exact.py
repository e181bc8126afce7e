"""Rational moments of Gaussians, and how they are rounded once."""

import math
from fractions import Fraction

import pytest

from polystein.errors import ScaleError
from polystein.theory import GaussianPair
from polystein.theory.exact import ExactPair, as_float, root


def test_high_orders_are_exact_and_do_not_overflow_early() -> None:
    # d = 1, delta = 0: Z^2 = sum over odd i of ((1 - s) i (i-2)!! s^((i-1)/2))^2.
    variance = Fraction(3, 2)
    total = Fraction(0)
    for i in range(1, 182, 2):
        moment = math.prod(range(i - 2, 0, -2)) * variance ** ((i - 1) // 2)
        total += ((1 - variance) * i * moment) ** 2
    assert total > Fraction(10) ** 308
    pair = GaussianPair(1, 0.0, 1.5)
    root = math.isqrt(int(total))
    assert pair.psd(181) == pytest.approx(float(root), rel=1e-14)
    with pytest.raises(ScaleError, match="does not fit a float64"):
        pair.psd(401)
    with pytest.raises(ScaleError, match="does not fit a float64"):
        GaussianPair(1, 1e100, 1.0).stein_moments(5)


def test_moments_of_a_coordinate_are_those_of_the_normal() -> None:
    """delta = 1/2, sigma^2 = 3: E[X^4] = delta^4 + 6 delta^2 sigma^2 + 3 sigma^4."""
    pair = ExactPair(2, 0.5, 3.0)
    expected = [1, Fraction(1, 2), Fraction(13, 4), Fraction(37, 8), Fraction(505, 16)]
    assert [pair.moment(power) for power in (4, 0, 1, 2, 3)] == [expected[-1], *expected[:-1]]


def test_a_root_is_exact_where_it_can_be() -> None:
    assert root(Fraction(0)) == 0.0
    assert root(Fraction(9, 4)) == 1.5
    assert root(Fraction(2)) == math.sqrt(2.0)
    # Neither square fits a float64.
    assert root(Fraction(10**200) ** 2) == 1e200
    assert root(Fraction(1, 10**400)) == pytest.approx(1e-200, rel=1e-15, abs=0)


def test_what_does_not_fit_a_float64_is_an_error() -> None:
    assert as_float(Fraction(1, 3)) == 1 / 3
    for function, value in [(as_float, Fraction(10) ** 309), (root, Fraction(10) ** 618)]:
        with pytest.raises(ScaleError, match="does not fit a float64; lower `order` or `delta`"):
            function(value)
