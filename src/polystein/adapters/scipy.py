"""SciPy: frozen distributions, whose scores are known or differentiated numerically."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.adapters.assemble import assemble, draws_array
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array, FloatArray


def from_scipy(
    distribution: Any,
    draws: Array,
    *,
    names: Sequence[str] | None = None,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
) -> Sample:
    """Take a frozen SciPy distribution as the target of draws, as a `Sample`.

    Parameters
    ----------
    distribution : frozen distribution, or a sequence of them
        A one-dimensional continuous distribution for each coordinate, one for all of them, or a
        frozen `multivariate_normal` or `multivariate_t`.
    draws : array
        Of shape (n, d) or (chain, draw, d).
    names : sequence of str, optional
        One name for each coordinate.
    var_names, thin, drop_first
        As for `Sample.select`.

    Returns
    -------
    Sample
        With the distribution as its ``target``. Scores of a one-dimensional distribution other than
        the normal and Student's t are derivatives of ``logpdf``, to about nine digits.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> from scipy import stats
    >>> draws = np.random.default_rng(0).gumbel(size=(1000, 2))
    >>> ps.check(ps.from_scipy(stats.gumbel_r(), draws), iid=True, rng=0).pvalue > 0.05
    True
    """
    selection = Selection(var_names, thin, drop_first)
    kept = selection.draws(to_numpy(draws_array(draws)))
    rows = kept.reshape(-1, kept.shape[-1])
    score, log_density = _functions(distribution, rows.shape[1])
    scores = score(rows).reshape(kept.shape)
    labels = None if names is None else tuple(names)
    target = Target.of_functions(rows.shape[1], log_density, score, labels)
    return assemble(kept, scores, names, selection, target=target)


def _functions(
    distribution: Any, dimension: int
) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
    """Score and log-density of (n, d) rows."""
    kind = type(distribution).__name__
    if kind == "multivariate_normal_frozen":
        return _normal_score(distribution, dimension), distribution.logpdf
    if kind == "multivariate_t_frozen":
        return _t_score(distribution, dimension), distribution.logpdf
    parts = distribution if isinstance(distribution, list | tuple) else [distribution] * dimension
    if len(parts) != dimension:
        raise InputError(
            f"`distribution` must be one for each of {dimension} coordinates; got {len(parts)}"
        )
    for part in parts:
        _require_density_on_the_line(part)
    return (
        lambda rows: np.stack(
            [_score(part, column) for part, column in zip(parts, rows.T, strict=True)], axis=1
        ),
        lambda rows: np.sum(
            [part.logpdf(column) for part, column in zip(parts, rows.T, strict=True)], axis=0
        ),
    )


def _normal_score(frozen: Any, dimension: int) -> Callable[[FloatArray], FloatArray]:
    """-Σ⁻¹(x - μ)."""
    covariance = np.asarray(frozen.cov_object.covariance)
    _require_dimension(covariance, dimension)
    return lambda rows: -np.linalg.solve(covariance, (rows - frozen.mean).T).T


def _t_score(frozen: Any, dimension: int) -> Callable[[FloatArray], FloatArray]:
    """-(ν + d) P(x - μ) / (ν + (x - μ)ᵀP(x - μ)), P the inverse of the shape matrix."""
    shape = np.atleast_2d(frozen.shape)
    _require_dimension(shape, dimension)

    def score(rows: FloatArray) -> FloatArray:
        away = rows - frozen.loc
        pulled = np.linalg.solve(shape, away.T).T
        if np.isinf(frozen.df):
            return -pulled
        distance = np.sum(away * pulled, axis=1, keepdims=True)
        found: FloatArray = -(frozen.df + dimension) * pulled / (frozen.df + distance)
        return found

    return score


def _require_dimension(matrix: FloatArray, dimension: int) -> None:
    if matrix.shape != (dimension, dimension):
        raise InputError(
            f"`distribution` must have the dimension of the draws, {dimension}; got "
            f"{matrix.shape[0]}"
        )


def _require_density_on_the_line(distribution: Any) -> None:
    """Refuse what has no density, or a density that does not vanish at the border."""
    if not callable(getattr(distribution, "logpdf", None)) or not hasattr(distribution, "support"):
        raise InputError(
            "`distribution` must be a frozen continuous distribution of SciPy, as in "
            f"`scipy.stats.norm(0, 1)`; got a {type_name(distribution)}"
        )
    from scipy.stats import rv_continuous  # takes a third of the time of importing polystein

    if isinstance(distribution, rv_continuous):
        raise InputError(
            f"`distribution` must be frozen; got {type_name(distribution)}: call it, as in "
            "`scipy.stats.norm(0, 1)`"
        )
    for border in (float(edge) for edge in distribution.support()):
        if np.isfinite(border) and not distribution.pdf(border) == 0.0:
            raise InputError(
                "`distribution` must have a density that vanishes at the ends of its support; got "
                f"{distribution.pdf(border):g} at {border:g}. Transform the draws to the whole "
                "line, with the Jacobian in the density."
            )


def _score(distribution: Any, column: FloatArray) -> FloatArray:
    """The derivative of the log-density at each draw of one coordinate."""
    name = getattr(getattr(distribution, "dist", None), "name", "")
    if name in ("norm", "t"):
        frozen = distribution
        shapes, location, scale = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
        y = (column - location) / scale
        if name == "norm":
            return np.asarray(-y / scale)
        return np.asarray(-(shapes[0] + 1.0) * y / (shapes[0] + y**2) / scale)
    return derivative(distribution.logpdf, column, _steps(distribution, column))


def _steps(distribution: Any, column: FloatArray) -> FloatArray:
    """First steps: a quarter of the distribution's width, and well inside its support."""
    # The newer interface of SciPy calls it by its right name.
    quantile = distribution.ppf if hasattr(distribution, "ppf") else distribution.icdf
    quartiles = [float(quantile(level)) for level in (0.25, 0.75)]
    steps = np.full(column.shape, 0.25 * (quartiles[1] - quartiles[0]))
    for border in (float(edge) for edge in distribution.support()):
        if np.isfinite(border):
            steps = np.minimum(steps, 0.25 * np.abs(column - border))
    return steps


def derivative(
    function: Callable[[FloatArray], Array], at: FloatArray, steps: FloatArray
) -> FloatArray:
    """Ridders' method: central differences, extrapolated to a step of 0.

    Each extrapolation's error is estimated by its change, and the best is kept at each point.
    """
    best, error = np.full(at.shape, np.nan), np.full(at.shape, np.inf)
    before: list[FloatArray] = []
    for halving in range(8):
        h = steps / 2.0**halving
        row = [(np.asarray(function(at + h)) - np.asarray(function(at - h))) / (2.0 * h)]
        for order, earlier in enumerate(before, 1):
            row.append(row[-1] + (row[-1] - earlier) / (4.0**order - 1.0))
            change = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - earlier))
            better = change < error
            best, error = np.where(better, row[-1], best), np.where(better, change, error)
        before = row
    return best
