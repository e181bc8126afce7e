"""Influence functions of averages, intercepts and what is computed from them, row by row.

They are summed over stretches of rows, from which variances come.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.coordinates import Frame
from polystein.data.source import Block
from polystein.explain.designs import Seen
from polystein.explain.fit import EXACT, Fit
from polystein.inference.longrun import (
    EqualBatches,
    IndependentBatches,
    LongRunVariance,
    total_variance,
)
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
    def exact(self) -> bool:
        """Whether the features explain all functions in use but for rounding."""
        used = np.any(self.corrected != 0.0, axis=1)
        left, own = np.diagonal(self.fit.left)[used], np.diagonal(self.fit.spread)[used]
        return bool(np.all(left <= EXACT * own))

    @cached_property
    def averages(self) -> NDArray[np.intp]:
        """The columns that averages have a part in."""
        return np.flatnonzero(np.any(self.plain != 0.0, axis=0))

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
    result: FloatArray = (functions - fit.plain) @ combination.plain
    result += left @ combination.corrected
    result *= share
    return result


def influences_of_averages(
    combination: Combination, seen: Seen, weights: FloatArray | None
) -> FloatArray:
    """The columns that concern averages only: where features explain all, the others are 0."""
    fit = combination.fit
    centred = np.subtract(fit.design.values_of(seen), fit.plain)
    result: FloatArray = centred @ (combination.plain[:, combination.averages] / fit.weight)
    if weights is not None:
        result *= weights[:, None]
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


class _Piece(NamedTuple):
    """Rows of one chain, the places where stretches begin among them, and which ones these are."""

    rows: slice
    starts: NDArray[np.intp]
    stretches: NDArray[np.intp]


class InfluencePass:
    """Sums of the combinations over stretches of rows, as an accumulator of a pass."""

    def __init__(
        self,
        combinations: Sequence[Combination],
        frame: Frame,
        stretches: EqualBatches | IndependentBatches,
    ) -> None:
        self.combinations, self.frame, self.stretches = tuple(combinations), frame, stretches
        count = sum(one.plain.shape[1] for one in self.combinations)
        self.sums = np.zeros((stretches.total, count))

    def zero(self) -> InfluencePass:
        """An accumulator of the same kind without rows."""
        return InfluencePass(self.combinations, self.frame, self.stretches)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        if all(combination.exact for combination in self.combinations):
            draws, scores = self.frame.of_draws(block.draws), block.scores  # not looked at
        else:
            draws, scores = self.frame.apply(block.draws, block.scores)
        seen, at, pieces = Seen(draws, scores, block.draws), 0, list(self._pieces(block))
        for combination in self.combinations:
            if combination.exact:
                found = influences_of_averages(combination, seen, block.weights)
                self._add(pieces, found, at + combination.averages)
            else:
                found = influences(combination, seen, block.weights_or_ones)
                self._add(pieces, found, at + np.arange(found.shape[1]))
            at += combination.plain.shape[1]

    def _pieces(self, block: Block) -> Iterator[_Piece]:
        """The rows of a block, chain by chain, and where their stretches begin."""
        for run in block.chains:
            index = self.stretches.of_rows(run.chain, run.start, run.high - run.low)
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            yield _Piece(slice(run.low, run.high), starts, index[starts])

    def _add(self, pieces: Sequence[_Piece], found: FloatArray, place: NDArray[np.intp]) -> None:
        for rows, starts, stretches in pieces:
            self.sums[stretches[:, None], place] += np.add.reduceat(found[rows], starts)

    def merge(self, other: InfluencePass) -> InfluencePass:
        """Add another accumulator's rows."""
        self.sums += other.sums
        return self


def variances(
    sums: FloatArray, stretches: EqualBatches | IndependentBatches, families: Sequence[Hashable]
) -> LongRunVariance:
    """The variance of the total of each column, and its degrees of freedom.

    Columns of one family are pooled to find out how long chains remember.
    """
    if isinstance(stretches, IndependentBatches):
        return total_variance(sums, stretches)
    variance, freedom, excess = np.empty((3, len(families)))
    for family in dict.fromkeys(families):
        members = np.array([one == family for one in families])
        found = total_variance(sums[:, members], stretches)
        variance[members], freedom[members], excess[members] = found
    return LongRunVariance(variance, freedom, excess)


def few_by_disagreement(
    found: LongRunVariance, parts: Sequence[Sequence[Hashable]], chains: int
) -> LongRunVariance:
    """Chains that disagree in one property of a coordinate are few draws for all of them.

    Chains around different means have the same sd within them, which is no sign that they agree
    with each other on the target's. Of every coordinate the largest excess counts for all columns.

    Parameters
    ----------
    found : LongRunVariance
        Of columns that come in groups of one quantity, the plain value first.
    parts : sequence of sequences
        The coordinates of each quantity.
    chains : int
        Number of chains.
    """
    own = found.excess.reshape(len(parts), -1)
    worst: dict[Hashable, float] = {}
    for names, excess in zip(parts, own[:, 0].tolist(), strict=True):
        if len(names) == 1:
            worst[names[0]] = max(excess, worst.get(names[0], 1.0))
    shared = np.array([max(worst.get(name, 1.0) for name in names) for names in parts])
    raised = np.maximum(shared[:, None] / own, 1.0).ravel()
    few = np.repeat(shared > 1.0, own.shape[1])
    freedom = np.where(few, np.minimum(found.df, max(1.0, chains - 1.0)), found.df)
    return LongRunVariance(found.variance * raised, freedom, found.excess)
