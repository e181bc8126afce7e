"""Checks of options that many rooms share."""

from __future__ import annotations

import errno
import math
import numbers
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from polystein.errors import InputError

#: At a higher order the powers of numbers beyond 2.04 do not fit a float64.
MOST_ORDER = 1000
#: Most replicates, simulations or rounds of a search. A million estimate a p-value of 0.05 to
#: within 0.0005, and more would run for days.
MOST_REPLICATES = 10**6


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


def replicates_of(value: object, argument: str) -> int:
    """Return a number of replicates, or raise an error that names the argument."""
    count = integer(value, argument, least=1)
    if count > MOST_REPLICATES:
        raise InputError(f"`{argument}` must be at most {MOST_REPLICATES:,}; got {value!r}")
    return count


def order_of(value: object, *, least: int) -> int:
    """Return the order of a polynomial, or raise an error that says what `order` must be."""
    order = integer(value, "order", least=least)
    if order > MOST_ORDER:
        raise InputError(f"`order` must be at most {MOST_ORDER}; got {value!r}")
    return order


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


def one_of(value: object, choices: Any, argument: str) -> None:
    """Raise an error if the value is none of a `Literal`'s strings."""
    # An array compares with a string element by element.
    if not isinstance(value, str) or value not in choices.__args__:
        *most, last = map(repr, choices.__args__)
        raise InputError(f"`{argument}` must be {', '.join(most)} or {last}; got {value!r}")


def require_progress(value: object) -> None:
    """Raise an error if the value is neither a function to be told how far work is, nor None."""
    if value is not None and not callable(value):
        raise InputError(
            "`progress` must be a function that is called as progress(done, total), or None; got "
            f"{value!r}"
        )


def integer_or_auto(value: object, argument: str, *, least: int) -> None:
    """Raise an error if the value is neither "auto" nor an integer of at least this size."""
    # An array compares with a string element by element.
    if not (isinstance(value, str) and value == "auto") and not is_integer(value, least=least):
        expected = "a positive integer" if least == 1 else f"an integer >= {least}"
        raise InputError(f"`{argument}` must be {expected} or 'auto'; got {value!r}")


def boolean(value: object, argument: str) -> bool:
    """Return True or False, or name the argument that is neither."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{argument}` must be True or False; got {value!r}")
    return bool(value)


def path_of(value: object, argument: str) -> Path:
    """Return a path, or name the argument that is none."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"`{argument}` must be a path, a str or os.PathLike; got {value!r}")
    try:
        os.stat(text)  # whether there is a file or not, the system must take the name
    except ValueError as error:  # characters that no file's name has
        raise InputError(f"`{argument}` must be a name that files have; got {text!r}") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"`{argument}` must be a path of a length that the system allows; got "
                f"{len(text)} characters, {text[:40]!r}..."
            ) from error
    return Path(text)


def standardisation(value: object) -> bool | Literal["whiten"]:
    """Return True, False or "whiten", or say what `standardise` must be."""
    if isinstance(value, str) and value == "whiten":
        return "whiten"
    if not isinstance(value, bool | np.bool_):
        raise InputError(f'`standardise` must be True, False or "whiten"; got {value!r}')
    return bool(value)


def require_rule(value: object, method: str, argument: str, examples: str) -> None:
    """Raise an error if the value is not a rule, or is a class instead of an instance."""
    found = getattr(value, method, None)
    # Strings, bytes and arrays have a method `partition` of their own.
    if isinstance(value, type | str | bytes | bytearray | np.ndarray) or not callable(found):
        hint = ""
        if isinstance(value, type):
            hint = f", a class: call it, `{value.__name__}()`"
        raise InputError(f"`{argument}` must be {examples}; got {value!r}{hint}")
