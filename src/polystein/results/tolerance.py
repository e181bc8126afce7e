"""Are the draws good enough? Intervals of means and sds beside a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from scipy.special import ndtri, stdtrit

from polystein._lib.arguments import is_finite_number
from polystein.errors import InputError
from polystein.results.effect_rows import LEVEL, EffectRow
from polystein.types import ToleranceVerdict

#: Where an interval lies beside the tolerance; open if it crosses a bound or is unreliable.
Place: TypeAlias = Literal["inside", "outside", "open"]
#: Variances under the target of the functions behind a mean, in sds, and behind a log sd, the
#: latter as for a Gaussian law. Reliabilities have the same units.
UNIT_VARIANCE = {"mean": 1.0, "sd": 0.5}


class Tolerance(NamedTuple):
    """Whether the draws are good enough, and what that rests on.

    ``reliability`` is the lowest of the rows that decide, ``row`` the one that is farthest out.
    ``unexplained`` says whether more draws would not help: what the features leave unexplained
    keeps the question open. ``looked_at`` is the number of means and sds, and ``still_open`` are
    those that are neither inside nor outside, the farthest out first, those without a size last.
    """

    verdict: ToleranceVerdict
    bound: float
    reliability: float
    row: EffectRow | None
    unexplained: bool = False
    looked_at: int = 0
    still_open: tuple[EffectRow, ...] = ()


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
    if not deciding:
        return Tolerance("undecided", tolerance, 0.0, None)

    def bounds(row: EffectRow) -> tuple[float, float]:
        """The tolerance on the scale of the interval."""
        if row.what == "mean":
            return -tolerance, tolerance
        return math.log1p(-tolerance), math.log1p(tolerance)

    def distance(row: EffectRow) -> float:
        """How far out the estimate is, in units of the bound on its side; -1 without a size."""
        if not row.judged:
            return -1.0
        least, most = bounds(row)
        return row.estimate / (most if row.estimate >= 0.0 else least)

    def place(row: EffectRow, margin: float) -> Place:
        if not row.reliable:
            return "open"
        reach = quantile(LEVEL / len(deciding), row.df) * row.error + margin
        (least, most), low, high = bounds(row), row.estimate - reach, row.estimate + reach
        if high < least or low > most:
            return "outside"
        return "inside" if least <= low and high <= most else "open"

    places = [place(row, max(_unexplained(row), row.doubt)) for row in deciding]
    placed = list(zip(deciding, places, strict=True))
    left = sorted((row for row, where in placed if where == "open"), key=distance, reverse=True)
    farthest, lowest = max(deciding, key=distance), min(row.reliability for row in deciding)
    found = Tolerance("undecided", tolerance, lowest, farthest, False, len(deciding), tuple(left))
    if "outside" in places:
        worst = max((row for row, where in placed if where == "outside"), key=distance)
        return found._replace(verdict="beyond", reliability=worst.reliability, row=worst)
    if complete and not left:
        return found._replace(verdict="within")
    explained = {place(row, 0.0) for row in deciding}
    decided = "outside" in explained or (complete and explained == {"inside"})
    return found._replace(unexplained=decided)


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
