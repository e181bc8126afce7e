"""Effects in words that people read."""

from __future__ import annotations

import math

from polystein.results.effects import RELIABLE


def sentence(
    what: str, name: str, size: float, lower: float, upper: float, reliability: float
) -> str:
    """One sentence on one effect, with its interval."""
    words = {
        "mean": _mean,
        "sd": _sd,
        "correlation": _correlation,
        "skew": _skew,
        "tail": _tail,
        "direction mean": _direction_mean,
        "direction sd": _direction_sd,
    }[what](name, size, lower, upper)
    if not math.isfinite(lower):
        return f"{words}, which the draws' own scores cannot tell"
    if reliability < RELIABLE:
        return f"{words}; trust this less, R2 is {math.floor(100.0 * reliability) / 100.0:.2f}"
    return words


def _direction_mean(name: str, size: float, lower: float, upper: float) -> str:
    return _mean(name, size, lower, upper).replace("the mean of", "the mean along", 1)


def _direction_sd(name: str, size: float, lower: float, upper: float) -> str:
    return _sd(name, size, lower, upper).replace("the sd of", "the sd along", 1)


def _mean(name: str, size: float, lower: float, upper: float) -> str:
    return (
        f"the mean of `{name}` is {_plain(abs(size))} posterior sd too "
        f"{'high' if size >= 0.0 else 'low'} ({_span(lower, upper, size)})"
    )


def _sd(name: str, size: float, lower: float, upper: float) -> str:
    percent = 100.0 * (size - 1.0)
    span = _span(100.0 * (lower - 1.0), 100.0 * (upper - 1.0), percent, _percent)
    return (
        f"the sd of `{name}` is {_percent(abs(percent))} % too "
        f"{'large' if percent >= 0.0 else 'small'} ({span} %)"
    )


def _correlation(name: str, size: float, lower: float, upper: float) -> str:
    first, _, second = name.partition(", ")
    return (
        f"the correlation of `{first}` and `{second}` is {_plain(abs(size))} too "
        f"{'high' if size >= 0.0 else 'low'} ({_span(lower, upper, size)})"
    )


def _skew(name: str, size: float, lower: float, upper: float) -> str:
    side = "right" if size >= 0.0 else "left"
    return (
        f"`{name}` is too skewed to the {side}: its skewness is {_plain(abs(size))} too "
        f"{'high' if size >= 0.0 else 'low'} ({_span(lower, upper, size)})"
    )


def _tail(name: str, size: float, lower: float, upper: float) -> str:
    kind = "heavy" if size >= 0.0 else "light"
    return (
        f"the tails of `{name}` are too {kind}: its kurtosis is {_plain(abs(size))} too "
        f"{'high' if size >= 0.0 else 'low'} ({_span(lower, upper, size)})"
    )


def _span(lower: float, upper: float, size: float, word: object = None) -> str:
    """The interval in the direction of the effect, from its small end to its large one."""
    number = _percent if word is not None else _plain
    ends = (lower, upper) if size >= 0.0 else (-upper, -lower)
    return f"{number(ends[0])} to {number(ends[1])}"


def _plain(value: float) -> str:
    if not math.isfinite(value):
        return "unbounded"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def _percent(value: float) -> str:
    if not math.isfinite(value):
        return "unbounded"
    return f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.2g}"
