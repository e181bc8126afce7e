"""Have chains converged, and how many independent draws are they worth? R-hat and ESS of columns.

The rank-normalised diagnostics are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner
(2021), Rank-normalization, folding, and localization: an improved R-hat, Bayesian Analysis 16,
with the conventions of ArviZ. Those of means come from sums over batches of rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from polystein.inference.memory import beyond_lugsail, chain_borders, starts_of_groups
from polystein.types import FloatArray

#: The variance of fewer batches than this, or of fewer chains, is too uncertain to divide by.
FEWEST_BATCHES, FEWEST_CHAINS = 16, 8
#: An ESS below this decides about a verdict, and is rather too small than too large. Above it,
#: variances of longer batches count if they are larger by this many standard errors, by the first
#: in a column alone and by the second in the mean of all.
CAUTIOUS, CLEARLY_LARGER, LARGER_TOGETHER = 400.0, 4.0, 2.0
#: Columns are processed together up to this many numbers, which fit into a core's cache.
_NUMBERS_AT_ONCE = 2**16


class RankedConvergence(NamedTuple):
    """Rank-normalised split R-hat, bulk ESS and tail ESS of every column.

    The folded ESS is that of distances from the median: a scale that moves slowly shows in it.
    """

    rhat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray
    ess_folded: FloatArray


class MeansConvergence(NamedTuple):
    """Split R-hat of the chains' means, and the ESS of the mean, of every column; without ranks."""

    rhat: FloatArray
    ess: FloatArray


