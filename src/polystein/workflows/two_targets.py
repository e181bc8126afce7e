"""Two targets at any rows, in the coordinates of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import is_single
from polystein.data.target import Target, scores_by_differences
from polystein.errors import InputError
from polystein.types import FloatArray
from polystein.workflows.parameters import Carried, ParameterMap

#: Half a unit in the last place, for numbers in double and in single precision.
DOUBLE, SINGLE = 2.0**-53, 2.0**-24
#: A score is a sum of terms, whose rounding adds up: this many times that of its largest terms.
TERMS = 64.0
#: Step of differences of a log-density, in sds, which its rounding is divided by.
_STEP = 1e-4
#: Draws are those of stored scores if they agree to this part of their size: by a map, or in
#: single precision, they are rounded.
_SAME_DRAWS = 1e-6


class Side(NamedTuple):
    """One of the two targets, with the draws and scores that it is known at if that is all."""

    name: str
    target: Target
    kept: tuple[FloatArray, FloatArray] | None

    def some(self, rows: NDArray[Any]) -> Side:
        """The same with fewer of the draws that it is known at, if that is all."""
        if self.kept is None:
            return self
        return self._replace(kept=(self.kept[0][rows], self.kept[1][rows]))

    @property
    def knows_density(self) -> bool:
        """Whether there are log-densities at any rows."""
        return self.target.density is not None

    @property
    def by_differences(self) -> bool:
        """Whether scores are differences of the log-density."""
        return self.target.density_and_score is None and self.kept is None

    def values(self, rows: FloatArray) -> tuple[FloatArray | None, FloatArray]:
        """Log-densities, if they are known, and scores."""
        densities: FloatArray | None
        with _naming(self.name), np.errstate(all="ignore"):
            if self.target.density_and_score is not None:
                densities, scores = self.target.log_density_and_score(rows)
                return densities if self.knows_density else None, scores
            densities = self.target.log_density(rows) if self.knows_density else None
            if self.kept is None:
                return densities, scores_by_differences(self.target, rows)
            own = self.kept[0]
            if (
                rows.shape != own.shape
                or (np.abs(rows - own).max(axis=0) > _SAME_DRAWS * np.abs(own).max(axis=0)).any()
            ):
                raise InputError(
                    "it holds scores at its own draws alone, and these are others. Leave `draws` "
                    "out, or pass a sample that keeps its target, or a function"
                )
            return densities, self.kept[1]


class Values(NamedTuple):
    """Scores of both targets in the coordinates of the draws, and their log-densities if known.

    ``jacobians`` are the gradients of their log-Jacobians where their transforms differ, and
    ``single`` says whether scores came in single precision, whatever dtype they are stored in.
    """

    a: FloatArray
    b: FloatArray
    densities: tuple[FloatArray, FloatArray] | None
    jacobians: tuple[FloatArray, FloatArray]
    carried: Carried
    single: bool


class Evaluator:
    """Both targets at any rows, in the coordinates of the draws.

    `own` is the target that the draws belong to; the other one is `a` if they are `swapped`.
    """

    def __init__(self, own: Side, other: Side, mapping: ParameterMap, *, swapped: bool) -> None:
        self.own, self.other, self.mapping, self.swapped = own, other, mapping, swapped
        #: Whether the scores are known at any rows, and not at the draws alone.
        self.repeatable = own.kept is other.kept is None
        self.by_differences = own.by_differences or other.by_differences

    def __call__(self, rows: FloatArray) -> Values:
        """What both targets give at rows."""
        with np.errstate(all="ignore"):
            carried = self.mapping.carry(rows)
            density, scores = self.own.values(rows)
            other_density, other_scores = self.other.values(carried.rows)
            single = is_single(scores) or is_single(other_scores)
            other_scores = carried.scores(other_scores)
            if other_density is not None:
                other_density = other_density + carried.log_jacobian
        one, two = (scores, density, carried.own), (other_scores, other_density, carried.other)
        (a, first, mine), (b, second, theirs) = (two, one) if self.swapped else (one, two)
        known = None if first is None or second is None else (first, second)
        return Values(a, b, known, (mine, theirs), carried, single)

    def scores(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The scores of `a` and `b`, without their log-densities."""
        found = self(rows)
        return found.a, found.b

    def errors(
        self, rows: FloatArray, spread: FloatArray, here: Values
    ) -> tuple[FloatArray, FloatArray]:
        """Errors of the map and of derivatives: of scores (n, d) and of log-densities (n,)."""
        # Coordinates are off by this many sds, and scores by that part of their size or so.
        numerical = self.mapping.numerical
        unit = SINGLE if numerical is not None and numerical.single else DOUBLE
        off = TERMS * unit * here.carried.condition
        sizes = spread * np.abs(here.a)
        scores = off[:, None] * (1.0 + sizes + sizes.max(axis=0)) / spread / spread
        densities = off * (1.0 + sizes.sum(axis=1)) / spread.min()
        if numerical is not None:
            # Rounding is divided by the steps. The error of a stencil of five points grows by 16
            # with a step of twice the length.
            step, outer = numerical.steps
            rounding = 8.0 * unit * here.carried.condition / step
            scores, densities = scores + rounding[:, None] / outer, densities + rounding
            with np.errstate(all="ignore"):
                fine, coarse = here.carried, self.mapping.carry(rows, refined=2.0)
                given = self.other.values(fine.rows)[1]
                change = np.abs(coarse.scores(given) - fine.scores(given))
                scores = scores + change + 4.0 * np.sqrt(np.mean(change**2, axis=0))
                volume = np.abs(coarse.log_jacobian - fine.log_jacobian)
                densities = densities + volume + 4.0 * np.sqrt(np.mean(volume**2))
        for side, points in ((self.own, rows), (self.other, here.carried.rows)):
            if side.by_differences:
                largest = float(np.abs(side.target.log_density(points)).max())
                scores = scores + TERMS * DOUBLE * largest / (_STEP * spread)
        return scores, densities


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say which of the two targets an error of the input is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"`{name}` cannot be evaluated at the draws: {error}") from error
