"""Means, standard deviations, shapes and correlations as functions of moments.

Each has a value and a gradient, on the scale on which it is closest to normal: log for standard
deviations, Fisher's z for correlations. Moments are those of centred and scaled draws.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from polystein._lib.numerics import ROUNDING
from polystein.types import FloatArray

What: TypeAlias = Literal["mean", "sd", "skew", "tail", "correlation"]


class Valued(NamedTuple):
    """A value, and its gradient in the moments."""

    value: float
    gradient: FloatArray


def variance(moments: FloatArray) -> float:
    """The variance, from E y and E y^2; it may be negative for corrected moments."""
    return float(moments[1] - moments[0] ** 2)


def mean(moments: FloatArray) -> Valued:
    """E y, from E y and whatever follows."""
    gradient = np.zeros(len(moments))
    gradient[0] = 1.0
    return Valued(float(moments[0]), gradient)


def log_sd(moments: FloatArray) -> Valued:
    """The logarithm of the standard deviation, from E y, E y^2 and whatever follows."""
    spread = variance(moments)
    gradient = np.zeros(len(moments))
    gradient[:2] = -moments[0] / spread, 0.5 / spread
    return Valued(0.5 * math.log(spread), gradient)


def skew(moments: FloatArray) -> Valued:
    """The third standardised moment, from E y to E y^4."""
    a, b, c = (float(one) for one in moments[:3])
    spread = variance(moments)
    third = c - 3.0 * a * b + 2.0 * a**3
    change = np.array([-3.0 * b + 6.0 * a**2, -3.0 * a, 1.0, 0.0])
    spread_change = np.array([-2.0 * a, 1.0, 0.0, 0.0])
    value = third / spread**1.5
    return Valued(value, change / spread**1.5 - 1.5 * value / spread * spread_change)


def tail(moments: FloatArray) -> Valued:
    """The fourth standardised moment, from E y to E y^4."""
    a, b, c, e = (float(one) for one in moments)
    spread = variance(moments)
    fourth = e - 4.0 * a * c + 6.0 * a**2 * b - 3.0 * a**4
    change = np.array([-4.0 * c + 12.0 * a * b - 12.0 * a**3, 6.0 * a**2, -4.0 * a, 1.0])
    spread_change = np.array([-2.0 * a, 1.0, 0.0, 0.0])
    value = fourth / spread**2
    return Valued(value, change / spread**2 - 2.0 * value / spread * spread_change)


def fisher_z(moments: FloatArray) -> Valued:
    """Fisher's z of the correlation, from E y_j, E y_k, E y_j^2, E y_k^2 and E y_j y_k."""
    a, b, aa, bb, ab = (float(one) for one in moments)
    first, second = aa - a * a, bb - b * b
    root = math.sqrt(first * second)
    value = (ab - a * b) / root
    change = np.array([-b, -a, 0.0, 0.0, 1.0]) / root
    change -= 0.5 * value / first * np.array([-2.0 * a, 0.0, 1.0, 0.0, 0.0])
    change -= 0.5 * value / second * np.array([0.0, -2.0 * b, 0.0, 1.0, 0.0])
    return Valued(math.atanh(value), change / (1.0 - value**2))


FUNCTIONALS = {"mean": mean, "sd": log_sd, "skew": skew, "tail": tail, "correlation": fisher_z}


def has_value(what: What, moments: FloatArray) -> bool:
    """Whether the moments are those of some distribution, as far as the functional needs it."""
    if what == "mean":
        return True
    if what != "correlation":
        return variance(moments) > 0.0
    a, b, aa, bb, ab = (float(one) for one in moments)
    first, second = aa - a * a, bb - b * b
    # A correlation of 1 but for rounding has no value on Fisher's scale.
    return first > 0.0 and second > 0.0 and (ab - a * b) ** 2 < (1.0 - ROUNDING) * first * second


class Difference(NamedTuple):
    """The sampler's error, with its gradients in plain and in corrected moments."""

    value: float
    plain: FloatArray
    corrected: FloatArray


def difference(what: What, plain: FloatArray, corrected: FloatArray) -> Difference:
    """The functional of the plain minus that of the corrected moments.

    The difference of means is in units of the target's standard deviation where its second moment
    is given, too.
    """
    before, after = FUNCTIONALS[what](plain), FUNCTIONALS[what](corrected)
    value = before.value - after.value
    if what != "mean" or len(plain) < 2:
        return Difference(value, before.gradient, -after.gradient)
    if variance(corrected) <= 0.0:
        unit = math.sqrt(variance(plain))
        return Difference(value / unit, before.gradient / unit, -after.gradient / unit)
    scale = log_sd(corrected)
    unit = math.exp(scale.value)
    value /= unit
    return Difference(
        value, before.gradient / unit, -after.gradient / unit - value * scale.gradient
    )