def ranked_convergence(chains: Sequence[FloatArray] | FloatArray) -> RankedConvergence:
    """Rank-normalised split R-hat, bulk ESS, tail ESS and folded ESS of every column.

    R-hat is the larger of the one of normal scores of the ranks (bulk) and the one of normal
    scores of the ranks of distances from the median (folded). Chains are split in halves, so
    that one chain is enough. Of chains of different lengths the last rows are taken, as many
    as the shortest chain has.

    A column in which all draws are equal has R-hat NaN, since nothing can be said about it,
    and as many effective draws as draws. If every half chain is constant, each at a value of
    its own, R-hat is infinite.

    Parameters
    ----------
    chains : sequence of arrays of shape (draw, column), or array of shape (chain, draw, column)
        At least four draws in each. With fewer, all are NaN.

    Returns
    -------
    RankedConvergence
        Four arrays with one number for each column.

    Examples
    --------
    >>> import numpy as np
    >>> chains = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> chains[3, :, 1] += 2.0  # one chain elsewhere, in the second column
    >>> ranked_convergence(chains).rhat.round(2)
    array([1.  , 1.34])
    """
    shortest = min(chain.shape[0] for chain in chains)
    columns = chains[0].shape[1]
    if shortest < 4:  # half of a chain would have no variance
        unknown = np.full(columns, np.nan)
        return RankedConvergence(*(unknown.copy() for _ in range(4)))
    parts = []
    at_once = max(1, _NUMBERS_AT_ONCE // (shortest * len(chains)))
    for low in range(0, columns, at_once):
        if isinstance(chains, np.ndarray):
            some = chains[:, :, low : low + at_once]
        else:
            some = np.stack([chain[-shortest:, low : low + at_once] for chain in chains])
        parts.append(_ranked(np.ascontiguousarray(some.transpose(2, 0, 1), dtype=np.float64)))
    return RankedConvergence(*map(np.concatenate, zip(*parts, strict=True)))


def _ranked(values: FloatArray) -> RankedConvergence:
    """The diagnostics of values of shape (column, chain, draw)."""
    halves = _in_halves(values)
    seen, draws = rank_columns(values, halves), halves.shape[2]
    means = seen.mean(axis=2)
    seen -= means[:, :, None]
    within, between = _within(seen, means), means.var(axis=1, ddof=1)
    folded, rhat, *_ = _rhat(within, between, draws).reshape(4, -1)
    # What does not vary is as good as independent.
    still = within + between == 0.0
    sizes = np.where(still, float(halves[0].size), _effective_sizes(seen, between))
    of_distances, bulk, low, high = sizes.reshape(4, -1)
    # A column whose distances from the median are all equal has no folded R-hat.
    rhat = np.where(folded > rhat, folded, rhat)
    return RankedConvergence(rhat, bulk, np.minimum(low, high), of_distances)


def rank_columns(values: FloatArray, halves: FloatArray) -> FloatArray:
    """What the diagnostics are made of, four times as many columns as ``halves`` has.

    Normal scores of distances from the median come first, then those of the values. Then come
    indicators of values that are below the low and the high quantile.
    """
    seen = np.empty((4, *halves.shape))
    folded, scores, *tails = seen
    rows = halves.reshape(len(halves), -1)
    count, first = rows.shape[1], halves[0].size * np.arange(len(halves))[:, None]
    # Places in the whole array: NumPy takes and puts numbers by them faster than row by row.
    order = np.argsort(rows, axis=1) + first
    inorder = rows.take(order)
    scores.reshape(-1)[order.reshape(-1)] = _normal_scores(inorder).reshape(-1)
    low, high = inorder[:, count // 2 - 1], inorder[:, count // 2]
    with np.errstate(over="ignore"):
        distances = np.abs(inorder - (0.5 * low + 0.5 * high)[:, None])
    # They fall up to the median and rise from there, which a stable sort makes use of.
    nearest = np.argsort(distances, axis=1, kind="stable") + first
    own = _normal_scores(distances.take(nearest))
    folded.reshape(-1)[order.take(nearest).reshape(-1)] = own.reshape(-1)
    if halves.size < values.size:
        # Quantiles are those of all draws, also of those in the middle of odd chains.
        inorder = np.sort(values.reshape(len(values), -1), axis=1)
    for below, quantile in zip(tails, _tail_quantiles(inorder), strict=True):
        np.less_equal(halves, quantile[:, None, None], out=below)
    return seen.reshape(-1, *halves.shape[1:])


def _normal_scores(inorder: FloatArray) -> FloatArray:
    """The normal quantile of (r - 3/8)/(n + 1/4) for the rank r of each number in its row (Blom).

    The rows are in order. Equal numbers share their mean rank.
    """
    count = inorder.shape[1]
    quantiles, differs = _quantiles_of_ranks(count), inorder[:, 1:] != inorder[:, :-1]
    if differs.all():
        return np.broadcast_to(quantiles[::2], inorder.shape)
    place, edge = np.arange(count), np.ones((len(inorder), 1), dtype=np.bool_)
    first = np.where(np.concatenate([edge, differs], axis=1), place, 0)
    last = np.where(np.concatenate([differs, edge], axis=1), place, count)
    np.maximum.accumulate(first, axis=1, out=first)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    scores: FloatArray = quantiles[first + last]
    return scores


@lru_cache(maxsize=4)
def _quantiles_of_ranks(count: int) -> FloatArray:
    """Normal scores of the ranks 1, 1.5, 2, ..., n: a mean of ranks is a multiple of one half."""
    quantiles: FloatArray = ndtri((0.5 * np.arange(2, 2 * count + 1) - 0.375) / (count + 0.25))
    return quantiles


def _within(centred: FloatArray, means: FloatArray) -> FloatArray:
    """The mean variance of half chains of what `rank_columns` gives."""
    columns, count, draws = centred.shape
    scores = centred[: columns // 2].reshape(columns // 2, -1)
    # An indicator with the mean m has the variance m (1 - m).
    shares = means[columns // 2 :]
    squares = np.einsum("ij,ij->i", scores, scores), draws * (shares * (1.0 - shares)).sum(axis=1)
    result: FloatArray = np.concatenate(squares) / (count * (draws - 1.0))
    return result


def _in_halves(values: FloatArray) -> FloatArray:
    """The first and the last half of every chain as chains; an odd draw in the middle is left out.

    From (column, chain, draw) to (column, 2 chains, half of the draws).
    """
    columns, chains, draws = values.shape
    half = draws // 2
    if draws % 2:
        values = np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=2)
    return values.reshape(columns, 2 * chains, half)


def _tail_quantiles(inorder: FloatArray) -> Iterator[FloatArray]:
    """The 5 % and the 95 % quantile of every column, whose numbers are in order."""
    count = inorder.shape[1]
    for probability in (0.05, 0.95):
        # R's type 7, rounded as in `scipy.stats.mstats.mquantiles`: where draws repeat, the last
        # digit decides whether they are below their own quantile.
        place = count * probability + (1.0 - probability)
        below = min(max(math.floor(place), 1), count - 1)
        share = min(max(place - below, 0.0), 1.0)
        yield (1.0 - share) * inorder[:, below - 1] + share * inorder[:, below]


def _rhat(within: FloatArray, between: FloatArray, draws: int) -> FloatArray:
    """R-hat by the mean variance W of half chains of n draws, and by the variance of their means.

    sqrt((B/W + n - 1)/n), with B = n times the variance of the means.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = draws * between / within
    result: FloatArray = np.sqrt((ratio + draws - 1.0) / draws)
    return result


def _effective_sizes(centred: FloatArray, between: FloatArray) -> FloatArray:
    """Effective number of draws of every column, by Geyer's initial monotone sequence.

    The chains of shape (column, chain, draw) are centred, each at its own mean, and ``between``
    is the variance of the means. A quarter of the lags is enough for most columns. Those whose
    sequence is longer are computed with all lags.
    """
    draws, total = centred.shape[2], float(centred[0].size)
    some = min(draws, max(32, draws // 4))
    times, ended = _geyer(_autocorrelations(centred, between, some), draws)
    if not ended.all():
        rest = ~ended
        times[rest], _ = _geyer(_autocorrelations(centred[rest], between[rest], draws), draws)
    sizes: FloatArray = total / np.maximum(times, 1.0 / math.log10(total))
    return sizes


def _geyer(correlations: FloatArray, draws: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Autocorrelation times by rho_0, rho_1, ..., and whether there were enough of them.

    Sums of pairs, rho_2k + rho_(2k+1), are added up to the first that is not positive, each
    lowered to the smallest before it; the even term of that pair is added once if it helps.
    """
    last = max(0, (draws - 3) // 2)
    known = min(last, correlations.shape[1] // 2 - 1)
    pairs = correlations[:, : 2 * known + 1 : 2] + correlations[:, 1 : 2 * known + 2 : 2]
    ends = ~(pairs > 0.0)
    ended = ends.any(axis=1) | (known == last)
    ends[:, known] = True
    stop = ends.argmax(axis=1)
    row, before = np.arange(len(stop)), np.arange(stop.max())[:, None]
    smallest = np.minimum.accumulate(pairs.T[: len(before)].copy(), axis=0)
    summed = np.where(before < stop, smallest, 0.0).sum(axis=0)
    even, pair = correlations[row, 2 * stop], pairs[row, stop]
    helps = (even > 0.0) | (pair >= 0.0)
    return -1.0 + 2.0 * summed + np.where(helps, even, 0.0), ended


def _autocorrelations(centred: FloatArray, between: FloatArray, lags: int) -> FloatArray:
    """rho_t = 1 - (W - gamma_t)/var+ of every column, of shape (column, lag); rho_0 is 1.

    They allow for different means of the chains.
    """
    count, draws = centred.shape[1:]
    size = next_fast_len(draws + lags, real=True)
    spectrum = rfft(centred, size, axis=2).view(np.float64)
    power = np.einsum("kcf,kcf->kf", spectrum, spectrum) / (count * draws)
    # Real and imaginary parts take turns.
    covariances = irfft(power[:, ::2] + power[:, 1::2], size, axis=1)[:, :lags]
    within = covariances[:, :1] * draws / (draws - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = (within - covariances) / (covariances[:, :1] + between[:, None])
    np.subtract(1.0, result, out=result)
    result[:, 0] = 1.0
    return result


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
    starts = _half_starts(borders, len(rows))
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

    Whole chains come last if there are several: they are few, but independent.
    """
    joined, counts, lengths = sums, rows, _lengths(borders, len(rows))
    while len(counts) >= FEWEST_BATCHES or counts is rows:
        yield joined, counts
        if len(counts) <= borders.size:
            return
        joined, counts, lengths = _two_by_two(joined, counts, lengths)
    if borders.size >= FEWEST_CHAINS:
        yield np.add.reduceat(sums, borders), np.add.reduceat(rows, borders)


def _two_by_two(
    sums: FloatArray, rows: FloatArray, lengths: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Neighbouring batches of a chain joined in pairs; an odd one joins the last pair."""
    groups = np.maximum(lengths // 2, 1)
    if not (lengths % 2).any():
        return sums[::2] + sums[1::2], rows[::2] + rows[1::2], groups
    starts = starts_of_groups(lengths, 2)
    return np.add.reduceat(sums, starts), np.add.reduceat(rows, starts), groups


def _lengths(borders: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """How many batches each chain has, by where it begins among ``count`` batches."""
    return np.concatenate([borders[1:], [count]]) - borders


def _half_starts(borders: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Where the halves of every chain start; a chain of one batch has no halves."""
    lengths = _lengths(borders, count)
    starts = np.stack([borders, borders + lengths // 2], axis=1)
    # The halves of a chain of one batch start at the same place.
    return starts.ravel() if lengths.min() > 1 else np.unique(starts)
