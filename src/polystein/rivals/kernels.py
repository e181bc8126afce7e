"""Kernels that depend on the distance alone, and the median of the distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.spatial.distance import pdist

from polystein._lib.arguments import is_finite_number
from polystein._lib.numerics import finite
from polystein.errors import DegenerateError, InputError
from polystein.types import FloatArray

# Rows whose pairwise distances give the median: half a million distances.
MEDIAN_ROWS = 1_000


class Profile(NamedTuple):
    """A kernel k = f(||x - y||^2) at some distances: f, f'/f and f''/f'."""

    value: FloatArray
    slope: FloatArray | np.float64
    curvature: FloatArray | np.float64


class RadialKernel(Protocol):
    """A kernel f(||x - y||^2) with its width known."""

    def profile(self, squared_distances: FloatArray) -> Profile:
        """The function f and the ratios of its derivatives."""


@dataclass(frozen=True)
class IMQKernel:
    """Inverse multiquadric kernel k(x, y) = (c^2 + ||x - y||^2)^beta.

    The kernel that Gorham and Mackey (2017, Measuring sample quality with kernels,
    ICML) recommend: with -1 < beta < 0 and a target with light enough tails its
    Stein discrepancy vanishes only where the draws converge to the target.

    Parameters
    ----------
    c : float
        Width, positive, in the units of the draws.
    beta : float
        Exponent, negative.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((200, 2))
    >>> ps.ksd(draws, -draws, kernel=ps.IMQKernel(c=2.0)) < 0.3
    True
    """

    c: float = 1.0
    beta: float = -0.5

    def __post_init__(self) -> None:
        _require_positive(self.c, "c", "a positive number")
        if not (is_finite_number(self.beta) and self.beta < 0.0):
            raise InputError(f"`beta` must be a negative number; got {self.beta!r}")

    def profile(self, squared_distances: FloatArray) -> Profile:
        """f(r) = (c^2 + r)^beta, f'/f = beta/(c^2 + r), f''/f' = (beta - 1)/(c^2 + r)."""
        with np.errstate(over="ignore"):
            square = finite(float(np.float64(self.c) ** 2), "the square of `c` of the kernel")
        inverse = np.reciprocal(squared_distances + square)
        root = self.beta == -0.5
        value = np.sqrt(inverse) if root else np.power(inverse, -self.beta)
        return Profile(value, self.beta * inverse, (self.beta - 1.0) * inverse)


@dataclass(frozen=True)
class GaussianKernel:
    """Gaussian kernel k(x, y) = exp(-||x - y||^2 / (2 bandwidth^2)).

    Parameters
    ----------
    bandwidth : float or "median"
        A length in the units of the draws, or the median heuristic: the median of
        the distances ||x_j - x_k|| over all pairs of different rows. Beyond 1,000
        rows it is the median over the pairs of 1,000 of them, drawn at random by a
        seed that depends on the number of rows alone, so that the same draws always
        give the same bandwidth.

    Notes
    -----
    The median is a function of the draws and not of the multipliers of the wild
    bootstrap, so that given the draws all replicates use one kernel; and it does not
    depend on the order of the rows (up to the choice of the 1,000).

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((200, 2))
    >>> ps.ksd(draws, -draws, kernel=ps.GaussianKernel()) < 0.3
    True
    """

    bandwidth: float | Literal["median"] = "median"

    def __post_init__(self) -> None:
        # An array compares with a string element by element.
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "median"):
            _require_positive(self.bandwidth, "bandwidth", "a positive number or 'median'")

    def profile(self, squared_distances: FloatArray) -> Profile:
        """f(r) = exp(-r/(2 s^2)), f'/f = f''/f' = -1/(2 s^2)."""
        if self.bandwidth == "median":
            raise InputError("`bandwidth` must be a number before the kernel can be evaluated")
        # The square of a width beyond 1e154 is infinite: the kernel is constant to all digits. That
        # of one below 1e-162 is zero, which the values of the kernel do not survive.
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            rate = np.float64(-0.5) / np.float64(self.bandwidth) ** 2
        return Profile(np.exp(rate * squared_distances), rate, rate)


#: The kernels that the kernel tests take.
Kernel: TypeAlias = IMQKernel | GaussianKernel


def fixed_kernel(kernel: Kernel, draws: FloatArray) -> Kernel:
    """The kernel with its width known, by the median of the distances if asked for."""
    if not isinstance(kernel, IMQKernel | GaussianKernel):
        raise InputError(f"`kernel` must be an IMQKernel or a GaussianKernel; got {kernel!r}")
    if isinstance(kernel, GaussianKernel) and kernel.bandwidth == "median":
        return replace(kernel, bandwidth=median_distance(draws))
    return kernel


def median_distance(draws: FloatArray) -> float:
    """Median of the pairwise distances, over 1,000 fixed random rows if there are more."""
    total = draws.shape[0]
    if total > MEDIAN_ROWS:
        draws = draws[np.random.default_rng(total).choice(total, MEDIAN_ROWS, replace=False)]
    median = finite(float(np.median(pdist(draws))), "the median of the distances")
    if median == 0.0:
        raise DegenerateError(
            "the median of the distances between `draws` is 0: at least half of the pairs are "
            "equal rows. Give the kernel a width of its own."
        )
    return median


def _require_positive(value: float | str, argument: str, expected: str) -> None:
    if not (is_finite_number(value) and float(value) > 0.0):
        raise InputError(f"`{argument}` must be {expected}; got {value!r}")
