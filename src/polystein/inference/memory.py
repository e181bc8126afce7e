"""The length of a chain's autocorrelation, by variances of sums over longer and longer batches.

For sums over batches of L rows of a chain, let V_L be their variance over L. It grows with L
until batches are longer than the autocorrelation: V_L = V (1 - M/L) for large L, with V the
long-run variance and M the length of the autocorrelation in rows, called the memory in names.
Two lengths give V without knowing M,

    V = 2 V_2L - V_L    (lugsail batch means; Vats and Flegal, 2022, Biometrika 109),

whatever the correlations are: several time scales, momentum and antithetic moves included.
V_L of one feature is too uncertain for that, so features are pooled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtri

from polystein._lib.numerics import TINY
from polystein.types import FloatArray

#: Batches are joined two by two as long as each chain has at least this many of them.
FEWEST_A_CHAIN = 4
#: V_L has reached its plateau if it is nowhere larger for longer batches by more than this share
#: and one standard error.
FLAT = 0.10
#: Features of a family are correlated: they count as at most this many independent ones.
MOST_INDEPENDENT = 8
#: V is raised by this many standard errors: an error downwards matters more than one upwards,
#: because the tails of a statistic grow faster than they shrink.
LUGSAIL_ERRORS = 0.1
#: Conservative mode: require a plateau within 0.5 standard errors.
CONSERVATIVE_ERRORS = 0.5
# Columns that are processed together: they fit into a core's cache.
_COLUMNS_AT_ONCE = 512
# Up to this many chains, their sums are spread over their batches by a matrix product.
_FEW_CHAINS = 16
#: Probability that any feature of a family is taken for slower than the rest when none is.
SLOWER_BY_CHANCE = 0.01


class Groups:
    """Neighbouring rows, ``count`` in all, that are summed together; where each group starts."""

    def __init__(self, starts: NDArray[np.intp], count: int) -> None:
        self.starts, self.count = starts, count
        size, left = divmod(count, starts.size)
        equal = left == 0 and np.array_equal(starts, size * np.arange(starts.size))
        #: How many rows every group has; 0 if they differ.
        self.size = size if equal else 0

    def summed(self, rows: FloatArray) -> FloatArray:
        """Sums over every group; groups of one size are summed several times as fast."""
        if self.size == 2:
            pairs: FloatArray = rows[::2] + rows[1::2]
            return pairs
        if self.size:
            shape = self.starts.size, self.size, *rows.shape[1:]
            equal: FloatArray = rows if self.size == 1 else rows.reshape(shape).sum(axis=1)
            return equal
        if rows.ndim != 2:
            result: FloatArray = np.add.reduceat(rows, self.starts)
            return result
        unequal: FloatArray = self._matrix.astype(rows.dtype, copy=False) @ rows
        return unequal

    @cached_property
    def _matrix(self) -> csr_array:
        """1 where a row is in a group, of shape (groups, rows): faster than `np.add.reduceat`."""
        ends = np.append(self.starts, self.count)
        ones = np.ones(self.count), np.arange(self.count), ends
        return csr_array(ones, shape=(self.starts.size, self.count))


class Joining:
    """Batches joined to longer ones: which are joined, how many rows they have, their chains.

    ``shorter`` are groups of the batches of the joining before it, and ``groups`` of the original
    ones.
    """

    def __init__(
        self, groups: Groups, shorter: Groups, rows: FloatArray, chains: NDArray[np.intp]
    ) -> None:
        self.groups, self.shorter, self.rows, self.chains = groups, shorter, rows, chains
        #: How many there are, the first original batch of each, and their rows on average.
        self.count, self.starts, self.length = rows.size, groups.starts, float(rows.mean())
        #: Batches of one chain, and the place of each batch's chain among the chains.
        self.by_chain = Groups(chain_borders(chains), self.count)
        borders = self.by_chain.starts
        self.own_chain = np.repeat(np.arange(borders.size), np.diff(borders, append=self.count))
        #: How many rows each chain has, and each batch's share of the rows of its chain.
        self.chain_rows = np.maximum(self.by_chain.summed(rows), TINY)
        self.shares: FloatArray = rows / self.chain_rows[self.own_chain]
        #: The squared deviations from the chains' means that rows of variance 1 would have.
        self.expected = max(float(np.sum(rows * (1.0 - self.shares))), TINY)
        #: Degrees of freedom of a variance within chains, and its relative standard error.
        self.freedom = self.count - borders.size
        self.error = float((2.0 / max(1, self.freedom)) ** 0.5)

    @cached_property
    def share_matrix(self) -> FloatArray:
        """The shares where a batch is of a chain, else 0; of shape (batches, chains)."""
        matrix = np.zeros((self.count, self.by_chain.starts.size))
        matrix[np.arange(self.count), self.own_chain] = self.shares
        return matrix

    def joined(self, sums: FloatArray) -> FloatArray:
        """Sums over the longer batches, of sums over the original ones."""
        return self.groups.summed(sums)

    def of_first(self, signs: FloatArray) -> FloatArray:
        """The signs of the first batch in every longer one, of patterns of shape (., batches)."""
        return signs if self.count == signs.shape[1] else signs[:, self.starts]


def variance_curves(sums: FloatArray, levels: Sequence[Joining]) -> FloatArray:
    """V_L of every column for every joining, within chains; of shape (joinings, columns).

    It is the sum of the squared deviations over what independent rows would have. Each chain is
    centred at its own mean, so that disagreement between chains is not taken for autocorrelation.
    """
    curves = np.empty((len(levels), sums.shape[1]))
    for low in range(0, sums.shape[1], _COLUMNS_AT_ONCE):
        some = slice(low, low + _COLUMNS_AT_ONCE)
        joined = sums[:, some]
        for curve, level in zip(curves, levels, strict=True):
            joined = level.shorter.summed(joined)
            deviations = within_chains(joined, level)
            curve[some] = np.einsum("bj,bj->j", deviations, deviations) / level.expected
    return curves


def within_chains(joined: FloatArray, level: Joining) -> FloatArray:
    """Sums over batches less the rows of each batch times the mean of its chain."""
    chains = level.by_chain.summed(joined)
    if len(chains) <= _FEW_CHAINS:
        deviations = level.share_matrix.astype(joined.dtype, copy=False) @ chains
    else:
        deviations = chains[level.own_chain]
        deviations *= level.shares[:, None]
    return np.subtract(joined, deviations, out=deviations)


def joinings(rows: FloatArray, chains: NDArray[np.intp]) -> list[Joining]:
    """One, two, four ... neighbouring batches of a chain joined, while enough are left.

    What is left over at the end of a chain joins the batch before it. The first is the batches
    as they are.
    """
    lengths = np.diff(chain_borders(chains), append=chains.size)
    typical = float(np.median(lengths))
    found: list[Joining] = []
    before, together = np.arange(chains.size), 1
    while not found or typical // together >= FEWEST_A_CHAIN:
        starts = group_starts(lengths, together)
        groups = Groups(starts, chains.size)
        # Longer batches begin where shorter ones do.
        shorter = Groups(np.searchsorted(before, starts), before.size)
        found.append(Joining(groups, shorter, groups.summed(rows), chains[starts]))
        before, together = starts, 2 * together
    return found


def group_starts(lengths: NDArray[np.intp], together: int) -> NDArray[np.intp]:
    """Where each group of ``together`` neighbouring batches of a chain starts.

    ``lengths`` has how many batches each chain has. What is left over at the end of a chain joins
    the group before it.
    """
    groups = np.maximum(lengths // together, 1)
    borders = np.cumsum(lengths) - lengths
    # The first group of a chain begins at its border, the others follow at equal distances.
    first = np.repeat(borders - together * (np.cumsum(groups) - groups), groups)
    starts: NDArray[np.intp] = first + together * np.arange(first.size)
    return starts


def chain_borders(chains: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the batches of each chain begin; ``chains`` has the chain of every batch, in order."""
    return np.flatnonzero(np.append(True, chains[1:] != chains[:-1]))


