"""Rules that turn the features' mean and covariance into the weights lambda.

Every rule maximises, in its own way, the Rayleigh quotient of Proposition 4.3,

    SNR^2(lambda) = (lambda' mu)^2 / (lambda' Sigma lambda),

sees nothing of the draws but mu and Sigma, and returns lambda with unit norm
and lambda' mu >= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import integer, is_finite_number
from polystein._lib.numerics import EPSILON, is_constant
from polystein.errors import DegenerateError, InputError
from polystein.inference.columns import MeanAndCovariance
from polystein.types import FloatArray


class Weights(Protocol):
    """A rule from the features' mean and covariance to lambda."""

    #: Whether it looks at covariances, or at variances alone. A rule that never looks at `rng` may
    #: say so by ``draws_numbers = False``, which spares making it one.
    needs_covariance: ClassVar[bool]

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        """Return lambda with unit norm and lambda' mean >= 0."""


@dataclass(frozen=True)
class Uniform:
    """Equal weights: lambda-PSD becomes PSD on fewer training rows.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.Uniform()
    Uniform()
    """

    needs_covariance: ClassVar[bool] = False
    draws_numbers: ClassVar[bool] = False

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        """Return 1/sqrt(K) for each of K features, up to the sign."""
        return oriented(np.ones_like(moments.mean), moments.mean)


@dataclass(frozen=True)
class ClosedForm:
    """The maximiser Sigma^-1 mu of Proposition 4.3, ridged on the correlation scale.

    With D the features' variances and C their correlations, lambda is
    proportional to D^-1/2 (C + ridge I)^-1 D^-1/2 mu, so that the ridge means the
    same whatever the features' scales are.

    Parameters
    ----------
    ridge : float
        Added to the correlation matrix. 0 is the plain maximiser, an error where
        the correlation matrix is singular.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.ClosedForm(ridge=0.1)
    ClosedForm(ridge=0.1)
    """

    ridge: float = 0.01

    needs_covariance: ClassVar[bool] = True
    draws_numbers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_finite_number(self.ridge) and self.ridge >= 0.0):
            raise InputError(f"`ridge` must be a finite number >= 0; got {self.ridge!r}")

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        """Solve the ridged normal equations."""
        kept = varying(moments)
        covariance = matrix_of(moments, self)[kept][:, kept]
        spread = np.sqrt(covariance.diagonal())
        correlation = covariance / (spread[:, None] * spread) + self.ridge * np.eye(kept.size)
        if self.ridge == 0.0:
            values = np.linalg.eigvalsh(correlation)
            if values[0] <= kept.size * EPSILON * values[-1]:
                raise DegenerateError(
                    "the features' correlation matrix is singular; use a positive `ridge`"
                )
        solution = np.linalg.solve(correlation, moments.mean[kept] / spread) / spread
        return oriented(_embed(solution, kept, moments.mean.size), moments.mean)


@dataclass(frozen=True)
class SoftThreshold:
    """Sparse weights of many features: soft thresholding of their studentised means.

    With t_j = sqrt(n) mean_j / sd_j, which is about N(0, 1) for a feature of mean
    zero, lambda_j is proportional to sign(t_j) max(|t_j| - c, 0) / sd_j with
    c = level sqrt(2 log K): the largest of K such t_j is about sqrt(2 log K). Where
    none is larger than c, the feature of the largest |t_j| has all of the weight.

    Needs the features' variances but not their covariances, so that K may be far
    beyond the number of rows; maximises the Rayleigh quotient of Proposition 4.3
    where the features are uncorrelated and ``level`` is 0. The rows count as
    independent: those of a slow chain make every t_j larger and more weights survive,
    which costs power and not validity.

    Parameters
    ----------
    level : float
        How strict the threshold is. At 0 every feature keeps a weight, mean/variance.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.SoftThreshold(level=0.5)
    SoftThreshold(level=0.5)
    """

    level: float = 1.0

    needs_covariance: ClassVar[bool] = False
    draws_numbers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_finite_number(self.level) and self.level >= 0.0):
            raise InputError(f"`level` must be a finite number >= 0; got {self.level!r}")

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        """Shrink the studentised means towards 0, most of them to 0."""
        kept = varying(moments)
        spread = moments.spread[kept]
        studentised = math.sqrt(moments.rows) * (moments.mean[kept] / spread)
        excess = np.abs(studentised) - self.level * math.sqrt(2.0 * math.log(kept.size))
        if not np.any(excess > 0.0):
            excess = np.where(np.arange(kept.size) == np.argmax(np.abs(studentised)), 1.0, 0.0)
        solution = np.copysign(np.maximum(excess, 0.0), studentised) * (spread.min() / spread)
        return oriented(_embed(solution, kept, moments.mean.size), moments.mean)


