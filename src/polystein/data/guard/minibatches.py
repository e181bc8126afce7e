"""Whether scores of minibatches show that rows share a batch.

The noise of fresh batches is new in every row. What a linear function of the draws leaves of the
scores is mostly noise: there is some of it, rows that follow each other do not share it, and rows
of different chains at the same time do not, either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polystein.types import FloatArray

#: Scores of which a linear function of the draws leaves less than this part have no noise.
_LEAST_NOISE = 0.05
#: Residuals of neighbouring rows, or of chains at the same time, are taken to be shared if they are
#: correlated by more than this, ...
_SHARED = 0.3
#: ... by this many standard errors of as many independent products.
_CLEAR = 6.0
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
    return _CHAINS if _alike(residuals, place[beside], place[beside + 1]) else None


def _alike(residuals: FloatArray, first: NDArray[np.intp], second: NDArray[np.intp]) -> bool:
    """Whether the residuals of pairs of rows are correlated, on average over the coordinates."""
    if first.size < _ROWS_PER_COEFFICIENT:
        return False
    products = np.mean(residuals[first] * residuals[second], axis=1)
    error = float(products.std(ddof=1)) / products.size**0.5
    return bool(products.mean() > max(_SHARED, _CLEAR * error))


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
