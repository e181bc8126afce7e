"""Quadratic forms of batch sums: what no linear map of the coordinates changes, and their flips.

A map x -> A x takes the scores to A^-T s, and so

- s' M^-1 s, with M the sum over rows of s s', stays as it is (Hotelling's statistic);
- Phi = s x' + I, centred, becomes A^-T Phi A', whose trace and the trace of whose square are
  those of Phi.

In strongly correlated coordinates every single score is dominated by the stiff directions. These
statistics see the loose directions as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY, finite
from polystein.inference.memory import Joining
from polystein.inference.quadratic_forms import Factor, Whole, form_memory, form_tail
from polystein.inference.signflips import Law
from polystein.methods.check.statistics import (
    HOTELLING,
    PAIR_ORDERS,
    SQUARE,
    of_family,
)
from polystein.methods.check.sums import BatchSums
from polystein.results.evidence import Part
from polystein.types import FloatArray

#: Features of which this little of the variance is seen by the longest batches are not judged.
LEAST_DEFLATION = 0.3
#: The autocorrelation of a quadratic form is known well enough if chains are worth this many
#: independent rows for each coordinate (Hotelling's rejects 0.10 instead of 0.05 on 3.3).
FEWEST_INDEPENDENT_A_COORDINATE = 8.0
#: A direction is named by no more coordinates than this, ...
MOST_NAMED = 3
#: ... and by none whose loading is smaller than this, relative to the largest.
LEAST_LOADING = 0.3
#: A direction that chance explains with more than this probability does not stand out.
MOST_CHANCE = 0.05
#: Directions in which scores vary by less than this, relative to the most, are taken for rounding.
_ROUNDING = 1e-13
#: Products of pairs that are worked on at once.
_NUMBERS_AT_ONCE = 2**20
#: A factor has few columns if there are this many times as many batches.
_FEW_COLUMNS = 2


class Form(NamedTuple):
    """A quadratic form of batch sums, by products K of shape (batches, batches).

    ``name`` is that of its family in the table. ``coordinates`` is how many it takes together.
    ``crossed`` gives the products of the sums with a mean of the features, and of that mean with
    itself. ``direction`` gives the direction that stands out, in standard deviations of the
    coordinates, if it looks along directions.
    """

    name: str
    orders: tuple[str, ...]
    products: Whole | Factor
    coordinates: int
    crossed: Callable[[FloatArray], tuple[FloatArray, float]]
    direction: Callable[[], FloatArray] | None = None


class FlippedForm:
    """A quadratic form, for the draws and for every flip so far."""

    def __init__(self, form: Form, sums: BatchSums) -> None:
        self.form, self._found = form, list[FloatArray]()
        (self._table,) = of_family(form.name)
        self.names, self.words = (self._table.name,), self._table.looks_at.replace(", ", " along ")
        chains = len(sums.joinings) > 1
        memory = form_memory(form.products.traces(sums.joinings), sums.joinings)
        self.joining: Joining = sums.joinings[memory.level]
        self.deflation = memory.deflation
        #: Whether its autocorrelation is too long for it to be judged.
        self.slow = memory.deflation < LEAST_DEFLATION
        #: The chains of the batches, if neighbours in a chain depend on each other.
        self.chains = self.joining.chains if chains else None
        self._without_neighbours = form.products.kept(self.joining, self.chains)
        self._law = self._without_neighbours.cumulants
        few = sums.effective_count(self.joining) < self._table.batches
        #: How many independent rows the rows are worth, and whether these are too few.
        self.worth = memory.independent(sums.effective_rows)
        self.short = chains and self.worth < FEWEST_INDEPENDENT_A_COORDINATE * form.coordinates
        #: Whether it is judged: it varies, on enough batches that are long enough.
        self.is_judged = not (self.slow or few or self.short) and self._law.variance > 0.0
        #: Flips cost no more than those of this many features.
        self.features = self.joining.count

    @property
    def variance(self) -> float:
        """The variance of the statistic over all flips, in its own unit."""
        return self._law.variance

    def flip(self, signs: FloatArray) -> None:
        """Try further patterns of signs; the first one ever is that of the draws as they are."""
        if not self.is_judged:
            return
        values = self._without_neighbours.flipped(self.joining.of_first(signs))
        if not self._found:
            # The draws' own sums are more alike than flipped ones, by what correlation is left.
            values[0] *= self.deflation
        self._found.append(values)

    @property
    def statistics(self) -> dict[str, tuple[FloatArray, Law]]:
        """Values for the draws and for every flip, with their law."""
        values = np.concatenate(self._found)
        return {self.names[0]: (values, partial(form_tail, law=self._law))}

    def parts(self, names: Sequence[str]) -> Iterator[Part]:
        """The statistic with a p-value of its own, and the direction that stands out."""
        form, tail = self.form, float(form_tail(self._found[0][:1], self._law)[0])
        where: tuple[str, ...] = ()
        words = ""
        if tail <= MOST_CHANCE and form.direction is not None:
            direction = form.direction()
            where = tuple(names[place] for place in named_places(direction))
            words = direction_words(direction, names)
        yield Part(self.names[0], self._table.looks_at, form.orders, where, tail, 1.0, words)


def forms(sums: BatchSums, coordinates: NDArray[np.intp], *, metric: bool) -> Iterator[Form]:
    """The forms that these sums allow, of some coordinates.

    Hotelling's needs a ``metric``: enough rows for the second moments of the scores.
    """
    if coordinates.size < 2:
        return
    if metric:
        yield _hotelling(sums, coordinates)
    if not sums.judges_pairs:
        return
    whole = next(sums.pairs(PAIR_ORDERS["x"]))
    if whole.shape[1] == sums.diagonal.shape[2]:
        yield _trace_of_square(sums, whole, coordinates)


def _hotelling(sums: BatchSums, coordinates: NDArray[np.intp]) -> Form:
    """Sums of scores in the metric of their second moments."""
    scores = sums.diagonal[:, 0][:, coordinates]
    root = inverse_root(sums.score_products[np.ix_(coordinates, coordinates)])
    standard = scores @ root

    def direction() -> FloatArray:
        return _spread(root @ standard.sum(axis=0), coordinates, sums)

    def crossed(mean: FloatArray) -> tuple[FloatArray, float]:
        own = mean @ root
        return standard @ own, float(own @ own)

    few = _FEW_COLUMNS * coordinates.size <= len(standard)
    products = Factor(standard) if few else Whole(standard @ standard.T)
    return Form(HOTELLING, ("score",), products, coordinates.size, crossed, direction)


def inverse_root(moments: FloatArray) -> FloatArray:
    """A matrix B with B B' the inverse of these second moments, where they are not 0."""
    spread = np.sqrt(np.diagonal(moments))
    finite(float(spread.max()), "the square of a score")
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > TINY)
    values, vectors = np.linalg.eigh(moments * inverse[:, None] * inverse)
    varies = values > _ROUNDING * max(float(values[-1]), TINY)
    result: FloatArray = (inverse[:, None] * vectors[:, varies]) / np.sqrt(values[varies])
    return result


