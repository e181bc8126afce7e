"""The variance of the mean of the test columns, for independent rows and for chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np

from polystein._lib.numerics import finite, kish_size
from polystein.errors import DegenerateError
from polystein.inference.autocorrelation import autocovariances, initial_monotone_sums
from polystein.inference.columns import ColumnMoments
from polystein.types import FloatArray


class LongRun(NamedTuple):
    """Mean of the test columns, and the covariance of that mean.

    ``covariance`` is that of the *mean* of the columns, so that a z-statistic is
    ``mean / sqrt(diag(covariance))``; ``df`` is the t reference's degrees of
    freedom (infinite for the normal) and ``ess`` the effective number of rows,
    both per column.
    """

    mean: FloatArray
    covariance: FloatArray
    df: FloatArray
    ess: FloatArray


class ColumnAccumulator(Protocol):
    """Takes test columns block by block, and gives their mean and its covariance."""

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        """Take the columns of one block, which begins at row ``start`` of a chain."""

    def zero(self) -> Self:
        """An accumulator of the same kind without rows."""

    def merge(self, other: Self) -> Self:
        """Add another accumulator's rows and return the accumulator itself."""

    def finalise(self) -> LongRun:
        """Mean, covariance of the mean, degrees of freedom, effective size."""


class Variance(Protocol):
    """How the variance of the mean of the test columns is estimated."""

    #: Effective rows below which the reference distribution is not to be trusted.
    least_ess: float
    #: Whether it holds for autocorrelated rows.
    respects_time: bool

    def accumulator(self, lengths: Sequence[int], columns: int) -> ColumnAccumulator:
        """Return a fresh accumulator for chains of these lengths."""


@dataclass(frozen=True)
class IID:
    """Independent rows: the sample variance of Algorithms 1 and 3.

    With importance weights w, normalised to sum to 1, the variance of the mean is
    sum w^2 (u - mean)^2 / (1 - sum w^2), which for equal weights is s_u^2 / n, and the
    reference is Student's t with one degree of freedom less than 1 / sum w^2.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.IID()
    IID()
    """

    # The usual rule of thumb for a normal approximation to a mean.
    least_ess = 30.0
    respects_time = False

    def accumulator(self, lengths: Sequence[int], columns: int) -> ColumnAccumulator:
        """An accumulator of running sums, which keeps no columns."""
        return _IIDAccumulator(columns)


@dataclass(frozen=True)
class InitialSequence:
    """Geyer's initial monotone sequence over all chains, for MCMC output.

    Autocovariances are centred at the mean over all chains, so that chains which
    disagree widen the error instead of narrowing it. The reference is Student's t
    with a quarter of the effective sample size as degrees of freedom. Keeps the
    test columns (8 bytes per row and column) until the end.

    The sequence assumes a reversible chain, as Metropolis-Hastings, HMC and
    random-scan Gibbs samplers are. For systematic-scan Gibbs or other samplers
    that are not reversible use `BatchMeans`.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.InitialSequence()
    InitialSequence()
    """

    # The variance itself is estimated from a quarter as many degrees of freedom.
    least_ess = 100.0
    respects_time = True

    def accumulator(self, lengths: Sequence[int], columns: int) -> ColumnAccumulator:
        """Columns are kept whole, chain by chain."""
        return ChainAccumulator(self)

    def long_run(self, influence: Influence) -> LongRun:
        """Variance of the mean from the sums of autocovariances."""
        variance, lags = initial_monotone_sums(autocovariances(influence.chains))
        total = influence.total
        marginal = influence.marginal
        # As for ArviZ's effective sample size: no more than n log10(n).
        least = marginal / max(1.0, math.log10(total))
        variance = np.maximum(variance, least)
        covariance = (
            _with_diagonal(_summed_over_lags(influence.chains, int(lags.max())), variance) / total
        )
        ess = np.minimum(
            effective_size(marginal, np.diagonal(covariance)),
            influence.kish * max(1.0, math.log10(total)),
        )
        return LongRun(influence.mean, covariance, np.maximum(1.0, ess / 4.0), ess)


class Influence(NamedTuple):
    """Columns centred at their pooled mean, times their weights over the mean weight.

    The mean of these is 0 and its variance is that of the (weighted) mean itself.
    ``kish`` is the effective size (sum w)^2 / sum w^2 of the weights alone.
    """

    chains: list[FloatArray]
    mean: FloatArray
    marginal: FloatArray
    kish: float

    @property
    def total(self) -> int:
        """Rows over all chains."""
        return sum(chain.shape[0] for chain in self.chains)


class LongRunRule(Protocol):
    """Estimates the variance of the mean from whole chains."""

    def long_run(self, influence: Influence) -> LongRun:
        """Mean, covariance of the mean, degrees of freedom, effective size."""


class _ColumnBlock(NamedTuple):
    """Columns of one block; blocks are joined again by chain and start."""

    chain: int
    start: int
    columns: FloatArray
    weights: FloatArray | None


