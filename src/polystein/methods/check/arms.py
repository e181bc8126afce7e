"""What each arm of `check` says, part by part, and one p-value for both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from polystein.protocols import FloatArray

_TINY = float(np.finfo(float).tiny)


class Part(NamedTuple):
    """One statistic or witness of an arm: its own p-value, and what it looks at.

    ``share`` is its part of the level; ``orders`` and ``coordinates`` are those that
    stand out, none of the latter where all are looked at.
    """

    name: str
    pvalue: float
    share: float
    orders: tuple[str, ...]
    coordinates: tuple[int, ...] = ()

    @property
    def adjusted(self) -> float:
        """The p-value that it would have to answer for on its share alone."""
        return min(1.0, self.pvalue / self.share)


class Arm(NamedTuple):
    """A test of its own: its p-value and its parts."""

    name: Literal["full", "split"]
    pvalue: float
    parts: tuple[Part, ...]

    def weighted(self, share: float) -> Arm:
        """Give the arm this share of the level; its p-value may exceed 1 then."""
        parts = tuple(part._replace(share=part.share * share) for part in self.parts)
        return Arm(self.name, self.pvalue / share, parts)

    @property
    def leading(self) -> Part:
        """The part that found the most."""
        return min(self.parts, key=lambda part: part.adjusted)


def combine(full: Arm | None, split: Arm | None, share: float) -> list[Arm]:
    """Both arms with their shares of the level, the one that found more first.

    The first one's p-value, or 1 if that is less, is the p-value of the two
    together (Bonferroni, with unequal shares fixed in advance). An arm that cannot
    judge is left out; the other keeps its share.
    """
    arms = [] if full is None else [full.weighted(share)]
    arms += [] if split is None else [split.weighted(1.0 - share)]
    return sorted(arms, key=lambda arm: arm.pvalue)


def evidence_shares(parts: Sequence[Part]) -> list[float]:
    """Each part's share in the evidence, the sum of -log of the adjusted p-values."""
    evidence = [-math.log(max(part.adjusted, _TINY)) for part in parts]
    total = max(sum(evidence), _TINY)
    return [value / total for value in evidence]


def upper_normal(pvalue: float | FloatArray) -> FloatArray:
    """The z whose upper tail the p-value is, finite even for 0 and 1."""
    below_one = 1.0 - float(np.finfo(float).eps)
    z: FloatArray = -ndtri(np.clip(pvalue, _TINY, below_one))
    return z
