"""Designs: which Stein features explain which functions of the draws.

Every design has the constant 1 and the scores s first. Features have mean 0 under the target.
They are ordered so that smaller sets of them are the leading ones of larger sets, which end at
the design's *cuts*. Draws y are centred and scaled, and scores are scaled to match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from polystein.types import FloatArray

#: Powers of a coordinate that its own score coordinate is multiplied by, beyond the first.
OWN_POWERS = (2, 3, 4)


class Seen(NamedTuple):
    """Rows in the frame in which features are formed, and the draws as they came."""

    draws: FloatArray
    scores: FloatArray
    raw: FloatArray


class Design(Protocol):
    """Features, in nested sets, and the functions that they explain."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """Numbers of features of the nested sets, from the constant alone to all features."""

    @property
    def functions(self) -> int:
        """Number of functions."""

    def columns(self, seen: Seen) -> FloatArray:
        """All features, then all functions, one column each."""

    def values_of(self, seen: Seen) -> FloatArray:
        """The functions alone."""

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients, without forming the columns."""


class MappedDesign(ABC):
    """Another design on rows that are mapped first."""

    @property
    @abstractmethod
    def inner(self) -> Design:
        """The design on the mapped rows."""

    @abstractmethod
    def mapped(self, seen: Seen) -> Seen:
        """The rows as the inner design sees them."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """Those of the inner design."""
        return self.inner.cuts

    @property
    def functions(self) -> int:
        """Those of the inner design."""
        return self.inner.functions

    def columns(self, seen: Seen) -> FloatArray:
        """All features, then all functions, one column each."""
        return self.inner.columns(self.mapped(seen))

    def values_of(self, seen: Seen) -> FloatArray:
        """The functions alone."""
        return self.inner.values_of(self.mapped(seen))

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients."""
        return self.inner.combined(self.mapped(seen), coefficients)


@dataclass(frozen=True)
class MeansDesign:
    """The scores alone, for the means of all coordinates at once."""

    dimension: int

    @property
    def cuts(self) -> tuple[int, ...]:
        """The constant, and the scores."""
        return 1, 1 + self.dimension

    @property
    def functions(self) -> int:
        """One for each coordinate."""
        return self.dimension

    def columns(self, seen: Seen) -> FloatArray:
        """The columns 1, s | y."""
        d, result = self.dimension, np.empty((len(seen.draws), 1 + 2 * self.dimension))
        result[:, 0] = 1.0
        result[:, 1 : 1 + d] = seen.scores
        result[:, 1 + d :] = seen.draws
        return result

    def values_of(self, seen: Seen) -> FloatArray:
        """The draws themselves."""
        return seen.draws

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients."""
        d = self.dimension
        result = seen.scores @ coefficients[1 : 1 + d]
        result += coefficients[0]
        result += seen.draws @ coefficients[1 + d :]
        return result


@dataclass(frozen=True)
class CoordinateDesign:
    """For powers of one coordinate j: s, s_l y_j, and powers of its own.

    With `shape` the functions are y_j to y_j^4 instead of y_j and y_j^2, and the products
    of y_j^2 and y_j^3 with all scores come in, which the third and fourth moments of a correlated
    Gaussian need.
    """

    dimension: int
    index: int
    shape: bool = False

    @property
    def cuts(self) -> tuple[int, ...]:
        """The constant; s; s y_j; powers of its own; with `shape`, s y_j^2; and s y_j^3."""
        d = self.dimension
        cuts = 1, 1 + d, 1 + 2 * d, 1 + 2 * d + len(OWN_POWERS)
        return (*cuts, cuts[-1] + d - 1, cuts[-1] + 2 * (d - 1)) if self.shape else cuts

    @property
    def functions(self) -> int:
        """Powers of the coordinate."""
        return 4 if self.shape else 2

    def columns(self, seen: Seen) -> FloatArray:
        """The columns 1, s, s_l y_j + [l = j], s_j y_j^k + k y_j^(k-1), ... | y_j, y_j^2, ..."""
        d, j = self.dimension, self.index
        result = np.empty((len(seen.draws), self.cuts[-1] + self.functions))
        powers = _powers(seen.draws[:, j])
        result[:, 0] = 1.0
        result[:, 1 : 1 + d] = seen.scores
        _score_products(seen.scores, powers[:, 1], j, out=result[:, 1 + d : 1 + 2 * d])
        at = 1 + 2 * d
        for power in OWN_POWERS:
            result[:, at] = own_power(seen.scores[:, j], powers, power)
            at += 1
        if self.shape:
            others = np.delete(seen.scores, j, axis=1)
            for power in (2, 3):
                np.multiply(others, powers[:, power, None], out=result[:, at : at + d - 1])
                at += d - 1
        result[:, at:] = powers[:, 1 : 1 + self.functions]
        return result

    def values_of(self, seen: Seen) -> FloatArray:
        """Powers of the coordinate."""
        return _powers(seen.draws[:, self.index])[:, 1 : 1 + self.functions]

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients."""
        if self.shape:
            return self.columns(seen) @ coefficients
        d, j = self.dimension, self.index
        column, score = seen.draws[:, j], seen.scores[:, j]
        own = np.empty((len(column), 2 + len(OWN_POWERS)))
        powers = _powers(column)
        for place, power in enumerate(OWN_POWERS):
            own[:, place] = own_power(score, powers, power)
        own[:, -2:] = powers[:, 1:3]
        result = seen.scores @ coefficients[1 + d : 1 + 2 * d]
        result *= column[:, None]
        result += seen.scores @ coefficients[1 : 1 + d]
        result += own @ coefficients[1 + 2 * d :]
        result += coefficients[0] + coefficients[1 + d + j]
        return result


