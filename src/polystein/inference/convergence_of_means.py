"""R-hat and ESS of means, from sums over batches of rows alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein.inference.memory import beyond_lugsail, chain_borders, group_starts
from polystein.types import FloatArray

#: The variance of fewer batches than this, or of fewer chains, is too uncertain to divide by.
FEWEST_BATCHES, FEWEST_CHAINS = 16, 8
#: An ESS below this decides about a verdict, and is rather too small than too large. Above it,
#: variances of longer batches count if they are larger by this many standard errors, by the first
#: in a column alone and by the second in the mean of all.
CAUTIOUS, CLEARLY_LARGER, LARGER_TOGETHER = 400.0, 4.0, 2.0


class MeansConvergence(NamedTuple):
    """Split R-hat of the chains' means, and the ESS of the mean, of every column; without ranks."""

    rhat: FloatArray
    ess: FloatArray


def convergence_of_means(
    sums: FloatArray, rows: FloatArray, chains: NDArray[np.intp], variances: FloatArray
) -> MeansConvergence:
    """Split R-hat of means and the ESS of the mean, from sums over batches of rows.

    R-hat compares the means of half chains, without ranks; it is the classical split R-hat
    if all halves have the same number of rows. The ESS is n times the variance over the
    long-run variance, and that is the largest of the variances of batch means of this length,
    of twice this length and so on, down to sixteen batches. Batches are compared with the
    mean over all chains, so that chains that disagree are worth few draws. The largest of several
    is too large by chance. Columns that are worth many draws nevertheless have an ESS in which
    longer batches count only if their variance is clearly larger.

    Parameters
    ----------
    sums : array of shape (batch, column) or (batch, family, column)
        Sums of the columns over batches of consecutive rows, in time order, chain by chain. How
        much variances still grow with the length of batches is pooled within a family.
    rows, chains : arrays of shape (batch,)
        How many rows each batch has, and the chain that it belongs to.
    variances : array of shape (column,) or (family, column)
        Variances (1/n) of the columns over all rows.

    Returns
    -------
    MeansConvergence
        R-hat is NaN, and the ESS n, for a column without variance.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((240, 10, 1))  # batch, row, column
    >>> rows, chains = np.full(240, 10), np.repeat(np.arange(4), 60)
    >>> found = convergence_of_means(draws.sum(axis=1), rows, chains, draws.var(axis=(0, 1)))
    >>> bool(found.rhat[0] < 1.01), bool(found.ess[0] > 1000)
    (True, True)
    """
    if not rows.all():  # batches without any importance weight
        sums, rows, chains = sums[rows > 0.0], rows[rows > 0.0], chains[rows > 0.0]
    still = ~(variances > 0.0)
    total = float(rows.sum())
    centred = sums - np.multiply.outer(rows, sums.sum(axis=0) / total)
    borders = chain_borders(chains)
    longrun, clear_longrun = _long_run_variances(centred, rows, borders)
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = total * variances / np.maximum(longrun, variances)
        clear = total * variances / np.maximum(clear_longrun, variances)
    ess = np.where(ess < CAUTIOUS, ess, np.maximum(clear, CAUTIOUS))
    rhat = _rhat_of_halves(centred, rows, borders, variances)
    return MeansConvergence(np.where(still, np.nan, rhat), np.where(still, total, ess))


def _rhat_of_halves(
    centred: FloatArray, rows: FloatArray, borders: NDArray[np.intp], variances: FloatArray
) -> FloatArray:
    """sqrt((B/W + n - 1)/n) of half chains; W is what the variance leaves beside the means'."""
    middles = borders + np.diff(borders, append=len(rows)) // 2
    # A chain of one batch has no halves: both start at the same place.
    starts = np.unique(np.stack([borders, middles], axis=1))
    counts = np.add.reduceat(rows, starts).astype(np.float64)
    total = float(counts.sum())
    sums = np.add.reduceat(centred.reshape(len(rows), -1), starts)
    # Each half chain's share of the rows, times its mean squared.
    spread = ((1.0 / (counts * total)) @ sums**2).reshape(variances.shape)
    draws = max(2.0, total / counts.size)
    between = draws * spread * starts.size / max(1, starts.size - 1)
    within = np.maximum(variances - spread, 0.0) * draws / (draws - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = np.sqrt((between / within + draws - 1.0) / draws)
    return result


def _long_run_variances(
    centred: FloatArray, rows: FloatArray, borders: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Variance of batch means, times their length: the largest over batches of growing length.

    Where it still grows at the end, by a factor r on average, it is extrapolated from the last
    length but one (`beyond_lugsail`). The second answer is the variance of the longest batches at
    which it was clearly larger than at all shorter ones.
    """
    found: list[FloatArray] = []
    counts_of: list[int] = []
    for sums, counts in _lengthening(centred.reshape(len(rows), -1), rows, borders):
        variances = (1.0 / counts) @ sums**2 / max(1, counts.size - 1)
        found.append(variances.reshape(centred.shape[1:]))
        counts_of.append(counts.size)
    clear = _clearly_largest(found, counts_of)
    largest = reduce(np.maximum, found)
    if len(found) == 1:
        return largest, clear
    *_, before, last = found
    varying = before > 0.0
    growths = np.divide(last, before, out=np.zeros_like(last), where=varying)
    count = np.count_nonzero(varying, axis=-1, keepdims=True)
    growth = np.where(count > 0, growths.sum(axis=-1, keepdims=True) / np.maximum(count, 1), 1.0)
    further = np.where(growth > 1.0, beyond_lugsail(np.minimum(growth, 2.0)) / growth, 1.0)
    return largest * np.maximum(1.0, further), clear


def _clearly_largest(found: list[FloatArray], counts: list[int]) -> FloatArray:
    """The variance of the shortest batches, or of longer ones where it is clearly larger.

    Of m batch means the variance has a relative standard error of about sqrt(2/m). A column alone
    has to exceed it by far. The mean growth of all columns of a family is known better.
    """
    first = clear = found[0]
    growth = np.ones((*first.shape[:-1], 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        for own, count in zip(found[1:], counts[1:], strict=True):
            error = math.sqrt(2.0 / count)
            clear = np.where(own > (1.0 + CLEARLY_LARGER * error) * clear, own, clear)
            ratios = np.where(first > 0.0, own / first, 1.0)
            mean = ratios.mean(axis=-1, keepdims=True)
            grown = mean > 1.0 + LARGER_TOGETHER * error / math.sqrt(first.shape[-1])
            growth = np.where(grown, np.maximum(growth, mean), growth)
    return np.maximum(clear, growth * first)


def _lengthening(
    sums: FloatArray, rows: FloatArray, borders: NDArray[np.intp]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Sums and rows of batches as they are, and joined two by two while many are left.

    An odd batch of a chain joins its last pair. Whole chains come last if there are several: they
    are few, but independent.
    """
    joined, counts, lengths = sums, rows, np.diff(borders, append=len(rows))
    while len(counts) >= FEWEST_BATCHES or counts is rows:
        yield joined, counts
        if len(counts) <= borders.size:
            return
        if (lengths % 2).any():
            starts = group_starts(lengths, 2)
            joined, counts = np.add.reduceat(joined, starts), np.add.reduceat(counts, starts)
        else:
            joined, counts = joined[::2] + joined[1::2], counts[::2] + counts[1::2]
        lengths = np.maximum(lengths // 2, 1)
    if borders.size >= FEWEST_CHAINS:
        yield np.add.reduceat(sums, borders), np.add.reduceat(rows, borders)
