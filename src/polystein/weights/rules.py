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

from polystein._lib.arguments import is_finite_number, replicates_of, require_rule
from polystein._lib.numerics import EPSILON, is_constant
from polystein.errors import DegenerateError, InputError
from polystein.inference.columns import MeanAndCovariance
from polystein.types import FloatArray


class Weights(Protocol):
    """A rule from the features' mean and covariance to lambda."""

    #: Whether it looks at covariances, or at variances alone.
    needs_covariance: ClassVar[bool]

    def solve(
        self, moments: MeanAndCovariance, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Return lambda with unit norm and lambda' mean >= 0."""


def require_weights(weights: Weights | None) -> None:
    """Raise an error if this is neither None nor a rule that says what it needs."""
    if weights is None:
        return
    examples = "CrossEntropy(), ClosedForm(), SoftThreshold() or Uniform()"
    require_rule(weights, "solve", "weights", examples)
    if not hasattr(weights, "needs_covariance"):
        raise InputError(
            "`weights` must say by `needs_covariance = True` or `False` whether it looks at "
            f"covariances or at variances alone; got {weights!r}"
        )


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

    def solve(
        self, moments: MeanAndCovariance, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Return 1/sqrt(K) for each of K features, up to the sign."""
        return unit_norm(np.ones_like(moments.mean), moments.mean)


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

    def __post_init__(self) -> None:
        if not (is_finite_number(self.ridge) and self.ridge >= 0.0):
            raise InputError(f"`ridge` must be a finite number >= 0; got {self.ridge!r}")

    def solve(
        self, moments: MeanAndCovariance, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Solve the ridged normal equations."""
        kept = varying(moments)
        mean, covariance = _of_features(moments, kept, self)
        spread = np.sqrt(covariance.diagonal())
        correlation = covariance / (spread[:, None] * spread) + self.ridge * np.eye(kept.size)
        if self.ridge == 0.0:
            values = np.linalg.eigvalsh(correlation)
            if values[0] <= kept.size * EPSILON * values[-1]:
                raise DegenerateError(
                    "the features' correlation matrix is singular; use a positive `ridge`"
                )
        solution = np.linalg.solve(correlation, mean / spread) / spread
        return unit_norm(solution, moments.mean, kept)


@dataclass(frozen=True)
class SoftThreshold:
    """Sparse weights of many features: soft thresholding of their studentised means.

    With t_j = sqrt(n) mean_j / sd_j, which is about N(0, 1) for a feature of mean
    zero, lambda_j is proportional to ``sign(t_j) max(|t_j| - c, 0) / sd_j`` with
    c = level sqrt(2 log K): the largest of K such t_j is about sqrt(2 log K). Where
    none is larger than c, the feature of the largest ``|t_j|`` has all of the weight.

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

    def __post_init__(self) -> None:
        if not (is_finite_number(self.level) and self.level >= 0.0):
            raise InputError(f"`level` must be a finite number >= 0; got {self.level!r}")

    def solve(
        self, moments: MeanAndCovariance, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Shrink the studentised means towards 0, most of them to 0."""
        kept = varying(moments)
        spread = moments.spread[kept]
        studentised = math.sqrt(moments.rows) * (moments.mean[kept] / spread)
        excess = np.abs(studentised) - self.level * math.sqrt(2.0 * math.log(kept.size))
        if not np.any(excess > 0.0):
            excess = np.where(np.arange(kept.size) == np.argmax(np.abs(studentised)), 1.0, 0.0)
        solution = np.copysign(np.maximum(excess, 0.0), studentised) * (spread.min() / spread)
        return unit_norm(solution, moments.mean, kept)


@dataclass(frozen=True)
class CrossEntropy:
    """Algorithm 2 as printed: the Bernoulli-Gaussian cross-entropy search.

    Candidates are lambda_k = z_k e_k with z_k ~ Bernoulli(p_k) and
    e_k ~ N(m_k, s_k^2), scaled to unit norm. The best of each round, the elites, set
    p, m and s of the next. A feature that does not help is pruned: its p_k falls to 0
    and stays there. The search stops when the best SNR^2 has improved by less than
    `tolerance` in each of `patience` consecutive rounds. The sign that the algorithm
    returns beside lambda is folded into lambda.

    Parameters
    ----------
    iterations, candidates, elites : int
        The paper's T, M and K, each at most 1,000,000.
    tolerance : float
        The paper's epsilon.
    patience : int
        Rounds without improvement before the search stops.
    relative : bool
        Compare the improvement with `tolerance` times the best SNR^2 so far. The paper
        compares it with `tolerance` itself.
    least_spread : float
        Lower bound on s_k. The paper has none, which is 0: a feature whose elites have
        equal weights keeps that weight, up to the norm.
    least_weight : float
        A weight of at most this size counts as inactive when p_k is updated. In the
        paper only a weight of 0 does.

    Notes
    -----
    The paper leaves four cases open. The standard deviation of the elites has the
    divisor K. Candidates of equal SNR^2 rank in the order in which they were drawn. A
    candidate with no active feature has no SNR^2 and is never among the elites, which
    are then fewer than K. A round without any active candidate changes nothing and
    counts as one without improvement.

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
    relative: bool = False
    least_spread: float = 0.0
    least_weight: float = 0.0

    needs_covariance: ClassVar[bool] = True

    @classmethod
    def published(cls) -> CrossEntropy:
        """The settings that the paper's published figures were made with.

        They differ from the printed Algorithm 2, which is the default, in T (50, not
        100), in K (100, not 10), in epsilon (1e-4, not 1e-3, and relative to the best
        SNR^2), and in two floors that are not printed: s_k is at least 1e-6, and a
        weight of at most 1e-6 counts as inactive.

        Examples
        --------
        >>> import polystein as ps
        >>> ps.CrossEntropy.published().elites
        100
        """
        return cls(
            iterations=50,
            elites=100,
            tolerance=1e-4,
            relative=True,
            least_spread=1e-6,
            least_weight=1e-6,
        )

    def __post_init__(self) -> None:
        for name in ("iterations", "candidates", "elites", "patience"):
            replicates_of(getattr(self, name), name)
        if self.elites > self.candidates:
            raise InputError(
                f"`elites` must not exceed `candidates`, {self.candidates}; got {self.elites}"
            )
        for name in ("tolerance", "least_spread", "least_weight"):
            value = getattr(self, name)
            if not (is_finite_number(value) and value >= 0.0):
                raise InputError(f"`{name}` must be a finite number >= 0; got {value!r}")
        if not isinstance(self.relative, bool):
            raise InputError(f"`relative` must be True or False; got {self.relative!r}")

    def solve(
        self, moments: MeanAndCovariance, rng: np.random.Generator | None = None
    ) -> FloatArray:
        """Search for the weights of the largest SNR^2, with fresh entropy without `rng`."""
        rng = np.random.default_rng() if rng is None else rng
        kept = varying(moments)
        mean, covariance = _of_features(moments, kept, self)
        if kept.size == 1:
            return unit_norm(np.ones(1), moments.mean, kept)
        # Activation probabilities p_k, means m_k and scales s_k of the candidates
        shape = (self.candidates, kept.size)
        p, m, s = np.full(kept.size, 0.5), np.zeros(kept.size), np.ones(kept.size)
        best: FloatArray | None = None
        best_score, idle = -math.inf, 0
        for _ in range(self.iterations):
            # Candidates z_k e_k, scaled to unit norm. The division makes a candidate of one feature
            # alone exactly 1 or -1, so that all of them have the same SNR^2 to the last digit.
            active = rng.random(shape) < p
            candidates = np.where(active, m + s * rng.standard_normal(shape), 0.0)
            norms = np.sqrt(np.vecdot(candidates, candidates))
            candidates /= np.where(norms > 0.0, norms, 1.0)[:, None]
            scores = signal_to_noise(candidates, mean, covariance)

            # The K best by a stable sort, which ranks ties by index, and the best of all rounds
            ranking = np.argsort(-scores, kind="stable")[: self.elites]
            elite = candidates[ranking[scores[ranking] > -math.inf]].T.copy()
            previous = best_score
            if scores[ranking[0]] > best_score:
                best, best_score = candidates[ranking[0]], float(scores[ranking[0]])

            # Stop early if the improvement was less than epsilon for several rounds
            if best_score == previous:
                stalls = self.tolerance > 0.0 or best is None
            else:
                least = self.tolerance * (previous if self.relative else 1.0)
                stalls = best_score - previous < least
            idle = idle + 1 if stalls else 0
            if idle == self.patience:
                break

            # Update the parameters by the elites
            if elite.size > 0:
                p = np.mean(np.abs(elite) > self.least_weight, axis=1)
                m = elite.mean(axis=1)
                s = np.maximum(elite.std(axis=1), self.least_spread)
        if best is None:
            raise DegenerateError(
                f"none of the {self.candidates} candidates of any round had an active feature with "
                "a positive variance; use more `candidates`"
            )
        # The sign of Algorithm 2 is that of the mean
        return unit_norm(best, moments.mean, kept)


def signal_to_noise(candidates: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """SNR^2 of every row of candidates; -inf where its variance is not positive.

    Row by row, so that a candidate's score does not depend on the others to the last
    digit: near the maximum scores differ by less than that.
    """
    signal = np.vecdot(candidates, mean) ** 2
    noise = np.vecdot((candidates[:, None, :] @ covariance)[:, 0], candidates)
    scores: FloatArray = np.full(signal.shape, -np.inf)
    np.divide(signal, noise, out=scores, where=noise > 0.0)
    return scores


def unit_norm(
    solution: FloatArray, mean: FloatArray, kept: NDArray[np.intp] | None = None
) -> FloatArray:
    """Weights of unit norm with weights' mean >= 0; features that are not kept have none."""
    weights: FloatArray = solution
    if kept is not None and kept.size < mean.size:
        weights = np.zeros(mean.size)
        weights[kept] = solution
    largest = np.max(np.abs(weights))
    if not 0.0 < largest < np.inf:
        raise DegenerateError(
            "the features of the rows that set the weights have no mean to weigh: every one is "
            "exactly zero, or too large for a float64"
        )
    weights = weights / largest
    weights /= np.sqrt(weights @ weights)
    return -weights if weights @ mean < 0.0 else weights


def varying(moments: MeanAndCovariance) -> NDArray[np.intp]:
    """Indices of the features whose variance is more than rounding error of their mean."""
    kept = np.flatnonzero(~is_constant(moments.spread, moments.mean))
    if kept.size == 0:
        raise DegenerateError(
            "no feature varies over the rows that set the weights; are the draws or the scores "
            "constant?"
        )
    return kept


def _of_features(
    moments: MeanAndCovariance, kept: NDArray[np.intp], rule: object
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of some features, for a rule that needs covariances."""
    if moments.covariance.ndim == 1:
        raise InputError(
            f"`weights` must be SoftThreshold() or another rule that needs only variances: "
            f"{moments.mean.size} features are too many for a covariance matrix; got {rule!r}"
        )
    return moments.mean[kept], moments.covariance[kept][:, kept]
