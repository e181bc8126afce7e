r"""What the paper proves about PSD and lambda-PSD, as numbers one can compute.

`GaussianPair` holds the paper's Gaussian setting, target p = N(0, I_d) and sampler
q = N(delta 1, sigma^2 I_d), and answers exactly: Theorem 3.5 (signal-to-noise ratio of the
U-statistic), Remark 3.8 (of the z-statistic), Proposition 4.3 (of lambda-PSD) and the
chi-square divergence that bounds the latter (Theorem 4.4). `snr_squared` estimates Theorem 3.5
from draws of any sampler; `printed_law` and `corrected_law` are Remark 3.6.
"""

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from polystein.errors import DegenerateError, InputError, ScaleError
from polystein.theory.exact import ExactPair, as_float, integer, real, root

__all__ = ["GaussianPair", "SignalToNoise", "SteinMeans", "corrected_law", "printed_law"]
__all__ += ["snr_squared"]

Array = npt.NDArray[np.float64]
_Number = TypeVar("_Number", Fraction, float)


class SteinMeans(NamedTuple):
    """Population Stein moments of a `GaussianPair`; see `GaussianPair.stein_moments`."""

    off_diagonal: Array
    diagonal: Array
    score: float


class SignalToNoise(NamedTuple):
    """Theorem 3.5 estimated from `n` draws; see `snr_squared`."""

    signal: float
    zeta1: float
    zeta2: float
    n: int
    snr_squared: float


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
        """Refuse what is not a pair of Gaussians, and store plain Python numbers."""
        object.__setattr__(self, "dimension", integer("dimension", self.dimension, least=1))
        object.__setattr__(self, "delta", real("delta", self.delta))
        object.__setattr__(self, "variance", real("variance", self.variance))
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
        a, e, score = self._exact.stein_means(integer("order", order, least=0))
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
        return root(self._exact.squared_psd(integer("order", order, least=0)))

    def zetas(self, order: int) -> tuple[float, float]:
        """Return zeta_1 = V[xi(x)^T mu] and zeta_2 = V[xi(x)^T xi(x')] of Theorem 3.5.

        Examples
        --------
        >>> GaussianPair(dimension=3, delta=0.0, variance=1.0).zetas(order=0)  # V[x^T x'] = d
        (0.0, 3.0)
        """
        exact, order = self._exact, integer("order", order, least=0)
        return as_float(exact.zeta1(order)), as_float(exact.zeta2(order))

    def snr_squared_u(self, order: int, n: int) -> float:
        """SNR^2 of the U-statistic from `n` draws (Theorem 3.5).

        Examples
        --------
        >>> pair = GaussianPair(dimension=1, delta=0.5, variance=1.0)
        >>> print(f"{pair.snr_squared_u(order=0, n=100):.3f}")  # n delta^2/4, and a little less
        6.126
        """
        order, n = integer("order", order, least=0), integer("n", n, least=2)
        exact = self._exact
        noise = _variance_of_u(exact.zeta1(order), exact.zeta2(order), n)
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
        exact, order = self._exact, integer("order", order, least=0)
        signal = exact.squared_psd(order)
        return as_float(signal**2 / exact.zeta1(order)) if signal else 0.0

    def feature_moments(self, order: int) -> tuple[Array, Array]:
        """Mean and covariance of the lambda-PSD features Psi (Proposition 4.3).

        The features stand in the order x, x^2, ..., x^Q, score. Where Z = 0 the coefficients
        mu_i / Z that define them do not exist, which is a `DegenerateError`.

        Examples
        --------
        >>> mean, covariance = GaussianPair(4, delta=0.5, variance=1.0).feature_moments(order=0)
        >>> mean, covariance
        (array([1.]), array([[1.]]))
        """
        exact, order = self._exact, integer("order", order, least=0)
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
        return as_float(self._exact.lambda_snr_squared(integer("order", order, least=0)))

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


