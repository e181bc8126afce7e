"""The signal-to-noise ratio of the U-statistic: Theorem 3.5 from draws, and Remark 3.6."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from polystein._lib.arguments import order_of
from polystein._lib.numerics import ROUNDING
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.theory.exact import as_float
from polystein.theory.moments import real_rows
from polystein.types import FloatArray

_Number = TypeVar("_Number", Fraction, float)


class SignalToNoise(NamedTuple):
    """Theorem 3.5 estimated from `n` draws; see `snr_squared`.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).normal(0.5, 1.0, size=(1000, 1))
    >>> found = ps.theory.snr_squared(draws, -draws, order=0)
    >>> found.n, round(found.signal, 1)  # the signal is the square of PSD, 0.5^2
    (1000, 0.2)
    """

    signal: float
    zeta1: float
    zeta2: float
    n: int
    snr_squared: float


def snr_squared(draws: npt.ArrayLike, scores: npt.ArrayLike, /, *, order: int) -> SignalToNoise:
    r"""Estimate Theorem 3.5 from draws of any sampler, without plug-in bias.

    Every product of expectations is averaged over distinct draws only, with k = xi(x)^T xi(x'):

        zeta_1 = E[k(x, x') k(x, x'')] - E[k(x, x')] E[k(x'', x''')]    (triples, quadruples)
        zeta_2 = E[k(x, x')^2]         - E[k(x, x')] E[k(x'', x''')]    (pairs, quadruples).

    Quadratic in n in time and memory (n x n matrices, never the n x (Q d^2 + d) features): meant
    for thousands of draws, not millions.

    Parameters
    ----------
    draws : array_like of shape (n, d)
        Independent draws of the sampler, n >= 4.
    scores : array_like of shape (n, d)
        The target's scores at the draws.
    order : int
        The order Q >= 0.

    Returns
    -------
    SignalToNoise
        `signal` is the U-statistic; `zeta1` and `zeta2` are unbiased, and `zeta1` may be negative.
        `snr_squared` divides the unbiased estimate of Z^4 by the variance that Theorem 3.5 gives
        for n draws, in which a negative `zeta1` counts as 0; without a signal it scatters around
        0 and may be negative.

    Raises
    ------
    InputError
        If an argument has the wrong type, shape, size or values.
    ScaleError
        If xi(x)^T xi(x') or its square does not fit a float64.
    DegenerateError
        If xi(x)^T xi(x') is constant over the draws: there is no noise to compare with.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = 0.5 + np.random.default_rng(1).standard_normal((500, 2))
    >>> estimate = ps.theory.snr_squared(draws, -draws, order=1)
    >>> pair = ps.theory.GaussianPair(dimension=2, delta=0.5, variance=1.0)
    >>> print(f"{estimate.snr_squared:.0f}, exactly {pair.snr_squared_u(order=1, n=500):.0f}")
    29, exactly 28
    """
    order = order_of(order, least=0)
    points = real_rows("draws", draws, least=4)
    slopes = real_rows("scores", scores, least=4)
    if slopes.shape != points.shape:
        raise InputError(
            f"`scores` must have the shape of `draws`, {points.shape}; got {slopes.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        gram = _gram(points, slopes, order)
    try:
        return _unbiased_parts(gram)
    except OverflowError as error:
        raise ScaleError(
            f"xi(x)^T xi(x') of order {order} does not fit a float64; rescale `draws`"
        ) from error


def variance_of_u(zeta1: _Number, zeta2: _Number, n: int) -> _Number:
    """Return the denominator of Theorem 3.5."""
    return (4 * (n - 2) * zeta1 + 2 * zeta2) / (n * (n - 1))


def _gram(draws: FloatArray, scores: FloatArray, order: int) -> FloatArray:
    """Return the n x n matrix k(x_j, x_k) from d-dimensional products, one order at a time."""
    score_products = scores @ scores.T
    gram = score_products.copy()
    power = np.ones_like(draws)
    for i in range(1, order + 1):
        # power = x^(i-1); the three parts are s x^i with itself, with the diagonal, and the
        # diagonal with itself.
        mixed = i * ((scores * power * draws) @ power.T)
        gram += mixed + mixed.T + i * i * (power @ power.T)
        power = power * draws
        gram += score_products * (power @ power.T)
    return gram


def _unbiased_parts(gram: FloatArray) -> SignalToNoise:
    """Return the estimates; an OverflowError says that one of them does not fit a float64.

    With row sums r and total T of k off the diagonal, R = |r|^2 and F = the sum of k^2, the sums
    over distinct indices are R - F (triples, one index shared) and T^2 - 4 R + 2 F (quadruples).
    The zetas do not change when a constant is taken from k; taking the signal makes T = 0.
    """
    n = gram.shape[0]
    others = ~np.eye(n, dtype=bool)
    scale = _power_of_two(float(np.max(np.abs(gram), where=others, initial=0.0)))
    gram = np.where(others, np.ldexp(gram, -scale), 0.0)
    signal = float(np.sum(gram)) / math.perm(n, 2)
    centred = np.where(others, gram - signal, 0.0)
    squares, row_squares = float(np.sum(centred**2)), float(np.sum(np.sum(centred, axis=1) ** 2))
    quadruples = (2 * squares - 4 * row_squares) / math.perm(n, 4)
    zeta1 = (row_squares - squares) / math.perm(n, 3) - quadruples
    zeta2 = squares / math.perm(n, 2) - quadruples
    # zeta2 >= 0 by its coefficients, and zeta2 - 2 zeta1 is a residual sum of squares; only
    # zeta1 can fall below what it estimates.
    noise = variance_of_u(max(zeta1, 0.0), zeta2, n)
    if noise <= 0 or squares <= math.perm(n, 2) * ROUNDING**2:
        raise DegenerateError("xi(x)^T xi(x') is constant over `draws`: its variance is zero")
    return SignalToNoise(
        math.ldexp(signal, scale),
        math.ldexp(zeta1, 2 * scale),
        math.ldexp(zeta2, 2 * scale),
        n,
        (signal**2 + quadruples) / noise,
    )


def _power_of_two(size: float) -> int:
    """Return the exponent that scales `size` to about 1, so that squares stay in range."""
    if not math.isfinite(size):
        raise OverflowError
    return math.frexp(size)[1]


def printed_law(order: int) -> float:
    """Remark 3.6 as printed: ((Q+1)!!)^2 / (2Q+1)!!.

    Proportional to SNR(Q)^2 under moment dominance: only ratios between orders have a meaning.
    It takes (Q+1)!! for E[X^(Q+1)]; see `corrected_law`.

    Examples
    --------
    >>> print(f"{printed_law(3):.4f}")  # (4!!)^2 / 7!! = 64/105
    0.6095
    """
    order = order_of(order, least=0)
    return as_float(Fraction(_double_factorial(order + 1) ** 2, _double_factorial(2 * order + 1)))


def corrected_law(order: int) -> float:
    """Remark 3.6 with the Gaussian moment corrected: (Q!!)^2 / (2Q+1)!!.

    A standard Gaussian has E[X^(Q+1)] = Q!! for odd Q, where the paper prints (Q+1)!!; the two
    laws differ by a factor of about pi Q / 2. Like the printed law it predicts slopes, not levels,
    and along odd orders only: at even Q the leading moment E[X^(Q+1)] vanishes with delta, so the
    exact SNR^2 oscillates with the parity of Q while this formula merely interpolates. Both laws
    also presume n zeta_1 >> zeta_2, which at high orders takes far more draws than anyone has.

    Examples
    --------
    >>> print(f"{corrected_law(3):.4f}")  # (3!!)^2 / 7!! = 9/105
    0.0857
    """
    order = order_of(order, least=0)
    return as_float(Fraction(_double_factorial(order) ** 2, _double_factorial(2 * order + 1)))


def _double_factorial(number: int) -> int:
    return math.prod(range(number, 0, -2))
