"""Anytime-valid evidence against mean 0: bets on batch means that are symmetric about 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polystein.types import FloatArray

#: How many batches a direction remembers: all of them finds a small bias that was there all along,
#: few of them a sampler that has just gone wrong.
MEMORIES = (math.inf, 16.0)
#: Sizes of a bet, in standard deviations of what is bet on.
BETS = np.array([0.15, 0.3, 0.6])
#: Share of a bet's factor that is given up to batch means that are not quite symmetric. Without it,
#: batches of ten autocorrelation times raised false alarms at 0.05 to 0.06 for a level of 0.05.
RESERVE = 0.25
#: Before bet n, this share over n of what is not bet yet is put on all bets anew.
RENEWED = 0.5


class Direction(NamedTuple):
    """What earlier batches say about later ones: sums over batches, the older ones faded."""

    weight: float
    total: FloatArray
    squares: FloatArray

    def faded(self, batch: FloatArray, memory: float) -> Direction:
        """One batch more."""
        kept = 1.0 - 1.0 / memory
        return Direction(
            kept * self.weight + 1.0, kept * self.total + batch, kept * self.squares + batch**2
        )


class SignBets:
    """An e-process for batch means of features, by bets on their signs.

    Given all earlier batches, and given its own absolute value, the projection z of a new batch
    mean on any direction that earlier batches fixed is as likely to be positive as negative. A
    wealth that is multiplied by (1 + tanh(c z)) (1 - r tanh(c z)^2) has therefore at most its old
    value on average, for any size c of the bet that earlier batches fixed. Sums of such wealths
    have, too. By Ville's inequality the probability that a wealth of 1 ever reaches 1/alpha is at
    most alpha. Bets on Stein discrepancies are those of arXiv 2409.17505, and sums of symmetric
    variables those of de la Pena (1999, A general class of exponential inequalities for martingales
    and ratios, Annals of Probability 27).

    Directions are mu_j / v_j, mean over mean square of every component j, for each group of
    components and for all together, by all earlier batches and by the last ones. Each is bet on
    in several sizes. A part of the wealth is held back, from which all bets begin again and again.

    Exact if batches are independent and symmetric about 0. The last batch of a chain has no
    influence on the bet on its next one, so that neighbours may be a little correlated.

    Parameters
    ----------
    sizes : sequence of int
        Number of components in every group.
    runs : sequence of int
        Leading axes of the batch means, if many processes are followed at once.
    """

    def __init__(self, sizes: Sequence[int], runs: Sequence[int] = ()) -> None:
        self._sizes = np.array(sizes)
        zero = np.zeros((*runs, int(self._sizes.sum())))
        self._directions = [Direction(0.0, zero, zero) for _ in MEMORIES]
        self._pending: dict[int, FloatArray] = {}
        #: Number of bets so far.
        self.bets = 0
        # Of every memory and group: 1, and the sum of z^2.
        self._spread = np.ones((*runs, len(MEMORIES), len(self._sizes) + 1))
        self._held = 0.0
        self._wealth = np.full((*self._spread.shape, len(BETS)), -np.inf)
        #: Largest logarithm of the wealth so far.
        self.highest = np.zeros(runs)

    def update(self, batch: FloatArray, chain: int = 0) -> None:
        """Bet on the mean of a chain's next batch, and learn from the batch before it."""
        if self._directions[0].weight > 0.0:
            self._bet(batch)
        learned = self._pending.get(chain)
        self._pending[chain] = batch
        if learned is not None:
            self._directions = [
                direction.faded(learned, memory)
                for direction, memory in zip(self._directions, MEMORIES, strict=True)
            ]

    def _bet(self, batch: FloatArray) -> None:
        self.bets += 1
        z = np.stack([self._projected(batch, direction) for direction in self._directions], -2)
        share = RENEWED / self.bets
        count = math.prod(self._wealth.shape[-3:])
        self._wealth = np.logaddexp(self._wealth, self._held + math.log(share / count))
        self._held += math.log1p(-share)
        stakes = BETS * (z / np.sqrt(self._spread / self.bets))[..., None]
        # log(1 + tanh c z) without cancellation
        self._wealth += math.log(2.0) - np.logaddexp(0.0, -2.0 * stakes)
        self._wealth += np.log1p(-RESERVE * np.tanh(stakes) ** 2)
        self._spread += z**2
        self.highest = np.maximum(self.highest, self.evidence())

    def _projected(self, batch: FloatArray, direction: Direction) -> FloatArray:
        """The batch on the direction of every group and of all, about standardised."""
        weight, total, squares = direction
        # A mean square of few batches leans on those of its group.
        typical = np.repeat(self._by_group(squares) / self._sizes, self._sizes, axis=-1)
        variance = (squares + typical / weight) / (weight + 1.0)
        slope = np.divide(
            total / weight, variance, out=np.zeros_like(variance), where=variance > 0.0
        )
        found, square = (
            self._with_sum(self._by_group(part)) for part in (slope * batch, slope**2 * variance)
        )
        return np.divide(found, np.sqrt(square), out=np.zeros_like(found), where=square > 0.0)

    def _by_group(self, components: FloatArray) -> FloatArray:
        starts = np.cumsum(self._sizes) - self._sizes
        sums: FloatArray = np.add.reduceat(components, starts, axis=-1)
        return sums

    @staticmethod
    def _with_sum(groups: FloatArray) -> FloatArray:
        return np.concatenate([groups, groups.sum(axis=-1, keepdims=True)], axis=-1)

    def evidence(self) -> FloatArray:
        """Logarithm of the wealth."""
        bets = np.logaddexp.reduce(self._wealth, axis=(-3, -2, -1))
        wealth: FloatArray = np.logaddexp(bets, self._held)
        return wealth

    def evidence_by_group(self) -> FloatArray:
        """Logarithm of the wealth of one who had bet on each group alone."""
        bets = np.logaddexp.reduce(self._wealth, axis=(-3, -1))[..., :-1]
        count = self._wealth.shape[-2]
        wealth: FloatArray = np.logaddexp(bets + math.log(count), self._held)
        return wealth

    def pvalue(self) -> FloatArray:
        """The anytime p-value: one over the largest wealth so far, which began with 1."""
        pvalue: FloatArray = np.exp(-self.highest)
        return pvalue
