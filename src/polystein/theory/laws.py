"""How the signal-to-noise ratio falls with the order: Remark 3.6, as printed and as corrected."""

from __future__ import annotations

import math
from fractions import Fraction

from polystein._lib.arguments import order_of
from polystein.theory.exact import as_float


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
