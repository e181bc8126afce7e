"""Have the runs forgotten where they were? Only then are sizes told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from polystein.refinement.kernels import LOST_ENERGY, USUAL, Moves
from polystein.types import FloatArray

#: Largest rank correlation between the middle and the end of a run, of coordinates and of their
#: distances from the median; or this many of its standard errors, which are large for few rows.
MOST_CORRELATED, MOST_ERRORS = 0.15, 3.0
#: If those exceed this, the starts are too few to tell: it takes 225 of them.
MOST_ALLOWED = 0.2
#: Largest correlation, of values or their squares, between the middle and the end. A few rows that
#: were thrown far away, and are slow to come back, make up the sd and change no rank correlation.
MOST_KEPT = 0.2
#: Largest change of a mean, in sds, and of a log sd between the middle and the end; or this many
#: of their errors for one row, over sqrt(rows). Rows that have come back show in nothing else.
MOST_DRIFT, DRIFT_NOISE = 0.15, 4.7
#: Largest part of the trajectories that lose more than 100 in energy.
MOST_LOST = 0.01
#: Largest part of the rows that never moved.
MOST_UNMOVED = 0.02
#: Rows on the edge are this part on either side of a coordinate, at so many times of the second
#: half of the runs.
EDGE, EDGE_TIMES = 0.01, 20
#: Smallest speed of rows on an edge: their mean chance of acceptance by usual steps, times the step
#: in sds. Runs that are reversible enter what lies beyond an edge as slowly as they leave it, and
#: nothing that has been reached tells of it. The neck of a funnel that the draws left out shows in
#: nothing else: there the speed was at most .05, in runs that had settled at least .07.
LEAST_SPEED = 0.06


class Edges(NamedTuple):
    """How fast rows on the edges of coordinates move, at the slowest, and whose edge that is."""

    speed: float
    place: int


#: Where there are no trajectories, no edges are looked at.
NO_EDGES = Edges(np.inf, 0)


class Settled(NamedTuple):
    """What the rule looks at; funnels look mixed to the correlations alone."""

    correlations: FloatArray
    kept: FloatArray
    drifts: FloatArray
    noise: FloatArray
    lost: float
    unmoved: float
    rows: int
    edges: Edges = NO_EDGES

    @property
    def worst(self) -> FloatArray:
        """How much each coordinate still moves: what it shows over what is allowed, the worst."""
        root = float(np.sqrt(self.rows))
        correlated = self.correlations / max(MOST_CORRELATED, MOST_ERRORS / root)
        drifted = self.drifts / np.maximum(MOST_DRIFT, DRIFT_NOISE * self.noise / root)
        worst = np.max([correlated, self.kept / MOST_KEPT, drifted], axis=0)
        # What cannot be judged has not settled: tails beyond all numbers allow any change.
        return np.where(np.isfinite(worst) & np.isfinite(self.noise), worst, np.inf)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which coordinates have not settled."""
        return np.asarray(self.worst > 1.0)

    @property
    def still(self) -> bool:
        """Whether no rule finds anything that moves, few as the rows may be."""
        few = self.lost < MOST_LOST and self.unmoved < MOST_UNMOVED
        return few and not self.moving.any() and not self.held_up

    @property
    def held_up(self) -> bool:
        """Whether rows on the edge of a coordinate hardly move."""
        return not self.edges.speed >= LEAST_SPEED

    @property
    def too_few(self) -> bool:
        """Whether there are too few rows to tell: runs that move much would pass for still."""
        return MOST_ERRORS / float(np.sqrt(self.rows)) > MOST_ALLOWED

    @property
    def all(self) -> bool:
        """Whether the whole model has settled, by rows enough to tell."""
        return self.still and not self.too_few


def settled(
    middle: FloatArray,
    end: FloatArray,
    moves: Sequence[Moves],
    *,
    trajectories: bool,
    edges: Edges = NO_EDGES,
) -> Settled:
    """Judge a run by its rows in the middle and at the end, and by all of its proposals.

    Energy is conserved along trajectories alone: what random walks lose of it says nothing.
    """
    lost = 0.0
    if trajectories:
        losses = np.concatenate([made.loss[made.kind == 0] for made in moves])
        lost = float(np.mean(losses > LOST_ENERGY)) if len(losses) else np.nan
    moved = np.any([made.accepted for made in moves], axis=0)
    unmoved = float(np.mean(~moved))
    return Settled(
        rank_correlations(middle, end),
        squares_kept(middle, end),
        *drifts(middle, end),
        lost,
        unmoved,
        len(end),
        edges,
    )


def edges_of(looks: Sequence[tuple[FloatArray, Moves]], step: float) -> Edges:
    """The slowest edge: rows before some steps, and what became of the proposals of these steps."""
    chances, positions = [], []
    for before, made in looks:
        usual = (made.kind == 0) & (made.factor >= USUAL[0])
        chances.append(made.chance[usual])
        positions.append(before[usual])
    chance, position = np.concatenate(chances), np.concatenate(positions)
    if not len(chance):
        return Edges(np.nan, 0)
    count = max(1, int(EDGE * len(chance)))
    order = np.argpartition(position, (count - 1, len(position) - count), axis=0)
    both = [chance[order[:count]].mean(axis=0), chance[order[-count:]].mean(axis=0)]
    slowest = np.minimum(*both)
    place = int(np.argmin(slowest))
    return Edges(step * float(slowest[place]), place)


def drifts(middle: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far the mean of each coordinate, in sds, or its log sd changed; the larger of the two.

    Beside it is the error of a log sd for one row, in units of that of a Gaussian, at least 1. The
    lighter of the tails in the middle and at the end count: rows that have just come back, or were
    just thrown away, are no noise.
    """
    spreads = [np.where(rows.std(axis=0) > 0.0, rows.std(axis=0), 1.0) for rows in (middle, end)]
    means = np.abs(middle.mean(axis=0) - end.mean(axis=0)) / spreads[1]
    tails = [
        (((rows - rows.mean(axis=0)) / spread) ** 4).mean(axis=0)
        for rows, spread in zip((middle, end), spreads, strict=True)
    ]
    noise = np.sqrt(np.maximum(1.0, 0.5 * (np.minimum(*tails) - 1.0)))
    return np.maximum(means, np.abs(np.log(spreads[0] / spreads[1]))), noise


def squares_kept(middle: FloatArray, end: FloatArray) -> FloatArray:
    """Pearson's correlation of each coordinate or that of its square; the larger of the two.

    Squares are those of distances from the median at the end.
    """
    centre = np.median(end, axis=0)
    squares = _correlations((middle - centre) ** 2, (end - centre) ** 2)
    return np.maximum(_correlations(middle, end), squares)


def rank_correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Spearman's correlation of each coordinate or that of its distance from the median.

    The larger of the two is taken.
    """
    plain = _correlations(rankdata(first, axis=0), rankdata(second, axis=0))
    distances = [np.abs(rows - np.median(rows, axis=0)) for rows in (first, second)]
    folded = _correlations(*(rankdata(one, axis=0) for one in distances))
    return np.maximum(plain, folded)


def _correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Pearson's correlation of each column with its partner; 1 where one is constant."""
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    scale = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    products = (first * second).sum(axis=0)
    found: FloatArray = np.divide(products, scale, out=np.ones_like(scale), where=scale > 0.0)
    return found
