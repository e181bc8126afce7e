"""Elementwise test functions phi_i and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from polystein._lib.arguments import one_of, order_of
from polystein.errors import InputError
from polystein.types import BasisName, FloatArray

#: What the features show in everyday words, by the order of the moment that they add.
MOMENT_WORDS = ("location", "spread, correlation", "skewness", "tails")


class Term(NamedTuple):
    """One basis function at the draws: phi_i and phi_i' = factor * derivative.

    A derivative of None is 1 everywhere, which need not be multiplied out.
    """

    values: FloatArray
    factor: float
    derivative: FloatArray | None

    def part(self, low: int, high: int) -> Term:
        """The function at draws ``low:high``."""
        derivative = None if self.derivative is None else self.derivative[low:high]
        return Term(self.values[low:high], self.factor, derivative)


class Basis(Protocol):
    """Elementwise functions phi_1, ..., phi_Q and their derivatives."""

    #: Whether the functions of shifted and scaled draws are combinations of these functions,
    #: as those of powers are, so that sums may be taken in another frame and mapped back.
    closed_under_shifts: ClassVar[bool]

    @property
    def order(self) -> int:
        """The paper's Q."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each function."""

    @property
    def words(self) -> tuple[str, ...]:
        """What each function's feature looks at, in everyday words."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; the score comes last."""

    @property
    def feature_words(self) -> tuple[str, ...]:
        """What the features look at, in everyday words; the score comes last."""

    def terms(self, draws: FloatArray) -> Iterator[Term]:
        """Evaluate the functions one after the other."""


@dataclass(frozen=True)
class _Ordered:
    """The order that every basis has: the paper's Q, at least `least`."""

    order: int

    least: ClassVar[int] = 0
    closed_under_shifts: ClassVar[bool] = False

    #: What the functions' names begin with, before their numbers.
    letter: ClassVar[str] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", order_of(self.order, least=self.least))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The letter with a number for each function: ``H1``, ``H2``, ..."""
        return tuple(f"{self.letter}{k}" for k in range(1, self.order + 1))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """``shape`` for each of them."""
        return ("shape",) * self.order

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; the score comes last."""
        return (*self.names, "score")

    @cached_property
    def feature_words(self) -> tuple[str, ...]:
        """What the features look at, in everyday words; the score comes last."""
        return (*self.words, MOMENT_WORDS[0])


@dataclass(frozen=True)
class Monomial(_Ordered):
    """The paper's basis, phi_i(x) = x^i elementwise for i = 1, ..., Q (eq. 2).

    Parameters
    ----------
    order : int
        The paper's Q; 0 leaves only the score.
    """

    closed_under_shifts = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names ``x``, ``x^2``, ... of the powers."""
        return tuple("x" if i == 1 else f"x^{i}" for i in range(1, self.order + 1))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """``spread, correlation``, ``skewness``, ``tails``, ``moment 5``, ..."""
        further = (f"moment {i + 1}" for i in range(len(MOMENT_WORDS), self.order + 1))
        return (*MOMENT_WORDS[1:], *further)[: self.order]

    def terms(self, draws: FloatArray) -> Iterator[Term]:
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
    uncorrelated, so that each feature adds information of its own.

    Parameters
    ----------
    order : int
        The paper's Q.
    """

    letter = "H"

    def terms(self, draws: FloatArray) -> Iterator[Term]:
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

    letter = "G"

    def terms(self, draws: FloatArray) -> Iterator[Term]:
        """Yield g_k by their recurrence, with g_k' = sqrt(k) g_(k-1) - x g_k / 2."""
        before = np.exp(-0.25 * (draws * draws))
        values = draws * before
        for k in range(1, self.order + 1):
            product = draws * values
            below = before if k == 1 else math.sqrt(k) * before
            yield Term(values, 1.0, below - 0.5 * product)
            if k < self.order:
                product -= below
                product *= 1.0 / math.sqrt(k + 1)
                before, values = values, product


