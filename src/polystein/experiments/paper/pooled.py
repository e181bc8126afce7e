"""What many comparisons say together, and what each of them could have found.

A single cell of 100 and 200 replicates finds large differences only. The
Cochran-Mantel-Haenszel test adds up cells without mixing their rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2, hypergeom, norm

from polystein.experiments.paper.methods import LEVEL
from polystein.types import FloatArray

#: The probability with which a difference that counts as detectable is found.
POWER = 0.8
_STEP = 0.005


class Counts(NamedTuple):
    """Rejections and replicates of one cell, published and measured."""

    published: int
    published_replicates: int
    measured: int
    measured_replicates: int


class Pooled(NamedTuple):
    """Several cells together.

    Parameters
    ----------
    cells : int
        How many there are.
    difference : float
        Mantel and Haenszel's common difference of the rates, measured less published.
    pvalue : float
        Of the Cochran-Mantel-Haenszel test without continuity correction.
    detectable : float
        The common difference that this test finds with probability `POWER`.
    """

    cells: int
    difference: float
    pvalue: float
    detectable: float


def pool(cells: Iterable[Counts]) -> Pooled:
    """Test whether the rates of several cells differ in one direction.

    A cell in which every or no replicate rejects on both sides has no variance and adds nothing to
    the test; if all cells are such, the p-value is 1.

    Examples
    --------
    >>> pool([Counts(50, 100, 130, 200), Counts(40, 100, 100, 200)]).pvalue < 0.05
    True
    """
    table = np.array([tuple(cell) for cell in cells], dtype=float)
    published, first, measured, second = table.T
    total, rejections = first + second, published + measured
    expected = second * rejections / total
    variance = first * second * rejections * (total - rejections) / (total**2 * (total - 1.0))
    weights = first * second / total
    difference = float(np.sum(weights * (measured / second - published / first)) / weights.sum())
    if variance.sum() == 0.0:
        return Pooled(len(table), difference, 1.0, 0.0)
    statistic = float(np.sum(measured - expected) ** 2 / variance.sum())
    spread = math.sqrt(variance.sum()) / weights.sum()
    found = float(norm.isf(LEVEL / 2.0) + norm.ppf(POWER)) * float(spread)
    return Pooled(len(table), difference, float(chi2.sf(statistic, 1)), found)


@cache
def detectable(rate: float, first: int, second: int) -> float:
    """Smallest difference that Fisher's test at the level 0.05 finds with probability 0.8.

    In steps of 0.005; infinite where these numbers of replicates find no difference at all.

    Parameters
    ----------
    rate : float
        The rate of the first sample. The other rate lies on the side of 1/2, which has more room.
    first, second : int
        The samples' sizes.

    Examples
    --------
    >>> detectable(0.05, 100, 200)
    0.11
    """
    steps = np.arange(1, math.floor(max(rate, 1.0 - rate) / _STEP) + 1)
    others = rate + (1.0 if rate < 0.5 else -1.0) * _STEP * steps
    one = binom.pmf(np.arange(first + 1), first, rate)
    other = binom.pmf(np.arange(second + 1)[:, None], second, np.clip(others, 0.0, 1.0))
    found = np.flatnonzero(one @ _rejecting(first, second) @ other >= POWER)
    return round(float(steps[found[0]]) * _STEP, 3) if found.size else math.inf


@cache
def _rejecting(first: int, second: int) -> NDArray[np.bool_]:
    """Return the pairs of counts that Fisher's exact two-sided test rejects at the level 0.05."""
    rejects = np.zeros((first + 1, second + 1), dtype=bool)
    for total in range(first + second + 1):
        counts = np.arange(max(0, total - second), min(first, total) + 1)
        mass: FloatArray = hypergeom.pmf(counts, first + second, first, total)
        # As likely up to rounding is as likely.
        pvalues = (mass <= mass[:, None] * (1.0 + 1e-9)) @ mass
        rejects[counts, total - counts] = pvalues <= LEVEL
    return rejects


def detectable_range(cells: Sequence[Counts]) -> tuple[float, float]:
    """Return the least and the largest detectable difference of these cells."""
    found = [
        detectable(
            cell.published / cell.published_replicates,
            cell.published_replicates,
            cell.measured_replicates,
        )
        for cell in cells
    ]
    return min(found), max(found)
