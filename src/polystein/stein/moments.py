"""Mergeable sums over rows: Stein moments, and mean and covariance of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from polystein._lib.arrays import convert, flat_dot, namespace
from polystein.data.coordinates import RAW, Coordinates, change, working_coordinates
from polystein.data.passes import every_row, read_blocks, reduce_blocks
from polystein.data.sample import Sample, ScoreFunction, as_sample
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.protocols import Array, Basis, Block, FloatArray, Rows, Source, Structure, Term
from polystein.stein.basis import Monomial
from polystein.stein.operator import Operator, WeighedRows, operator_for

# Squares below this have lost digits to gradual underflow.
_TINY = 1e-280


class SteinMean(NamedTuple):
    """Averages over rows: mu_1, ..., mu_Q, mu_b, and what the U-statistic subtracts.

    ``weight_squares`` is the sum of squared normalised weights (1/n unweighted) and
    ``squared_norms`` the sum of those squares times ||xi||^2, None if not asked for.
    """

    matrices: list[Array]
    score: Array
    weight_squares: float
    squared_norms: float | None

    def norm(self) -> float:
        """Z of Proposition 3.2, without overflow on the way."""
        parts = [*self.matrices, self.score]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            square = sum(float(flat_dot(part, part)) for part in parts)
            if _TINY < square < np.inf:
                return math.sqrt(square)
            xp = namespace(self.score)
            largest = max(float(xp.max(xp.abs(part))) for part in parts)
            if largest == 0.0:
                return 0.0
            finite(largest, "a Stein moment")
            square = sum(float(flat_dot(part / largest, part / largest)) for part in parts)
        return finite(largest * math.sqrt(square), "the discrepancy Z")

    def unbiased_square(self) -> float:
        """Z^2 without its diagonal terms: the U-statistic of Section 3.4."""
        if self.squared_norms is None:
            raise InputError("`norms` must be True to estimate Z^2 without its diagonal terms")
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
    merge into that of all rows, in any order, to rounding.

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
        self._start(Monomial(order), structure, norms=norms, answer=RAW)

    @classmethod
    def empty(
        cls, basis: Basis, structure: Structure, *, norms: bool = False, answer: Coordinates = RAW
    ) -> Self:
        """Sums for any basis, to be answered in the coordinates `answer`."""
        moments = cls.__new__(cls)
        moments._start(basis, structure, norms=norms, answer=answer)
        return moments

    def _start(
        self, basis: Basis, structure: Structure, *, norms: bool, answer: Coordinates
    ) -> None:
        self._basis, self._structure, self._answer = basis, structure, answer
        self._operator = operator_for(structure)
        # Only raw answers are worth a detour; other coordinates are chosen to be tame.
        self._working: Coordinates | None = None if answer is RAW else answer
        self._weight = self._weight_squares = 0.0
        self._log_scale = 0.0
        self._score: Array = 0.0
        self._products: list[Array] = [0.0] * basis.order
        self._derivatives: list[Array] = [0.0] * basis.order
        self._factors = [1.0] * basis.order
        self._norms: float | None = 0.0 if norms else None
        self._ones: Array | None = None
        self._dimension: int | None = None

    @property
    def working(self) -> Coordinates:
        """The coordinates in which the sums are taken."""
        return self._working or RAW

    def update(
        self,
        draws: Array | Sample,
        scores: Array | ScoreFunction | None = None,
        /,
    ) -> Self:
        """Add rows and return the accumulator itself."""
        sample = as_sample(draws, scores)
        with np.errstate(over="ignore", invalid="ignore"):  # `finalise` finds out
            for block in read_blocks(sample, every_row(sample)):
                self.add(block)
        return self

    def add(self, block: Block) -> None:
        """Add one validated block."""
        self._check_dimension(int(block.draws.shape[1]))
        if self._working is None:
            self._working = working_coordinates(block.draws)
        draws, scores = self._working.apply(block.draws, block.scores)
        weights = self._on_common_scale(block)
        ones = self._ones_like(draws) if weights is None else convert(weights, draws)
        weighted = scores if weights is None else scores * ones[:, None]
        weight = float(block.rows if weights is None else weights.sum())
        self._weight += weight
        self._weight_squares += weight if weights is None else float((weights**2).sum())
        self._score += ones @ scores
        norms = None if self._norms is None else _NormSum(self._operator, scores, weights)
        for i, term in enumerate(self._basis.terms(draws)):
            self._products[i] += self._operator.products(weighted, term)
            self._factors[i] = term.factor
            self._derivatives[i] += weight if term.derivative is None else ones @ term.derivative
            if norms is not None and self._working is self._answer:
                norms.add(term)
        if norms is not None:
            self._norms = (self._norms or 0.0) + self._answered(norms, block, weights)

    def _check_dimension(self, dimension: int) -> None:
        """NumPy would broadcast one coordinate against many without a word."""
        if self._dimension is None:
            self._dimension = dimension
        elif self._dimension != dimension:
            raise InputError(
                f"`draws` must have {self._dimension} columns as before; got {dimension}"
            )

    def _ones_like(self, draws: Array) -> Array:
        """A one for every row, kept from block to block."""
        if self._ones is None or self._ones.shape[0] != draws.shape[0]:
            self._ones = namespace(draws).ones_like(draws[:, 0])
        return self._ones

    def _on_common_scale(self, block: Block) -> FloatArray | None:
        """The block's weights, after they and the sums came to the larger of their scales."""
        if block.weights is None and self._log_scale == 0.0:
            return None
        weights = np.ones(block.rows) if block.weights is None else block.weights
        self._rescale(block.log_scale)
        return weights * math.exp(block.log_scale - self._log_scale)

    def _rescale(self, log_scale: float) -> None:
        """Divide all weights so far by exp(log_scale), if that is larger than before."""
        if self._weight > 0.0 and log_scale <= self._log_scale:
            return
        factor = math.exp(self._log_scale - log_scale) if self._weight > 0.0 else 1.0
        self._log_scale = log_scale
        self._weight *= factor
        self._weight_squares *= factor**2
        self._score = factor * self._score
        self._products = [factor * product for product in self._products]
        self._derivatives = [factor * derivative for derivative in self._derivatives]
        if self._norms is not None:
            self._norms *= factor**2

    def _answered(self, norms: _NormSum, block: Block, weights: FloatArray | None) -> float:
        """Sum of w^2 ||xi(x)||^2 over the rows, in the coordinates of the answer."""
        if self._working is not self._answer:
            draws, scores = self._answer.apply(block.draws, block.scores)
            norms = _NormSum(self._operator, scores, weights)
            for term in self._basis.terms(draws):
                norms.add(term)
        return norms.total

    def merge(self, other: SteinMoments) -> Self:
        """Add another accumulator's rows and return the accumulator itself."""
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
        score, matrices = other._sums_in(self._working)
        self._score = self._score + factor * score
        self._products = [
            mine + factor * yours for mine, yours in zip(self._products, matrices, strict=True)
        ]
        self._weight += factor * other._weight
        self._weight_squares += factor**2 * other._weight_squares
        if self._norms is not None and other._norms is not None:
            self._norms += factor**2 * other._norms
        return self

    def _sums_in(self, target: Coordinates | None) -> tuple[Array, list[Array]]:
        """Sums of s and Phi_1, ..., Phi_Q in other coordinates."""
        derivatives = [f * d for f, d in zip(self._factors, self._derivatives, strict=True)]
        matrices = self._operator.with_derivatives(self._products, derivatives)
        path = change(self.working, target or RAW, self._score)
        if path is None:
            return self._score, matrices
        with np.errstate(over="ignore", invalid="ignore"):
            return path.moments(self._operator, self._score, matrices)

    def fresh(self) -> Self:
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

    def finalise(self) -> SteinMean:
        """Averages over all rows so far, in the coordinates of the answer."""
        if not self._weight > 0.0:
            raise InputError("`update` must have been given draws of positive weight first")
        score, matrices = self._sums_in(self._answer)
        return SteinMean(
            [matrix / self._weight for matrix in matrices],
            score / self._weight,
            self._weight_squares / self._weight**2,
            None if self._norms is None else finite(self._norms, "||xi||^2") / self._weight**2,
        )