def snr_squared(draws: npt.ArrayLike, scores: npt.ArrayLike, /, *, order: int) -> SignalToNoise:
    r"""Estimate Theorem 3.5 from draws of any sampler, without plug-in bias.

    Every product of expectations is averaged over distinct draws only, with k = xi(x)^T xi(x'):

        zeta_1 = E[k(x, x') k(x, x'')] - E[k(x, x')] E[k(x'', x''')]    (triples, quadruples)
        zeta_2 = E[k(x, x')^2]         - E[k(x, x')] E[k(x'', x''')]    (pairs, quadruples).

    Quadratic in n in time and memory (n x n matrices, never the n x (Q d^2 + d) features): meant
    for thousands of draws, not millions.

    Parameters
    ----------
    draws : array_like of shape (n, d)
        Independent draws of the sampler, n >= 4.
    scores : array_like of shape (n, d)
        The target's scores at the draws.
    order : int
        The order Q >= 0.

    Returns
    -------
    SignalToNoise
        `signal` is the U-statistic; `zeta1` and `zeta2` are unbiased, and `zeta1` may be negative.
        `snr_squared` divides the unbiased estimate of Z^4 by the variance that Theorem 3.5 gives
        for n draws, in which a negative `zeta1` counts as 0; without a signal it scatters around
        0 and may be negative.

    Raises
    ------
    InputError
        If an argument has the wrong type, shape, size or values.
    ScaleError
        If xi(x)^T xi(x') or its square does not fit a float64.
    DegenerateError
        If xi(x)^T xi(x') is constant over the draws: there is no noise to compare with.

    Examples
    --------
    >>> draws = 0.5 + np.random.default_rng(1).standard_normal((500, 2))
    >>> estimate = snr_squared(draws, -draws, order=1)
    >>> pair = GaussianPair(dimension=2, delta=0.5, variance=1.0)
    >>> print(f"{estimate.snr_squared:.0f}, exactly {pair.snr_squared_u(order=1, n=500):.0f}")
    29, exactly 28
    """
    order = integer("order", order, least=0)
    points, slopes = _rows("draws", draws), _rows("scores", scores)
    if slopes.shape != points.shape:
        raise InputError(
            f"`scores` must have the shape of `draws`, {points.shape}; got {slopes.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        gram = _gram(points, slopes, order)
    try:
        return _unbiased_parts(gram)
    except OverflowError as error:
        raise ScaleError(
            f"xi(x)^T xi(x') of order {order} does not fit a float64; rescale `draws`"
        ) from error


def printed_law(order: int) -> float:
    """Remark 3.6 as printed: ((Q+1)!!)^2 / (2Q+1)!!.

    Proportional to SNR(Q)^2 under moment dominance: only ratios between orders have a meaning.
    It takes (Q+1)!! for E[X^(Q+1)]; see `corrected_law`.

    Examples
    --------
    >>> print(f"{printed_law(3):.4f}")  # (4!!)^2 / 7!! = 64/105
    0.6095
    """
    order = integer("order", order, least=0)
    return as_float(Fraction(_double_factorial(order + 1) ** 2, _double_factorial(2 * order + 1)))


def corrected_law(order: int) -> float:
    """Remark 3.6 with the Gaussian moment put right: (Q!!)^2 / (2Q+1)!!.

    A standard Gaussian has E[X^(Q+1)] = Q!! for odd Q, where the paper prints (Q+1)!!; the two
    laws part by a factor of about pi Q / 2. Like the printed law it predicts slopes, not levels,
    and along odd orders only: at even Q the leading moment E[X^(Q+1)] vanishes with delta, so the
    exact SNR^2 oscillates with the parity of Q while this formula merely interpolates. Both laws
    also presume n zeta_1 >> zeta_2, which at high orders takes far more draws than one has.

    Examples
    --------
    >>> print(f"{corrected_law(3):.4f}")  # (3!!)^2 / 7!! = 9/105
    0.0857
    """
    order = integer("order", order, least=0)
    return as_float(Fraction(_double_factorial(order) ** 2, _double_factorial(2 * order + 1)))


def _variance_of_u(zeta1: _Number, zeta2: _Number, n: int) -> _Number:
    """Return the denominator of Theorem 3.5."""
    return (4 * (n - 2) * zeta1 + 2 * zeta2) / (n * (n - 1))


def _gram(draws: Array, scores: Array, order: int) -> Array:
    """Return the n x n matrix k(x_j, x_k) from d-dimensional products, one order at a time."""
    score_products = scores @ scores.T
    gram = score_products.copy()
    power = np.ones_like(draws)
    for i in range(1, order + 1):
        # power = x^(i-1); the three parts are s x^i with itself, with the diagonal, and the
        # diagonal with itself.
        mixed = i * ((scores * power * draws) @ power.T)
        gram += mixed + mixed.T + i * i * (power @ power.T)
        power = power * draws
        gram += score_products * (power @ power.T)
    return gram


def _unbiased_parts(gram: Array) -> SignalToNoise:
    """Return the estimates; an OverflowError says that one of them does not fit a float64.

    With row sums r and total T of k off the diagonal, R = |r|^2 and F = the sum of k^2, the sums
    over distinct indices are R - F (triples, one index shared) and T^2 - 4 R + 2 F (quadruples).
    The zetas do not change when a constant is taken from k; taking the signal makes T = 0.
    """
    n = gram.shape[0]
    others = ~np.eye(n, dtype=bool)
    scale = _power_of_two(float(np.max(np.abs(gram), where=others, initial=0.0)))
    gram = np.where(others, np.ldexp(gram, -scale), 0.0)
    signal = float(np.sum(gram)) / math.perm(n, 2)
    centred = np.where(others, gram - signal, 0.0)
    squares, row_squares = float(np.sum(centred**2)), float(np.sum(np.sum(centred, axis=1) ** 2))
    quadruples = (2 * squares - 4 * row_squares) / math.perm(n, 4)
    zeta1 = (row_squares - squares) / math.perm(n, 3) - quadruples
    zeta2 = squares / math.perm(n, 2) - quadruples
    # zeta2 >= 0 by its coefficients, and zeta2 - 2 zeta1 is a residual sum of squares; only
    # zeta1 can fall below what it estimates.
    noise = _variance_of_u(max(zeta1, 0.0), zeta2, n)
    rounding = 16 * float(np.finfo(np.float64).eps)
    if noise <= 0 or squares <= math.perm(n, 2) * rounding**2:
        raise DegenerateError("xi(x)^T xi(x') is constant over `draws`: its variance is zero")
    return SignalToNoise(
        math.ldexp(signal, scale),
        math.ldexp(zeta1, 2 * scale),
        math.ldexp(zeta2, 2 * scale),
        n,
        (signal**2 + quadruples) / noise,
    )


def _power_of_two(size: float) -> int:
    """Return the exponent that scales `size` to about 1, so that squares stay in range."""
    if not math.isfinite(size):
        raise OverflowError
    return math.frexp(size)[1]


def _rows(name: str, values: npt.ArrayLike) -> Array:
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[0] < 4 or array.shape[1] < 1:
        raise InputError(f"`{name}` must have shape (n, d) with n >= 4, d >= 1; got {array.shape}")
    if array.dtype.kind not in "fiu":
        raise InputError(f"`{name}` must hold real numbers; got dtype {array.dtype}")
    array = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"`{name}` must be finite; got {len(bad)} non-finite values, the first at "
            f"{tuple(map(int, bad[0]))}"
        )
    return array


def _double_factorial(number: int) -> int:
    return math.prod(range(number, 0, -2))