def _trace_of_square(sums: BatchSums, whole: FloatArray, coordinates: NDArray[np.intp]) -> Form:
    """tr(Phi_a Phi_b) of the matrices of order 1."""
    own, scores = centred_spreads(sums, coordinates), sums.diagonal[:, 0][:, coordinates]
    means = sums.distant_means[:, coordinates]
    whole = (
        whole if coordinates.size == whole.shape[1] else whole[:, coordinates[:, None], coordinates]
    )
    largest = max(float(np.abs(own).max()), float(whole.max()), -float(whole.min()))
    # Products neither overflow nor underflow in units of the largest sum.
    unit = 1.0 / max(finite(largest, "a batch sum"), TINY)
    own_products = (own * unit) @ (own * unit).T
    products = own_products + _transposed_products(whole, unit * scores, means, unit)

    def direction() -> FloatArray:
        # The diagonal of ``whole`` is 0.
        total = whole.sum(axis=0, dtype=np.float64) + np.diag(own.sum(axis=0))
        values, vectors = np.linalg.eig(total.T)
        return _spread(np.real(vectors[:, np.argmax(np.abs(values))]), coordinates, sums)

    def crossed(mean: FloatArray) -> tuple[FloatArray, float]:
        # tr(Phi_a M), of which s_l (x_m - means_m) is an entry off the diagonal.
        across = mean - np.diag(np.diag(mean))
        entries = whole.reshape(len(whole), -1) @ across.T.ravel()
        entries = entries - np.einsum("bm,bm->b", means, scores @ across.T)
        return (entries + own @ np.diag(mean)) * unit**2, float(np.vdot(mean, mean.T)) * unit**2

    return Form(SQUARE, ("x",), Whole(products), coordinates.size, crossed, direction)


