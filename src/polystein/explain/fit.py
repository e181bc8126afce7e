"""Least-squares fits of functions on Stein features, from sums of their products.

The intercept of the fit of f on (1, features) is the expectation of f under the target if f lies
in their span, whatever law the draws have. Which features are used is decided out of fold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from polystein._lib.numerics import TINY
from polystein.errors import DegenerateError, ScaleError
from polystein.explain.designs import Design
from polystein.explain.gram import leading
from polystein.types import FloatArray

#: Added to the diagonal of the matrix of features, times their variance: on Gaussian targets
#: features depend linearly on each other.
RIDGE = 1e-9
#: Further ones to choose from where there are few rows for each score coordinate.
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
ROWS_FOR_NO_RIDGE = 4
#: This part of their mean square counts as variance, too, or rounding would: draws that are far off
#: have features that hardly vary beside their mean.
SQUARE_PART = 1e-5
#: Features leave at least 1 part in this many of the constant unexplained. Draws may be so narrow,
#: or so far from the target, that an intercept would be an extrapolation. Of a target with heavy
#: tails, features of high powers do not have mean 0, and may even add up to the constant.
MOST_EXTRAPOLATION = 1e7
#: A set of features needs this many rows for each of them.
ROWS_PER_FEATURE = 4
#: More features are taken only if they lower the variance out of fold by more than this part ...
WORTH = 0.02
#: ... and if it is above this part of the function's own.
EXACT = 1e-12
#: The part of all weight that there is outside of every fold: less is lost in rounding.
LEAST_ELSEWHERE = 1e-8


class Fit(NamedTuple):
    """The fit of every function of a design, each on its own leading features.

    ``plain`` and ``corrected`` are averages and intercepts. ``loading`` holds the whitened
    function of each fit and ``inverse`` the whitening matrix: z = inverse @ features has mean
    square 1, and a prediction is the product of z with the leading part of ``loading``. ``left``
    is the sum of products of residuals out of fold over the total weight, ``spread`` the
    covariance of the functions. ``damping`` is how far the ridge has moved the intercepts, to first
    order, and ``inflation`` is e0' G^-1 e0: the square of the target's mean of a residual may be so
    many times its mean square over the draws, 1 for right draws.
    """

    design: Design
    cuts: tuple[int, ...]
    ridge: float
    weight: float
    rows: float
    plain: FloatArray
    corrected: FloatArray
    inverse: FloatArray
    loading: FloatArray
    left: FloatArray
    spread: FloatArray
    damping: FloatArray
    inflation: FloatArray


def fitted(design: Design, matrices: FloatArray, rows: float, *, widest: bool = False) -> Fit:
    """Choose features for every function out of fold, and fit them on all rows.

    With `widest` there is no choice: all features that there are rows for are used.

    Parameters
    ----------
    design : Design
        What the columns of the matrices are.
    matrices : array of shape (folds, p + m, p + m)
        Sums of products of p features and m functions.
    rows : float
        The effective number of importance weights, that of rows if there are none.
    """
    features = design.cuts[-1]
    with np.errstate(over="ignore", invalid="ignore"):  # reported in the next line
        total = matrices.sum(axis=0)
    if not np.isfinite(total).all():
        raise ScaleError(
            "sums of Stein features overflow; rescale draws (x/c) and scores (c s) first"
        )
    weight = float(total[0, 0])
    _require_weight_elsewhere(matrices[:, 0, 0] / weight)
    scale = np.sqrt(np.maximum(np.diagonal(total) / weight, TINY))
    scale[features:] = 1.0
    matrices = matrices / (weight * np.outer(scale, scale))
    cuts = _consistent(matrices.sum(axis=0), features, _allowed(design.cuts, rows))
    cuts = cuts[-1:] if widest else cuts
    few = rows < ROWS_FOR_NO_RIDGE * cuts[min(1, len(cuts) - 1)]
    tried = [
        _chosen(matrices, features, cuts, ridge)
        for ridge in ((RIDGE, *RIDGES) if few else (RIDGE,))
    ]
    best = min(
        tried, key=lambda choice: float(np.sum(np.log(np.maximum(np.diagonal(choice.left), TINY))))
    )
    return _final(design, matrices.sum(axis=0), scale, (weight, rows), best)


def _require_weight_elsewhere(shares: FloatArray) -> None:
    """Raise an error if one fold has all importance weight: nothing is left to fit it by."""
    if 1.0 - shares.max() <= LEAST_ELSEWHERE:
        raise DegenerateError(
            f"`log_weights` must leave weight to more than one of {len(shares)} equal stretches of "
            "rows; one has all of it. Leave out rows without weight, or shuffle independent rows"
        )


class _Choice(NamedTuple):
    cuts: tuple[int, ...]
    ridge: float
    left: FloatArray


def _allowed(cuts: tuple[int, ...], rows: float) -> tuple[int, ...]:
    """The sets that there are rows for; the scores alone always, which a ridge may tame."""
    return tuple(
        cut for place, cut in enumerate(cuts) if place < 2 or ROWS_PER_FEATURE * cut <= rows
    )


def _consistent(total: FloatArray, features: int, cuts: tuple[int, ...]) -> tuple[int, ...]:
    """The sets that do not explain the constant: it and features of mean 0 would contradict.

    The factor e0' G^-1 e0 is 1 over the part of the constant that a set leaves unexplained.
    """
    first = np.zeros(features)
    first[0] = 1.0
    whitened, _ = dtrtrs(_factor(total, features, RIDGE), first, lower=1)
    factors = np.cumsum(np.square(whitened)) * total[0, 0]
    # Scores have mean 0 whatever the tails are, and a ridge may tame them.
    return cuts[:2] + tuple(cut for cut in cuts[2:] if factors[cut - 1] <= MOST_EXTRAPOLATION)


def _chosen(matrices: FloatArray, features: int, cuts: tuple[int, ...], ridge: float) -> _Choice:
    """For every function the smallest set of features that is about as good as the best."""
    total = matrices.sum(axis=0)
    functions = total.shape[0] - features
    solved = [_nested(total - matrix, features, cuts, ridge) for matrix in matrices]
    # Left of each function by each set.
    left = np.array(
        [
            sum(
                np.diagonal(_products(matrix, features, beta[place]))
                for matrix, beta in zip(matrices, solved, strict=True)
            )
            for place in range(len(cuts))
        ]
    )
    # Rounding may leave less than nothing, which no other set would come near.
    left = np.maximum(left, 0.0)
    own = np.diagonal(_covariance(total, features))
    good = left <= (1.0 + WORTH) * left.min(axis=0) + EXACT * own
    places = np.argmax(good, axis=0)
    mixed = np.zeros((functions, functions))
    for matrix, beta in zip(matrices, solved, strict=True):
        picked = beta[places, :, np.arange(functions)].T
        mixed += _products(matrix, features, picked)
    return _Choice(tuple(cuts[place] for place in places), ridge, mixed)


def _nested(matrix: FloatArray, features: int, cuts: tuple[int, ...], ridge: float) -> FloatArray:
    """Coefficients by each set of features, of shape (sets, p, m), from one factorisation."""
    factor = _factor(matrix, features, ridge)
    whitened, _ = dtrtrs(factor, matrix[:features, features:], lower=1)
    result = np.zeros((len(cuts), *whitened.shape))
    for place, cut in enumerate(cuts):
        result[place, :cut], _ = dtrtrs(factor[:cut, :cut], whitened[:cut], lower=1, trans=1)
    return result


def _factor(matrix: FloatArray, features: int, ridge: float) -> FloatArray:
    """The Cholesky factor of F'F, with the ridge on all features but the constant."""
    damped = matrix[:features, :features].copy()
    damped[np.arange(features), np.arange(features)] += _added(matrix, features, ridge)
    # These are called hundreds of times on small matrices: SciPy's wrappers take longer.
    factor, failed = dpotrf(damped, lower=1, clean=1)
    if failed:
        # Rounding, of features that depend on each other on very different scales.
        return _factor(matrix, features, 1e3 * ridge)
    result: FloatArray = factor
    return result