class Memory(NamedTuple):
    """The autocorrelation of features that are judged together.

    ``level`` is the joining whose batches are long enough, ``deflation`` is V_L/V there, at most
    1, and ``rows`` is the length M of the autocorrelation.
    """

    level: int
    deflation: float
    rows: float

    def independent(self, rows: float) -> float:
        """The effective number of independent rows among these rows.

        The autocorrelation time is taken to be M + sqrt(M^2 + 1), as it is for AR(1) chains.
        """
        return rows / (self.rows + math.hypot(self.rows, 1.0))


def pooled_memory(
    curves: FloatArray, levels: Sequence[Joining], first: int = 0, *, conservative: bool = False
) -> Memory:
    """The shortest batches at which V_L reaches its plateau, by several features together.

    ``curves`` has V_L for each joining and feature. Joinings before ``first`` are skipped. The
    ``conservative`` mode is that of `extrapolated`.
    """
    varying = curves[first] > TINY
    count = int(np.count_nonzero(varying))
    if len(levels) - first < 2 or not count:
        return Memory(first, 1.0, 0.0)
    if count < varying.size:
        curves = curves[:, varying]
    means = (curves / curves[first]).mean(axis=1)
    independent = min(count, MOST_INDEPENDENT)
    errors = means * np.array([level.error for level in levels]) / independent**0.5
    return extrapolated(means, errors, levels, first, conservative=conservative)


