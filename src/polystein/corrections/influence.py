"""Influence functions of averages, intercepts and what is computed from them, row by row.

Sums over rows of a chain's stretches give the long-run variance, squares of independent rows the
variance. Both are those of the sum over all rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polystein._lib import scratch
from polystein._lib.numerics import TINY
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


@dataclass(frozen=True, eq=False)
class Combination:
    """Linear combinations of the influence functions of a fit, one column each.

    ``plain`` multiplies f_i minus its average, ``corrected`` the influence of the intercepts.
    """

    fit: Fit
    plain: FloatArray
    corrected: FloatArray

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """The sets of features in use, by their numbers."""
        return tuple(sorted(set(self.fit.cuts)))

    @cached_property
    def set_of(self) -> list[int]:
        """For each function, the place of its set."""
        return [self.sets.index(cut) for cut in self.fit.cuts]

    @cached_property
    def pulls(self) -> FloatArray:
        """For each set, e0' G^-1 F in terms of the whitened features."""
        first, place = self.fit.inverse[:, :1], np.arange(len(self.fit.inverse))[:, None]
        result: FloatArray = np.where(place < np.array(self.sets), first, 0.0)
        return result

    @cached_property
    def lean(self) -> FloatArray:
        """Coefficients of functions, residuals and e0' G^-1 F in the columns of the design."""
        fit, m = self.fit, self.fit.design.functions
        features, used = fit.design.cuts[-1], len(fit.inverse)
        result = np.zeros((features + m, 2 * m + len(self.sets)))
        result[features:, :m] = result[features:, m : 2 * m] = np.eye(m)
        result[:used, m : 2 * m] = -fit.inverse.T @ fit.loading
        result[:used, 2 * m :] = fit.inverse.T @ self.pulls
        return result


def influences(combination: Combination, seen: Seen, weights: FloatArray) -> FloatArray:
    """The combinations for some rows, each as a share of the mean.

    The influence of row i on an intercept is e0' G^-1 F_i r_i / (1 - h_i), with the residual r_i
    and the leverage h_i.
    """
    fit = combination.fit
    share = (weights / fit.weight)[:, None]
    few = len(fit.inverse) < LITTLE_LEVERAGE * fit.rows
    parts = _without_leverage if few else _with_leverage
    functions, left, pulls = parts(combination, seen, share)
    left *= pulls[:, combination.set_of]
    functions -= fit.plain
    result: FloatArray = functions @ combination.plain
    result += left @ combination.corrected
    result *= share
    return result


def _with_leverage(
    combination: Combination, seen: Seen, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Functions, residuals over 1 - h, and e0' G^-1 F by set of features."""
    fit, used = combination.fit, len(combination.fit.inverse)
    columns = fit.design.columns(seen)
    functions = columns[:, fit.design.cuts[-1] :]
    whitened = columns[:, :used] @ fit.inverse.T
    left = functions - whitened @ fit.loading
    pulls = whitened @ combination.pulls
    np.square(whitened, out=whitened)
    starts = [0, *combination.sets[:-1]]
    leverage = np.cumsum(np.add.reduceat(whitened, starts, axis=1), axis=1) * share
    left /= np.maximum(1.0 - leverage, LEAST_LEFT)[:, combination.set_of]
    return functions, left, pulls


def _without_leverage(
    combination: Combination, seen: Seen, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for h = 0, from a few products with the features."""
    found, m = combination.fit.design.combined(seen, combination.lean), len(combination.plain)
    return found[:, :m], found[:, m : 2 * m], found[:, 2 * m :]


class InfluencePass:
    """Sums of the combinations over stretches of chains, or of their squares over rows.

    As an accumulator of a pass. ``stretches`` is None for independent rows.
    """

    def __init__(
        self, combinations: Sequence[Combination], frame: Frame, stretches: Stretches | None
    ) -> None:
        self.combinations, self.frame, self.stretches = tuple(combinations), frame, stretches
        count = sum(one.plain.shape[1] for one in self.combinations)
        self.sums = np.zeros((0 if stretches is None else stretches.total, count))
        self.squares, self.fourths = np.zeros(count), np.zeros(count)

    def zero(self) -> InfluencePass:
        """An accumulator of the same kind without rows."""
        return InfluencePass(self.combinations, self.frame, self.stretches)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        draws, scores = self.frame.apply(block.draws, block.scores)
        seen, weights = Seen(draws, scores, block.draws), block.weights_or_ones
        at = 0
        for combination in self.combinations:
            with scratch.reused():
                found = influences(combination, seen, weights)
            self._add(block, found, at)
            at += found.shape[1]

    def _add(self, block: Block, found: FloatArray, at: int) -> None:
        place = slice(at, at + found.shape[1])
        squares = found * found
        self.squares[place] += squares.sum(axis=0)
        self.fourths[place] += np.einsum("ij,ij->j", squares, squares)
        for run in block.runs if self.stretches is not None else ():
            assert self.stretches is not None
            index = self.stretches.of_rows(run.chain, run.start, run.high - run.low)
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            self.sums[index[starts], place] += np.add.reduceat(found[run.low : run.high], starts)

    def merge(self, other: InfluencePass) -> InfluencePass:
        """Add another accumulator's rows."""
        self.sums += other.sums
        self.squares += other.squares
        self.fourths += other.fourths
        return self

    def finalise(self, families: Sequence[Hashable]) -> LongRunVariance:
        """The variance of each combination, and its degrees of freedom.

        Columns of one family are pooled to find out how long chains remember. The degrees of
        freedom of a mean of squares are 2 over its relative variance, which the fourth powers
        tell: a variance that rests on a few large values is uncertain.
        """
        if self.stretches is None:
            relative = self.fourths / np.maximum(self.squares**2, TINY)
            freedom = np.maximum(2.0 / np.maximum(relative, TINY), 1.0)
            return LongRunVariance(self.squares.copy(), freedom)
        variance, freedom = np.empty(len(families)), np.empty(len(families))
        for family in dict.fromkeys(families):
            members = np.array([one == family for one in families])
            found = lugsail_variance(self.sums[:, members], self.stretches.counts)
            variance[members], freedom[members] = found
        return LongRunVariance(variance, freedom)
