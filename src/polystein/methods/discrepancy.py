"""Sample quality as a number: PSD, lambda-PSD and o-PSD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polystein._lib.arguments import is_finite_number, one_of
from polystein._lib.numerics import EPSILON, is_constant, summed_products
from polystein.data.coordinates import RAW, Frame, working_frame
from polystein.data.passes import block_rows, every_row, first_block, run_pass
from polystein.data.sample import as_source
from polystein.data.source import Block, Source
from polystein.errors import DegenerateError, InputError
from polystein.methods.gof import fit_witness
from polystein.scale.threads import working
from polystein.stein.basis import Monomial
from polystein.stein.moments import stein_moments
from polystein.stein.operator import Operator, operator_for
from polystein.stein.witness import feature_moments, projected_moments
from polystein.types import Array, Estimator, FloatArray, Progress, ScoreFunction, Structure
from polystein.weights.rules import ClosedForm, varying

# Above this many parameters o-PSD's covariance is taken to be diagonal: 4096^2 numbers are 134 MB.
MOST_PARAMETERS = 4096
# The signal of features that do not vary is rounding if it is below this part of the whole.
_LOST_SIGNAL = 1e-12

_CONSTANT_FEATURE = (
    "a Stein feature is constant but not zero, so that the signal-to-noise ratio is infinite; "
    "are the draws or the scores constant in a coordinate?"
)


def psd(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    structure: Structure = "full",
    estimator: Estimator = "v",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> float:
    """Polynomial Stein discrepancy (not power spectral density).

    With mu_i the mean of Phi_i(x) = s (x^i)' + i diag(x^(i-1)) and mu_b that of the
    score s, the discrepancy is Z = sqrt(sum_i ||mu_i||^2 + ||mu_b||^2)
    (Proposition 3.2), in time linear in the number of draws.

    Parameters
    ----------
    draws, scores : array, or Sample
        As for `Sample`; a `Sample` stands in for both.
    order : int
        The paper's Q, at least 0; order 0 is the norm of the mean score.
    structure : {"full", "diagonal"}
        Whether each A_i is d x d or diagonal, at O(Q n d^2) or O(Q n d).
    estimator : {"v", "u"}
        "v" gives Z, which is positive even for perfect draws; "u" gives the
        unbiased estimate of Z^2 (not its root), which may be negative.
    n_jobs : int, optional
        Number of cores to use; -1 takes all. The value is the same for any number; without
        it, all is done on this thread and rounds differently.
    progress : callable, optional
        Called as ``progress(done, total)`` as rows are read.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> good, shifted = (ps.psd(x, lambda x: -x, order=2) for x in (draws, draws + 0.5))
    >>> bool(good < 0.3 < 1.0 < shifted)
    True
    """
    one_of(estimator, Estimator, "estimator")
    basis = Monomial(order)
    source = as_source(draws, scores)
    unbiased = estimator == "u"
    if unbiased:
        _require_draws(source, 2)
    with working(source, n_jobs, progress):
        mean = stein_moments(source, every_row(source), basis, structure, norms=unbiased).finalise()
    return mean.unbiased_square() if unbiased else mean.norm()


def lambda_psd(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    structure: Structure = "full",
    ridge: float = 0.0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> float:
    """lambda-PSD: the largest signal-to-noise ratio of reweighted features.

    sup over lambda of lambda' mu / sqrt(lambda' Sigma lambda), with mu and Sigma the
    mean and covariance of the features <A_i, Phi_i(x)> and b's(x) of the PSD
    maximiser (Proposition 4.3).

    Parameters
    ----------
    draws, scores, order, structure
        As for `psd`.
    ridge : float
        Added to the features' correlation matrix.
    n_jobs, progress
        As for `psd`.

    Returns
    -------
    float

    Notes
    -----
    Test function, weights and value come from the same draws, so that the value is
    biased upwards. Without a ridge its square is at most `o_psd` without shrinkage,
    which says what that is for perfect draws. For a verdict use `lambda_psd_test`,
    which splits.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> good, shifted = (ps.lambda_psd(x, lambda x: -x, order=2) for x in (draws, draws + 0.5))
    >>> bool(good < 0.2 < 0.5 < shifted)
    True
    """
    ClosedForm(ridge)  # validates
    basis = Monomial(order)
    source = as_source(draws, scores)
    _require_draws(source, 2)
    rows, total = list(every_row(source)), source.layout.total
    with working(source, n_jobs, progress, reads=2.0):
        witness = fit_witness(source, rows, basis, structure, count=total)
        moments = feature_moments(source, rows, witness)
    kept = varying(moments)
    dropped = np.delete(moments.mean, kept)
    if np.any(dropped != 0.0):
        raise DegenerateError(_CONSTANT_FEATURE)
    return float(
        np.sqrt(_quadratic_form(moments.mean[kept], moments.covariance[np.ix_(kept, kept)], ridge))
    )


def o_psd(
    draws: Array | Source,
    scores: Array | ScoreFunction | None = None,
    /,
    *,
    order: int,
    structure: Structure = "full",
    shrinkage: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> float:
    """o-PSD: the squared signal-to-noise ratio of the best test function of all.

    mu' Sigma^-1 mu, with mu and Sigma the mean and covariance of all Q d^2 + d
    Stein features (Proposition 4.2; Definition 4.1 is that square already).

    Parameters
    ----------
    draws, scores, order, structure
        As for `psd`.
    shrinkage : float, optional
        Factor in [0, 1] by which correlations are drawn to zero. The default is the
        one with the smallest expected squared error (Schaefer and Strimmer,
        2005), so that the value is defined even if there are more parameters than
        draws; 0 is the plain plug-in.
    n_jobs, progress
        As for `psd`.

    Returns
    -------
    float
        The square, not its root. It is a plug-in on the draws that it judges: for
        perfect draws and without shrinkage it is near r/n, not near 0, with r the
        number of linearly independent features. With full A_i that is Q d^2 + d in
        general, and d (d - 1)/2 less for a Gaussian target (Q >= 1): its Phi_1 is
        symmetric but for combinations of scores. Above 4096 parameters Sigma is
        taken to be diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2))
    >>> good, shifted = (ps.o_psd(x, lambda x: -x, order=1) for x in (draws, draws + 0.5))
    >>> bool(good < 0.03 < 0.4 < shifted)
    True
    """
    if shrinkage is not None and not (is_finite_number(shrinkage) and 0.0 <= shrinkage <= 1.0):
        raise InputError(f"`shrinkage` must be in [0, 1]; got {shrinkage!r}")
    basis = Monomial(order)
    source = as_source(draws, scores)
    _require_draws(source, 2)
    # Without shrinkage the value does not depend on the coordinates, so take tame ones.
    tame = working_frame(first_block(source).draws) if shrinkage == 0.0 else RAW
    operator = operator_for(structure)
    stack = _Stack(basis, operator, tame)
    parameters = basis.order * operator.parameters(source.layout.dimension)
    parameters += source.layout.dimension
    joint = parameters <= MOST_PARAMETERS and shrinkage != 1.0
    with working(source, n_jobs, progress, reads=2.0 if joint else 1.0):
        mean, spread = _mean_and_spread(source, stack, parameters)
        standardised = mean / spread
        if not joint:
            return float(standardised @ standardised)
        correlation, estimated = _correlation(source, stack, mean, spread)
    off_diagonal = (1.0 - (estimated if shrinkage is None else shrinkage)) * correlation
    np.fill_diagonal(off_diagonal, 1.0)
    return _quadratic_form(standardised, off_diagonal, 0.0)


def _require_draws(source: Source, least: int) -> None:
    if source.layout.total < least:
        raise InputError(f"`draws` must have at least {least} rows; got {source.layout.total}")


def _quadratic_form(mean: FloatArray, covariance: FloatArray, ridge: float) -> float:
    """mu' (Sigma + ridge diag(Sigma))^-1 mu, on the range of the correlation matrix.

    Repeated features (Phi_1 is symmetric for a Gaussian target) make Sigma
    singular without making the quotient infinite: both have the same mean.
    """
    spread = np.sqrt(np.diagonal(covariance))
    correlation = covariance / np.outer(spread, spread)
    correlation[np.diag_indices_from(correlation)] += ridge
    values, vectors = np.linalg.eigh(correlation)
    signal = vectors.T @ (mean / spread)
    kept = values > values[-1] * (values.size * EPSILON)  # without overflow for any ridge
    lost = float(np.sum(signal[~kept] ** 2))
    if lost > _LOST_SIGNAL * float(signal @ signal):
        raise DegenerateError(
            "a combination of Stein features is constant but not zero, so that the "
            "signal-to-noise ratio is infinite: there are too few draws for the features. "
            "Use shrinkage, a ridge, or a lower order."
        )
    return float(np.sum(signal[kept] ** 2 / values[kept]))


@dataclass(frozen=True)
class _Stack:
    """From a block to its rows of xi(x), the score last."""

    basis: Monomial
    operator: Operator
    working: Frame

    def project(self, draws: FloatArray, scores: FloatArray) -> FloatArray:
        draws, scores = self.working.apply(draws, scores)
        parts = [self.operator.stacked(scores, term) for term in self.basis.terms(draws)]
        return np.concatenate([*parts, scores], axis=1)


def _mean_and_spread(
    source: Source, stack: _Stack, parameters: int
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (1/n) of every entry of xi; features that are 0 left in."""
    most = block_rows(parameters)
    found = projected_moments(source, every_row(source), stack, parameters, joint=False, most=most)
    flat = is_constant(found.spread, found.mean)
    if np.any(flat & (found.mean != 0.0)):
        raise DegenerateError(_CONSTANT_FEATURE)
    return found.mean, np.where(flat, 1.0, found.spread)