@dataclass(frozen=True)
class LinearAndBounded(_Ordered):
    """The identity and then Hermite functions: phi_1 = x and phi_(k+1) = g_k, for k < Q.

    The basis of `check`: x is best for location, spread and correlation, and bounded
    functions are for everything finer, as a normal approximation to their means is
    good at small sample sizes.

    Parameters
    ----------
    order : int
        The paper's Q; at least 1.
    """

    least = 1

    @cached_property
    def _bounded(self) -> BoundedHermite:
        return BoundedHermite(self.order - 1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names ``x``, ``G1``, ``G2``, ..."""
        return ("x", *self._bounded.names)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """``spread``, ``shape``, ..."""
        return ("spread", *self._bounded.words)

    def terms(self, draws: FloatArray) -> Iterator[Term]:
        """Yield x with its derivative 1, then the Hermite functions."""
        yield Term(draws, 1.0, None)
        if self.order > 1:
            yield from self._bounded.terms(draws)


@dataclass(frozen=True)
class SmoothTails(_Ordered):
    """Smooth indicators of the two tails: (1 + tanh(1.4 (+-x - 1.75)))/2.

    Hermite functions fall off beyond two standard deviations, and do not see what is missing
    there. Indicators that rise later see a missing mode better, and have more skewed means. For
    draws in standardised coordinates.
    """

    order: int = field(default=2, init=False)

    #: Where an indicator is 1/2, and twice its slope there.
    border: ClassVar[float] = 1.75
    steepness: ClassVar[float] = 1.4

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``upper tail`` and ``lower tail``."""
        return ("upper tail", "lower tail")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """``tails`` for both."""
        return ("tails", "tails")

    def terms(self, draws: FloatArray) -> Iterator[Term]:
        """Yield 1/(1 + c u) and u/(c + u) with u = exp(-2 * 1.4 x), each with its derivative."""
        double, there = 2.0 * self.steepness, math.exp(2.0 * self.steepness * self.border)
        # exp(600) is far from overflow; beyond it the indicators are 0 and 1 to the last digit.
        powers = np.exp(np.minimum(-double * draws, 600.0))
        upper = 1.0 / (1.0 + there * powers)
        yield Term(upper, 1.0, (double - double * upper) * upper)
        lower = powers / (powers + there)
        yield Term(lower, 1.0, (double * lower - double) * lower)


@dataclass(frozen=True)
class Waves(_Ordered):
    """sin(w x) and cos(w x) for w = 1.5, 3, 6, 12, 2, 4, 8: fine structure of a coordinate.

    Bounded, and with almost no autocorrelation. For draws centred by their median and scaled so
    that 68 % of them are within 1.
    """

    order: int = field(default=14, init=False)

    #: Every frequency but the first of each row is twice the one before it.
    frequencies: ClassVar[tuple[tuple[float, ...], ...]] = ((1.5, 3.0, 6.0, 12.0), (2.0, 4.0, 8.0))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``sin 1.5x``, ``cos 1.5x``, ``sin 3x``, ..."""
        every = (frequency for row in self.frequencies for frequency in row)
        return tuple(f"{kind} {frequency:g}x" for frequency in every for kind in ("sin", "cos"))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """``fine structure`` for all of them."""
        return ("fine structure",) * self.order

    def terms(self, draws: FloatArray) -> Iterator[Term]:
        """Yield the waves; sine and cosine of x/2 are computed, those of its multiples follow."""
        half = 0.5 * draws
        sine, cosine = np.sin(half), np.cos(half)
        whole = _double_angle(sine, cosine)
        both = (whole[0] * cosine + whole[1] * sine, whole[1] * cosine - whole[0] * sine)
        for row, wave in zip(self.frequencies, (both, _double_angle(*whole)), strict=True):
            for place, frequency in enumerate(row):
                wave = _double_angle(*wave) if place else wave
                yield Term(wave[0], frequency, wave[1])
                yield Term(wave[1], -frequency, wave[0])


def _double_angle(sine: FloatArray, cosine: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sine and cosine of twice an angle."""
    twice = 2.0 * sine
    return twice * cosine, 1.0 - twice * sine


def magnitude_functions(draws: FloatArray) -> tuple[Term, FloatArray]:
    """An odd and an even bounded function: g(x) = tanh(x) and k(x) = g'(x) = 1/cosh(x)^2.

    The Stein image of g(x_l) k(x_m) e_l is (s_l g(x_l) + g'(x_l)) k(x_m). It sees a dependence
    between the magnitudes of two coordinates. For draws centred by their median.
    """
    odd = np.tanh(draws)
    even = 1.0 - odd * odd
    return Term(odd, 1.0, even), even


def basis_for(name: BasisName, order: int, *, standardise: bool) -> Basis:
    """Look up a basis; all but the monomials are made for standardised draws."""
    one_of(name, BasisName, "basis")
    if name == "monomial":
        # Only an int is looked up: True and 1.0 equal 1 but are not orders.
        return _monomial(order) if type(order) is int else Monomial(order)
    if not standardise:
        raise InputError(
            f"`standardise` must be True or 'whiten' for `basis={name!r}`, which is made for draws "
            "of mean 0 and variance 1; got False"
        )
    bases: dict[BasisName, Callable[[int], Basis]]
    bases = {"hermite": Hermite, "bounded-hermite": BoundedHermite}
    return bases[name](order)


_monomial = lru_cache(maxsize=16)(Monomial)


class NamedFeatures:
    """Names of one feature for each function of the basis, and the score's."""

    basis: Basis

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features; the score's comes last."""
        return self.basis.feature_names

    @property
    def words(self) -> tuple[str, ...]:
        """What each feature looks at, in everyday words."""
        return self.basis.feature_words
