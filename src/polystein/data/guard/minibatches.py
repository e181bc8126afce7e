"""Whether scores of minibatches show that rows share a batch.

The noise of fresh batches is new in every row. What a linear function of the draws leaves of the
scores is mostly noise: there is some of it, and rows do not share it, whether they follow each
other, are of different chains at the same time, or are any others. A batch that comes again shows
by the time between, if that is always the same, or by residuals that are too close to each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from polystein.types import FloatArray

#: Scores of which a linear function of the draws leaves less than this part have no noise.
_LEAST_NOISE = 0.05
#: Residuals of neighbouring rows, or of chains at the same time, are taken to be shared if they are
#: correlated by more than this, ...
_SHARED = 0.3
#: ... by this many standard errors of as many independent products.
_CLEAR = 6.0
#: Residuals beyond so many sds are taken back to that.
_WILD = 2.0
#: Fewer pairs of rows with the same time between say nothing, and so many pairs at once are formed.
_PAIRS, _AT_ONCE = 100, 2**21
#: At least and at most so many directions of the residuals tell whether two are close. This part
#: of the pairs of a residual with minus another one is called so.
_FEWEST_DIRECTIONS, _DIRECTIONS, _CLOSE = 3, 5, 1e-3
#: Batches come again if so many times as many pairs of residuals are close, and so many more.
_TIMES, _MORE = 3.0, 50
#: A fit has at least this many rows for each of its coefficients.
_ROWS_PER_COEFFICIENT = 8


def shared_batch(
    draws: FloatArray, scores: FloatArray, chains: NDArray[np.intp], times: NDArray[np.intp]
) -> str | None:
    """What looks as if rows shared their batches, in words; None if nothing does.

    The rows are those of one chain after the other, in time order. ``chains`` and ``times`` say
    which rows they are.
    """
    most = len(draws) // _ROWS_PER_COEFFICIENT - 1
    if most < 1:
        return None
    # Of more coordinates than can be fitted, some are looked at.
    kept = slice(None, None, -(-draws.shape[1] // most))
    design = _standardised(draws[:, kept])
    given = _standardised(scores[:, kept])
    fit, *_ = np.linalg.lstsq(design, given, rcond=None)
    left = given - design @ fit
    noise = float(np.mean(left**2))
    if noise < _LEAST_NOISE:
        return _NO_NOISE.format(1.0 - noise)
    residuals = _standardised(left)
    follows = np.flatnonzero((np.diff(chains) == 0) & (np.diff(times) == 1))
    if _alike(residuals, follows, follows + 1):
        return _NEIGHBOURS
    # Each row beside the one of the next chain at the same time.
    place = np.lexsort((chains, times))
    beside = np.flatnonzero(np.diff(times[place]) == 0)
    if _alike(residuals, place[beside], place[beside + 1]):
        return _CHAINS
    if (lag := _common_lag(residuals, chains, times)) is not None:
        return _AGAIN.format(lag) if lag else _CHAINS
    return _POOL if _come_again(left) else None


def _alike(residuals: FloatArray, first: NDArray[np.intp], second: NDArray[np.intp]) -> bool:
    """Whether the residuals of pairs of rows are correlated, on average over the coordinates."""
    if first.size < _ROWS_PER_COEFFICIENT:
        return False
    products = np.mean(residuals[first] * residuals[second], axis=1)
    error = float(products.std(ddof=1)) / products.size**0.5
    return bool(products.mean() > max(_SHARED, _CLEAR * error))


def _pieces(n: int) -> Iterator[slice]:
    """Rows whose pairs with all others are formed at once."""
    rows = max(1, _AT_ONCE // n)
    return (slice(start, start + rows) for start in range(0, n, rows))


def _common_lag(
    residuals: FloatArray, chains: NDArray[np.intp], times: NDArray[np.intp]
) -> int | None:
    """The time between rows whose residuals are correlated, in one chain or across chains."""
    longest = int(times.max() - times.min()) + 1
    if longest > len(times) * 64:  # rows of far apart blocks: by their blocks, not one by one
        return None
    # One pair of wild residuals must not make a lag.
    residuals = np.clip(residuals, -_WILD, _WILD)
    counts, sums, squares = np.zeros((3, 2 * longest))
    for piece in _pieces(len(times)):
        products = residuals[piece] @ residuals.T / residuals.shape[1]
        apart = times[None, :] - times[piece, None]
        ahead = (apart > 0) | ((apart == 0) & (chains[None, :] > chains[piece, None]))
        place = (apart + longest * (chains[piece, None] != chains[None, :]))[ahead]
        counts += np.bincount(place, minlength=2 * longest)
        sums += np.bincount(place, products[ahead], 2 * longest)
        squares += np.bincount(place, products[ahead] ** 2, 2 * longest)
    enough = counts >= _PAIRS
    mean = np.divide(sums, counts, out=np.zeros(2 * longest), where=enough)
    # The products of fresh batches have one variance at all lags.
    error = np.sqrt(squares.sum() / max(counts.sum(), 1.0) / np.maximum(counts, 1.0))
    found = enough & (mean > np.maximum(_SHARED, _CLEAR * error))
    return int(np.argmax(found)) % longest if found.any() else None


def _come_again(left: FloatArray) -> bool:
    """Whether more residuals are close to each other than to minus each other."""
    # Normal scores: skewed noise is closer to itself than to minus itself.
    ranks = np.argsort(np.argsort(left, axis=0, kind="stable"), axis=0, kind="stable")
    points = ndtri((ranks + 0.5) / len(left))
    _, lengths, axes = np.linalg.svd(points, full_matrices=False)
    some = int(min(_DIRECTIONS, np.sum(lengths > 1e-6 * lengths[0])))
    if some < _FEWEST_DIRECTIONS:
        return False
    points = points @ (axes[:some] / lengths[:some, None]).T
    norms = np.sum(points**2, axis=1)
    step = max(1, len(points) // 512)
    sums = norms[::step, None] + norms[None, :] + 2.0 * points[::step] @ points.T
    close = float(np.quantile(sums, _CLOSE))
    to_others, to_minus = 0, 0
    for piece in _pieces(len(points)):
        products, both = points[piece] @ points.T, norms[piece, None] + norms[None, :]
        to_others += int(np.sum(both - 2.0 * products < close)) - len(points[piece])
        to_minus += int(np.sum(both + 2.0 * products < close))
    return to_others > _TIMES * to_minus + 2 * _MORE


def _standardised(columns: FloatArray) -> FloatArray:
    """Columns of mean 0 and variance 1; 0 where they are constant."""
    away = columns - columns.mean(axis=0)
    scale = away.std(axis=0)
    return np.asarray(away / np.where(scale > 0.0, scale, 1.0))


_FRESH = (
    "Every row needs a fresh minibatch, independent of the row and of all others: with shared "
    "batches draws from the target may be rejected"
)
_NO_NOISE = (
    "`scores` look as if they had no noise of minibatches: a linear function of the draws explains "
    f"{{:.0%}} of their variance. Is one batch used for all rows? {_FRESH}. If these are scores of "
    "all data, leave `minibatch` out."
)
_NEIGHBOURS = (
    "`scores` look as if neighbouring rows shared their minibatch: what a linear function of the "
    f"draws leaves of them is much the same in both. {_FRESH}. Scores of large batches may look so "
    "where the target is far from normal."
)
_CHAINS = (
    "`scores` look as if chains shared their minibatches: what a linear function of the draws "
    f"leaves of them is much the same in two chains at the same time. {_FRESH}."
)
_AGAIN = (
    "`scores` look as if the same minibatches came again {} rows later: what a linear function of "
    f"the draws leaves of them is much the same. {_FRESH}."
)
_POOL = (
    "`scores` look as if minibatches came again in other rows, as those of a pool of few batches "
    "or of an epoch: too many rows are alike in what a linear function of the draws leaves of "
    f"them. {_FRESH}."
)
