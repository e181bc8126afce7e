"""The looks of a monitor by the book: all rows at hand, every step written out."""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

Array = NDArray[np.float64]


def standardised_mean(draws: Array, scores: Array, order: int) -> tuple[Array, Array, list[Array]]:
    """Centre, scale, and the mean Stein features mu_1, ..., mu_Q, mu_b of standardised rows."""
    centre, scale = draws.mean(axis=0), draws.std(axis=0)
    x, s = (draws - centre) / scale, scores * scale
    means = []
    for i in range(1, order + 1):
        features = [
            np.outer(sr, xr**i) + i * np.diag(xr ** (i - 1)) for xr, sr in zip(x, s, strict=True)
        ]
        means.append(np.mean(features, axis=0))
    return centre, scale, [*means, s.mean(axis=0)]


def features(draws: Array, scores: Array, trained: tuple[Array, Array, list[Array]]) -> Array:
    """<A_i, Phi_i(x)> and b's(x) of every row, with A_i and b of the maximiser."""
    centre, scale, means = trained
    size = math.sqrt(sum(float((mean**2).sum()) for mean in means))
    rows = []
    for x, s in zip((draws - centre) / scale, scores * scale, strict=True):
        row = [
            float((mean / size * (np.outer(s, x**i) + i * np.diag(x ** (i - 1)))).sum())
            for i, mean in enumerate(means[:-1], 1)
        ]
        rows.append([*row, float(means[-1] @ s) / size])
    return np.array(rows)


def lugsail_t(columns: list[Array], batches: int) -> float:
    """t-statistic of the mean of u by lugsail batch means, each chain cut into so many batches."""

    def variance(parts: int) -> float:
        place = [np.arange(len(u)) * parts // len(u) for u in columns]
        sums = [
            u[at == k].sum() for u, at in zip(columns, place, strict=True) for k in range(parts)
        ]
        sizes = [(at == k).sum() for at in place for k in range(parts)]
        count = sum(sizes) ** 2 / sum(size**2 for size in sizes)
        squares = sum((b - size * mean) ** 2 for b, size in zip(sums, sizes, strict=True))
        return count / (count - 1) * squares / sum(sizes) ** 2

    mean = np.concatenate(columns).mean()
    whole = variance(batches)
    return float(mean / math.sqrt(max(whole, 2 * whole - variance(2 * batches))))


def look_pvalues(
    draws: Array, scores: Array, order: int, looks: list[int], gap: int
) -> list[float]:
    """The p-value of every look for chains, (chain, draw, d), that came side by side."""
    count, batches = len(draws), max(2, math.ceil(32 / len(draws)))
    boundaries, found, recent, rows = [looks[0] // 2, *looks], [], [], []
    first = 0
    for low, high in pairwise(boundaries):
        earlier = draws[:, :low].reshape(-1, draws.shape[-1])
        trained = standardised_mean(earlier, scores[:, :low].reshape(earlier.shape), order)
        start = max(first, low - 256)
        window = np.concatenate(
            [
                features(x[start:low], s[start:low], trained)
                for x, s in zip(draws, scores, strict=True)
            ]
        )
        first, tested = low + gap, slice(low + gap, high)
        u = [
            (features(x[tested], s[tested], trained) / window.std(axis=0)).sum(1)
            for x, s in zip(draws, scores, strict=True)
        ]
        df = (kish(high - low - gap, batches, count) - 1) / 2
        recent.append(float(t.sf(lugsail_t(u, batches), df)))
        rows.append(count * (high - low - gap))
        z = sum(math.sqrt(n) * norm.isf(p) for n, p in zip(rows, recent, strict=True)) / math.sqrt(
            sum(rows)
        )
        found.append(min(1.0, 2 * min(recent[-1], float(norm.sf(z)))))
    return found


def kish(length: int, batches: int, chains: int) -> float:
    """Effective number of batches, which differ by a row where the length is no multiple."""
    place = np.arange(length) * 2 * batches // length
    sizes = [int((place // 2 == k).sum()) for k in range(batches)] * chains
    return sum(sizes) ** 2 / sum(size**2 for size in sizes)
