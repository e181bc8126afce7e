"""The arm of `check` that asks whether the chains agree with each other and with their starts.

It looks at every coordinate of draws and scores, bounded to a few robust standard deviations
around the median, and judges sums over batches of chains (`polystein.inference.agreement`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import columnwise
from polystein._lib.segments import Cuts
from polystein.data.source import Block, Layout, Source
from polystein.inference.agreement import (
    BATCHES,
    FIRST_HALF,
    FROZEN,
    MANY_CHAINS,
    SHORTEST_CHAIN,
    SHORTEST_OF_MANY,
    ChainSums,
    Difference,
    batch_bounds,
    differences,
)
from polystein.inference.columns import segment_sums
from polystein.methods.check.look import Bounds
from polystein.methods.check.statistics import AGREEMENT, ALL_ROWS, OF_AGREEMENT
from polystein.results.evidence import Abstention, Arm, Part
from polystein.types import FloatArray

#: No difference of a column with heavy tails is less likely than this. A chain may stay far out for
#: longer than its batches tell: correct random walks of a t(3) law did in 15 of 2,000 runs.
CHANCE_OF_HEAVY_TAIL = 1.5e-4
#: Numbers kept at the most of sums, 256 MiB.
MOST_NUMBERS = 2**25
#: Why the arm abstains where late halves are too short.
TOO_SLOW = (
    "the chains move so slowly that their late halves are too short to be compared: run the "
    "sampler longer"
)


class AgreementSums:
    """Sums of bounded draws and scores over stretches of every chain, for one pass.

    With ``draws_alone`` scores are not compared: those of minibatches are noise, once bounded.
    """

    def __init__(self, layout: Layout, bounds: Bounds, *, draws_alone: bool = False) -> None:
        self.layout, self.bounds, self._draws_alone = layout, bounds, draws_alone
        halves = (slice(layout.dimension), slice(layout.dimension, None))
        #: What is taken off the draws and the scores, and what they are multiplied by.
        self._frames = [(bounds.centre[half], 1.0 / bounds.spread[half]) for half in halves]
        shape = (len(layout.lengths) * BATCHES, layout.dimension)
        self._draws, self._scores = np.zeros(shape), np.zeros(shape)
        #: The first row of each stretch that was met, and where any other row differs from it.
        self._reference = np.full(shape, np.nan)
        self._moved = np.zeros(shape, dtype=np.bool_)
        #: Where the stretches of each chain begin and end, of shape (chain, stretch + 1).
        of_length = {length: batch_bounds(length) for length in set(layout.lengths)}
        self._edges = np.array([of_length[length] for length in layout.lengths])
        # Those that have rows, numbered through all chains.
        starts, stops = self._edges[:, :-1], self._edges[:, 1:]
        filled = stops > starts
        chains, numbers = np.nonzero(filled)[0], np.flatnonzero(filled)
        self._cuts = Cuts(chains, starts[filled], stops[filled], numbers)

    def zero(self) -> AgreementSums:
        """An accumulator of the same kind without rows."""
        return AgreementSums(self.layout, self.bounds, draws_alone=self._draws_alone)

    def update(self, block: Block) -> None:
        """Take the rows of a block."""
        low, _, stretch = self._cuts.segments(block.chains)
        # Two runs of a block may be of one chain, and meet within a stretch.
        apart = np.append(True, stretch[1:] != stretch[:-1])
        low, stretch = low[apart], stretch[apart]
        high = np.append(low[1:], block.rows)
        of_draws, of_scores = self._frames
        for sums, values, (centre, scale) in (
            (self._draws, block.draws, of_draws),
            (self._scores, block.scores, of_scores),
        ):
            seen = columnwise(np.subtract, values, centre, np.empty_like(values))
            columnwise(np.multiply, seen, scale, seen)
            np.clip(seen, -self.bounds.bound, self.bounds.bound, out=seen)
            sums[stretch] += segment_sums(seen, low, high)
        self._compare(block.draws, low, high - 1, stretch)

    def _compare(
        self,
        draws: FloatArray,
        low: NDArray[np.intp],
        last: NDArray[np.intp],
        stretch: NDArray[np.intp],
    ) -> None:
        """Note which stretches have rows that differ."""
        fresh = np.isnan(self._reference[stretch, 0])
        if fresh.any():
            self._reference[stretch[fresh]] = draws[low[fresh]]
        moved = self._moved[stretch] | (draws[last] != self._reference[stretch])
        # Rows between the ends are looked at where the ends do not tell.
        for index in np.flatnonzero(~moved.all(axis=1) & (last > low + 1)).tolist():
            rows = draws[low[index] : last[index]]
            moved[index] |= (rows != self._reference[stretch[index]]).any(axis=0)
        self._moved[stretch] = moved

    def merge(self, other: AgreementSums) -> AgreementSums:
        """Add another accumulator's rows."""
        self._draws += other._draws
        self._scores += other._scores
        unseen, seen = np.isnan(self._reference[:, 0]), ~np.isnan(other._reference[:, 0])
        self._moved |= other._moved
        both = seen & ~unseen
        self._moved[both] |= self._reference[both] != other._reference[both]
        self._reference[unseen] = other._reference[unseen]
        return self

    def finalise(self) -> ChainSums:
        """The sums, and where draws do not change."""
        shape = (len(self.layout.lengths), BATCHES, -1)
        rows = np.diff(self._edges, axis=1).astype(np.float64)
        still = (~self._moved).reshape(shape) & (rows > 1.0)[:, :, None]
        dimension = self.layout.dimension
        if self._draws_alone:
            own = slice(dimension)
            sums = self._draws.reshape(shape)
            return ChainSums(sums, rows, still, self.bounds.marginal[own], (own,))
        return ChainSums(
            np.concatenate([self._draws.reshape(shape), self._scores.reshape(shape)], axis=2),
            rows,
            np.concatenate([still, still], axis=2),
            self.bounds.marginal,
            (slice(dimension), slice(dimension, None)),
        )


