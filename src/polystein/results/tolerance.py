"""Are the draws good enough? Intervals of means and sds beside a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy.special import ndtri, stdtrit

from polystein._lib.arguments import is_finite_number
from polystein.errors import InputError
from polystein.results.effect_rows import LEVEL, EffectRow
from polystein.types import ToleranceVerdict

#: Variances under the target of the functions behind a mean, in sds, and behind a log sd, the
#: latter as for a Gaussian law. Reliabilities have the same units.
UNIT_VARIANCE = {"mean": 1.0, "sd": 0.5}


class Tolerance(NamedTuple):
    """Whether the draws are good enough, and what that rests on.

    ``reliability`` is the lowest of the rows that decide, ``row`` the one that is farthest out.
    ``unexplained`` says whether more draws would not help: what the features leave unexplained
    keeps the question open.
    """

    verdict: ToleranceVerdict
    bound: float
    reliability: float
    row: EffectRow | None
    unexplained: bool = False


def checked_bound(tolerance: object, argument: str = "tolerance") -> float:
    """Return a tolerance strictly between 0 and 1, or name the argument that is none."""
    if not is_finite_number(tolerance) or not 0.0 < float(tolerance) < 1.0:  # type: ignore[arg-type]
        raise InputError(
            f"`{argument}` must be a number strictly between 0 and 1, such as 0.1 for means within "
            f"0.1 sd and sds within 10 %; got {tolerance!r}"
        )
    return float(tolerance)  # type: ignore[arg-type]


def judged(rows: Sequence[EffectRow], tolerance: float, *, complete: bool) -> Tolerance:
    """Compare simultaneous intervals (Bonferroni) of all means and sds with the tolerance.

    "within" if all lie inside, "beyond" if one lies outside, "undecided" else. Intervals are wider
    by what the features leave unexplained, and with a reliability below 0.99 decide nothing. Rows
    that are not `complete` are never "within".
    """
    deciding = [row for row in rows if row.what in UNIT_VARIANCE]
    found = _judged(deciding, tolerance, complete, _unexplained)
    if found.verdict != "undecided":
        return found
    but_for_that = _judged(deciding, tolerance, complete, lambda row: 0.0).verdict
    return found._replace(unexplained=but_for_that != "undecided")


def _judged(
    rows: Sequence[EffectRow],
    tolerance: float,
    complete: bool,
    margin: Callable[[EffectRow], float],
) -> Tolerance:
    """The verdict with intervals that are wider by a margin of their own."""
    if not rows:
        return Tolerance("undecided", tolerance, 0.0, None)
    level = LEVEL / len(rows)
    ends = {row: _interval(row, level, margin(row)) for row in rows if row.reliable}
    beyond = [row for row, interval in ends.items() if _outside(row, interval, tolerance)]
    if beyond:
        row = max(beyond, key=lambda row: _distance(row, tolerance))
        return Tolerance("beyond", tolerance, row.reliability, row)
    farthest = max(rows, key=lambda row: _distance(row, tolerance))
    lowest = min(row.reliability for row in rows)
    inside = all(row in ends and _inside(row, ends[row], tolerance) for row in rows)
    verdict: ToleranceVerdict = "within" if inside and complete else "undecided"
    return Tolerance(verdict, tolerance, lowest, farthest)


def _unexplained(row: EffectRow) -> float:
    """How far the corrected value may be off by the part of the function that no features explain.

    The corrected value is off by the mean of that part under the target. No mean is larger than the
    root of the mean square, which is (1 - R2) v for a function with the variance v.
    """
    return math.sqrt(max(0.0, 1.0 - row.reliability) * UNIT_VARIANCE[row.what])


def quantile(level: float, df: float) -> float:
    """The two-sided critical value of a t distribution; of the normal one for infinite df."""
    upper = 1.0 - 0.5 * level
    return float(ndtri(upper) if math.isinf(df) else stdtrit(df, upper))


def _bounds(row: EffectRow, tolerance: float) -> tuple[float, float]:
    """The tolerance on the scale of the interval."""
    if row.what == "mean":
        return -tolerance, tolerance
    return math.log1p(-tolerance), math.log1p(tolerance)


def _interval(row: EffectRow, level: float, margin: float) -> tuple[float, float]:
    reach = quantile(level, row.df) * row.error + margin
    return row.estimate - reach, row.estimate + reach


def _inside(row: EffectRow, interval: tuple[float, float], tolerance: float) -> bool:
    (low, high), (least, most) = interval, _bounds(row, tolerance)
    return least <= low and high <= most


def _outside(row: EffectRow, interval: tuple[float, float], tolerance: float) -> bool:
    (low, high), (least, most) = interval, _bounds(row, tolerance)
    return high < least or low > most


def _distance(row: EffectRow, tolerance: float) -> float:
    """How far out the estimate is, in units of the bound on its side."""
    least, most = _bounds(row, tolerance)
    return row.estimate / (most if row.estimate >= 0.0 else least)
