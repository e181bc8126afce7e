"""Means and sds before beside those after: paired differences with their errors, in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from polystein.explain.multiplicity import weighted_holm
from polystein.explain.sentences import sentence
from polystein.results.effect_rows import LEVEL, EffectRow
from polystein.results.effects import EffectTable
from polystein.results.tolerance import quantile
from polystein.types import FloatArray

#: An sd of at most this part of the largest value is rounding: the column has one value.
ROUNDING = 16.0 * np.finfo(np.float64).eps
#: How far runs that have not settled have moved is not told beyond this: sds, and per cent.
_FARTHEST_TOLD = {"mean": 10.0, "sd": 1000.0}


class Paired(NamedTuple):
    """Estimates and standard errors of all columns: of means in sds, and of log sds.

    Estimates are NaN where a column has one value: a log sd if it is one before or after, a mean
    if it is one after.
    """

    mean: FloatArray
    mean_error: FloatArray
    log_sd: FloatArray
    log_sd_error: FloatArray
    df: float


def paired(before: FloatArray, after: FloatArray, batches: NDArray[np.intp]) -> Paired:
    """Differences by influence functions of rows, which are summed over batches.

    With m and s the mean and the sd, 0 before and 1 after, a row x_0 with rows x_1 at several late
    times adds to (m_0 - m_1) / s_1 and to log(s_0 / s_1)

        (x_0 - m_0) / s_1 - mean (x_1 - m_1) / s_1 - (m_0 - m_1) / s_1 (v - 1) / 2   and
        ((x_0 - m_0)^2 / s_0^2 - 1) / 2 - (v - 1) / 2,    v = mean (x_1 - m_1)^2 / s_1^2.

    Parameters
    ----------
    before : array of shape (rows, columns)
    after : array of shape (times, rows, columns)
    batches : array
        The first row of each batch.
    """
    spreads, late_spreads = before.std(axis=0), after.std(axis=(0, 1))
    spreads[spreads <= ROUNDING * np.abs(before).max(axis=0)] = np.nan
    late_spreads[late_spreads <= ROUNDING * np.abs(after).max(axis=(0, 1))] = np.nan
    centre, late_centre = before.mean(axis=0), after.mean(axis=(0, 1))
    size = (centre - late_centre) / late_spreads
    z = (after - late_centre) / late_spreads
    wide = 0.5 * ((z**2).mean(axis=0) - 1.0)
    means = (before - centre) / late_spreads - z.mean(axis=0) - size * wide
    log_sds = 0.5 * (((before - centre) / spreads) ** 2 - 1.0) - wide
    errors = []
    for influence in (means, log_sds):
        sums = np.add.reduceat(influence - influence.mean(axis=0), batches, axis=0)
        inflated = len(batches) / max(1, len(batches) - 1)
        errors.append(np.sqrt((sums**2).sum(axis=0) * inflated) / len(before))
    return Paired(size, errors[0], np.log(spreads / late_spreads), errors[1], len(batches) - 1.0)


def effect_table(names: Sequence[str], found: Paired, pvalue: float, settled: bool) -> EffectTable:
    """Rows for the mean and the sd of every column.

    P-values are Holm's, and never below that of the sign flips. Where the runs have not settled,
    rows have no size and no sign. A row without an estimate is never found, and no tolerance is
    kept or broken by it.
    """
    looks = [
        (name, what, float(estimate), float(error))
        for what, estimates, errors in (
            ("mean", found.mean, found.mean_error),
            ("sd", found.log_sd, found.log_sd_error),
        )
        for name, estimate, error in zip(names, estimates, errors, strict=True)
    ]
    tails = [
        min(1.0, 2.0 * float(stdtr(found.df, -abs(estimate) / error))) if error > 0.0 else 1.0
        for _, _, estimate, error in looks
    ]
    adjusted = np.maximum(weighted_holm(tails, [1.0 / len(looks)] * len(looks)), pvalue)
    order = sorted(range(len(looks)), key=lambda look: (adjusted[look] > LEVEL, tails[look]))
    rows = [_row(*looks[look], found.df, float(adjusted[look]), settled) for look in order]
    return EffectTable(tuple(rows), len(looks))


def _row(
    name: str, what: str, estimate: float, error: float, df: float, pvalue: float, settled: bool
) -> EffectRow:
    off = pvalue <= LEVEL
    if not settled or np.isnan(estimate):
        if np.isnan(estimate):
            words = f"the {what} of `{name}` cannot be judged: all draws have one value"
        else:
            words = f"the {what} of `{name}` {'is off: it ' if off else ''}moved by "
            words += f"{_so_far(what, abs(estimate))} so far"
        return EffectRow(
            name, what, np.nan, -np.inf, np.inf, pvalue, off, 0.0, words, np.nan, np.inf, df
        )
    reach = quantile(LEVEL, df) * error
    ends = [estimate, estimate - reach, estimate + reach]
    size, lower, upper = (float(np.exp(end)) if what == "sd" else end for end in ends)
    words = sentence(what, [name], size, lower, upper, 1.0)
    return EffectRow(name, what, size, lower, upper, pvalue, off, 1.0, words, estimate, error, df)


def _so_far(what: str, distance: float) -> str:
    """How far it moved, without a direction."""
    if what == "mean":
        moved, unit = distance, "sd of the moved draws"
    else:
        moved, unit = 100.0 * float(np.expm1(min(distance, 100.0))), "%"
    if moved > _FARTHEST_TOLD[what]:
        return f"more than {_FARTHEST_TOLD[what]:,.0f} {unit}"
    return f"{moved:.0f} {unit}" if moved >= 10.0 else f"{moved:.2g} {unit}"
