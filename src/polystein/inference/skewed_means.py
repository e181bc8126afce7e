"""Is the mean of independent, perhaps skewed numbers 0? Tails that hold far out.

The t-law is exact for normal numbers. For skewed ones it is too small in one tail, by a factor
of about exp(|γ| t³ / (3 √m)). Hall's transformation of t (1992, J. R. Statist. Soc. B 54)
removes the skewness to the first order. The larger of the two p-values is taken.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from polystein.types import FloatArray


def tails_of_means(values: FloatArray) -> FloatArray:
    """Two-sided p-values of the columns of (m, k) independent rows, with mean 0 under H0.

    A column without variance has the p-value 1 if it is 0 everywhere, and 0 otherwise.
    """
    m = len(values)
    mean = values.mean(axis=0)
    centred = values - mean
    spread = np.sqrt(np.einsum("ij,ij->j", centred, centred) / m)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.sqrt(m - 1.0) * mean / spread
        skewness = np.einsum("ij,ij,ij->j", centred, centred, centred) / m / spread**3
    found = two_sided(t, skewness, m)
    return np.where(spread > 0.0, found, np.where(mean == 0.0, 1.0, 0.0))


def two_sided(t: FloatArray, skewness: FloatArray, m: int) -> FloatArray:
    """The larger p-value of t and of Hall's transformation of it, for m numbers."""
    a = skewness / (3.0 * np.sqrt(m))
    hall = t + a * t**2 + a**2 * t**3 / 3.0 + a / 2.0
    least = np.fmin(np.abs(t), np.abs(hall))
    # Of |t| and |g(t)| the smaller one has the larger p-value.
    p: FloatArray = 2.0 * stdtr(m - 1, -least)
    return np.asarray(np.clip(p, 0.0, 1.0))