@dataclass(frozen=True)
class PairDesign:
    """For the moments of two coordinates j and k together: s, s_l y_j and s_l y_k."""

    dimension: int
    first: int
    second: int

    @property
    def cuts(self) -> tuple[int, ...]:
        """The constant; s; products with y_j; products with y_k."""
        d = self.dimension
        return 1, 1 + d, 1 + 2 * d, 1 + 3 * d

    @property
    def functions(self) -> int:
        """The five moments y_j, y_k, y_j^2, y_k^2 and y_j y_k."""
        return 5

    def columns(self, seen: Seen) -> FloatArray:
        """The columns 1, s, s_l y_j + [l = j], s_l y_k + [l = k] | the five moments."""
        d, result = self.dimension, np.empty((len(seen.draws), self.cuts[-1] + 5))
        result[:, 0] = 1.0
        result[:, 1 : 1 + d] = seen.scores
        for at, index in ((1 + d, self.first), (1 + 2 * d, self.second)):
            out = result[:, at : at + d]
            _score_products(seen.scores, seen.draws[:, index], index, out=out)
        _pair_moments(seen.draws, self.first, self.second, out=result[:, 1 + 3 * d :])
        return result

    def values_of(self, seen: Seen) -> FloatArray:
        """The five moments."""
        result = np.empty((len(seen.draws), 5))
        _pair_moments(seen.draws, self.first, self.second, out=result)
        return result

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients."""
        d, moments = self.dimension, np.empty((len(seen.draws), 5))
        _pair_moments(seen.draws, self.first, self.second, out=moments)
        result = moments @ coefficients[1 + 3 * d :]
        result += coefficients[0]
        result += seen.scores @ coefficients[1 : 1 + d]
        for at, index in ((1 + d, self.first), (1 + 2 * d, self.second)):
            products = seen.scores @ coefficients[at : at + d]
            products *= seen.draws[:, index, None]
            result += products
            result += coefficients[at + index]
        return result


@dataclass(frozen=True, eq=False)
class ValueFunction:
    """A function from (n, d) draws to (n, count) values, centred and scaled for the sums."""

    call: Callable[[FloatArray], FloatArray]
    centre: FloatArray
    scale: FloatArray

    @property
    def count(self) -> int:
        """How many values a draw has."""
        return len(self.centre)

    def __call__(self, draws: FloatArray) -> FloatArray:
        """The values, centred and scaled."""
        result: FloatArray = (self.call(draws) - self.centre) / self.scale
        return result


@dataclass(frozen=True)
class JointDesign:
    """All products s_l y_m and all powers of their own, for any functions at once.

    The functions are y and y^2 of the coordinates asked for, the products of the pairs asked
    for, and g and g^2 for functions g of the user's. Without `products` only l = m is there.
    """

    dimension: int
    coordinates: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    values: tuple[ValueFunction, ...] = ()
    products: bool = True

    @property
    def cuts(self) -> tuple[int, ...]:
        """The constant; s; products with y; powers of their own."""
        d = self.dimension
        products = 1 + d + (d * d if self.products else d)
        return 1, 1 + d, products, products + len(OWN_POWERS) * d

    @property
    def functions(self) -> int:
        """Two for each coordinate, one for each pair, two for each function of the user's."""
        return 2 * len(self.coordinates) + len(self.pairs) + 2 * self._outputs

    @cached_property
    def _outputs(self) -> int:
        return sum(function.count for function in self.values)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {index: place for place, index in enumerate(self.coordinates)}

    def of_coordinate(self, index: int) -> tuple[int, int]:
        """Places of y and y^2 of a coordinate among the functions."""
        place = self._place[index]
        return place, len(self.coordinates) + place

    def of_pair(self, pair: tuple[int, int]) -> tuple[int, ...]:
        """Places of the five moments of a pair among the functions."""
        (a, aa), (b, bb) = (self.of_coordinate(index) for index in pair)
        return a, b, aa, bb, 2 * len(self.coordinates) + self.pairs.index(pair)

    def of_value(self, number: int) -> tuple[int, int]:
        """Places of g and g^2 of a value of the user's functions."""
        first = 2 * len(self.coordinates) + len(self.pairs)
        return first + number, first + self._outputs + number

    def columns(self, seen: Seen) -> FloatArray:
        """The columns 1, s, s_l y_m + [l = m], s_l y_l^k + k y_l^(k-1) | functions."""
        rows, d = seen.draws.shape
        result = np.empty((rows, self.cuts[-1] + self.functions))
        result[:, 0] = 1.0
        result[:, 1 : 1 + d] = seen.scores
        low, high = self.cuts[1], self.cuts[2]
        if self.products:
            products = seen.scores[:, :, None] * seen.draws[:, None, :]
            result[:, low:high] = products.reshape(rows, d * d)
            result[:, low : high : d + 1] += 1.0
        else:
            result[:, low:high] = seen.scores * seen.draws + 1.0
        for number, power in enumerate(OWN_POWERS):
            before = seen.draws ** (power - 1)
            at = high + number * d
            result[:, at : at + d] = seen.scores * before * seen.draws + power * before
        self._add_functions(seen, result[:, self.cuts[-1] :])
        return result

    def values_of(self, seen: Seen) -> FloatArray:
        """The functions alone."""
        result = np.empty((len(seen.draws), self.functions))
        self._add_functions(seen, result)
        return result

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients."""
        return self.columns(seen) @ coefficients

    def _add_functions(self, seen: Seen, out: FloatArray) -> None:
        chosen, count = seen.draws[:, list(self.coordinates)], len(self.coordinates)
        out[:, :count] = chosen
        out[:, count : 2 * count] = chosen**2
        for place, (first, second) in enumerate(self.pairs, start=2 * count):
            np.multiply(seen.draws[:, first], seen.draws[:, second], out=out[:, place])
        at = 2 * count + len(self.pairs)
        for function in self.values:
            values = function(seen.raw)
            for first in (at, at + self._outputs):
                out[:, first : first + function.count] = values
            out[:, at + self._outputs : at + self._outputs + function.count] *= values
            at += function.count


def own_power(score: FloatArray, powers: FloatArray, power: int) -> FloatArray:
    """The feature s y^k + k y^(k-1) of one coordinate."""
    result: FloatArray = score * powers[:, power] + power * powers[:, power - 1]
    return result


def _powers(column: FloatArray) -> FloatArray:
    """The powers 0 to 4 of a column."""
    result = np.empty((len(column), 5))
    result[:, 0] = 1.0
    for power in range(1, 5):
        np.multiply(result[:, power - 1], column, out=result[:, power])
    return result


def _score_products(scores: FloatArray, column: FloatArray, index: int, *, out: FloatArray) -> None:
    """The features s_l y_j + [l = j] for all l."""
    np.multiply(scores, column[:, None], out=out)
    out[:, index] += 1.0


def _pair_moments(draws: FloatArray, first: int, second: int, *, out: FloatArray) -> None:
    one, other = draws[:, first], draws[:, second]
    for place, column in enumerate((one, other, one * one, other * other, one * other)):
        out[:, place] = column
