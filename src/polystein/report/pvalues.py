"""P-values in words: no more digits than they have, and none that contradict a verdict."""

from __future__ import annotations

from polystein.results.result import DEFAULT_LEVEL

#: Smaller p-values are shown as a bound: digits beyond it say nothing about the draws.
_LEAST_SHOWN = 1e-4
#: And larger ones as a bound on the other side.
_MOST_SHOWN = 0.99
#: Digits that a p-value has, and at most, where fewer would put it on the other side of a level.
_DIGITS, _MOST_DIGITS = 2, 6


def is_near_one(pvalue: float) -> bool:
    """Whether a p-value is so large that its digits say no more than "no sign of a fault"."""
    return pvalue >= 0.995


def p_words(pvalue: float, alpha: float = DEFAULT_LEVEL) -> str:
    """Return "p = 0.043"; for very small p-values, an upper bound; for those near 1, a lower."""
    number = p_number(pvalue, alpha)
    return f"p {number}" if number[0] in "<>" else f"p = {number}"


def p_number(pvalue: float, alpha: float = DEFAULT_LEVEL) -> str:
    """Return "0.043", "< 0.0001" or "> 0.99"; rounding leaves it on its side of the level."""
    if is_near_one(pvalue):
        return f"> {_MOST_SHOWN:g}"
    if pvalue < _LEAST_SHOWN:
        return f"< {_LEAST_SHOWN:.4f}"
    for digits in range(_DIGITS, _MOST_DIGITS):
        number = f"{pvalue:.{digits}g}"
        if (float(number) <= alpha) == (pvalue <= alpha):
            return number
    return f"{pvalue:.{_MOST_DIGITS}g}"
