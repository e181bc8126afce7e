"""Elementwise test functions phi_i and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from polystein._lib.arrays import namespace
from polystein.errors import InputError
from polystein.protocols import Array, Basis, BasisName, Term


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
class _Ordered:
    """What every basis is given: the paper's Q, from `least` on."""

    order: int

    least: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", validate_order(self.order, least=self.least))


@dataclass(frozen=True)
class Monomial(_Ordered):
    """The paper's basis, phi_i(x) = x^i elementwise for i = 1, ..., Q (eq. 2).

    Parameters
    ----------
    order : int
        The paper's Q; 0 leaves only the score block b.
    """

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


@dataclass(frozen=True)
class Hermite(_Ordered):
    """Orthonormal Hermite polynomials, h_k(x) = He_k(x)/sqrt(k!), for k = 1, ..., Q.

    For draws in standardised coordinates: under a Gaussian target they are
    uncorrelated, so that the features say different things.

    Parameters
    ----------
    order : int
        The paper's Q.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names ``H1``, ``H2``, ... of the polynomials."""
        return tuple(f"H{k}" for k in range(1, self.order + 1))

    def terms(self, draws: Array) -> Iterator[Term]:
        """Yield h_k by their recurrence, with h_k' = sqrt(k) h_(k-1)."""
        before, values = None, draws
        for k in range(1, self.order + 1):
            yield Term(values, math.sqrt(k), before)
            below = 1.0 if before is None else before
            before, values = values, (draws * values - math.sqrt(k) * below) / math.sqrt(k + 1)


@dataclass(frozen=True)
class BoundedHermite(_Ordered):
    """Hermite functions g_k(x) = h_k(x) exp(-x^2/4), for k = 1, ..., Q.

    Bounded with bounded derivatives, so that Stein's identity and a variance need
    no more than a score with two moments, whatever the tails of the draws. For
    draws in standardised coordinates.

    Parameters
    ----------
    order : int
        The paper's Q.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names ``G1``, ``G2``, ... of the functions."""
        return tuple(f"G{k}" for k in range(1, self.order + 1))

    def terms(self, draws: Array) -> Iterator[Term]:
        """Yield g_k by their recurrence, with g_k' = sqrt(k) g_(k-1) - x g_k / 2."""
        envelope = namespace(draws).exp(-0.25 * draws * draws)
        before, values = envelope, draws * envelope
        for k in range(1, self.order + 1):
            product, below = draws * values, math.sqrt(k) * before
            yield Term(values, 1.0, below - 0.5 * product)
            before, values = values, (product - below) / math.sqrt(k + 1)


@dataclass(frozen=True)
class LinearAndBounded(_Ordered):
    """The identity and then Hermite functions: phi_1 = x and phi_(k+1) = g_k, for k < Q.

    What `check` looks through: x sees location, spread and correlation best, and
    everything finer is seen through functions without tails, on which a normal
    approximation holds early.

    Parameters
    ----------
    order : int
        The paper's Q; at least 1.
    """

    least = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names ``x``, ``G1``, ``G2``, ..."""
        return ("x", *BoundedHermite(self.order - 1).names)

    def terms(self, draws: Array) -> Iterator[Term]:
        """Yield x with its derivative 1, then the Hermite functions."""
        yield from Monomial(1).terms(draws)
        yield from BoundedHermite(self.order - 1).terms(draws)


def basis_for(name: BasisName, order: int, *, standardise: bool) -> Basis:
    """Look up a basis; all but the monomials live in standardised coordinates."""
    if name == "monomial":
        return Monomial(order)
    if name not in ("hermite", "bounded-hermite"):
        raise InputError(
            f"`basis` must be 'monomial', 'hermite' or 'bounded-hermite'; got {name!r}"
        )
    if not standardise:
        raise InputError(
            f"`standardise` must be True for `basis={name!r}`, which is made for draws of mean 0 "
            "and variance 1; got False"
        )
    return Hermite(order) if name == "hermite" else BoundedHermite(order)
