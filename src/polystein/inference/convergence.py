"""Have chains converged, and how many independent draws are they worth? R-hat and ESS of columns.

The rank-normalised diagnostics are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner
(2021), Rank-normalization, folding, and localization: an improved R-hat, Bayesian Analysis 16,
with the conventions of ArviZ. Those of means are in `convergence_of_means`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from polystein.types import FloatArray

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
    # The first and the last half of every chain as chains; an odd draw in the middle is left out.
    columns, chains, length = values.shape
    draws = length // 2
    halves = values
    if length % 2:
        halves = np.concatenate([values[:, :, :draws], values[:, :, -draws:]], axis=2)
    halves = halves.reshape(columns, 2 * chains, draws)
    seen = rank_columns(values, halves)
    means = seen.mean(axis=2)
    seen -= means[:, :, None]
    # W, the mean variance of half chains, and B over the number of draws
    within, between = _within(seen, means), means.var(axis=1, ddof=1)
    # R-hat is sqrt((B/W + n - 1)/n).
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = draws * between / within
    folded, rhat, *_ = np.sqrt((ratio + draws - 1.0) / draws).reshape(4, -1)
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