def agreement_abstention(source: Source) -> Abstention | None:
    """Why chains of this source cannot be compared; None if they can."""
    layout = source.layout
    chains, shortest = len(layout.lengths), min(layout.lengths)
    least = SHORTEST_CHAIN if chains < MANY_CHAINS else SHORTEST_OF_MANY
    numbers = 4 * chains * BATCHES * layout.dimension
    if not layout.time_ordered:
        reason = "independent rows are no chains"
    elif source.weighted:
        reason = "draws with importance weights are not compared by chains"
    elif shortest < least:
        reason = f"chains must have at least {least} draws to be compared; got {shortest}"
    elif numbers > MOST_NUMBERS:
        reason = (
            f"comparing {chains} chains in {layout.dimension} coordinates takes too much memory"
        )
    else:
        return None
    return Abstention(AGREEMENT, reason)


def agreement_arm(
    agreement: AgreementSums, coordinate_names: Sequence[str], longest_stay: int = 1
) -> Arm | Abstention:
    """The arm: the smallest p-value of the kinds of differences, each on its share.

    It abstains if every column is too slow, unless a chain is frozen. A frozen chain is the less
    surprising, the longer the ``longest_stay`` at one row is that ends.
    """
    sums = agreement.finalise()
    least = np.where(agreement.bounds.heavy, CHANCE_OF_HEAVY_TAIL, 0.0)
    sums = sums._replace(least=np.resize(least, sums.marginal.size))  # of draws, then of scores
    frozen, found = frozen_chains(sums), differences(sums)
    # A tail of stays that is not called heavy falls at least as the third power: stays of half a
    # chain are this likely beside the longest one.
    chance = min(1.0, (2.0 * longest_stay / min(agreement.layout.lengths)) ** 3)
    found = [
        one._replace(pvalue=max(one.pvalue, chance)) if one.kind == FROZEN else one for one in found
    ]
    too_slow = {one.kind for one in found} == {FROZEN}
    if not found or (too_slow and not frozen):
        return Abstention(AGREEMENT, TOO_SLOW)
    shares = {one.name: one.share for one in OF_AGREEMENT}
    whole = sum(shares[one.kind] for one in found)
    layout, parts = agreement.layout, list[Part]()
    for one in found:
        of_scores, coordinate = divmod(one.column, layout.dimension)
        orders, what = (("score",), "score") if of_scores else (("x",), "location")
        words, where = f"{_place(one, layout, frozen)}: {what}", (coordinate_names[coordinate],)
        share = shares[one.kind] / whole
        parts.append(Part(one.kind, words, orders, where, one.pvalue, share))
    return Arm(AGREEMENT, ALL_ROWS, min(1.0, *(part.adjusted for part in parts)), tuple(parts))


def frozen_chains(sums: ChainSums) -> tuple[int, ...]:
    """The chains in which a coordinate never changes in the late half."""
    frozen = sums.still[:, len(FIRST_HALF) - 1 :].all(axis=1)
    return tuple(np.flatnonzero(np.any(frozen, axis=1)).tolist())


def place_of(part: Part) -> tuple[str, bool]:
    """Where the difference of a part is, as its words say, and whether that is one whole chain."""
    where = part.words.rpartition(":")[0]
    return where, where.startswith("chain ")


def _place(found: Difference, layout: Layout, frozen: Sequence[int]) -> str:
    """Chain and stretch in words."""
    if found.window is None:
        still = ", which does not move" if found.chain in frozen else ""
        return f"chain {found.chain}{still}"
    if found.chain is not None:
        return f"{_stretch(found.window, {layout.lengths[found.chain]})} of chain {found.chain}"
    stretch = _stretch(found.window, set(layout.lengths))
    return stretch if len(layout.lengths) == 1 else f"{stretch} of every chain"


def _stretch(window: float, lengths: set[int]) -> str:
    """The start of a chain: in draws, or as a part where lengths differ."""
    rows = {int(batch_bounds(length)[FIRST_HALF.index(window)]) for length in lengths}
    if len(rows) > 1:
        return f"the first {100.0 * window:g} % of the draws"
    return f"the first {rows.pop()} draws" if rows != {1} else "the first draw"
