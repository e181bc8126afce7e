"""Mergeable sums of Stein features over rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from polystein._lib.arguments import boolean
from polystein._lib.numerics import finite, ones
from polystein.data.coordinates import RAW, Frame, working_frame
from polystein.data.passes import SERIAL, every_row, executed_by, run_pass
from polystein.data.sample import as_source
from polystein.data.source import Block, Rows, Source
from polystein.errors import DegenerateError, InputError
from polystein.stein.basis import Basis, Monomial, Term
from polystein.stein.change import change
from polystein.stein.operator import derivative_sum, operator_for
from polystein.types import Array, FloatArray, ScoreFunction, Structure


class SteinMean(NamedTuple):
    """Averages over rows: mu_1, ..., mu_Q, mu_b, and what the U-statistic subtracts.

    ``weight_squares`` is the sum of squared normalised weights (1/n unweighted) and
    ``squared_norms`` the sum of those squares times ||xi||^2, None if not asked for.
    """

    matrices: list[FloatArray]
    score: FloatArray
    weight_squares: float
    squared_norms: float | None

    def norm(self) -> float:
        """Z of Proposition 3.2 (eq. 7), without overflow on the way."""
        parts = [*self.matrices, self.score]
        square = 0.0
        for part in parts:
            square += float(np.vdot(part, part))
        # Smaller squares have lost digits to gradual underflow.
        if 1e-280 < square < math.inf:
            return math.sqrt(square)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            largest = max(float(np.max(np.abs(part))) for part in parts)
            if largest == 0.0:
                return 0.0
            finite(largest, "a Stein moment")
            square = sum(float(np.vdot(part / largest, part / largest)) for part in parts)
        return finite(largest * math.sqrt(square), "the discrepancy Z")

    def unbiased_square(self) -> float:
        """Z^2 without its diagonal terms: the U-statistic of Section 3.4."""
        if self.squared_norms is None:
            raise InputError("`norms` must be True to estimate Z^2 without its diagonal terms")
        # But for rounding, this is 1 where one row has all the weight.
        if self.weight_squares > 1.0 - 1e-12:
            raise DegenerateError(
                "the unbiased estimate of Z^2 needs at least two rows of positive weight"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            square = np.float64(self.norm()) ** 2
            value = (square - self.squared_norms) / (1.0 - self.weight_squares)
        return finite(float(value), "the squared discrepancy")


class SteinMoments:
    """Sums of the Stein features Phi_i(x) and s(x), block by block.

    The sums over one set of rows take O(Q d^2) memory (O(Q d) for a diagonal
    structure) however many rows there are, and accumulators of different rows
    merge into that of all rows, in any order, up to rounding.

    Parameters
    ----------
    order : int
        The paper's Q.
    structure : {"full", "diagonal"}
        Whether each A_i is d x d or diagonal.
    norms : bool
        Also sum ||xi(x)||^2, which the unbiased estimate of Z^2 needs.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(1).normal(0.5, 1.0, size=(1000, 2))
    >>> first = ps.SteinMoments(2).update(draws[:400], -draws[:400])
    >>> second = ps.SteinMoments(2).update(draws[400:], -draws[400:])
    >>> bool(np.isclose(first.merge(second).finalise().norm(), ps.psd(draws, -draws, order=2)))
    True
    """

    def __init__(self, order: int, *, structure: Structure = "full", norms: bool = False) -> None:
        self._start(Monomial(order), structure, norms=boolean(norms, "norms"), answer=RAW)

    @classmethod
    def empty(
        cls, basis: Basis, structure: Structure, *, norms: bool = False, answer: Frame = RAW
    ) -> Self:
        """Sums for any basis, with averages in the frame `answer`."""
        moments = cls.__new__(cls)
        moments._start(basis, structure, norms=norms, answer=answer)
        return moments

    def _start(self, basis: Basis, structure: Structure, *, norms: bool, answer: Frame) -> None:
        self._basis, self._structure, self._answer = basis, structure, answer
        self._operator = operator_for(structure)
        # Raw powers are summed in a working frame, which the first block chooses, and mapped back.
        # Other functions cannot be mapped back, and other frames are safe.
        self._working = None if answer is RAW and basis.closed_under_shifts else answer
        self._weight = self._weight_squares = self._log_scale = 0.0
        # Sums over rows of s(x), and of Phi_1(x), ..., Phi_Q(x); there are none before any row.
        self._score: FloatArray = np.zeros(())
        self._matrices: list[FloatArray] = []
        self._norms: float | None = 0.0 if norms else None
        self._dimension: int | None = None

    @property
    def working(self) -> Frame:
        """The frame in which the sums are taken."""
        return self._working or RAW

    def update(
        self,
        draws: Array | Source,
        scores: Array | ScoreFunction | None = None,
        /,
    ) -> Self:
        """Add rows and return the accumulator itself."""
        source = as_source(draws, scores)
        # Not counted, and on this thread, also if a score function inside of a test calls it.
        with executed_by(SERIAL):
            run_pass(source, every_row(source), SteinSums(self, source.log_scale))
        return self

    def add(
        self, block: Block, log_scale: float = 0.0, terms: Iterable[Term] | None = None
    ) -> None:
        """Add one validated block, whose weights are in units of exp(log_scale).

        With ``terms``, the basis functions of its rows, the block is in the frame of the answer.
        """
        self._check_dimension(block.draws.shape[1])
        if self._working is None:
            self._working = working_frame(block.draws) if terms is None else self._answer
        scores = block.scores
        if terms is None:
            draws, scores = self._working.apply(block.draws, scores)
            terms = self._basis.terms(draws)
        # The squared norms need the functions once more.
        terms = terms if self._norms is None else list(terms)
        weights = ones(len(scores)) if block.weights is None else block.weights
        weighted, weight = scores, float(len(scores))
        squares = weight
        if block.weights is not None or self._log_scale != 0.0:
            self._rescale(log_scale)
            weights = weights * math.exp(log_scale - self._log_scale)
            weighted, weight = scores * weights[:, None], float(weights.sum())
            squares = float(weights @ weights)
        self._weight += weight
        self._weight_squares += squares
        self._score = self._score + np.dot(weights, scores)
        matrices = [
            self._operator.summed(weighted, term.values, derivative_sum(term, weights, weight))
            for term in terms
        ]
        self._add_matrices(matrices)
        if self._norms is not None:
            # Sum w^2 ||xi(x)||^2 in the frame of the answer.
            if self._working is not self._answer:
                draws, scores = self._answer.apply(block.draws, block.scores)
                terms = self._basis.terms(draws)
            self._norms += self._operator.squared_norms(weights**2, scores, terms)

    def _add_matrices(self, matrices: list[FloatArray]) -> None:
        """Add sums of Phi_1, ..., Phi_Q over further rows, in arrays that nobody else has."""
        if not self._matrices:
            self._matrices = matrices
            return
        for own, other in zip(self._matrices, matrices, strict=True):
            own += other

    def _check_dimension(self, dimension: int) -> None:
        """Raise an error if the dimension changes: NumPy would silently broadcast one column."""
        if self._dimension is None:
            self._dimension = dimension
        elif self._dimension != dimension:
            raise InputError(
                f"`draws` must have {self._dimension} columns as before; got {dimension}"
            )

    def _rescale(self, log_scale: float) -> None:
        """Divide all weights so far by exp(log_scale), if that is larger than before."""
        if self._weight > 0.0 and log_scale <= self._log_scale:
            return
        factor = math.exp(self._log_scale - log_scale) if self._weight > 0.0 else 1.0
        self._log_scale = log_scale
        self._weight *= factor
        self._weight_squares *= factor**2
        self._score = factor * self._score
        self._matrices = [factor * matrix for matrix in self._matrices]
        if self._norms is not None:
            self._norms *= factor**2

    def merge(self, other: SteinMoments) -> Self:
        """Add another accumulator's rows and return the accumulator itself."""
        if not isinstance(other, SteinMoments):
            raise InputError(f"`other` must be a SteinMoments; got a {type(other).__name__}")
        if (self._basis, self._structure, self._norms is None) != (
            other._basis,
            other._structure,
            other._norms is None,
        ):
            raise InputError(
                "`other` must have the same basis, structure and norms: "
                f"{self._basis}, {self._structure!r}, norms={self._norms is not None}; "
                f"got {other._basis}, {other._structure!r}, norms={other._norms is not None}"
            )
        if other._weight == 0.0 or other._dimension is None:
            return self
        self._check_dimension(other._dimension)
        if self._working is None:
            self._working = other._working
        self._rescale(other._log_scale)
        factor = math.exp(other._log_scale - self._log_scale)
        score, matrices = other._sums_in(self.working)
        self._score = self._score + factor * score
        self._add_matrices([factor * matrix for matrix in matrices])
        self._weight += factor * other._weight
        self._weight_squares += factor**2 * other._weight_squares
        if self._norms is not None and other._norms is not None:
            self._norms += factor**2 * other._norms
        return self

    def _sums_in(self, frame: Frame) -> tuple[FloatArray, list[FloatArray]]:
        """Sums of s and Phi_1, ..., Phi_Q in another frame."""
        path = None if frame is self._working else change(self.working, frame, self._score.size)
        if path is None:
            return self._score, self._matrices
        with np.errstate(over="ignore", invalid="ignore"):
            return path.moments(self._score, self._matrices)

    def zero(self) -> Self:
        """An accumulator of the same kind without rows."""
        norms = self._norms is not None
        return self.empty(self._basis, self._structure, norms=norms, answer=self._answer)

    @property
    def basis(self) -> Basis:
        """The functions whose moments these are."""
        return self._basis

    @property
    def weight(self) -> float:
        """Total weight of the rows so far, in units of the largest."""
        return self._weight

    @property
    def structure(self) -> Structure:
        """Whether each A_i is d x d or diagonal."""
        return self._structure

    def finalise(self) -> SteinMean:
        """Averages over all rows so far, in the frame of the answer."""
        return self.mean_in(self._answer)

    def mean_in(self, frame: Frame) -> SteinMean:
        """Averages in any frame, for raw powers; nothing is summed again."""
        if not (frame is self._answer or self._basis.closed_under_shifts):
            raise InputError(f"`frame` must be that of the sums for {self._basis}")
        if not self._weight > 0.0:
            raise InputError("there must be draws of positive weight to average; got none")
        score, matrices = self._sums_in(frame)
        return SteinMean(
            [matrix / self._weight for matrix in matrices],
            score / self._weight,
            self._weight_squares / self._weight**2,
            None if self._norms is None else finite(self._norms, "||xi||^2") / self._weight**2,
        )


def stein_moments(
    source: Source,
    rows: Iterable[Rows],
    basis: Basis,
    structure: Structure = "full",
    *,
    norms: bool = False,
    answer: Frame = RAW,
) -> SteinMoments:
    """Sums of the Stein features over the chosen rows."""
    moments = SteinMoments.empty(basis, structure, norms=norms, answer=answer)
    run_pass(source, rows, SteinSums(moments, source.log_scale))
    return moments


@dataclass(frozen=True)
class SteinSums:
    """`SteinMoments` of the rows of a source, as an accumulator of a pass."""

    moments: SteinMoments
    log_scale: float

    def zero(self) -> SteinSums:
        """An accumulator of the same kind without rows."""
        return SteinSums(self.moments.zero(), self.log_scale)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        self.moments.add(block, self.log_scale)

    def merge(self, other: SteinSums) -> SteinSums:
        """Add another accumulator's rows."""
        self.moments.merge(other.moments)
        return self


def merge_all(sums: Sequence[SteinMoments]) -> SteinMoments:
    """All rows of several accumulators, which are left as they are."""
    together = sums[0].zero()
    for part in sums:
        together.merge(part)
    return together
