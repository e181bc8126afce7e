"""Names and arguments that are going: callers are told once a call site, and by which version."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from polystein._lib.notes import warn_caller
from polystein.errors import InputError, PolysteinDeprecationWarning

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def deprecated(
    name: str, *, since: str, removed_in: str, instead: str
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """A decorator that warns callers of a public function, and otherwise leaves it alone.

    Python shows a warning once for each line that makes the call, unless a filter says otherwise.
    For a class, decorate its ``__init__``.

    Parameters
    ----------
    name : str
        The public name, as users write it: ``"polystein.old"``.
    since, removed_in : str
        The version that deprecates the name, and the one that no longer has it. A test fails
        when the second is reached and the name is still there.
    instead : str
        What to write instead.

    Examples
    --------
    >>> @deprecated("polystein.old", since="0.2", removed_in="0.4", instead="polystein.new")
    ... def old(x):
    ...     return 2 * x
    >>> old.removed_in
    '0.4'
    """
    message = (
        f"`{name}` is deprecated since polystein {since} and is removed in {removed_in}: "
        f"use `{instead}` instead"
    )

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def warned(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            warn_caller(PolysteinDeprecationWarning(message))
            return function(*args, **kwargs)

        warned.removed_in = removed_in  # type: ignore[attr-defined]
        return warned

    return decorate


def deprecated_argument(
    name: str, *, since: str, removed_in: str, instead: str = "", advice: str = ""
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A decorator for a function that no longer has a keyword argument, but still takes it.

    Parameters
    ----------
    name : str
        The argument, as users write it. The function itself does not have it any more.
    since, removed_in : str
        The version that deprecates the argument, and the one that no longer takes it. A test
        fails when the second is reached and the argument is still taken.
    instead : str, optional
        The argument's new name, to which its value goes. Without one the value is dropped.
    advice : str, optional
        What to do, if the argument has no new name.

    Examples
    --------
    >>> @deprecated_argument("size", since="0.2", removed_in="0.4", instead="order")
    ... def power(x, *, order=2):
    ...     return x**order
    >>> power.removed_arguments
    {'size': '0.4'}
    """
    message = (
        f"the argument `{name}` is deprecated since polystein {since} and is removed in "
        f"{removed_in}: " + (f"use `{instead}` instead" if instead else advice or "leave it out")
    )

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(function)
        def warned(*args: object, **kwargs: object) -> Result:
            if name in kwargs:
                value = kwargs.pop(name)
                if instead in kwargs:
                    raise InputError(
                        f"`{name}` is the old name of `{instead}`; got both: pass `{instead}` alone"
                    )
                warn_caller(PolysteinDeprecationWarning(message))
                if instead:
                    kwargs[instead] = value
            return function(*args, **kwargs)

        others = getattr(function, "removed_arguments", {})
        warned.removed_arguments = {**others, name: removed_in}  # type: ignore[attr-defined]
        return warned

    return decorate
