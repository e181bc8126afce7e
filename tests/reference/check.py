"""The sign flips of `check`, row by row, batch by batch, flip by flip.

``centre`` and ``scale`` are the standardised coordinates x -> (x - centre)/scale, s -> scale s;
phi_1(x) = x and phi_(k+1) is the k-th Hermite function. ``weights`` are importance weights on
any scale; without them every row weighs 1.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, gamma, multivariate_normal, norm

from . import invariant, resolution

Array = NDArray[np.float64]


#: Chain, first row, row after the last, and batch.
Place = tuple[int, int, int, int]


def phi(x: float, i: int) -> tuple[float, float]:
    """phi_i(x) and its derivative."""
    return (x, 1.0) if i == 1 else resolution.function("bounded-hermite", x, i - 1)


def diagonal_entries(draw: Array, score: Array, order: int) -> Array:
    """s_l, and s_l phi_i(x_l) + phi_i'(x_l) order by order."""
    entries = [float(value) for value in score]
    for i in range(1, order + 1):
        for x, s in zip(draw, score, strict=True):
            value, slope = phi(float(x), i)
            entries.append(float(s) * value + slope)
    return np.array(entries)


def matrix(draw: Array, score: Array, i: int) -> Array:
    """Phi_i(x) of eq. 4, entry by entry."""
    d = len(draw)
    result = np.zeros((d, d))
    for row in range(d):
        for column in range(d):
            value, slope = phi(float(draw[column]), i)
            result[row, column] = score[row] * value + (slope if row == column else 0.0)
    return result


# The full-sample arm.


def diagonal_sums(
    draws: Array, scores: Array, weights: Array | None, places: Iterable[Place], order: int
) -> Array:
    """Block sums of s and s phi_i + phi_i', of shape (blocks, 1 + Q, d); chains come first."""
    places, d = list(places), draws.shape[2]
    sums = np.zeros((1 + max(place[3] for place in places), (1 + order) * d))
    for chain, start, stop, block in places:
        for t in range(start, stop):
            weight = 1.0 if weights is None else float(weights[chain, t])
            sums[block] += weight * diagonal_entries(draws[chain, t], scores[chain, t], order)
    return sums.reshape(-1, 1 + order, d)


def tail(x: float, sign: float) -> tuple[float, float]:
    """The smooth indicator of a tail, the upper or the lower one, and its derivative."""
    place = 1.4 * (sign * x - 1.75)
    return 0.5 * (1.0 + math.tanh(place)), sign * 0.7 / math.cosh(place) ** 2


def tail_sums(draws: Array, scores: Array, weights: Array | None, places: Iterable[Place]) -> Array:
    """Block sums of s phi + phi' for the two tails, of shape (blocks, 2, d)."""
    values = np.zeros((*draws.shape[:2], 2 * draws.shape[2]))
    for chain, t, j in np.ndindex(*draws.shape):
        for k, sign in enumerate((1.0, -1.0)):
            value, slope = tail(float(draws[chain, t, j]), sign)
            values[chain, t, k * draws.shape[2] + j] = scores[chain, t, j] * value + slope
    return summed(values, weights, places).reshape(-1, 2, draws.shape[2])


def wave_sums(draws: Array, scores: Array, weights: Array | None, places: Iterable[Place]) -> Array:
    """Block sums of s sin(w x) + w cos(w x) and s cos(w x) - w sin(w x), (blocks, 14, d)."""
    frequencies, d = (1.5, 3.0, 6.0, 12.0, 2.0, 4.0, 8.0), draws.shape[2]
    values = np.zeros((*draws.shape[:2], 14 * d))
    for chain, t, j in np.ndindex(*draws.shape):
        x, s = float(draws[chain, t, j]), float(scores[chain, t, j])
        for k, w in enumerate(frequencies):
            values[chain, t, 2 * k * d + j] = s * math.sin(w * x) + w * math.cos(w * x)
            values[chain, t, (2 * k + 1) * d + j] = s * math.cos(w * x) - w * math.sin(w * x)
    return summed(values, weights, places).reshape(-1, 14, d)


def magnitude_sums(
    draws: Array, scores: Array, weights: Array | None, places: Iterable[Place]
) -> Array:
    """Block sums of (s_l tanh(x_l) + 1/cosh(x_l)^2)/cosh(x_m)^2 for l != m, (blocks, d, d)."""
    places, d = list(places), draws.shape[2]
    sums = np.zeros((1 + max(place[3] for place in places), d, d))
    for chain, start, stop, block in places:
        for t in range(start, stop):
            weight = 1.0 if weights is None else float(weights[chain, t])
            for row, column in itertools.permutations(range(d), 2):
                x, s = float(draws[chain, t, row]), float(scores[chain, t, row])
                odd = s * math.tanh(x) + 1.0 / math.cosh(x) ** 2
                even = 1.0 / math.cosh(float(draws[chain, t, column])) ** 2
                sums[block, row, column] += weight * odd * even
    return sums


