"""Checks of options that many rooms share."""

from __future__ import annotations

import math
import numbers
from typing import Literal, get_args

import numpy as np

from polystein.errors import InputError


def is_integer(value: object, *, least: int) -> bool:
    """Whether the value is an integer, and not a bool, of at least this size."""
    if isinstance(value, bool):
        return False
    return isinstance(value, numbers.Integral) and int(value) >= least


def integer(value: object, argument: str, *, least: int) -> int:
    """Return an integer of at least this size, or raise an error that names the argument."""
    if not is_integer(value, least=least):
        expected = "a positive integer" if least == 1 else f"an integer >= {least}"
        raise InputError(f"`{argument}` must be {expected}; got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_finite_number(value: object) -> bool:
    """Whether the value is a real number, and not a bool, other than NaN and infinity."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # an integer beyond the range of a float64
        return False


def finite_number(value: object, argument: str) -> float:
    """Return a finite real number as a float, or raise an error that names the argument."""
    if not is_finite_number(value):
        raise InputError(f"`{argument}` must be a finite real number; got {value!r}")
    return float(value)  # type: ignore[arg-type]


def one_of(value: object, choices: object, argument: str) -> None:
    """Raise an error if the value is none of a `Literal`'s strings."""
    allowed = get_args(choices)
    # An array compares with a string element by element.
    if not isinstance(value, str) or value not in allowed:
        *most, last = (repr(choice) for choice in allowed)
        raise InputError(f"`{argument}` must be {', '.join(most)} or {last}; got {value!r}")


def boolean(value: object, argument: str) -> bool:
    """Return True or False, or name the argument that is neither."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{argument}` must be True or False; got {value!r}")
    return bool(value)


def standardisation(value: object) -> bool | Literal["whiten"]:
    """Return True, False or "whiten", or say what `standardise` must be."""
    if isinstance(value, str) and value == "whiten":
        return "whiten"
    if not isinstance(value, bool | np.bool_):
        raise InputError(f'`standardise` must be True, False or "whiten"; got {value!r}')
    return bool(value)


def require_rule(value: object, method: str, argument: str, examples: str) -> None:
    """Raise an error if the value is not a rule, or is a class instead of an instance."""
    # A string has a method `partition` of its own.
    if isinstance(value, type | str) or not callable(getattr(value, method, None)):
        hint = ""
        if isinstance(value, type):
            hint = f", a class: call it, `{value.__name__}()`"
        raise InputError(f"`{argument}` must be {examples}; got {value!r}{hint}")
