"""How far the chains have come, and which coordinates `check` leaves out for it.

R-hat and ESS are those of ranks of kept rows, and of sums over batches of all rows. Both need one
pass, so that they are the same wherever the rows are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.data.spread import KeptRows
from polystein.inference.convergence import RankedConvergence, ranked_convergence
from polystein.inference.convergence_of_means import MeansConvergence, convergence_of_means
from polystein.methods.check.sums import BatchSums

#: Coordinates that are worth fewer draws than the first are left out, and those worth fewer than
#: the second if others are worth four times as many.
FEWEST_DRAWS, FEW_DRAWS, TIMES_FASTER = 30.0, 100.0, 4.0
#: Coordinates whose chains disagree by more than this R-hat are left out as well.
RHAT_LEFT_OUT = 1.2
#: Coordinates whose distances from the median are worth fewer draws than the first are left out,
#: or fewer than the second if values themselves are worth twice as many: their scale moves
#: so slowly that its autocorrelation cannot be told. Distances of an AR(1) chain are worth more
#: than values.
FEW_OF_SCALE, SOME_OF_SCALE, TIMES_SLOWER = 100.0, 400.0, 2.0
#: Of fewer than 400 rows a scale is slow if it is worth less than this part of them: 100 of 400, an
#: autocorrelation time of four rows.
PART_OF_ROWS = 0.25
#: If this part of the coordinates have a slow scale, the others are left out, too, if their
#: distances are worth this much less than values. That their scales moved little in these chains is
#: chance, and what is judged must not be chosen by chance.
PART_OF_SLOW, TIMES_SLOWER_AMONG_SLOW = 0.5, 1.2


class RankedRows(NamedTuple):
    """The convergence of draws and of scores by ranks of every k-th row, and how many these are."""

    draws: RankedConvergence
    scores: RankedConvergence
    rows: int

    def slow_scales(self) -> NDArray[np.bool_]:
        """Which coordinates have a scale, of draws or of scores, that moves too slowly."""
        slow = np.zeros(self.draws.rhat.size, dtype=np.bool_)
        slower_than_values = slow.copy()
        few = min(FEW_OF_SCALE, PART_OF_ROWS * self.rows)
        for one in (self.draws, self.scores):
            slower = TIMES_SLOWER * one.ess_folded < one.ess_bulk
            slow |= one.ess_folded < np.where(slower, SOME_OF_SCALE, few)
            slower_than_values |= TIMES_SLOWER_AMONG_SLOW * one.ess_folded < one.ess_bulk
        return slow | slower_than_values if slow.mean() >= PART_OF_SLOW else slow


def ranked_rows(some_rows: KeptRows) -> RankedRows:
    """The convergence of draws and of scores by ranks of every k-th row."""
    found, dimension = ranked_convergence(some_rows.by_chain()), some_rows.layout.dimension
    of_draws, of_scores = (
        RankedConvergence(*(part[own] for part in found))
        for own in (slice(dimension), slice(dimension, None))
    )
    return RankedRows(of_draws, of_scores, len(some_rows.values))


class ChainConvergence(NamedTuple):
    """R-hat and ESS of the means of draws and of scores, for every coordinate."""

    draws: MeansConvergence
    scores: MeansConvergence

    def too_slow(self) -> NDArray[np.bool_]:
        """Which coordinates cannot be judged, or not together with the others."""
        ess = np.minimum(self.draws.ess, self.scores.ess)
        disagree = np.maximum(self.draws.rhat, self.scores.rhat) > RHAT_LEFT_OUT
        compared = min(FEW_DRAWS, float(ess.max()) / TIMES_FASTER)
        result: NDArray[np.bool_] = disagree | (ess < max(FEWEST_DRAWS, compared))
        return result


@np.errstate(over="ignore", invalid="ignore")  # squares that overflow: no ESS is known
def chain_convergence(
    sums: BatchSums, batches: NDArray[np.intp] | slice = slice(None)
) -> ChainConvergence:
    """The convergence of the draws and of the scores, by their sums over some of the batches."""
    totals = np.stack([sums.draws, sums.diagonal[:, 0]], axis=1)[batches] * sums.weight_scale
    squares = sums.squares[batches] * sums.weight_scale
    sizes, chains = sums.sizes[batches], sums.batches.chain_of[batches]
    size = float(sizes.sum())
    variances = squares.sum(axis=0) / size - (totals.sum(axis=0) / size) ** 2
    found = convergence_of_means(totals, sizes, chains, np.maximum(variances, 0.0))
    return ChainConvergence(*map(MeansConvergence, *found))