@dataclass(frozen=True)
class CrossEntropy:
    """Algorithm 2: the Bernoulli-Gaussian cross-entropy search.

    Candidates are lambda_k = z_k e_k with z_k ~ Bernoulli(p_k) and
    e_k ~ N(m_k, s_k^2); the best of each round set p, m and s of the next. A
    feature that does not help is pruned: its p_k goes to 0.

    The search stops when the best SNR^2 has improved by less than `tolerance`,
    relative to itself, in `patience` consecutive rounds. The sign that the algorithm
    returns beside lambda is folded into it.

    Parameters
    ----------
    iterations, candidates, elites : int
        The paper's T, M and K.
    tolerance : float
        The paper's epsilon, relative.
    patience : int
        Rounds without improvement before the search stops.

    Examples
    --------
    >>> import polystein as ps
    >>> ps.CrossEntropy(candidates=500).elites
    10
    """

    iterations: int = 100
    candidates: int = 1000
    elites: int = 10
    tolerance: float = 1e-3
    patience: int = 3

    needs_covariance: ClassVar[bool] = True

    #: Spreads and probabilities stay away from their limits, where the search would freeze.
    _least_spread = 1e-6
    _least_probability = 0.01

    def __post_init__(self) -> None:
        for name in ("iterations", "candidates", "elites", "patience"):
            integer(getattr(self, name), name, least=1)
        if self.elites > self.candidates:
            raise InputError(
                f"`elites` must not exceed `candidates`, {self.candidates}; got {self.elites}"
            )
        if not (is_finite_number(self.tolerance) and 0.0 <= self.tolerance < 1.0):
            raise InputError(f"`tolerance` must be in [0, 1); got {self.tolerance!r}")

    def solve(self, moments: MeanAndCovariance, rng: np.random.Generator) -> FloatArray:
        """Search for the weights of the largest SNR^2."""
        kept = varying(moments)
        mean, covariance = moments.mean[kept], matrix_of(moments, self)[kept][:, kept]
        best = np.ones(1) if kept.size == 1 else self._search(mean, covariance, rng)
        return oriented(_embed(best, kept, moments.mean.size), moments.mean)

    def _search(
        self, mean: FloatArray, covariance: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        size = mean.shape[0]
        probability, centre, spread = np.full(size, 0.5), np.zeros(size), np.ones(size)
        best, best_score, idle = np.ones(size), -np.inf, 0
        for _ in range(self.iterations):
            candidates = self._draw(probability, centre, spread, rng)
            scores = signal_to_noise(candidates, mean, covariance)
            order = np.argpartition(scores, -self.elites)[-self.elites :]
            top = order[np.argmax(scores[order])]
            improved = scores[top] > best_score * (1.0 + self.tolerance)
            if scores[top] > best_score:
                best, best_score = candidates[top], scores[top]
            idle = 0 if improved else idle + 1
            if idle >= self.patience:
                break
            elite = candidates[order]
            probability = np.clip(
                np.mean(elite != 0.0, axis=0),
                self._least_probability,
                1.0 - self._least_probability,
            )
            centre = elite.mean(axis=0)
            spread = np.maximum(elite.std(axis=0), self._least_spread)
        return best

    def _draw(
        self,
        probability: FloatArray,
        centre: FloatArray,
        spread: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """All candidates of a round, with unit norm; all-zero ones stay zero."""
        shape = (self.candidates, centre.shape[0])
        active = rng.random(shape) < probability
        candidates = np.where(active, centre + spread * rng.standard_normal(shape), 0.0)
        norms = np.sqrt(np.vecdot(candidates, candidates))
        # A candidate of one feature alone becomes 1 or -1 exactly, and all such candidates of a
        # feature have the same score to the last digit. A product with 1/norm would round, and the
        # elites among them would hang on how it does.
        unit: FloatArray = candidates / np.where(norms > 0.0, norms, 1.0)[:, None]
        return unit


def signal_to_noise(candidates: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """SNR^2 of every row of candidates; -inf where its variance is not positive."""
    signal = (candidates @ mean) ** 2
    noise = np.vecdot(candidates @ covariance, candidates)
    scores: FloatArray = np.full(signal.shape, -np.inf)
    np.divide(signal, noise, out=scores, where=noise > 0.0)
    return scores


def oriented(weights: FloatArray, mean: FloatArray) -> FloatArray:
    """Scale to unit norm and turn so that weights' mean >= 0."""
    largest = np.max(np.abs(weights))
    if not 0.0 < largest < np.inf:
        raise DegenerateError(
            "the features of the rows that set the weights have no mean to weigh: every one is "
            "exactly zero, or too large for a float64"
        )
    weights = weights / largest
    weights = weights / np.sqrt(weights @ weights)
    return -weights if weights @ mean < 0.0 else weights


def matrix_of(moments: MeanAndCovariance, rule: object) -> FloatArray:
    """The covariance matrix, for a rule that needs it."""
    if moments.covariance.ndim == 1:
        raise InputError(
            f"`weights` must be SoftThreshold() or another rule that needs only variances: "
            f"{moments.mean.size} features are too many for a covariance matrix; got {rule!r}"
        )
    return moments.covariance


def varying(moments: MeanAndCovariance) -> NDArray[np.intp]:
    """Indices of the features whose variance is more than rounding error of their mean."""
    kept = np.flatnonzero(~is_constant(moments.spread, moments.mean))
    if kept.size == 0:
        raise DegenerateError(
            "no feature varies over the rows that set the weights; are the draws or the scores "
            "constant?"
        )
    return kept


def _embed(weights: FloatArray, kept: NDArray[np.intp], size: int) -> FloatArray:
    """Zero weight for the features that were left out."""
    full = np.zeros(size)
    full[kept] = weights
    return full