def _added(matrix: FloatArray, features: int, ridge: float) -> FloatArray:
    """What the ridge adds to the diagonal of F'F.

    In terms of variances, not of mean squares: of draws that are far too narrow the feature
    s y + 1 is 1 but for little, and that little tells the target's variance.
    """
    square, weight = np.diagonal(matrix)[:features], matrix[0, 0]
    own = np.maximum(square - matrix[0, :features] ** 2 / weight, 0.0)
    result: FloatArray = ridge * (own + SQUARE_PART * np.maximum(square, weight))
    result[0] = 0.0
    return result


def _products(matrix: FloatArray, features: int, beta: FloatArray) -> FloatArray:
    """Sums of products of the residuals f - F beta."""
    gram, cross, functions = leading(matrix, features)
    half = beta.T @ cross
    result: FloatArray = functions - half - half.T + beta.T @ gram @ beta
    return result


def _covariance(total: FloatArray, features: int) -> FloatArray:
    """Covariance of the functions, from sums of products over the total weight."""
    mean = total[0, features:]
    result: FloatArray = total[features:, features:] - np.outer(mean, mean)
    return result


def _final(
    design: Design, total: FloatArray, scale: FloatArray, size: tuple[float, float], choice: _Choice
) -> Fit:
    """The fit on all rows with the features chosen."""
    features = design.cuts[-1]
    used = max(choice.cuts)
    factor = _factor(total, features, choice.ridge)[:used, :used]
    inverse, _ = dtrtri(factor, lower=1)
    loading = inverse @ total[:used, features:]
    for function, cut in enumerate(choice.cuts):
        loading[cut:, function] = 0.0
    corrected = inverse[:, 0] @ loading
    spread = _covariance(total, features)
    damping = _moved_by_ridge(inverse, loading, _added(total, features, choice.ridge), choice.cuts)
    inflation = np.cumsum(np.square(inverse[:, 0]))[np.array(choice.cuts) - 1]
    return Fit(
        design, choice.cuts, choice.ridge, *size, total[0, features:].copy(), corrected,
        inverse / scale[:used], loading, choice.left, spread, damping, inflation,
    )  # fmt: skip


def _moved_by_ridge(
    inverse: FloatArray, loading: FloatArray, added: FloatArray, cuts: tuple[int, ...]
) -> FloatArray:
    """The derivative of each intercept in the ridge times the ridge: -e0' G^-1 D beta."""
    beta, result = inverse.T @ loading, np.empty(len(cuts))
    for cut in set(cuts):
        functions = [place for place, one in enumerate(cuts) if one == cut]
        pull = inverse[:cut, :cut].T @ inverse[:cut, 0]
        result[functions] = -(pull * added[:cut]) @ beta[:cut, functions]
    return result