class _NormSum:
    """Sum of w^2 ||xi(x)||^2 over the rows of a block, order by order."""

    def __init__(self, operator: Operator, scores: Array, weights: FloatArray | None) -> None:
        squares = None if weights is None else convert(weights**2, scores)
        self._operator = operator
        self._rows = WeighedRows(scores, squares)
        self.total = float(namespace(scores).sum(self._rows.score_norms))

    def add(self, term: Term) -> None:
        """Add ||Phi_i(x)||^2."""
        self.total += self._operator.squared_norm_sum(self._rows, term)


class ColumnMoments:
    """Weighted mean and covariance of columns, by pairwise updates.

    Keeps the total weight W, the mean m = sum w g / W and the matrix
    S = sum w (g - m)(g - m)', or its diagonal alone unless `joint`, which merge
    without cancellation.
    """

    def __init__(self, columns: int, *, joint: bool = True) -> None:
        self.weight = self.weight_squares = 0.0
        self.mean = np.zeros(columns)
        self.scatter = np.zeros((columns, columns) if joint else columns)
        self._joint = joint

    def update(self, columns: FloatArray, weights: FloatArray | None) -> Self:
        """Add rows, of weight 1 where `weights` is None."""
        weight = float(columns.shape[0]) if weights is None else float(weights.sum())
        if weight == 0.0:
            return self
        shares = np.full(columns.shape[0], 1.0 / weight) if weights is None else weights / weight
        mean = shares @ columns
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = columns - mean
            weighted = deviations if weights is None else weights[:, None] * deviations
            scatter = (
                deviations.T @ weighted
                if self._joint
                else np.einsum("ij,ij->j", deviations, weighted)
            )
            self.weight_squares += weight if weights is None else float(weights @ weights)
            return self._combine(weight, mean, scatter)

    def merge(self, other: ColumnMoments) -> Self:
        """Add another accumulator's rows."""
        self.weight_squares += other.weight_squares
        with np.errstate(over="ignore", invalid="ignore"):
            return self._combine(other.weight, other.mean, other.scatter)

    def _combine(self, weight: float, mean: FloatArray, scatter: FloatArray) -> Self:
        total = self.weight + weight
        if weight == 0.0:
            return self
        difference = mean - self.mean
        between = np.outer(difference, difference) if self._joint else difference**2
        self.scatter = self.scatter + scatter + (self.weight * weight / total) * between
        finite(float(np.max(np.abs(self.scatter))), "the variance of a column")
        self.mean = self.mean + (weight / total) * difference
        self.weight = total
        return self