def extrapolated(
    means: FloatArray,
    errors: FloatArray,
    levels: Sequence[Joining],
    first: int,
    *,
    conservative: bool,
) -> Memory:
    """The autocorrelation by a curve that grows with the length of batches, with its errors.

    A curve of a single number can hide slow growth behind its error. The ``conservative`` mode
    requires a plateau within half a standard error, and takes the larger V of those by this
    length of batches and by twice that length.
    """
    most = (CONSERVATIVE_ERRORS if conservative else 1.0) * errors
    # The longest batches have none of twice their length.
    usable = first
    while usable < len(levels) - 2:
        later = slice(usable + 1, None)
        if (means[later] <= (1.0 + FLAT) * means[usable] + most[later]).all():
            break
        usable += 1
    last = min(usable + 1, len(levels) - 2) if conservative else usable
    longer = means[1:] + LUGSAIL_ERRORS * errors[1:]
    lugsail = float((2.0 * longer[usable : last + 1] - means[usable : last + 1]).max())
    deflation = float(means[usable] / max(lugsail, means[usable]))
    # M is an estimate, not a bound: no standard errors are added.
    plain = float(means[usable] / max(2.0 * means[usable + 1] - means[usable], means[usable]))
    return Memory(usable, deflation, levels[usable].length * (1.0 - plain))


def beyond_lugsail(growth: FloatArray) -> FloatArray:
    """V/V_L by r = V_2L/V_L of few batches: exp(2 (r - 1)), to first order the lugsail's 2 r - 1.

    The lugsail is too small where the autocorrelation is as long as a batch: an AR(1) chain whose
    M is one batch needs 2.7, the lugsail gives 2.1 and the exponential 2.9.
    """
    ratio: FloatArray = np.exp(2.0 * (growth - 1.0))
    return ratio


class Speed(NamedTuple):
    """Features with autocorrelation of similar length, and that length."""

    features: NDArray[np.bool_]
    memory: Memory


def speeds(
    curves: FloatArray, levels: Sequence[Joining], *, conservative: bool = False
) -> list[Speed]:
    """Features pooled by their autocorrelation: those that are slower than most on their own.

    A slow feature would hide in the pool of many fast ones. The ``conservative`` mode is that of
    `extrapolated`, for features that tell little more together than alone.
    """
    left, first = np.ones(curves.shape[1], dtype=np.bool_), 0
    found: list[Speed] = []
    while left.any():
        pooled = left.copy()
        if first + 2 < len(levels):
            pooled[left] = ~_slower(curves[:, left], levels, first)
        memory = pooled_memory(curves[:, pooled], levels, first, conservative=conservative)
        found.append(Speed(pooled, memory))
        # What is left is slower than what has been pooled.
        left, first = left & ~pooled, min(memory.level + 1, len(levels) - 2)
    return found


def _slower(curves: FloatArray, levels: Sequence[Joining], first: int) -> NDArray[np.bool_]:
    """Which features' V_L grows more with L than that of most, and more than chance explains."""
    varying = curves[first] > TINY
    if not varying.any():
        return np.zeros(varying.size, dtype=np.bool_)
    later, before = curves[first + 1 :], curves[first]
    if varying.all():
        growth = later / before
        usual = _medians(growth)
    else:
        growth = np.divide(later, before, out=np.zeros_like(later), where=varying)
        usual = _medians(growth[:, varying])
    freedom = np.array([max(1, level.freedom) for level in levels[first + 1 :]])
    most = chdtri(freedom, SLOWER_BY_CHANCE / varying.size) / freedom
    bounds = (1.0 + FLAT) * most * usual
    slower: NDArray[np.bool_] = (growth > bounds[:, None]).any(axis=0)
    return slower


def _medians(rows: FloatArray) -> FloatArray:
    """The median of each row: `np.median` takes several times as long for a few hundred numbers."""
    ordered, middle = np.sort(rows, axis=1), rows.shape[1] // 2
    upper: FloatArray = ordered[:, middle]
    return upper if rows.shape[1] % 2 else 0.5 * (ordered[:, middle - 1] + upper)
