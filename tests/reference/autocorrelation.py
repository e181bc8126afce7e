"""Autocovariances of chains as double loops, and Geyer's initial monotone sequence by hand."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pooled_mean(chains: Sequence[Array]) -> float:
    """Mean of one column over all rows of all chains."""
    total = sum(len(chain) for chain in chains)
    return math.fsum(float(value) for chain in chains for value in chain) / total


def autocovariance(chains: Sequence[Array], lag: int) -> float:
    """gamma_lag = 1/N sum over chains and times of (u_t - m)(u_(t+lag) - m), m the pooled mean."""
    mean = pooled_mean(chains)
    products = []
    for chain in chains:
        for t in range(len(chain) - lag):
            products.append((float(chain[t]) - mean) * (float(chain[t + lag]) - mean))
    return math.fsum(products) / sum(len(chain) for chain in chains)


def initial_monotone_sum(gamma: Sequence[float]) -> tuple[float, int]:
    """-gamma_0 + 2 (G_0 + G_1 + ...), and the number of lags in that sum.

    G_m = gamma_2m + gamma_(2m+1) up to the first that is not positive; each is lowered to the
    smallest before it. Without a positive one what is left is gamma_0 + 2 gamma_1.
    """
    if len(gamma) == 1:
        return gamma[0], 1
    smallest, kept = math.inf, []
    for m in range(len(gamma) // 2):
        pair = gamma[2 * m] + gamma[2 * m + 1]
        if pair <= 0.0:
            break
        smallest = min(smallest, pair)
        kept.append(smallest)
    if not kept:
        return gamma[0] + 2.0 * gamma[1], 2
    return -gamma[0] + 2.0 * math.fsum(kept), 2 * len(kept)


def long_run_variance(chains: Sequence[Array]) -> float:
    """The initial monotone sequence of one column over all chains."""
    longest = max(len(chain) for chain in chains)
    return initial_monotone_sum([autocovariance(chains, lag) for lag in range(longest)])[0]


def influence(chains: Sequence[Array], weights: Sequence[Array]) -> tuple[list[Array], float]:
    """w (u - mean) with weights of mean 1 over all chains, and the weighted mean itself."""
    total = sum(len(chain) for chain in chains)
    scale = math.fsum(float(w) for part in weights for w in part) / total
    mean = (
        math.fsum(
            float(w) / scale * float(u)
            for chain, part in zip(chains, weights, strict=True)
            for u, w in zip(chain, part, strict=True)
        )
        / total
    )
    parts = [
        np.array([w / scale * (u - mean) for u, w in zip(chain, part, strict=True)])
        for chain, part in zip(chains, weights, strict=True)
    ]
    return parts, mean


def batch_means_variance(chains: Sequence[Array], length: int) -> float:
    """Variance of the mean of N rows: length s^2 / N, s^2 that of the means of whole batches."""
    means = []
    for chain in chains:
        start = len(chain) % length
        while start < len(chain):
            means.append(
                math.fsum(float(value) for value in chain[start : start + length]) / length
            )
            start += length
    middle = math.fsum(means) / len(means)
    spread = math.fsum((value - middle) ** 2 for value in means) / (len(means) - 1)
    return length * spread / sum(len(chain) for chain in chains)
