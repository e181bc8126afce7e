"""Effects in words that people read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from polystein.results.effect_rows import RELIABLE, size_number

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
    """One sentence on one effect, with its interval; ``own`` are words for some of the names."""
    subject, effect = _subject(what, names, own), _difference
    if what in ("sd", "direction sd"):
        effect = _percentage
    elif what == "tail":
        weight = "heavy" if size >= 0.0 else "light"
        subject = f"the tails of {_shown(names, own)} are too {weight}: its kurtosis"
    words = f"{subject} is {effect(what, size, lower, upper)}"
    if reliability < RELIABLE:
        return f"{words}, approximate (R2 {math.floor(100.0 * reliability) / 100.0:.2f})"
    return words


def not_judged(
    what: str, names: Sequence[str], own: Mapping[str, str] = MappingProxyType({})
) -> str:
    """What is said where no features are of use."""
    return f"{_subject(what, names, own)} cannot be judged: the scores do not explain it"


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