def _correlation(
    source: Source, stack: _Stack, mean: FloatArray, spread: FloatArray
) -> tuple[FloatArray, float]:
    """Correlations of xi and the shrinkage that suits them.

    The shrinkage is the sum of the estimated variances of the correlations over the
    sum of their squares, off the diagonal (Schaefer and Strimmer, 2005, sec. 2.4).
    """
    size = mean.shape[0]
    sums = _Products(stack, mean, spread)
    run_pass(source, every_row(source), sums, most=block_rows(size))
    correlation = sums.products / sums.weight
    variances = (sums.squares / sums.weight - correlation**2) * sums.weight_squares
    variances /= sums.weight**2
    off = ~np.eye(size, dtype=bool)
    total = float(np.sum(correlation[off] ** 2))
    shrinkage = float(np.sum(variances[off])) / total if total > 0.0 else 1.0
    return correlation, min(1.0, max(0.0, shrinkage))


class _Products:
    """Sums of products of the standardised features, and of the products' squares."""

    def __init__(self, stack: _Stack, mean: FloatArray, spread: FloatArray) -> None:
        self._stack, self._mean, self._spread = stack, mean, spread
        self.weight = self.weight_squares = 0.0
        self.products = np.zeros((mean.size, mean.size))
        self.squares = np.zeros((mean.size, mean.size))

    def zero(self) -> _Products:
        return _Products(self._stack, self._mean, self._spread)

    def update(self, block: Block) -> None:
        features = (self._stack.project(block.draws, block.scores) - self._mean) / self._spread
        weights = block.weights_or_ones
        weighted = weights[:, None] * features
        self.weight += float(weights.sum())
        self.weight_squares += float(weights @ weights)
        self.products += summed_products(weighted, features)
        self.squares += summed_products(weighted * features, features**2)

    def merge(self, other: _Products) -> _Products:
        self.weight += other.weight
        self.weight_squares += other.weight_squares
        self.products += other.products
        self.squares += other.squares
        return self
