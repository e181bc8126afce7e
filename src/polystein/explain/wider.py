"""Wider sets of features, by which a corrected value is seen to depend on the features or not.

R^2 says how well features explain a function where the draws are. Draws that are too narrow see a
small part of the target, where a few features explain everything, and the corrected value is an
extrapolation. Further features that explain no more over such draws extrapolate otherwise: how far
the corrected value moves shows how far it can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polystein.explain.designs import (
    CoordinateDesign,
    Design,
    JointDesign,
    MappedDesign,
    PairDesign,
    Seen,
)
from polystein.explain.doubt import Doubt
from polystein.explain.estimates import Candidate, Estimate
from polystein.explain.fit import ROWS_PER_FEATURE
from polystein.explain.functionals import FUNCTIONALS, difference
from polystein.types import FloatArray

#: Powers of a coordinate that come in beside those of the narrower design: its degree rises by 3.
FURTHER_POWERS = (5, 6, 7)
#: Powers of a coordinate that a narrower design may be without.
OWN_POWERS = (1, 2, 3, 4)
#: Matrices of all wider designs together take at most this many multiplications; with pairs of
#: coordinates if there is time for them, else without.
MOST_MULTIPLICATIONS = 4e9
#: What no features explain may be off by its sd times the root of the chi-square distance of
#: target and draws. This part of it, with the distance that the features know of, held on
#: Gaussian approximations of hierarchical posteriors, for means and sds.
KNOWN_PART = 0.5
#: Smaller changes, in units of an sd, are those of rounding and of the ridge: features of wider
#: sets depend on each other all but linearly.
ROUNDED = 1e-3
#: Functions with at most this part left unexplained are in the features' span.
SPANNED = 1e-9


@dataclass(frozen=True)
class WiderDesign:
    """The features of another design, higher powers, and pairs of coordinates; its functions.

    For the coordinates ``about`` come s_a y_a^k + k y_a^(k-1), k = 1 to 7. With `pairs`, every
    ordered pair (l, m) with one of them in it has

        s_l y_m,   s_l (y_m^2 - 1),   s_l y_l y_m + y_m   and   (s_l y_l + 1) (y_m^2 - 1),

    and other coordinates have s_l y_l + 1 and s_l y_l^2 + 2 y_l. What the other design has already
    does no harm: features depend on each other on Gaussian targets, too.
    """

    inner: Design
    dimension: int
    about: tuple[int, ...]
    pairs: bool = True

    @cached_property
    def _ordered(self) -> tuple[list[int], list[int]]:
        """The ordered pairs of coordinates."""
        near, every = set(self.about), range(self.dimension)
        both = [(j, k) for j in every for k in every if j != k and (j in near or k in near)]
        return [first for first, _ in both], [second for _, second in both]

    @cached_property
    def _others(self) -> list[int]:
        return sorted(set(range(self.dimension)) - set(self.about))

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Those of the other design; each of the higher powers; pairs."""
        first, count = self.inner.cuts, len(self.about)
        begin = first[-1] + len(OWN_POWERS) * count
        powers = [begin + (1 + place) * count for place in range(len(FURTHER_POWERS))]
        if not self.pairs or self.dimension == 1:
            return (*first, *powers)
        return (*first, *powers, powers[-1] + 2 * len(self._others) + 4 * len(self._ordered[0]))

    @property
    def functions(self) -> int:
        """Those of the other design."""
        return self.inner.functions

    def columns(self, seen: Seen) -> FloatArray:
        """All features, then all functions, one column each."""
        narrower, at = self.inner.columns(seen), self.inner.cuts[-1]
        parts = [narrower[:, :at], *self._further(seen), narrower[:, at:]]
        return np.concatenate(parts, axis=1)

    def _further(self, seen: Seen) -> list[FloatArray]:
        about = list(self.about)
        y, s = seen.draws[:, about], seen.scores[:, about]
        parts = [s * y**power + power * y ** (power - 1) for power in OWN_POWERS + FURTHER_POWERS]
        if self.pairs and self.dimension > 1:
            y, s = seen.draws[:, self._others], seen.scores[:, self._others]
            parts += [s * y + 1.0, (s * y + 2.0) * y]
            first, second = self._ordered
            s, y, z = seen.scores[:, first], seen.draws[:, first], seen.draws[:, second]
            magnitude = z * z - 1.0
            parts += [s * z, s * magnitude, (s * y + 1.0) * z, (s * y + 1.0) * magnitude]
        return parts

    def values_of(self, seen: Seen) -> FloatArray:
        """The functions alone."""
        return self.inner.values_of(seen)

    def combined(self, seen: Seen, coefficients: FloatArray) -> FloatArray:
        """The product of the columns and a matrix of coefficients."""
        return self.columns(seen) @ coefficients


