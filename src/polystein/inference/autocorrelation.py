"""Autocovariances of several chains, and Geyer's initial monotone sequence.

Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7: sums of
two neighbouring autocovariances of a reversible chain are positive, decreasing
and convex in the lag, which shows from which lag on their estimates are noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from polystein.types import FloatArray

# The relative rounding error of the sum of a long column is at most this.
STILL = 1e-10


@np.errstate(over="ignore", invalid="ignore")
def autocovariances(chains: list[FloatArray]) -> FloatArray:
    """Autocovariances of columns over all chains, of shape (lags, columns).

    The columns must be centred already, at the mean over *all* chains: centring
    each chain at its own mean would hide that slowly mixing chains disagree. Products
    are summed over the chains and divided by the total number of rows.
    """
    longest = max(chain.shape[0] for chain in chains)
    size = next_fast_len(2 * longest, real=True)
    power = np.zeros((size // 2 + 1, chains[0].shape[1]))
    for together in _stacks(chains, size):
        spectrum = rfft(together, size, axis=1)
        power += np.sum(spectrum.real**2 + spectrum.imag**2, axis=0)
    total = sum(chain.shape[0] for chain in chains)
    result: FloatArray = irfft(power, size, axis=0)[:longest] / total
    return result


def _stacks(chains: list[FloatArray], size: int) -> Iterator[FloatArray]:
    """Chains of equal length, as many at once as are worth one transform."""
    for _, alike in groupby(chains, key=len):
        rest = list(alike)
        # Each chain is padded to `size` rows; 2 MiB are transformed together.
        at_once = max(1, 2**18 // (size * rest[0].shape[1]))
        for low in range(0, len(rest), at_once):
            yield np.stack(rest[low : low + at_once])


@np.errstate(over="ignore", invalid="ignore")
def initial_monotone_sums(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Long-run variance of each column, and the number of lags that it used.

    -gamma_0 + 2 sum_m G_m, with G_m = gamma_2m + gamma_(2m+1) up to the first that
    is not positive, each replaced by the smallest so far.
    """
    pairs = covariances[: 2 * (covariances.shape[0] // 2)]
    sums = pairs[0::2] + pairs[1::2]
    if sums.shape[0] == 0:
        return covariances[0].copy(), np.ones(covariances.shape[1])
    positive = np.cumprod(sums > 0.0, axis=0).astype(bool)
    decreasing = np.minimum.accumulate(sums, axis=0)
    variance = -covariances[0] + 2.0 * np.sum(decreasing, axis=0, where=positive)
    lags = 2.0 * np.maximum(1, positive.sum(axis=0))
    # Strongly antithetic rows have no positive pair, and so nothing to sum.
    return np.where(positive[0], variance, covariances[0] + 2.0 * pairs[1]), lags


@np.errstate(over="ignore", invalid="ignore")
def autocorrelation_times(chains: list[FloatArray]) -> FloatArray:
    """Integrated autocorrelation time of each column, at least 1; chains need not be centred."""
    total = sum(chain.shape[0] for chain in chains)
    mean = sum(chain.sum(axis=0) for chain in chains) / total
    covariances = autocovariances([chain - mean for chain in chains])
    variance, _ = initial_monotone_sums(covariances)
    # A column that varies only by rounding counts as uncorrelated.
    still = ~(covariances[0] > (STILL * mean) ** 2)
    times: FloatArray = np.ones_like(variance)
    np.divide(variance, covariances[0], out=times, where=~still)
    return np.maximum(1.0, times)
