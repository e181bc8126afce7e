"""The trained test function by products with its training rows, for fewer rows than coordinates.

As A_i is an average over the m training rows,

    <A_i, Phi_i(x)> = sum_j w_j (s's_j)(phi'phi_j) + (s phi)'g + phi'' diag(A_i),

with g the mean derivative of the training rows and phi'' the derivative of the row's own:
products of length d with m columns instead of d, and no d x d arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from polystein.data.coordinates import RAW, Frame, working_frame
from polystein.data.passes import gathered, rows_of_many_arrays, run_pass, uncounted, visit_blocks
from polystein.data.source import Block, Rows, Source
from polystein.errors import DegenerateError
from polystein.stein.basis import Basis, NamedFeatures, Term
from polystein.stein.operator import derivative_dot, derivative_sum
from polystein.types import FloatArray

#: Training rows and their terms are kept if they take no more numbers than this, 64 MiB; more are
#: read again whenever they are needed.
MOST_HELD = 2**23
#: At most this many numbers of them are read at once then, but at least this many rows.
READ_AT_ONCE, FEWEST_READ = 2**18, 16

#: Takes weights w of some rows, their scores times w, and the basis functions at their draws.
Visit = Callable[[FloatArray, FloatArray, Sequence[Term]], None]


class HeldRows(NamedTuple):
    """Training rows that are kept."""

    weights: FloatArray
    weighted_scores: FloatArray
    terms: list[Term]

    def visit(self, visit: Visit) -> None:
        """Hand over all rows at once."""
        visit(*self)


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Training rows that are read whenever they are needed."""

    source: Source
    rows: list[Rows]
    basis: Basis
    frame: Frame

    def visit(self, visit: Visit) -> None:
        """Read all rows, block by block."""
        most = max(FEWEST_READ, READ_AT_ONCE // self.source.layout.dimension)
        # These rows are counted where they are read for their own sake.
        with uncounted():
            visit_blocks(
                self.source,
                self.rows,
                lambda block: visit(*_seen(block, self.basis, self.frame)),
                most=most,
            )


def _seen(block: Block, basis: Basis, frame: Frame) -> HeldRows:
    """The rows of a block in a frame, as they are multiplied with."""
    draws, scores = frame.apply(block.draws, block.scores)
    weighted = scores if block.weights is None else scores * block.weights[:, None]
    return HeldRows(block.weights_or_ones, weighted, list(basis.terms(draws)))


@dataclass(frozen=True, eq=False)
class DualWitness(NamedFeatures):
    """Features <A_i, Phi_i(x)> and b's(x) by products with the training rows, times a factor."""

    basis: Basis
    frame: Frame
    training: HeldRows | ReadRows
    derivatives: FloatArray
    diagonals: FloatArray
    score: FloatArray
    factor: float = 1.0

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        """Features of every row."""
        draws, scores = self.frame.apply(draws, scores)
        return self.contract(scores, list(self.basis.terms(draws)))

    def contract(self, scores: FloatArray, terms: Sequence[Term]) -> FloatArray:
        """Features of rows that are seen in the frame already, by their basis terms."""
        features = np.empty((len(scores), len(terms) + 1))
        features[:, -1] = scores @ self.score
        for i, term in enumerate(terms):
            features[:, i] = (scores * term.values) @ self.derivatives[i]
            features[:, i] += derivative_dot(term, self.diagonals[i])

        def add(_: FloatArray, weighted: FloatArray, trained: Sequence[Term]) -> None:
            products = scores @ weighted.T
            for i, (term, other) in enumerate(zip(terms, trained, strict=True)):
                features[:, i] += np.vecdot(products, term.values @ other.values.T)

        self.training.visit(add)
        return features * self.factor

    @classmethod
    def of(
        cls, training: HeldRows | ReadRows, basis: Basis, frame: Frame, dimension: int
    ) -> DualWitness:
        """The maximiser up to a common factor: the weights of the rows sum to 1."""
        derivatives, products = np.zeros((2, basis.order, dimension))
        score, total = np.zeros(dimension), 0.0

        def add(weights: FloatArray, weighted: FloatArray, terms: Sequence[Term]) -> None:
            nonlocal total
            weight = float(weights.sum())
            total += weight
            score[:] += weighted.sum(axis=0)
            for i, term in enumerate(terms):
                derivatives[i] += derivative_sum(term, weights, weight)
                products[i] += np.einsum("ij,ij->j", weighted, term.values)

        training.visit(add)
        diagonals, factor = products + derivatives, 1.0 / total if total > 0.0 else 1.0
        return cls(basis, frame, training, derivatives, diagonals, score, factor)

    def normalised(self, source: Source, rows: list[Rows]) -> DualWitness:
        """The maximiser itself. Its features sum to Z^2 on average over the training rows."""
        sums = _FeatureSum(self)
        most = rows_of_many_arrays(source.layout.dimension)
        with uncounted():
            run_pass(source, rows, sums, most=most)
        if not sums.total > 0.0:
            raise DegenerateError(
                "every Stein moment of the training rows is exactly zero, so that no test function "
                "stands out; are all `scores` zero?"
            )
        return replace(self, factor=self.factor * float(np.sqrt(sums.weight / sums.total)))


class _FeatureSum:
    """Sums of all features over rows, and of the rows' weights."""

    def __init__(self, witness: DualWitness) -> None:
        self._witness = witness
        self.total = self.weight = 0.0

    def zero(self) -> _FeatureSum:
        return _FeatureSum(self._witness)

    def update(self, block: Block) -> None:
        own = block.weights_or_ones
        self.total += float(own @ self._witness.project(block.draws, block.scores).sum(axis=1))
        self.weight += float(own.sum())

    def merge(self, other: _FeatureSum) -> _FeatureSum:
        self.total += other.total
        self.weight += other.weight
        return self


def fit_dual(
    source: Source, rows: Iterable[Rows], basis: Basis, frame: Frame, count: int
) -> DualWitness | None:
    """The maximiser on `count` rows up to a common factor; None where raw powers are not safe."""
    rows, dimension = list(rows), source.layout.dimension
    # What is read from the first row to the last cannot be read inside of another pass.
    held = source.sequential or count * dimension * (basis.order + 2) <= MOST_HELD
    if held:
        draws, scores, weights = gathered(source, rows)
    else:
        extent = _Extent(dimension)
        with uncounted():
            run_pass(source, rows, extent)
        draws = extent.bounds
    if frame is RAW and working_frame(draws) is not RAW:
        return None
    training: HeldRows | ReadRows = ReadRows(source, rows, basis, frame)
    if held:
        training = _seen(Block(draws, scores, weights, 0, 0), basis, frame)
    return DualWitness.of(training, basis, frame, dimension)


class _Extent:
    """The smallest and the largest draw of each coordinate."""

    def __init__(self, dimension: int) -> None:
        self.bounds = np.full((2, dimension), np.inf)
        self.bounds[1] = -np.inf

    def zero(self) -> _Extent:
        return _Extent(self.bounds.shape[1])

    def update(self, block: Block) -> None:
        np.minimum(self.bounds[0], block.draws.min(axis=0), out=self.bounds[0])
        np.maximum(self.bounds[1], block.draws.max(axis=0), out=self.bounds[1])

    def merge(self, other: _Extent) -> _Extent:
        np.minimum(self.bounds[0], other.bounds[0], out=self.bounds[0])
        np.maximum(self.bounds[1], other.bounds[1], out=self.bounds[1])
        return self
