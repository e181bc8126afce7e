"""Autocovariances of several chains, and Geyer's initial monotone sequence.

Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7: sums of
two neighbouring autocovariances of a reversible chain are positive, decreasing
and convex in the lag, which says where an estimate has become noise.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from polystein._lib.arrays import to_numpy
from polystein.data.coordinates import Coordinates
from polystein.data.passes import read_blocks
from polystein.protocols import FloatArray, Rows, Source
from polystein.stein.moments import finite

_COORDINATES_AT_ONCE = 16
# Summing a long column rounds by no more than this, relatively.
_STILL = 1e-10


def autocovariances(chains: list[FloatArray]) -> FloatArray:
    """Autocovariances of columns over all chains, of shape (lags, columns).

    The columns must be centred already, at the mean over *all* chains: centring
    each chain at its own mean would take out what slow mixing put in. Products
    are summed over the chains and divided by the total number of rows.
    """
    longest = max(chain.shape[0] for chain in chains)
    size = next_fast_len(2 * longest, real=True)
    power = np.zeros((size // 2 + 1, chains[0].shape[1]))
    for chain in chains:
        spectrum = rfft(chain, size, axis=0)
        power += spectrum.real**2 + spectrum.imag**2
    total = sum(chain.shape[0] for chain in chains)
    result: FloatArray = irfft(power, size, axis=0)[:longest] / total
    return result


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
    # Without one positive pair there is nothing to sum: strongly antithetic rows.
    return np.where(positive[0], variance, covariances[0] + 2.0 * pairs[1]), lags


def autocorrelation_times(chains: list[FloatArray]) -> FloatArray:
    """Integrated autocorrelation time of each column, at least 1; chains as they come."""
    total = sum(chain.shape[0] for chain in chains)
    mean = sum(chain.sum(axis=0) for chain in chains) / total
    covariances = autocovariances([chain - mean for chain in chains])
    variance, _ = initial_monotone_sums(covariances)
    # A column that varies by no more than rounding has no memory to speak of.
    still = ~(covariances[0] > (_STILL * mean) ** 2)
    times: FloatArray = np.ones_like(variance)
    np.divide(variance, covariances[0], out=times, where=~still)
    return np.maximum(1.0, times)


def slowest_time(source: Source, rows: Iterable[Rows], coordinates: Coordinates) -> float:
    """Largest autocorrelation time among the scores and the entries of s x + 1.

    These are the features of order 0 and the diagonal ones of order 1: a chain that
    moves slowly in location or in spread shows there. Coordinates are read a few at a
    time, so that memory stays a small multiple of one column.
    """
    rows, dimension = list(rows), source.layout.dimension
    slowest = 1.0
    for low in range(0, dimension, _COORDINATES_AT_ONCE):
        part = slice(low, min(low + _COORDINATES_AT_ONCE, dimension))
        chains: dict[int, list[FloatArray]] = {}
        for block in read_blocks(source, rows):
            seen = coordinates.part(part).apply(block.draws[:, part], block.scores[:, part])
            draws, scores = map(to_numpy, seen)
            with np.errstate(over="ignore"):
                columns = np.concatenate([scores, scores * draws + 1.0], axis=1)
            if block.weights is not None:
                columns *= block.weights[:, None]
            chains.setdefault(block.chain, []).append(columns)
        with np.errstate(over="ignore", invalid="ignore"):
            times = autocorrelation_times([np.concatenate(parts) for parts in chains.values()])
        slowest = max(slowest, finite(float(times.max()), "the variance of a feature"))
    return slowest