def score_products(scores: Array, weights: Array | None) -> Array:
    """Sum over all rows of w s s'."""
    result = np.zeros((scores.shape[2], scores.shape[2]))
    for chain, t in np.ndindex(*scores.shape[:2]):
        weight = 1.0 if weights is None else float(weights[chain, t])
        result += weight * np.outer(scores[chain, t], scores[chain, t])
    return result


def pair_sums(
    draws: Array, scores: Array, weights: Array | None, places: Iterable[Place], i: int
) -> Array:
    """Block sums of s_l phi_i(x_m) for l != m, of shape (blocks, d, d)."""
    places, d = list(places), draws.shape[2]
    sums = np.zeros((1 + max(place[3] for place in places), d, d))
    for chain, start, stop, block in places:
        for t in range(start, stop):
            weight = 1.0 if weights is None else float(weights[chain, t])
            for row, column in itertools.permutations(range(d), 2):
                value, _ = phi(float(draws[chain, t, column]), i)
                sums[block, row, column] += weight * float(scores[chain, t, row]) * value
    return sums


def cut(lengths: Sequence[int], fewest_rows: int, most: int, *, whole: bool = False) -> list[Place]:
    """Stretches of every chain, equal but for a row, and the batches that they are dealt to.

    A chain has one stretch for every ``fewest_rows`` rows, but no more than its part of
    ``most``. ``whole`` chains have one.
    """
    total, places = sum(lengths), []
    for chain, rows in enumerate(lengths):
        count = 1 if whole else max(1, min(rows // fewest_rows, most * rows // total))
        # Stretch k begins at the last whole row before k/count of the chain.
        starts = [rows * k // count for k in range(count + 1)]
        places += [(chain, starts[k], starts[k + 1]) for k in range(count)]
    batches = min(len(places), most)
    return [(*place, k * batches // len(places)) for k, place in enumerate(places)]


def summed(values: Array, weights: Array | None, places: Iterable[Place]) -> Array:
    """Batch sums of the columns of values, chains first."""
    places = list(places)
    sums = np.zeros((1 + max(place[3] for place in places), values.shape[2]))
    for chain, start, stop, batch in places:
        for t in range(start, stop):
            sums[batch] += (1.0 if weights is None else weights[chain, t]) * values[chain, t]
    return sums


def joined_sums(sums: Array, joined: Sequence[Sequence[int]]) -> Array:
    """Sums over the batches of each group, one batch after the other."""
    result = np.zeros((len(joined), *sums.shape[1:]))
    for k, group in enumerate(joined):
        for batch in group:
            result[k] += sums[batch]
    return result


def t_statistic(sums: Array, signs: Array) -> float:
    """t = sum_b e_b b_b / sqrt(sum_b b_b^2) of one feature; 0 where all sums are."""
    size = math.sqrt(math.fsum(float(value) ** 2 for value in sums))
    signed = math.fsum(float(e) * float(value) for e, value in zip(signs, sums, strict=True))
    return 0.0 if size == 0.0 else signed / size


class Pool(NamedTuple):
    """Features that are flipped in the same batches: their columns, those batches, V_L/V."""

    columns: list[int]
    groups: Sequence[Sequence[int]]
    deflation: float


def cautious_t(t: float, skewness: float, count: int) -> float:
    """Hall's transformation of t, or t itself, whichever is closer to 0; 0 between them."""
    a = skewness / math.sqrt(count)
    moved = t + a * (t**2 / 3.0 + 1.0 / 6.0) + a**2 * t**3 / 27.0
    if moved * t <= 0.0:
        return 0.0
    return min(t, moved, key=abs)


def skewness_beyond_chance(sums: Array) -> float:
    """m_3 / m_2^(3/2), two standard errors sqrt(6/n) closer to 0; 0 of sums that are all alike."""
    mean = math.fsum(sums) / len(sums)
    second, third = (math.fsum((v - mean) ** k for v in sums) / len(sums) for k in (2, 3))
    if second == 0.0:
        return 0.0
    skewness = third / second**1.5
    return math.copysign(max(abs(skewness) - 2.0 * math.sqrt(6.0 / len(sums)), 0.0), skewness)


def _draws_t(sums: Array, signs: Array) -> float:
    return cautious_t(t_statistic(sums, signs), skewness_beyond_chance(sums), len(sums))


def statistics(
    sums: Array, signs: Array, pools: Sequence[Pool] | None = None
) -> tuple[Array, Array]:
    """Sum and largest of t_j^2 over the features, for every row of signs.

    A group of batches has the sign of its first one. The first row of signs is that of the draws,
    whose t is cautious for skewness and whose t^2 is deflated.
    """
    if pools is None:
        pools = [Pool(list(range(sums.shape[1])), [[k] for k in range(len(sums))], 1.0)]
    features = [
        (column, [group[0] for group in groups], deflation)
        for columns, groups, deflation in pools
        for column in joined_sums(sums, groups)[:, columns].T
    ]
    totals, largest = [], []
    for number, flip in enumerate(signs):
        squares = [
            t_statistic(column, flip[firsts]) ** 2
            if number > 0
            else deflation * _draws_t(column, flip[firsts]) ** 2
            for column, firsts, deflation in features
        ]
        totals.append(math.fsum(squares))
        largest.append(max(squares))
    return np.array(totals), np.array(largest)


def sum_moments(sums: Array, pools: Sequence[Pool] | None = None) -> tuple[float, float]:
    """Mean and variance of the sum of t_j^2 over all patterns of signs.

    With u_j the unit sums of feature j, at the first batch of every group, t_j^2 has the mean
    |u_j|^2, and t_j^2 and t_k^2 have the covariance
    2 ((sum_b u_bj u_bk)^2 - sum_b u_bj^2 u_bk^2).
    """
    if pools is None:
        pools = [Pool(list(range(sums.shape[1])), [[k] for k in range(len(sums))], 1.0)]
    units = []
    for columns, groups, _ in pools:
        for column in joined_sums(sums, groups)[:, columns].T:
            unit = np.zeros(len(sums))
            unit[[group[0] for group in groups]] = column
            units.append(unit / (math.sqrt(math.fsum(column**2)) or 1.0))
    mean = math.fsum(math.fsum(unit**2) for unit in units)
    variance = math.fsum(
        2.0 * (math.fsum(one * other) ** 2 - math.fsum(one**2 * other**2))
        for one in units
        for other in units
    )
    return mean, variance


def gamma_tail(values: Array, mean: float, variance: float) -> Array:
    """P(G > value) for the gamma law with this mean and variance."""
    return np.asarray(gamma.sf(values, mean**2 / variance, scale=variance / mean))


def maximum_tail(values: Array, reference: Array) -> Array:
    """P(max of m squared normals > value), with 1/m the reference's mean of -log P(Z^2 <= r)."""
    exponents = -np.log(chi2.cdf(reference, 1))
    m = len(reference) / math.fsum(exponents)
    return np.asarray(1.0 - chi2.cdf(values, 1) ** m)


def extreme(tails: Sequence[Array], shares: Sequence[float]) -> int:
    """How many flips have a least tail/share no larger than that of flip 0, itself included.

    What is larger by no more than 1e-9 of it is equal.
    """
    whole = math.fsum(shares)
    least = [
        min(
            tail[k] / (share / whole)
            for tail, share in zip(tails, shares, strict=True)
            if share > 0.0
        )
        for k in range(len(tails[0]))
    ]
    return sum(1 for value in least if value <= least[0] * (1.0 + 1e-9))


def is_decided(count: int, patterns: int, levels: Sequence[float]) -> bool:
    """Whether count/patterns is more than three standard errors away from every level."""
    p = count / patterns
    error = math.sqrt(p * (1.0 - p) / patterns)
    return all(not p - 3.0 * error <= level <= p + 3.0 * error for level in levels)


class JudgedForm(NamedTuple):
    """Products K of joined batches that count, their groups, V_L/V and the share of the level."""

    kept: Array
    groups: Sequence[Sequence[int]]
    deflation: float
    share: float

    def values(self, signs: Array) -> Array:
        """T of every flip; that of the draws is deflated."""
        firsts = [group[0] for group in self.groups]
        found = [invariant.value(self.kept, flip[firsts]) for flip in signs]
        return np.array([self.deflation * found[0], *found[1:]])


def flipped(
    families: Sequence[tuple[Array, Sequence[Pool], float, float]],
    forms: Sequence[JudgedForm],
    stages: Sequence[Array],
    levels: Sequence[float],
) -> tuple[int, int]:
    """How many of how many patterns are extreme, stage after stage of signs until it is decided.

    A family is its batch sums, its pools and the shares of its two statistics, one of which may
    be 0. Signs are the same for all families.
    """
    signs = np.empty((0, stages[0].shape[1]))
    count = 0
    for further in stages:
        signs = np.concatenate([signs, further])
        tails, shares = [], []
        for sums, pools, *own in families:
            total, largest = statistics(sums, signs, pools)
            tails.append(gamma_tail(total, *sum_moments(sums, pools)))
            tails.append(maximum_tail(largest, largest))
            shares += own
        for form in forms:
            tails.append(invariant.tail(form.values(signs), form.kept))
            shares.append(form.share)
        count = extreme(tails, shares)
        if is_decided(count, len(signs), levels):
            break
    return count, len(signs)


# The tail of a maximum.


def spanning_trees(size: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every choice of size - 1 edges that joins all vertices."""
    edges = list(itertools.combinations(range(size), 2))
    for chosen in itertools.combinations(edges, size - 1):
        joined = {0}
        for _ in range(size):
            joined |= {v for edge in chosen if joined & set(edge) for v in edge}
        if len(joined) == size:
            yield chosen


def both_above(z: float, correlation: float) -> float:
    """P(Z_1 > z, Z_2 > z), which is P(Z_1 < -z, Z_2 < -z)."""
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    return float(multivariate_normal.cdf([-z, -z], cov=covariance, allow_singular=True))


def hunter_worsley(z: float, correlation: Array) -> float:
    """The least of sum_k P(Z_k > z) - sum over edges P(Z_j > z, Z_k > z), over all trees."""
    size = len(correlation)
    least = min(
        size * float(norm.sf(z)) - math.fsum(both_above(z, correlation[j, k]) for j, k in tree)
        for tree in spanning_trees(size)
    )
    return min(1.0, least)