def wider(design: Design, *, pairs: bool) -> Design:
    """A design with further features about the coordinates that it is for.

    Of two coordinates together no third one is paired: there are many such designs.
    """
    if isinstance(design, MappedDesign):
        return MappedWider(design, pairs)
    if isinstance(design, JointDesign):
        return WiderDesign(design, design.dimension, tuple(range(design.dimension)), pairs)
    if isinstance(design, PairDesign):
        return WiderDesign(design, design.dimension, (design.first, design.second), pairs=False)
    assert isinstance(design, CoordinateDesign)
    return WiderDesign(design, design.dimension, (design.index,), pairs)


@dataclass(frozen=True)
class MappedWider(MappedDesign):
    """The wider design on rows that another design maps."""

    outer: MappedDesign
    pairs: bool

    @cached_property
    def inner(self) -> Design:
        """The wider one of the design on mapped rows."""
        return wider(self.outer.inner, pairs=self.pairs)

    def mapped(self, seen: Seen) -> Seen:
        """The rows as the other design sees them."""
        return self.outer.mapped(seen)


def confirmed(wide: Candidate, narrow: Candidate, rows: float) -> Candidate:
    """The candidate by wider features, or one without a correction where nothing confirms it.

    Of draws that are far too narrow even the first of the further features adds up to a constant
    with the others, and is left out. A function in the span needs no confirmation, unless it may be
    one of several coordinates, and pairs of coordinates add up to a constant: where the draws lie
    on x_2 = +-x_1, x_1^2 x_2^2 is in the span of x_1 alone, and the scores of x_2 contradict.
    """
    fit, cuts = narrow.fit, wide.fit.design.cuts
    further = cuts[len(fit.design.cuts)]
    alone = wide.fit._replace(corrected=wide.fit.plain, cuts=(1,) * len(wide.fit.cuts))
    has_pairs = len(cuts) > len(fit.design.cuts) + len(FURTHER_POWERS)
    contradicted = has_pairs and ROWS_PER_FEATURE * cuts[-1] <= rows
    if narrow.quantity.of_function and contradicted and max(wide.fit.cuts) == cuts[-2]:
        return wide._replace(fit=alone)
    places = list(narrow.places)
    left, own = (np.diagonal(part)[places] for part in (fit.left, fit.spread))
    if max(wide.fit.cuts) >= further or ROWS_PER_FEATURE * further > rows:
        return wide
    if np.all(left <= SPANNED * own):
        return wide
    return wide._replace(fit=alone)


def with_doubt(estimate: Estimate, others: Sequence[Candidate]) -> Estimate:
    """The estimate with how far its value is in doubt, beside fits on other features."""
    own, what = estimate.candidate, estimate.quantity.what
    if own.uncorrected:
        return estimate
    error, value = difference(what, own.plain, own.corrected), FUNCTIONALS[what](own.corrected)
    changes = [
        (
            abs(FUNCTIONALS[what](one.corrected).value - value.value),
            abs(difference(what, one.plain, one.corrected).value - error.value),
        )
        for one in others
    ]
    distance = max(_known_distance(one) for one in (own, *others))
    doubts = []
    for place, gradient in enumerate((value.gradient, error.corrected)):
        change = max((one[place] for one in changes), default=0.0)
        margin = KNOWN_PART * math.sqrt(own.left(gradient)[0] * distance)
        doubts.append(Doubt(*(part if part > ROUNDED else 0.0 for part in (change, margin))))
    return estimate._replace(bias_doubt=doubts[0], error_doubt=doubts[1])


def _known_distance(candidate: Candidate) -> float:
    """The chi-square distance of target and draws that the features know of, at least 0.

    It is e0' G^-1 e0 - 1, which is about p / (n - p) for right draws and p features of n rows.
    """
    fit, places = candidate.fit, list(candidate.places)
    features = np.array(fit.cuts)[places]
    known = fit.inflation[places] * np.maximum(0.0, 1.0 - features / fit.rows) - 1.0
    return max(0.0, float(known.max()))
