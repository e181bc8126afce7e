"""The paper's Gaussian setting, target p = N(0, I_d) and sampler q = N(delta 1, sigma^2 I_d).

Everything is answered exactly: Theorem 3.5 (signal-to-noise ratio of the U-statistic), Remark 3.8
(of the z-statistic), Proposition 4.3 (of lambda-PSD), Proposition 4.2 (of o-PSD) and the
chi-square divergence that bounds the last two (Theorem 4.4).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polystein._lib.arguments import finite_number, integer, order_of
from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.theory.exact import ExactPair, as_float, root
from polystein.theory.u_statistic import variance_of_u
from polystein.types import FloatArray


class SteinMeans(NamedTuple):
    """Population Stein moments of a `GaussianPair`; see `GaussianPair.stein_moments`.

    Examples
    --------
    >>> import polystein as ps
    >>> means = ps.theory.GaussianPair(2, delta=0.5, variance=1.5).stein_moments(order=1)
    >>> means.score, float(means.off_diagonal[0]), float(means.diagonal[0])
    (-0.5, -0.25, -0.75)
    """

    off_diagonal: FloatArray
    diagonal: FloatArray
    score: float


@dataclass(frozen=True)
class GaussianPair:
    """Target p = N(0, I_d) and sampler q = N(delta 1, variance I_d), solved exactly.

    Parameters
    ----------
    dimension : int
        The dimension d, at least 1.
    delta : float
        The mean of every coordinate under the sampler.
    variance : float
        The variance sigma^2 > 0 of every coordinate under the sampler.

    Notes
    -----
    Every method takes `order`, the paper's Q >= 0. Cost grows with `order`, not with `dimension`:
    `zetas` takes milliseconds at order 5 and about 0.2 s at order 11. A result that does not fit
    a float64 raises `ScaleError`.

    Examples
    --------
    >>> pair = GaussianPair(dimension=2, delta=0.5, variance=1.0)
    >>> print(f"{pair.psd(order=1):.4f}")  # |delta| sqrt(d + d^2 delta^2)
    0.8660
    >>> print(f"{pair.chi_square_divergence():.4f}")  # exp(d delta^2) - 1
    0.6487
    """

    dimension: int
    delta: float
    variance: float

    def __post_init__(self) -> None:
        """Validate the arguments, and store plain Python numbers."""
        object.__setattr__(self, "dimension", integer(self.dimension, "dimension", least=1))
        object.__setattr__(self, "delta", finite_number(self.delta, "delta"))
        object.__setattr__(self, "variance", finite_number(self.variance, "variance"))
        if self.variance <= 0:
            raise InputError(f"`variance` must be positive; got {self.variance}")

    @property
    def _exact(self) -> ExactPair:
        return ExactPair(self.dimension, self.delta, self.variance)

    def stein_moments(self, order: int) -> SteinMeans:
        """Entries of mu_1, ..., mu_Q and mu_b (Proposition 3.2).

        Returns
        -------
        SteinMeans
            `off_diagonal[i-1]` = -delta E[X^i] and `diagonal[i-1]` = i E[X^(i-1)] - E[X^(i+1)]
            are the two values that the d x d matrix mu_i takes; `score` = -delta is the value of
            every entry of mu_b. At d = 1 there is no entry off the diagonal.

        Examples
        --------
        >>> means = GaussianPair(2, delta=0.5, variance=1.5).stein_moments(order=2)
        >>> [float(value) for value in means.diagonal], means.score
        ([-0.75, -1.375], -0.5)
        """
        a, e, score = self._exact.stein_means(order_of(order, least=0))
        return SteinMeans(
            np.array([as_float(value) for value in a]),
            np.array([as_float(value) for value in map(operator.add, a, e)]),
            as_float(score),
        )

    def psd(self, order: int) -> float:
        """Return the population PSD, the constant Z of Proposition 3.2.

        Examples
        --------
        >>> GaussianPair(dimension=4, delta=0.5, variance=1.0).psd(order=0)  # |delta| sqrt(d)
        1.0
        """
        return root(self._exact.squared_psd(order_of(order, least=0)))

    def zetas(self, order: int) -> tuple[float, float]:
        """Return zeta_1 = V[xi(x)^T mu] and zeta_2 = V[xi(x)^T xi(x')] of Theorem 3.5.

        Examples
        --------
        >>> GaussianPair(dimension=3, delta=0.0, variance=1.0).zetas(order=0)  # V[x^T x'] = d
        (0.0, 3.0)
        """
        exact, order = self._exact, order_of(order, least=0)
        return as_float(exact.zeta1(order)), as_float(exact.zeta2(order))

    def snr_squared_u(self, order: int, n: int) -> float:
        """SNR^2 of the U-statistic from `n` draws (Theorem 3.5).

        Examples
        --------
        >>> pair = GaussianPair(dimension=1, delta=0.5, variance=1.0)
        >>> print(f"{pair.snr_squared_u(order=0, n=100):.3f}")  # n delta^2/4, and a little less
        6.126
        """
        order, n = order_of(order, least=0), integer(n, "n", least=2)
        exact = self._exact
        noise = variance_of_u(exact.zeta1(order), exact.zeta2(order), n)
        return as_float(exact.squared_psd(order) ** 2 / noise)

    def snr_squared_z(self, order: int) -> float:
        """SNR^2 per draw of the z-statistic with the optimal coefficients (Remark 3.8).

        This is E[u]^2 / V[u] = (mu^T mu)^2 / zeta_1 for u = xi^T mu / Z. It is 0 where Z = 0,
        because then every witness of this order has mean zero.

        Examples
        --------
        >>> pair = GaussianPair(dimension=1, delta=0.1, variance=1.2)
        >>> [f"{pair.snr_squared_z(order):.1e}" for order in (1, 5, 11)]
        ['1.9e-02', '1.6e-03', '2.7e-05']
        """
        exact, order = self._exact, order_of(order, least=0)
        signal = exact.squared_psd(order)
        return as_float(signal**2 / exact.zeta1(order)) if signal else 0.0

    def feature_moments(self, order: int) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the lambda-PSD features Psi (Proposition 4.3).

        The features stand in the order x, x^2, ..., x^Q, score. Where Z = 0 the coefficients
        mu_i / Z that define them do not exist, which is a `DegenerateError`.

        Examples
        --------
        >>> mean, covariance = GaussianPair(4, delta=0.5, variance=1.0).feature_moments(order=0)
        >>> mean, covariance
        (array([1.]), array([[1.]]))
        """
        exact, order = self._exact, order_of(order, least=0)
        squared_psd = exact.squared_psd(order)
        if not squared_psd:
            raise DegenerateError(f"the features of order {order} need PSD > 0; {self} has PSD = 0")
        means, covariance = exact.squared_norms(order), exact.feature_covariance(order)
        return (
            np.array([root(value**2 / squared_psd) for value in means]),
            np.array([[as_float(value / squared_psd) for value in row] for row in covariance]),
        )

    def lambda_snr_squared(self, order: int) -> float:
        """Return SNR^2 of lambda-PSD per draw, mu_Psi^T Sigma_Psi^-1 mu_Psi (Proposition 4.3).

        Features that vanish identically carry no signal and are left out. The value never
        decreases in `order`, because the features of a lower order are among those of a higher
        one, and never exceeds `chi_square_divergence` (Theorem 4.4). An estimate from draws can.

        Examples
        --------
        >>> pair = GaussianPair(dimension=1, delta=0.1, variance=1.2)
        >>> [f"{pair.lambda_snr_squared(order):.5f}" for order in (0, 1, 2, 4)]
        ['0.00833', '0.02087', '0.02120', '0.02145']
        >>> print(f"{pair.chi_square_divergence():.5f}")
        0.02146
        """
        return as_float(self._exact.lambda_snr_squared(order_of(order, least=0)))

    def o_psd(self, order: int) -> float:
        """Return the population o-PSD, mu^T Sigma^-1 mu over all Q d^2 + d features (Prop. 4.2).

        It is the largest SNR^2 per draw that a test function of this order has: at least
        `lambda_snr_squared`, and at most `chi_square_divergence`, by the proof of Theorem 4.4.

        Examples
        --------
        >>> pair = GaussianPair(dimension=2, delta=0.1, variance=1.2)
        >>> snr = pair.snr_squared_z(order=4), pair.lambda_snr_squared(order=4), pair.o_psd(order=4)
        >>> [f"{value:.5f}" for value in snr]  # PSD, lambda-PSD, o-PSD
        ['0.00445', '0.04297', '0.04319']
        """
        return as_float(self._exact.o_psd(order_of(order, least=0)))

    def chi_square_divergence(self) -> float:
        r"""Pearson divergence chi^2(p || q), the bound of Theorem 4.4.

        (sigma^2 / sqrt(2 sigma^2 - 1))^d exp(d delta^2 / (2 sigma^2 - 1)) - 1, and `math.inf`
        for sigma^2 <= 1/2, where the integral of p^2/q diverges.

        Examples
        --------
        >>> GaussianPair(dimension=1, delta=0.0, variance=0.5).chi_square_divergence()
        inf
        """
        curvature = 2 * self.variance - 1
        if curvature <= 0:
            return math.inf
        try:
            # log(s / sqrt(2s - 1)) = log1p((s - 1)^2 / (2s - 1)) / 2: no cancellation near s = 1.
            log_scale = math.log1p((self.variance - 1) ** 2 / curvature) / 2
            return math.expm1(self.dimension * (log_scale + self.delta**2 / curvature))
        except OverflowError as error:
            raise ScaleError(f"chi^2(p || q) of {self} does not fit a float64") from error
