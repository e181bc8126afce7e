"""How far chains have come, by sums over batches: R-hat and ESS of means."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.inference.convergence import MeansConvergence, convergence_of_means
from polystein.methods.check.sums import BatchSums
from polystein.types import FloatArray

#: Coordinates that are worth fewer draws than the first are left out, and those worth fewer than
#: the second if others are worth four times as many.
FEWEST_DRAWS, FEW_DRAWS, TIMES_FASTER = 30.0, 100.0, 4.0
#: Coordinates whose chains disagree by more than this R-hat are left out as well.
LARGEST_RHAT = 1.2


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
