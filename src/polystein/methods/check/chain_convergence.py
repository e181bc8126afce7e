"""How far chains have come, by sums over batches: R-hat and ESS of means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.inference.convergence import MeansConvergence, convergence_of_means
from polystein.methods.check.batch_sums import BatchSums
from polystein.types import FloatArray

#: Coordinates that are worth fewer draws are left out, if others are worth four times as many.
LEAST_ESS, TIMES_FASTER = 100.0, 4.0


class ChainConvergence(NamedTuple):
    """R-hat and ESS of the means of draws and of scores, for every coordinate."""

    draws: MeansConvergence
    scores: MeansConvergence

    def too_slow(self) -> NDArray[np.bool_]:
        """Which coordinates cannot be judged together with the others."""
        ess = np.minimum(self.draws.ess, self.scores.ess)
        result: NDArray[np.bool_] = ess < min(LEAST_ESS, float(ess.max()) / TIMES_FASTER)
        return result


def chain_convergence(sums: BatchSums) -> ChainConvergence:
    """The convergence of the draws and of the scores in sums over batches."""
    draws, scores = sums.draws, sums.diagonal[:, 0]
    squares = sums.squares
    return ChainConvergence(
        of_means(draws, squares[:, 0], sums.sizes, sums.batches.chain_of),
        of_means(scores, squares[:, 1], sums.sizes, sums.batches.chain_of),
    )


def of_means(
    totals: FloatArray, squares: FloatArray, sizes: FloatArray, chains: NDArray[np.intp]
) -> MeansConvergence:
    """R-hat and ESS of means, by sums of columns and of their squares over batches."""
    size = float(sizes.sum())
    variances = squares.sum(axis=0) / size - (totals.sum(axis=0) / size) ** 2
    return convergence_of_means(totals, sizes, chains, np.maximum(variances, 0.0))
