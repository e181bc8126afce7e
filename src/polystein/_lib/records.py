"""Whether what was read from a file is what its annotations say."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from polystein._lib.arguments import is_finite_number, is_integer
from polystein._lib.notes import one_line
from polystein.errors import InputError, PolysteinError


@contextmanager
def stored(values: object) -> Iterator[dict[str, Any]]:
    """A context that reads what `to_dict` gave: what is missing or of another kind is an error.

    It yields the content with every string on one line and fit to be printed: others may have
    written it.
    """
    expected = "`values` must be what `to_dict` gave"
    if not isinstance(values, Mapping):
        raise InputError(f"{expected}; got a {type(values).__name__}")
    require_plain(values)
    try:
        yield _escaped(values)
    except PolysteinError:
        raise
    except KeyError as error:
        raise InputError(f"{expected}; got content without {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{expected}; got content that is damaged: {error}") from error


def require_plain(values: object) -> None:
    """Raise an error if content holds what JSON has not: other types, NaN, or infinity."""
    if isinstance(values, Mapping):
        if not all(isinstance(key, str) for key in values):
            raise InputError("`values` must be what `to_dict` gave; got keys that are no strings")
        for item in values.values():
            require_plain(item)
    elif isinstance(values, list | tuple):
        for item in values:
            require_plain(item)
    elif not (values is None or type(values) in (str, bool) or _is_plain_number(values)):
        raise InputError(
            f"`values` must be what `to_dict` gave; got {values!r}, a {type(values).__name__}"
        )


def listed(values: Any, name: str) -> tuple[Any, ...]:
    """The items of a list; a string or a mapping, whose items are something else, is an error."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"{name} must be a list, and are {values!r}")
    return tuple(values)


def require_types(record: Any) -> None:
    """Raise an error if a part of a dataclass or named tuple is not what it is annotated as.

    A p-value must be between 0 and 1.
    """
    for name, kind in get_type_hints(type(record)).items():
        value = getattr(record, name)
        if not _fits(value, kind):
            raise InputError(
                f"`values` must be what `to_dict` gave; got {value!r} for {name} of a "
                f"{type(record).__name__}"
            )
        if name == "pvalue" and not 0.0 <= value <= 1.0:
            raise InputError(f"`pvalue` must be between 0 and 1; got {value!r}")


def restore(record: Any, state: Mapping[str, Any]) -> None:
    """Give an unpickled dataclass its state, and defaults for fields that its version had not."""
    for one in dataclasses.fields(record):
        if one.name in state:
            continue
        if one.default_factory is not dataclasses.MISSING:
            record.__dict__[one.name] = one.default_factory()
        elif one.default is not dataclasses.MISSING:
            record.__dict__[one.name] = one.default
    record.__dict__.update(state)


def _escaped(value: Any) -> Any:
    """The value with all strings in it on one line and fit to be printed."""
    if isinstance(value, Mapping):
        return {one_line(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in value]
    return one_line(value) if isinstance(value, str) else value


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the annotated kind; parts that are records are looked into."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, arguments[0]) for item in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(item, arguments[1]) for item in value.values()
        )
    if kind is float:
        return isinstance(value, float) or _is_plain_number(value)
    if kind is int:
        return is_integer(value, least=0)
    if kind is Any:
        return True
    if not isinstance(value, kind):
        return False
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        require_types(value)
    return True


def _is_plain_number(value: object) -> bool:
    return type(value) in (int, float) and is_finite_number(value)