def stein_moments(
    source: Source,
    rows: Iterable[Rows],
    basis: Basis,
    structure: Structure = "full",
    *,
    norms: bool = False,
    answer: Coordinates = RAW,
) -> SteinMoments:
    """Sums of the Stein features over the chosen rows."""

    def zero() -> SteinMoments:
        return SteinMoments.empty(basis, structure, norms=norms, answer=answer)

    with np.errstate(over="ignore", invalid="ignore"):  # `finalise` finds out
        return reduce_blocks(source, rows, zero, add_block, merged)


def add_block(state: SteinMoments, block: Block) -> SteinMoments:
    """`SteinMoments.add` as a step of `reduce_blocks`."""
    state.add(block)
    return state


def merge_all(sums: Sequence[SteinMoments]) -> SteinMoments:
    """All rows of several accumulators, which are left as they are."""
    together = sums[0].fresh()
    for part in sums:
        together.merge(part)
    return together


def merged(first: SteinMoments, second: SteinMoments) -> SteinMoments:
    """`SteinMoments.merge` as a step of `reduce_blocks`."""
    return first.merge(second)


def finite(value: float, what: str) -> float:
    """Return the value, or raise where it left the range of a float64."""
    if not np.isfinite(value):
        raise ScaleError(
            f"{what} overflows in the coordinates of `draws`; pass `standardise=True` "
            "where there is that option, or rescale draws (x/c) and scores (c s) first"
        )
    return value
