"""Checks of options that many rooms share."""

from __future__ import annotations

import math
import numbers

from polystein.errors import InputError


def is_integer(value: object, *, least: int) -> bool:
    """Whether the value is an integer, and not a bool, of at least this size."""
    if isinstance(value, bool):
        return False
    return isinstance(value, numbers.Integral) and int(value) >= least


def positive_integer(value: object, argument: str) -> int:
    """Return a positive integer, or name the argument that is none."""
    if not is_integer(value, least=1):
        raise InputError(f"`{argument}` must be a positive integer; got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_finite_number(value: object) -> bool:
    """Whether the value is a real number, and not a bool, other than NaN and infinity."""
    if isinstance(value, bool):
        return False
    return isinstance(value, numbers.Real) and math.isfinite(float(value))


def require_rule(value: object, method: str, argument: str, examples: str) -> None:
    """Say so where a rule is not one, or is a class instead of an instance."""
    # A string has a method `partition` of its own.
    if isinstance(value, type | str) or not callable(getattr(value, method, None)):
        hint = ""
        if isinstance(value, type):
            hint = f", a class: call it, `{value.__name__}()`"
        raise InputError(f"`{argument}` must be {examples}; got {value!r}{hint}")
