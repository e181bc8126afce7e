"""How far chains have come: R-hat and ESS, by sums over batches and by ranks of spaced rows.

Both need one pass, so that they are the same wherever the rows are.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.source import Block, Layout
from polystein.inference.convergence import RankedConvergence, ranked_convergence
from polystein.inference.convergence_of_means import MeansConvergence, convergence_of_means
from polystein.methods.check.sums import BatchSums
from polystein.types import FloatArray

#: Coordinates that are worth fewer draws than the first are left out, and those worth fewer than
#: the second if others are worth four times as many.
FEWEST_DRAWS, FEW_DRAWS, TIMES_FASTER = 30.0, 100.0, 4.0
#: Coordinates whose chains disagree by more than this R-hat are left out as well.
LARGEST_RHAT = 1.2
#: Coordinates whose distances from the median are worth fewer draws than the first are left out,
#: or fewer than the second if values themselves are worth twice as many: their scale moves
#: so slowly that its memory cannot be told. Distances of an AR(1) chain are worth more than values.
FEW_OF_SCALE, SOME_OF_SCALE, TIMES_SLOWER = 100.0, 400.0, 2.0
#: Of a short chain no scale is slow that is worth this part of the rows.
PART_OF_ROWS = 0.25
#: At least this many rows are ranked, evenly spaced, and this many of each chain, if there are ...
FEWEST_ROWS, FEWEST_ROWS_OF_CHAIN = 1_000, 50
#: ... and at most this many numbers are kept of them, 32 MiB.
MOST_NUMBERS = 2**22


class SpacedRows:
    """Every k-th row of each chain: the accumulator of the rows that are ranked for the verdict."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        spaced = min(layout.total // FEWEST_ROWS, min(layout.lengths) // FEWEST_ROWS_OF_CHAIN)
        self._step = max(1, spaced, -(-2 * layout.total * layout.dimension // MOST_NUMBERS))
        self._parts: list[tuple[int, int, FloatArray, FloatArray]] = []

    def zero(self) -> SpacedRows:
        """An accumulator of the same kind without rows."""
        return SpacedRows(self._layout)

    def update(self, block: Block) -> None:
        """Take the rows of a block that are to be kept."""
        for chain, start, low, high in block.chains:
            kept = slice(low + -start % self._step, high, self._step)
            part = block.draws[kept].copy(), block.scores[kept].copy()
            self._parts.append((chain, start, *part))

    def merge(self, other: SpacedRows) -> SpacedRows:
        """Add another accumulator's rows."""
        self._parts += other._parts
        return self

    def ranked(self) -> RankedRows:
        """The convergence of draws and of scores by ranks of these rows."""
        chains: list[list[FloatArray]] = [[] for _ in self._layout.lengths]
        for chain, _, draws, scores in sorted(self._parts, key=lambda part: part[:2]):
            chains[chain].append(np.concatenate([draws, scores], axis=1))
        found = ranked_convergence([np.concatenate(parts) for parts in chains])
        of_draws, of_scores = (
            RankedConvergence(*(part[own] for part in found))
            for own in (slice(self._layout.dimension), slice(self._layout.dimension, None))
        )
        return RankedRows(of_draws, of_scores, sum(len(part[2]) for part in self._parts))


class RankedRows(NamedTuple):
    """The convergence of draws and of scores by ranks of spaced rows, and how many these are."""

    draws: RankedConvergence
    scores: RankedConvergence
    rows: int

    def slow_scales(self) -> NDArray[np.bool_]:
        """Which coordinates have a scale, of draws or of scores, that moves too slowly."""
        slow = np.zeros(self.draws.rhat.size, dtype=np.bool_)
        few = min(FEW_OF_SCALE, PART_OF_ROWS * self.rows)
        for one in (self.draws, self.scores):
            slower = TIMES_SLOWER * one.ess_folded < one.ess_bulk
            slow |= one.ess_folded < np.where(slower, SOME_OF_SCALE, few)
        return slow


class ChainConvergence(NamedTuple):
    """R-hat and ESS of the means of draws and of scores, for every coordinate."""

    draws: MeansConvergence
    scores: MeansConvergence

    def too_slow(self) -> NDArray[np.bool_]:
        """Which coordinates cannot be judged, or not together with the others."""
        ess = np.minimum(self.draws.ess, self.scores.ess)
        disagree = np.maximum(self.draws.rhat, self.scores.rhat) > LARGEST_RHAT
        compared = min(FEW_DRAWS, float(ess.max()) / TIMES_FASTER)
        result: NDArray[np.bool_] = disagree | (ess < max(FEWEST_DRAWS, compared))
        return result


def chain_convergence(sums: BatchSums) -> ChainConvergence:
    """The convergence of the draws and of the scores in sums over batches."""
    totals = np.stack([sums.draws, sums.diagonal[:, 0]], axis=1)
    rhat, ess = _of_totals(sums, totals, sums.squares, slice(None))
    return ChainConvergence(*map(MeansConvergence, rhat, ess))


def of_means(
    sums: BatchSums, what: Literal["draws", "scores"], batches: NDArray[np.intp]
) -> MeansConvergence:
    """R-hat and ESS of the means of draws or scores, by the sums over some of the batches."""
    if what == "draws":
        return _of_totals(sums, sums.draws, sums.squares[:, 0], batches)
    return _of_totals(sums, sums.diagonal[:, 0], sums.squares[:, 1], batches)


@np.errstate(over="ignore", invalid="ignore")  # squares that overflow: no ESS is known
def _of_totals(
    sums: BatchSums, totals: FloatArray, squares: FloatArray, batches: NDArray[np.intp] | slice
) -> MeansConvergence:
    """R-hat and ESS of means, by sums of columns and of their squares over some batches."""
    totals, squares = totals[batches] * sums.weight_scale, squares[batches] * sums.weight_scale
    sizes, chains = sums.sizes[batches], sums.batches.chain_of[batches]
    size = float(sizes.sum())
    variances = squares.sum(axis=0) / size - (totals.sum(axis=0) / size) ** 2
    return convergence_of_means(totals, sizes, chains, np.maximum(variances, 0.0))
