"""Differences between sets of draws with their intervals, and the ranks that these allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from scipy.special import stdtr

from polystein.inference.pvalues import holm
from polystein.results.sampler_comparison import MEASURES, ComparedSet, Distance, SetDifference


def differences_of(rows: Sequence[ComparedSet]) -> tuple[SetDifference, ...]:
    """All pairs in all measures, p-values adjusted within each measure."""
    found: list[SetDifference] = []
    for measure in MEASURES:
        known = [(row.name, one) for row in rows if (one := row.distance(measure)) is not None]
        pairs = list(combinations(known, 2))
        adjusted = holm([_pvalue(one, other) for (_, one), (_, other) in pairs]).tolist()
        found += [
            SetDifference(first, second, measure, *_difference(one, other), pvalue)
            for ((first, one), (second, other)), pvalue in zip(pairs, adjusted, strict=True)
        ]
    return tuple(found)


def _difference(one: Distance, other: Distance) -> tuple[float, float, float]:
    """A difference of distances with an interval from theirs (Zou and Donner, 2008)."""
    value = one.value - other.value
    below = math.hypot(one.value - one.lower, other.upper - other.value)
    above = math.hypot(one.upper - one.value, other.value - other.lower)
    return value, value - below, value + above


def _pvalue(one: Distance, other: Distance) -> float:
    """Two-sided, of a difference of squares; degrees of freedom after Welch and Satterthwaite."""
    error = math.hypot(one.error, other.error)
    change = abs(one.square - other.square)
    if error == 0.0:
        return 1.0 if change == 0.0 else 0.0
    shares = (one.error / error) ** 4 / one.df + (other.error / error) ** 4 / other.df
    return min(1.0, 2.0 * float(stdtr(1.0 / shares, -change / error)))


def ranks_of(
    rows: Sequence[ComparedSet], differences: Sequence[SetDifference], alpha: float
) -> dict[str, tuple[int, int]]:
    """The best and the worst rank of each set by its discrepancy."""
    square = {row.name: row.discrepancy.square for row in rows}
    better, worse = dict.fromkeys(square, 0), dict.fromkeys(square, 0)
    for one in differences:
        if one.measure == "discrepancy" and one.pvalue <= alpha:
            near, far = sorted((one.first, one.second), key=square.__getitem__)
            better[far] += 1
            worse[near] += 1
    return {name: (1 + better[name], len(rows) - worse[name]) for name in square}