class ChainAccumulator:
    """Keeps all columns; blocks may come, and accumulators merge, in any order."""

    def __init__(self, rule: LongRunRule) -> None:
        self._rule = rule
        self._blocks: list[_ColumnBlock] = []

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        """Take the columns of one block, which begins at row ``start`` of a chain."""
        self._blocks.append(_ColumnBlock(chain, start, columns, weights))

    def zero(self) -> ChainAccumulator:
        """An accumulator of the same kind without rows."""
        return ChainAccumulator(self._rule)

    def merge(self, other: ChainAccumulator) -> ChainAccumulator:
        """Add another accumulator's rows."""
        self._blocks += other._blocks
        return self

    @np.errstate(over="ignore", invalid="ignore")  # it is reported with the statistic
    def finalise(self) -> LongRun:
        """What the rule makes of the columns."""
        influence = self._influence()
        finite(float(influence.marginal.sum()), "the variance of a column")
        return self._rule.long_run(influence)

    def _joined(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Columns and weights of each chain in time order; weights are empty if there are none."""
        chains: dict[int, list[_ColumnBlock]] = {}
        for block in sorted(self._blocks, key=lambda block: block[:2]):
            chains.setdefault(block.chain, []).append(block)
        columns = [np.concatenate([block.columns for block in part]) for part in chains.values()]
        weights = [
            np.concatenate([block.weights for block in part if block.weights is not None])
            for part in chains.values()
            if part[0].weights is not None
        ]
        return columns, weights

    def _influence(self) -> Influence:
        chains, weights = self._joined()
        total = sum(chain.shape[0] for chain in chains)
        if not weights:
            mean = sum(chain.sum(axis=0) for chain in chains) / total
            centred = [chain - mean for chain in chains]
            marginal = sum((c**2).sum(axis=0) for c in centred) / total
            return Influence(centred, mean, marginal, float(total))
        scale = total / sum(float(weight.sum()) for weight in weights)
        pairs = [(w * scale, chain) for w, chain in zip(weights, chains, strict=True)]
        mean = sum(w @ chain for w, chain in pairs) / total
        marginal = sum(w @ (chain - mean) ** 2 for w, chain in pairs) / total
        kish = kish_size(total, sum(float(w @ w) for w, _ in pairs))
        require_effective_rows(kish)
        influence = [w[:, None] * (chain - mean) for w, chain in pairs]
        return Influence(influence, mean, marginal, kish)


class _IIDAccumulator:
    """Running sums: the columns themselves are not kept."""

    def __init__(self, columns: int) -> None:
        self._mean = ColumnMoments(columns)
        # The same sums under squared weights, which unweighted rows do not need.
        self._squared: ColumnMoments | None = None

    def update(
        self, columns: FloatArray, weights: FloatArray | None, chain: int, start: int
    ) -> None:
        self._mean.update(columns, weights)
        if weights is not None:
            if self._squared is None:
                self._squared = ColumnMoments(columns.shape[1])
            self._squared.update(columns, weights**2)

    def zero(self) -> _IIDAccumulator:
        return _IIDAccumulator(self._mean.mean.size)

    def merge(self, other: _IIDAccumulator) -> _IIDAccumulator:
        self._mean.merge(other._mean)
        if other._squared is not None:
            if self._squared is None:
                self._squared = ColumnMoments(other._squared.mean.size)
            self._squared.merge(other._squared)
        return self

    def finalise(self) -> LongRun:
        total, mean, squared = self._mean.weight, self._mean.mean, self._squared
        if squared is None:
            scatter, size, df = self._mean.scatter, total, np.inf
        else:
            # Scatter under squared weights around the mean under the weights themselves.
            offset = squared.mean - mean
            scatter = squared.scatter + squared.weight * np.outer(offset, offset)
            size = kish_size(total, squared.weight)
            require_effective_rows(size)
            # The variance of few effective rows is uncertain, which a t reference allows for.
            df = size - 1.0
        # For equal weights this is s_u^2 / n = sum (u - mean)^2 / (n (n - 1)).
        covariance = scatter / (total**2 * (1.0 - 1.0 / size))
        columns = mean.size
        return LongRun(mean, covariance, np.full(columns, df), np.full(columns, size))


def require_effective_rows(size: float) -> None:
    """Raise an error if nearly all the weight is on one row: it has no variance."""
    # A variance takes two rows.
    if not size >= 2.0:
        raise DegenerateError(
            "`log_weights` must leave at least 2 effective test rows, "
            f"(sum w)^2 / sum w^2; got {size:.3g}: nearly all the weight is on one row"
        )


def effective_size(marginal: FloatArray, variance: FloatArray) -> FloatArray:
    """How many independent rows would give this variance of the mean."""
    size: FloatArray = np.zeros(marginal.shape)
    np.divide(marginal, variance, out=size, where=variance > 0.0)
    return size


def _summed_over_lags(chains: list[FloatArray], lags: int) -> FloatArray:
    """Sum of the cross-covariance matrices over lags -lags, ..., lags.

    Summing a row's neighbours up to that lag by differences of running sums makes
    it one matrix product.
    """
    total = sum(chain.shape[0] for chain in chains)
    result = np.zeros((chains[0].shape[1],) * 2)
    for chain in chains:
        rows = chain.shape[0]
        running = np.concatenate([np.zeros((1, chain.shape[1])), np.cumsum(chain, axis=0)])
        index = np.arange(rows)
        neighbours = (
            running[np.minimum(index + lags + 1, rows)] - running[np.maximum(index - lags, 0)]
        )
        result += chain.T @ neighbours
    symmetric: FloatArray = 0.5 * (result + result.T) / total
    return symmetric


def _with_diagonal(covariance: FloatArray, variance: FloatArray) -> FloatArray:
    """Keep the correlations, made positive semi-definite, and set the variances."""
    values, vectors = np.linalg.eigh(covariance)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    spread = np.sqrt(np.diagonal(positive))
    scale = np.divide(np.sqrt(variance), spread, out=np.zeros_like(spread), where=spread > 0.0)
    result: FloatArray = positive * np.outer(scale, scale)
    np.fill_diagonal(result, variance)
    return result
