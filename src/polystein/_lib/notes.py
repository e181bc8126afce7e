"""Warnings gathered while a test runs, and the line of the caller that they point at."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence

from polystein.errors import PolysteinWarning


class Notes:
    """Warnings gathered while a test runs and emitted once at its end.

    ``earlier`` are messages of warnings that the caller has been shown already, when the
    draws came in: they belong to the result, and are not emitted again.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self._earlier = tuple(earlier)
        self._items: list[PolysteinWarning] = []

    def add(self, *warnings: PolysteinWarning | None) -> None:
        """Keep warnings for later; one that several splits give alike is kept once."""
        for warning in warnings:
            if warning is not None and _key(warning) not in map(_key, self._items):
                self._items.append(warning)

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages, in the order in which they were added."""
        return (*self._earlier, *(str(item) for item in self._items))

    def of_kind(self, kind: type[PolysteinWarning]) -> tuple[str, ...]:
        """The messages of warnings of one kind, without those that came earlier."""
        return tuple(str(item) for item in self._items if isinstance(item, kind))

    def emit(self) -> None:
        """Emit everything."""
        for item in self._items:
            warn_caller(item)


def warn_caller(warning: PolysteinWarning) -> None:
    """Emit a warning that points at the line outside the package that made the call."""
    caller, level = sys._getframe(), 1
    while caller.f_back and _inside(caller.f_globals.get("__name__", "")):
        caller, level = caller.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def _inside(module: str) -> bool:
    return module == "polystein" or module.startswith("polystein.")


def _key(warning: PolysteinWarning) -> tuple[type, list[str]]:
    """What two splits say alike: the kind of warning and its first words, before any numbers."""
    return type(warning), str(warning).split()[:4]


def first_of(names: Sequence[str], most: int) -> str:
    """The first names in a list, with dots for the others."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
