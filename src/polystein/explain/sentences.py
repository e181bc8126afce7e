"""Effects in words that people read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from polystein._lib.notes import first_and_more
from polystein.results.effect_rows import RELIABLE, ExpectationRow, size_number
from polystein.results.tolerance import Tolerance

#: Numbers from here on are told with three digits.
_LARGE = 1e6
#: What an effect is one of.
_SUBJECTS = {
    "mean": "the mean of {}",
    "sd": "the sd of {}",
    "correlation": "the correlation of {}",
    "skew": "the skewness of {}",
    "tail": "the kurtosis of {}",
    "direction mean": "the mean along {}",
    "direction sd": "the sd along {}",
}


def sentence(
    what: str,
    names: Sequence[str],
    size: float,
    lower: float,
    upper: float,
    reliability: float,
    own: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One sentence on one effect, with its interval; ``own`` are words for some of the names.

    Of a correlation see `correlation_sentence`, which has both values.
    """
    subject, effect = _subject(what, names, own), _difference
    if what in ("sd", "direction sd"):
        effect = _percentage
    elif what == "tail":
        weight = "heavy" if size >= 0.0 else "light"
        subject = f"the tails of {_shown(names, own)} are too {weight}: its kurtosis"
    return f"{subject} is {effect(what, size, lower, upper)}{_caveat(reliability)}"


def correlation_sentence(
    names: Sequence[str],
    of_draws: float,
    of_target: float,
    lower: float,
    upper: float,
    reliability: float,
    own: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The correlation in the draws, and what it should be, with the interval of the latter."""
    apart = abs(of_draws - of_target)
    digits = next((few for few in (2, 3) if apart >= 10.0**-few), 4)
    # Rounding keeps the sign of small numbers, and adding 0 removes that of 0.
    draws, target, low, high = (
        f"{round(one, digits) + 0.0:.{digits}f}" for one in (of_draws, of_target, lower, upper)
    )
    words = f"is {draws}, should be about {target} ({low} to {high})"
    return f"{_subject('correlation', names, own)} {words}{_caveat(reliability)}"


def own_scale_sentence(row: ExpectationRow, of_coordinate: str) -> str:
    """A mean or sd of a parameter on its own scale, and in brackets what its coordinate shows."""
    apart = abs(row.bias)
    digits = max(0, 1 - math.floor(math.log10(apart))) if apart > 0.0 else 2
    of_draws, right, low, high = (
        f"{round(one, digits) + 0.0:.{digits}f}" if abs(one) < _LARGE else f"{one:.3g}"
        for one in (row.plain, row.corrected, row.plain - row.upper, row.plain - row.lower)
    )
    words = f"is {of_draws}, should be about {right} ({low} to {high}){_caveat(row.reliability)}"
    return f"the {row.what} of `{row.name}` {words} [{of_coordinate}]"


def _caveat(reliability: float) -> str:
    """What is said of a size that may be off by more than its interval."""
    if reliability >= RELIABLE:
        return ""
    return f", approximate (R2 {math.floor(100.0 * reliability) / 100.0:.2f})"


def not_judged(
    what: str, names: Sequence[str], own: Mapping[str, str] = MappingProxyType({})
) -> str:
    """What is said where no features are of use."""
    return f"{_subject(what, names, own)} cannot be judged from the scores"


def at_most(
    what: str,
    names: Sequence[str],
    lower: float,
    upper: float,
    own: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One sentence on an effect whose interval, which allows for the features, has both signs."""
    if what in ("sd", "direction sd"):
        far = f"{_percent(100.0 * max(1.0 - lower, upper - 1.0))} %"
    else:
        unit = " posterior sd" if what in ("mean", "direction mean") else ""
        far = f"{_plain(max(-lower, upper))}{unit}"
    subject = _subject(what, names, own)
    return f"{subject} is off by at most {far}; its direction cannot be told from the scores"


def size_unknown(
    what: str, names: Sequence[str], own: Mapping[str, str] = MappingProxyType({})
) -> str:
    """What is said where draws are wrong in a way that the features do not explain.

    Which property is off cannot be told either: that of the row may be right.
    """
    if what.startswith("direction"):
        words = f"the draws are off along {_shown(names, own)}"
    elif len(names) == 2:
        return f"{_shown(names, own)} are off together; by how much the scores do not tell"
    else:
        words = f"{_shown(names, own)} is off"
    return f"{words}; its size and direction cannot be told from the scores"


def tolerance_reason(found: Tolerance) -> str:
    """What a verdict on a tolerance rests on; where it is left open, by which parameter and why."""
    if found.verdict == "within":
        return f"all {found.looked_at} means and sds, as far as the draws have been"
    if found.verdict == "beyond" and found.row is not None:
        return found.row.sentence
    named = [f"the {row.what} of `{row.name}`" for row in found.still_open]
    within = found.looked_at - len(named)
    settled = f"{within} of the {found.looked_at} means and sds are shown to be within"
    if not named:
        return f"{settled}, and not every coordinate was measured"
    explained = reliability_words(found.reliability)
    why = "it takes more draws to tell"
    if found.reliability < RELIABLE:
        why = f"the gradients do not tell (R2 is {explained}, and {RELIABLE:g} is needed)"
    elif found.unexplained:
        why = f"the gradients tell too little for this tolerance (R2 is {explained})"
    if "gradients" in why:
        why += "; `ps.refine` can"
    return f"{settled}; for {len(named)}, {first_and_more(named, 3)}, {why}"


def reliability_words(reliability: float) -> str:
    """R2 with as many digits as are needed to tell it from 1, never rounded up."""
    for digits in (2, 3, 4):
        if reliability <= 1.0 - 10.0**-digits:
            return f"{math.floor(reliability * 10**digits) / 10**digits:.{digits}f}"
    return "1.0000" if reliability > 0.99995 else "0.9999"


def _subject(what: str, names: Sequence[str], own: Mapping[str, str]) -> str:
    return _SUBJECTS[what].format(_shown(names, own))


def _shown(names: Sequence[str], own: Mapping[str, str]) -> str:
    return " and ".join(own.get(name, f"`{name}`") for name in names)


def _difference(what: str, size: float, lower: float, upper: float) -> str:
    unit = " posterior sd" if what in ("mean", "direction mean") else ""
    side = "high" if size >= 0.0 else "low"
    return f"{_plain(abs(size))}{unit} too {side} ({_span(lower, upper, size, _plain)})"


def _percentage(what: str, size: float, lower: float, upper: float) -> str:
    percent, low, high = (100.0 * (ratio - 1.0) for ratio in (size, lower, upper))
    side = "large" if percent >= 0.0 else "small"
    return f"{_percent(abs(percent))} % too {side} ({_span(low, high, percent, _percent)} %)"


def _span(lower: float, upper: float, size: float, number: Callable[[float], str]) -> str:
    """The interval in the direction of the effect, from its small end to its large one."""
    ends = (lower, upper) if size >= 0.0 else (-upper, -lower)
    return f"{number(ends[0])} to {number(ends[1])}"


def _plain(value: float) -> str:
    return size_number(value) if math.isfinite(value) else "unbounded"


def _percent(value: float) -> str:
    if not math.isfinite(value):
        return "unbounded"
    return f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.2g}"