def _transposed_products(
    whole: FloatArray, scores: FloatArray, means: FloatArray, unit: float
) -> FloatArray:
    """Sum over l != m of Phi_a[l, m] Phi_b[m, l] in this unit, some pairs l < m at a time.

    Sums of s_l x_m become those of s_l (x_m - means_m); the scores are in this unit.
    """
    batches, dimension = len(whole), whole.shape[1]
    flat = whole.reshape(batches, -1)
    first, second = np.triu_indices(dimension, 1)
    at_once = max(1, _NUMBERS_AT_ONCE // batches)
    products = np.zeros((batches, batches))

    def entries(left: NDArray[np.intp], right: NDArray[np.intp]) -> FloatArray:
        result: FloatArray = flat.take(dimension * left + right, axis=1) * unit
        result -= scores.take(left, axis=1) * means.take(right, axis=1)
        return result

    for low in range(0, first.size, at_once):
        some = first[low : low + at_once], second[low : low + at_once]
        products += entries(*some) @ entries(*some[::-1]).T
    # Pairs l > m are those of the other factor.
    return products + products.T


def _spread(direction: FloatArray, coordinates: NDArray[np.intp], sums: BatchSums) -> FloatArray:
    """The direction with 0 for coordinates that are left out."""
    result = np.zeros(sums.diagonal.shape[2])
    result[coordinates] = direction
    return result


def centred_spreads(sums: BatchSums, coordinates: NDArray[np.intp]) -> FloatArray:
    """Sums of s_l (x_l - m_l) + 1 for these coordinates, with m the mean of distant draws."""
    score, spreads = sums.diagonal[:, 0][:, coordinates], sums.diagonal[:, 1][:, coordinates]
    result: FloatArray = spreads - score * sums.distant_means[:, coordinates]
    return result


def total_correlation(moments: FloatArray) -> float:
    """How far Gaussian variables with these second moments are from independent ones.

    It is -log det C/(2 d), with C the moments over their diagonal.

    Examples
    --------
    >>> total_correlation(np.diag([1.0, 4.0]))
    0.0
    >>> round(total_correlation(np.array([[1.0, 1.8], [1.8, 4.0]])), 4)
    0.4152
    """
    spread = np.sqrt(np.diagonal(moments))
    varies = np.flatnonzero(spread > TINY)
    if varies.size < 2:
        return 0.0
    correlation = moments[np.ix_(varies, varies)] / spread[varies, None] / spread[varies]
    # Rounding may make the determinant negative where it is all but 0.
    sign, log = np.linalg.slogdet(correlation)
    return float("inf") if sign <= 0.0 else max(0.0, -float(log) / (2.0 * varies.size))


def named_places(direction: FloatArray) -> list[int]:
    """The coordinates that a direction is named by, that of the largest loading first."""
    sizes = np.abs(direction)
    first, *others = np.argsort(-sizes, kind="stable")[:MOST_NAMED].tolist()
    return [first, *(one for one in others if sizes[one] >= LEAST_LOADING * sizes[first] > 0.0)]


def direction_words(direction: FloatArray, names: Sequence[str]) -> str:
    """A direction by its largest loadings, in standard deviations of the coordinates.

    Examples
    --------
    >>> direction_words(np.array([0.1, -2.0, 1.6]), ["mu", "tau", "theta[3]"])
    'mainly `tau` - 0.8 `theta[3]`'
    >>> direction_words(np.array([0.0, 3.0, 0.0]), ["mu", "tau", "theta[3]"])
    'mainly `tau`'
    >>> direction_words(np.ones(50), [f"x[{j}]" for j in range(50)])
    '`x[0]` + `x[1]` + `x[2]` and 47 more alike'
    """
    first, *others = places = named_places(direction)
    loadings = direction / (direction[first] or 1.0)
    text = f"`{names[first]}`"
    for place in others:
        size = abs(float(loadings[place]))
        factor = "" if size > 0.95 else f"{size:.1f} "
        text += f" {'-' if loadings[place] < 0 else '+'} {factor}`{names[place]}`"
    # Beside many loadings of their size, the largest are not the main ones.
    if 2.0 * np.sum(loadings[places] ** 2) >= np.sum(loadings**2):
        return f"mainly {text}"
    more = np.count_nonzero(np.abs(loadings) >= LEAST_LOADING) - len(places)
    return f"{text} and {more} more alike" if more > 0 else f"{text} and many small ones"
