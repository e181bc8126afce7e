"""Influence functions of averages, intercepts and what is computed from them, row by row.

Sums over rows of a chain's stretches give the long-run variance, squares of independent rows the
variance. Both are those of the sum over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polystein._lib import scratch
from polystein._lib.numerics import kish_size
from polystein.corrections.designs import Seen
from polystein.corrections.fit import Fit
from polystein.data.coordinates import Frame
from polystein.data.source import Block
from polystein.inference.longrun import LongRunVariance, Stretches, lugsail_variance
from polystein.types import FloatArray

#: Where features are fewer than this part of the rows, the leverage of a row changes an error by
#: less than that part, and is left out.
LITTLE_LEVERAGE = 0.002
#: No row's residual is inflated by more than the inverse of this.
LEAST_LEFT = 0.05


class Combination(NamedTuple):
    """A linear combination of the influence functions of a fit.

    ``plain`` multiplies f_i minus its average, ``corrected`` the influence of the intercepts; one
    column for each combination.
    """

    fit: Fit
    plain: FloatArray
    corrected: FloatArray


def influences(combination: Combination, seen: Seen, weights: FloatArray) -> FloatArray:
    """The combinations for some rows, each as a share of the mean.

    The influence of row i on an intercept is e0' G^-1 F_i r_i / (1 - h_i), with the residual r_i
    and the leverage h_i.
    """
    fit = combination.fit
    share = (weights / fit.weight)[:, None]
    few = len(fit.inverse) < LITTLE_LEVERAGE * fit.rows
    parts = _without_leverage(fit, seen) if few else _with_leverage(fit, seen, share)
    psi = parts.left * parts.pulls[:, _set_of(fit)]
    result: FloatArray = parts.centred @ combination.plain
    result += psi @ combination.corrected
    result *= share
    return result


class _Parts(NamedTuple):
    """Functions minus their averages, residuals over 1 - h, and e0' G^-1 F by set of features."""

    centred: FloatArray
    left: FloatArray
    pulls: FloatArray


def _with_leverage(fit: Fit, seen: Seen, share: FloatArray) -> _Parts:
    columns, used = fit.design.columns(seen), len(fit.inverse)
    functions = columns[:, fit.design.cuts[-1] :]
    whitened = columns[:, :used] @ fit.inverse.T
    left = functions - whitened @ fit.loading
    left /= _left_by_leverage(fit, whitened, share)
    return _Parts(functions - fit.plain, left, whitened @ _whitened_weights(fit))


def _without_leverage(fit: Fit, seen: Seen) -> _Parts:
    """The same for h = 0, from a few products with the features."""
    features, used, m = fit.design.cuts[-1], len(fit.inverse), fit.design.functions
    wanted = np.zeros((features + m, 2 * m + len(_sets(fit))))
    wanted[features:, :m] = wanted[features:, m : 2 * m] = np.eye(m)
    wanted[:used, m : 2 * m] = -fit.inverse.T @ fit.loading
    wanted[:used, 2 * m :] = fit.inverse.T @ _whitened_weights(fit)
    found = fit.design.combined(seen, wanted)
    return _Parts(found[:, :m] - fit.plain, found[:, m : 2 * m], found[:, 2 * m :])


def _sets(fit: Fit) -> list[int]:
    return sorted(set(fit.cuts))


def _set_of(fit: Fit) -> list[int]:
    return [_sets(fit).index(cut) for cut in fit.cuts]


def _whitened_weights(fit: Fit) -> FloatArray:
    """For each set of features in use, e0' G^-1 F in terms of the whitened features."""
    first = fit.inverse[:, 0]
    return np.column_stack([np.where(np.arange(len(first)) < cut, first, 0.0) for cut in _sets(fit)])


def _left_by_leverage(fit: Fit, whitened: FloatArray, share: FloatArray) -> FloatArray:
    """The divisor 1 - h_i for every function."""
    bounds = [0, *_sets(fit)]
    parts = [
        np.einsum("ij,ij->i", whitened[:, low:high], whitened[:, low:high])
        for low, high in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    leverage = np.cumsum(np.column_stack(parts), axis=1) * share
    result: FloatArray = np.maximum(1.0 - leverage, LEAST_LEFT)[:, _set_of(fit)]
    return result


class InfluencePass:
    """Sums of the combinations over stretches of chains, or of their squares over rows.

    As an accumulator of a pass. ``stretches`` is None for independent rows.
    """

    def __init__(
        self, combinations: Sequence[Combination], frame: Frame, stretches: Stretches | None
    ) -> None:
        self.combinations, self.frame, self.stretches = tuple(combinations), frame, stretches
        count = sum(one.plain.shape[1] for one in self.combinations)
        self.sums = np.zeros((1 if stretches is None else stretches.total, count))
        self.weight = self.weight_squares = 0.0

    def zero(self) -> InfluencePass:
        """An accumulator of the same kind without rows."""
        return InfluencePass(self.combinations, self.frame, self.stretches)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        draws, scores = self.frame.apply(block.draws, block.scores)
        seen, weights = Seen(draws, scores, block.draws), block.weights_or_ones
        self.weight += float(weights.sum())
        self.weight_squares += float(weights @ weights)
        at = 0
        for combination in self.combinations:
            with scratch.reused():
                found = influences(combination, seen, weights)
            self._add(block, found, at)
            at += found.shape[1]

    def _add(self, block: Block, found: FloatArray, at: int) -> None:
        place = slice(at, at + found.shape[1])
        if self.stretches is None:
            self.sums[0, place] += np.einsum("ij,ij->j", found, found)
            return
        for run in block.runs:
            index = self.stretches.of_rows(run.chain, run.start, run.high - run.low)
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            self.sums[index[starts], place] += np.add.reduceat(found[run.low : run.high], starts)

    def merge(self, other: InfluencePass) -> InfluencePass:
        """Add another accumulator's rows."""
        self.sums += other.sums
        self.weight += other.weight
        self.weight_squares += other.weight_squares
        return self

    def finalise(self) -> LongRunVariance:
        """The variance of each combination, and its degrees of freedom."""
        if self.stretches is not None:
            return lugsail_variance(self.sums, self.stretches.counts)
        size = kish_size(self.weight, self.weight_squares)
        # Few effective rows make the variance itself uncertain.
        freedom = np.full(self.sums.shape[1], max(size - 1.0, 1.0))
        return LongRunVariance(self.sums[0].copy(), freedom)
