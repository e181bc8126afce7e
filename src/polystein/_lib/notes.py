"""What users are told: warnings that a test gathers, and names fit to be printed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence

from polystein.errors import PolysteinWarning, printable


class Notes:
    """Warnings gathered while a test runs and emitted once at its end.

    ``earlier`` are messages of warnings that the caller has been shown already, when the
    draws came in: they belong to the result, and are not emitted again.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self._earlier = tuple(earlier)
        #: By their class and subject.
        self._items: dict[tuple[type, str], PolysteinWarning] = {}

    def add(self, *warnings: PolysteinWarning | None) -> None:
        """Keep warnings for later; of those on one subject, as from several splits, the first."""
        for warning in warnings:
            if warning is not None:
                self._items.setdefault((type(warning), warning.subject or str(warning)), warning)

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages, in the order in which they were added."""
        return (*self._earlier, *(str(item) for item in self._items.values()))

    def of_kind(self, kind: type[PolysteinWarning]) -> tuple[str, ...]:
        """The messages of warnings of one kind, without those that came earlier."""
        return tuple(str(item) for item in self._items.values() if isinstance(item, kind))

    def emit(self) -> None:
        """Emit everything."""
        for item in self._items.values():
            warn_caller(item)


def warn_caller(warning: PolysteinWarning) -> None:
    """Emit a warning that points at the line outside the package that made the call."""
    caller, level = sys._getframe(), 1
    while caller.f_back and f"{caller.f_globals.get('__name__', '')}.".startswith("polystein."):
        caller, level = caller.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def first_of(names: Sequence[str], most: int) -> str:
    """At most `most` names in a list, with dots for the others."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def first_and_more(names: Sequence[str], most: int) -> str:
    """At most `most` names in a list, and how many others there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def one_line(text: str) -> str:
    r"""The text with line breaks and all characters that are not printed written out.

    Examples
    --------
    >>> print(one_line("a\nb"))
    a\nb
    """
    return printable(text).replace("\n", "\\n")


def shown_name(name: str) -> str:
    r"""A name that others chose, on one line; a name of nothing but spaces is shown in quotes.

    Names of coordinates are escaped once, where they enter. Names that are keys, as those of many
    fits, are escaped where they are shown.

    Examples
    --------
    >>> print(shown_name("a\nb"), shown_name(" "))
    a\nb ' '
    """
    return one_line(name) if name.strip(" ") else f"'{name}'"
