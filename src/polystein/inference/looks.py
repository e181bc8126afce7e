"""Looks at data under way: how the level is spent on them, and what all of them say together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from polystein.inference.pvalues import upper_normal
from polystein.types import FloatArray


def spent_levels(alpha: float, times: Sequence[int]) -> FloatArray:
    """The part of the level that each look may spend: alpha (t_k - t_{k-1}) / t_K.

    The spending function is linear in the rows (Lan and DeMets, 1983, Discrete sequential
    boundaries for clinical trials, Biometrika 70). If each look gives a false alarm with at most
    its own part, all looks together do with at most alpha, however they depend on each other.
    """
    levels: FloatArray = alpha * np.diff(times, prepend=0) / times[-1]
    return levels


def combined_pvalue(pvalues: Sequence[float], rows: Sequence[int]) -> float:
    """One p-value of looks at separate rows: the tail of sum sqrt(n_j) z_j / sqrt(sum n_j).

    z_j is the normal quantile of the look's own p-value, and the weights were fixed before any
    row was seen (Lehmacher and Wassmer, 1999, Adaptive sample size calculations in group
    sequential trials, Biometrics 55). A bias that is too small for every single look adds up.
    """
    sizes = np.sqrt(np.asarray(rows, dtype=float))
    z = float(sizes @ upper_normal(np.asarray(pvalues))) / math.sqrt(float(np.sum(rows)))
    return float(ndtr(-z))
