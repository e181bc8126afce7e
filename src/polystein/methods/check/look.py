"""The first look of `check`: the rows that are kept, and what they tell of every column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.numerics import TINY
from polystein.data.coordinates import Frame
from polystein.data.source import Layout
from polystein.data.spread import KeptRows
from polystein.inference.agreement import MANY_CHAINS
from polystein.types import FloatArray

#: Values are bounded at this many robust standard deviations from the median. A larger bound makes
#: distant starts easier to detect. A smaller one makes means of few rows, which many chains have,
#: more nearly normal.
BOUND, BOUND_OF_MANY = 5.0, 2.5
#: Rows that are kept, for medians and spreads. The number is a prime: rows are then spread
#: evenly over the chains and over the times of chains of any length.
KEPT_ROWS = 1_021
#: More are kept of very many: this many times the root of their number. They are those of the
#: kernel net, which is then consistent against every alternative.
ROWS_A_ROOT = 3.0
#: At least this many rows are ranked, evenly spaced, and this many of each chain, if there are.
FEWEST_RANKED, FEWEST_RANKED_OF_CHAIN = 1_000, 50
#: Numbers of rows that are kept at the most, 32 MiB each time.
MOST_NUMBERS_OF_ROWS = 2**22
#: A coordinate's unit in the robust frame is the distance from its median that this part of the
#: rows does not exceed: one standard deviation of a normal law.
CENTRAL_PART = 0.6827
# Columns whose bounds are found at a time.
_COLUMNS_AT_ONCE = 2_048
# The median of a normal law's absolute deviations, inverted.
_NORMAL_SCALE = 1.4826
# Parts of the rows' deviations from the median: the first that is not 0 is the spread.
_SPREAD_QUANTILES = (0.5, 0.75, 0.9, 1.0)
# Sums in units of a larger spread would have to be divided by a number that is not normal.
_LARGEST_SPREAD = 1e300
# No column is taken to vary less than this, in squared robust standard deviations.
_LEAST_MARGINAL = 0.01
# Tails are heavy where this part of the far rows are pulled back, by less than this part of what
# pulls rows at these distances. Those of a Laplace law, which are not, pull as much everywhere.
_INWARDS, _WEAK, _MIDDLE = 0.9, 0.75, (0.5, 2.0)
# The robust unit is at least this part of the standard deviation: no draw is then farther than
# 1e9 sqrt(n) units away.
_LEAST_UNIT = 1e-9


def kept_rows(layout: Layout) -> KeptRows:
    """About a thousand rows, evenly spread over all, and more of very many.

    They tell where the middle of every column is and how it is bounded, and are those of the
    kernel net.
    """
    wanted = max(KEPT_ROWS, int(ROWS_A_ROOT * layout.total**0.5))
    count = min(layout.total, wanted, max(2, MOST_NUMBERS_OF_ROWS // (2 * layout.dimension)))
    return KeptRows(layout, np.arange(count) * layout.total // count)


def rows_to_rank(layout: Layout) -> KeptRows:
    """Every k-th row of each chain, at least a thousand if there are: those that are ranked.

    Autocorrelation is that of equally spaced rows of a chain, which `kept_rows` are not.
    """
    step = min(layout.total // FEWEST_RANKED, min(layout.lengths) // FEWEST_RANKED_OF_CHAIN)
    step = max(1, step, -(-2 * layout.total * layout.dimension // MOST_NUMBERS_OF_ROWS))
    firsts = np.cumsum([0, *layout.lengths[:-1]]).tolist()
    own = [
        first + np.arange(0, length, step)
        for first, length in zip(firsts, layout.lengths, strict=True)
    ]
    return KeptRows(layout, np.concatenate(own))


def robust_frame(some_rows: KeptRows, standard: Frame) -> Frame:
    """The median of every coordinate as its centre, the central 68 % as its unit."""
    centre, halved = _from_median(some_rows.draws_and_scores[0].T)
    unit = 2.0 * _distance(halved, CENTRAL_PART)
    assert standard.scale is not None
    return Frame(centre, np.maximum(unit, _LEAST_UNIT * standard.scale))


class Bounds(NamedTuple):
    """Centre and spread of every column, draws before scores, and its variance once bounded.

    Values are taken to be at most ``bound`` spreads from the centre. ``heavy`` says of which
    coordinates the tails are.
    """

    centre: FloatArray
    spread: FloatArray
    bound: float
    marginal: FloatArray
    heavy: NDArray[np.bool_]


def bounds_of(some_rows: KeptRows) -> Bounds:
    """Median, spread and variance of every column of draws and scores."""
    bound = BOUND if len(some_rows.layout.lengths) < MANY_CHAINS else BOUND_OF_MANY
    parts = []
    for low in range(0, some_rows.values.shape[1], _COLUMNS_AT_ONCE):
        columns = np.array(some_rows.values[:, low : low + _COLUMNS_AT_ONCE].T, order="C")
        # Median and robust standard deviation, which is never 0 and never infinite
        centre, halved = _from_median(columns)
        first, *others = _SPREAD_QUANTILES
        distance = _distance(halved, first)
        for part in others:
            flat = distance == 0.0
            distance[flat] = _distance(halved[flat], part)
        with np.errstate(over="ignore"):
            spread = np.clip(2.0 * _NORMAL_SCALE * distance, TINY, _LARGEST_SPREAD)
            columns -= centre[:, None]
            columns /= spread[:, None]
        np.clip(columns, -bound, bound, out=columns)
        parts.append((centre, spread, _late_variance(columns, some_rows)))
    centre, spread, late = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Bounds(centre, spread, bound, late, _heavy_tails(some_rows, centre, spread, bound))


@np.errstate(over="ignore", invalid="ignore")  # infinite differences: tails are not heavy
def _heavy_tails(
    some_rows: KeptRows, centre: FloatArray, spread: FloatArray, bound: float
) -> NDArray[np.bool_]:
    """Of which coordinates rows were beyond the bound, where the target hardly pulls them back.

    The mean of a coordinate's scores at one value is the slope of its marginal log-density. Rows of
    another mode are pulled both ways.
    """
    draws, scores = some_rows.draws_and_scores
    own = slice(draws.shape[1])
    off = (draws - centre[own]) / spread[own]
    distances, pulls = np.abs(off), -np.sign(off) * scores
    nearest, farthest = _MIDDLE
    far, middle = distances > bound, (nearest < distances) & (distances < farthest)
    pull, usual, inwards = (
        np.sum(values, axis=0, where=where) / np.maximum(where.sum(axis=0), 1)
        for values, where in ((pulls, far), (pulls, middle), (pulls > 0.0, far))
    )
    heavy: NDArray[np.bool_] = far.any(axis=0) & (inwards >= _INWARDS) & (pull < _WEAK * usual)
    return heavy


def _late_variance(columns: FloatArray, some_rows: KeptRows) -> FloatArray:
    """Variance of the rows of the late halves, within chains unless there are many."""
    lengths, (chain, row) = some_rows.layout.lengths, some_rows.places
    late = 2 * row >= np.array(lengths)[chain]
    few = len(lengths) < MANY_CHAINS
    groups = np.equal.outer(np.arange(len(lengths)), chain) if few else [True]
    members = np.atleast_2d(late & groups).astype(np.float64)
    counts = members.sum(axis=1)
    means = columns @ members.T / np.maximum(counts, 1.0)
    # Rows that are not late are in no group, and count for nothing.
    deviations = columns - means @ members
    deviations *= deviations
    freedom = max(1.0, float(late.sum()) - np.count_nonzero(counts))
    result: FloatArray = np.maximum(deviations @ late / freedom, _LEAST_MARGINAL)
    return result


def _from_median(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The median of every row of an array, and half of what its numbers, in order, are off it.

    Halves, for differences of huge values would overflow.
    """
    inorder = np.sort(columns, axis=1)
    centre = inorder[:, _rank(inorder, 0.5)]
    return centre, 0.5 * inorder - 0.5 * centre[:, None]


def _distance(inorder: FloatArray, part: float) -> FloatArray:
    """The distance from 0 that a part of every row, which is in order, does not exceed.

    The nearest numbers lie side by side, and one of the two ends is the farthest of them.
    """
    place = _rank(inorder, part)
    lows, highs = inorder[:, : inorder.shape[1] - place], inorder[:, place:]
    result: FloatArray = np.maximum(-lows, highs).min(axis=1)
    return result


def _rank(inorder: FloatArray, part: float) -> int:
    """Which number in order is not exceeded by a part of them."""
    count: int = inorder.shape[1]
    return round(part * (count - 1))
