"""What a pass would have noticed, in words."""

from __future__ import annotations

import math

from polystein.report.effects import effects_to_tell
from polystein.results.noticeable import PROBABILITY, Noticeable
from polystein.results.result import DEFAULT_LEVEL, GofResult

#: Draws of more numbers than this are not read once more for a report, but where it is asked for.
MOST_NUMBERS = 2**24
_ARTICLES = {"mean": "a mean", "sd": "an sd", "correlation": "a correlation"}
#: Beyond this nothing is told: faults are taken to first order.
_LARGEST = {"mean": "0.5 sd", "sd": "50 %", "correlation": "0.5"}


def power_words(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """The sizes of faults that a pass would have noticed; empty for all but a pass of `check`."""
    if result.verdict_at(alpha) != "not rejected" or not result.can_tell_noticeable:
        return ""
    rows = result.n_train + result.n_gap + result.n_test
    if result.noticeable_faults is None and rows * result.dimension > MOST_NUMBERS:
        return "`result.noticeable` tells how small a fault would have been noticed"
    try:
        found = result.noticeable
    except Exception as error:  # the verdict stands
        return f"what would have been noticed is not known: {error}"
    if not found:
        return ""
    told = [one for one in found if math.isfinite(one.size)]
    missed = [one for one in found if not math.isfinite(one.size)]
    level = "" if alpha == DEFAULT_LEVEL else f" at the level {DEFAULT_LEVEL:g}"
    least = [f"{_ARTICLES[one.what]} off by {_LARGEST[one.what]}" for one in missed]
    where = f"with probability {PROBABILITY:g} or more{level}"
    if not told:
        return f"would not even have noticed, {where}: {', '.join(least)}"
    sizes = [
        f"{_ARTICLES[one.what]}{' off' * (one is told[0])} by {size_words(one)}" for one in told
    ]
    words = f"would have noticed, {where}: {', '.join(sizes)}, each in one parameter alone"
    return f"{words}; not even {', '.join(least)}" if least else words


def compute_what_is_told(result: GofResult, alpha: float = DEFAULT_LEVEL) -> None:
    """Compute what reports tell and what `to_dict` then holds: effects, or what a pass shows."""
    if result.rejected(alpha):
        effects_to_tell(result, alpha)
    power_words(result, alpha)


def size_words(one: Noticeable) -> str:
    """The size with two digits and its unit."""
    if not math.isfinite(one.size):
        return f"more than {_LARGEST[one.what]}"
    if one.what == "sd":
        return f"{100.0 * one.size:.2g} %"
    return f"{one.size:.2g}" + (" sd" if one.what == "mean" else "")


def least_visible_words(result: GofResult) -> list[str]:
    """A line for each kind of fault, with the parameter that shows it least."""
    return [
        f"{_ARTICLES[one.what]} off by {size_words(one)}: least visible in "
        + " and ".join(f"`{name}`" for name in one.names)
        for one in result.noticeable_faults or ()
    ]
