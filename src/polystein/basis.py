"""Elementwise test functions phi_i and their derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polystein.errors import InputError
from polystein.protocols import Array, Term


def validate_order(order: object, *, least: int = 0) -> int:
    """Return the order as an int, or say what is wrong with it."""
    index = getattr(order, "__index__", None)
    if isinstance(order, bool) or index is None:
        raise InputError(f"`order` must be an integer >= {least}; got {order!r}")
    value = int(index())
    if value < least:
        raise InputError(f"`order` must be an integer >= {least}; got {value}")
    return value


@dataclass(frozen=True)
class Monomial:
    """The paper's basis, phi_i(x) = x^i elementwise for i = 1, ..., Q (eq. 2).

    Parameters
    ----------
    order : int
        The paper's Q; 0 leaves only the score block b.
    """

    order: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", validate_order(self.order))

    @property
    def names(self) -> tuple[str, ...]:
        """Names ``x``, ``x^2``, ... of the powers."""
        return tuple("x" if i == 1 else f"x^{i}" for i in range(1, self.order + 1))

    def terms(self, draws: Array) -> Iterator[Term]:
        """Yield x^i with its derivative i x^(i-1), each power from the one before."""
        previous, values = None, draws
        for i in range(1, self.order + 1):
            yield Term(values, float(i), previous)
            if i < self.order:
                previous, values = values, values * draws
