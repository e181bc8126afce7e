"""Whether axes are (chain, draw, d), in this order, and whether chains sit at absurd values.

Functions that keep time order measure autocorrelation along the second axis. If time runs along
another one, they do not see it, and reject correct draws or judge nothing. A small corner of the
draws is enough to tell, and it is looked at before anything is computed.

Neighbouring chains are independent of each other. With y the draws of a coordinate, centred over
the chains, the sums over rows

    S_k = sum_t y_kt y_(k+1)t

are then uncorrelated with mean 0, whatever the autocorrelation within a chain, and the ratio
sum_k S_k / sqrt(sum_k S_k^2) is about standard normal. If time runs along the first axis, all S_k
are positive, and the ratio is near the root of their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arguments import boolean
from polystein._lib.notes import first_of
from polystein._lib.numerics import EPSILON
from polystein.data.passes import gathered
from polystein.data.source import (
    Layout,
    Rows,
    Source,
    coordinate_names,
    costs_little,
    in_time_order,
)
from polystein.errors import InputError
from polystein.types import FloatArray

#: With fewer neighbours along an axis, the ratio cannot be large enough to tell.
LEAST_LENGTH = 40
#: Signs that are + and - alike give a larger ratio with probability at most exp(-18).
LARGEST_RATIO = 6.0
#: A corner of the draws has at most this many places along the axis in question ...
MOST_PLACES = 256
#: ... this many rows at each of them ...
MOST_ROWS = 16
#: ... and this many numbers.
MOST_NUMBERS = 2**15
#: Draws further from their median than this many median deviations are clipped, so that a few
#: cannot outweigh the others.
MOST_DEVIATIONS = 4.0

#: Beside a chain that is further away than this, in units of the others' deviations, squares of
#: those deviations are lost to rounding.
FURTHEST = EPSILON**-0.5
#: Most chains whose last `MOST_ROWS` rows are compared, and most numbers in these rows.
MOST_CHAINS, MOST_NUMBERS_AT_ENDS = 256, 2**14


def require_time_along_chains(source: Source) -> None:
    """Raise where time runs along the first or the last axis instead of the second."""
    chains, draws, dimension = shape = shape_of(source.layout)
    if source.names is None and draws < 20 and chains * draws < dimension:
        raise InputError(
            f"`draws` must have the shape (chain, draw, d); got {shape}: {_count(draws, 'draw')} "
            f"in a chain, and fewer draws in all than coordinates. {_last_axis_remedies(shape)}"
        )
    if chains >= LEAST_LENGTH and _time_runs_along_chains(source):
        raise InputError(
            f"`draws` must have the shape (chain, draw, d), with time along the second axis; got "
            f"{shape}, autocorrelated along the first axis and not along the second. "
            f"{_first_axis_remedies(shape, named=source.names is not None)}"
        )
    long_enough = dimension >= LEAST_LENGTH and chains * draws < dimension
    if source.names is None and long_enough and _time_runs_along_coordinates(source):
        raise InputError(
            f"`draws` must have the shape (chain, draw, d), with time along the second axis; got "
            f"{shape}, where draws and scores are autocorrelated along the last axis and not "
            f"along the second. {_last_axis_remedies(shape)}"
        )


def rows_or_chains(source: Source, iid: bool) -> Source:
    """The source as independent rows if ``iid`` or its facts say so, otherwise as chains.

    A single chain may be given as independent rows: (1, draw, d) is what ArviZ makes of (n, d).
    """
    if not boolean(iid, "iid") and not source.facts.independent:
        return in_time_order(source)
    chains, draws, dimension = shape_of(source.layout)
    if source.layout.time_ordered and chains > 1:
        raise InputError(
            "`iid=True` is for independent rows, (n, d); got chains, (chain, draw, d) = "
            f"({chains}, {draws}, {dimension}). Leave `iid` out: chains are judged in time order. "
            "If every row is independent of all others, pass `draws.reshape(-1, "
            f"{dimension})` and the scores likewise."
        )
    return in_time_order(source, False)


def rearranged(argument: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """How an array of one shape may be brought into another: a sentence, or nothing."""
    if sorted(shape) == sorted(expected) and len(set(shape)) == len(shape):
        order = tuple(shape.index(size) for size in expected)
        return f" Its axes are in another order: pass `np.transpose({argument}, {order})`."
    if np.prod(shape) == np.prod(expected) and shape[-1:] == expected[-1:]:
        return f" If its rows are in the order of `draws`, pass `{argument}.reshape({expected})`."
    return ""


def shape_of(layout: Layout) -> tuple[int, int, int]:
    """The shape (chain, draw, d); of chains that differ in length the shortest counts."""
    return len(layout.lengths), min(layout.lengths), layout.dimension


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _first_axis_remedies(shape: tuple[int, int, int], *, named: bool) -> str:
    draws, second, last = shape
    remedy = (
        f"If the axes are (draw, chain, d), {_count(second, 'chain')} of {draws} draws, pass "
        "`draws.swapaxes(0, 1)`"
    )
    if not named:
        remedy += (
            f"; if they are (draw, d, chain), {_count(last, 'chain')} of {draws} draws, pass "
            "`np.moveaxis(draws, 2, 0)`"
        )
    return f"{remedy}; the scores likewise. If they are in order, chains copy their neighbours."


def _last_axis_remedies(shape: tuple[int, int, int]) -> str:
    first, second, draws = shape
    if first == 1:
        return (
            f"If the axes are (d, draw), one chain of {draws} draws, pass "
            "`draws.swapaxes(-1, -2)`; the scores likewise. If they are in order, give the "
            "coordinates names: `Sample(draws, scores, names=...)`."
        )
    return (
        f"If the axes are (chain, d, draw), {first} chains of {draws} draws, pass "
        f"`draws.swapaxes(1, 2)`; if they are (d, chain, draw), {_count(second, 'chain')} of "
        f"{draws} draws, pass `np.moveaxis(draws, 0, 2)`; the scores likewise. If they are in "
        "order, give the coordinates names: `Sample(draws, scores, names=...)`."
    )


def _time_runs_along_chains(source: Source) -> bool:
    """Whether neighbouring chains are correlated, and neighbouring rows are not."""
    layout = source.layout
    chains = min(len(layout.lengths), MOST_PLACES)
    first = (len(layout.lengths) - chains) // 2
    corner = _first_rows(source, range(first, first + chains), MOST_ROWS)
    if corner is None:
        return False
    draws, _ = corner
    step = -(-draws.size // MOST_NUMBERS)
    values = clipped(draws[..., ::step], axis=(0, 1))
    correlation, ratio = _correlations_of_neighbours(values)
    marked = ratio > LARGEST_RATIO
    if not marked.any():
        return False
    across = _correlation(values[..., marked].swapaxes(0, 1))
    return across < 0.5 * float(correlation[marked].mean())


def _time_runs_along_coordinates(source: Source) -> bool:
    """Whether neighbouring coordinates are correlated, in draws and scores, as time makes them.

    Coordinates of a smooth target are correlated as well, but the scores of smooth draws are
    rough: their covariance is near the inverse of the draws'. In time both are alike.
    """
    chains = range(min(len(source.layout.lengths), MOST_ROWS))
    corner = _first_rows(source, chains, 4 if len(chains) > 1 else MOST_ROWS)
    if corner is None:
        return False
    first = max(0, source.layout.dimension - MOST_PLACES) // 2
    draws, scores = (clipped(values[..., first : first + MOST_PLACES], axis=2) for values in corner)
    # The places are the coordinates; all rows count as one coordinate.
    correlations, ratios = np.hstack(
        [
            _correlations_of_neighbours(np.moveaxis(part, 2, 0).reshape(part.shape[2], -1, 1))
            for part in (draws, scores)
        ]
    )
    if ratios.min() <= LARGEST_RATIO:
        return False
    # Time alone is likely to make more autocorrelation than this, in both.
    if correlations.min() < max(0.3, 0.5 * correlations[0]):
        return False
    return _correlation(draws.swapaxes(0, 1)) < 0.5 * float(correlations[0])


def _first_rows(source: Source, chains: range, most: int) -> tuple[FloatArray, FloatArray] | None:
    """Draws and scores at the start of some chains, (chain, row, coordinate).

    None if reading them costs too much.
    """
    lengths = source.layout.lengths
    if not costs_little(source, chains, sum(lengths[: chains.stop])):
        return None
    rows = min(most, *(lengths[chain] for chain in chains))
    draws, scores, _ = gathered(source, [Rows(chain, 0, rows) for chain in chains])
    shape = (len(chains), rows, source.layout.dimension)
    return draws.reshape(shape), scores.reshape(shape)


def clipped(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Deviations from the median in units of their own median, none of them large."""
    # About 32 of the places are enough for a rough middle and unit.
    part = values[:: max(1, values.shape[0] // 32)]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.median(part, axis=axis, keepdims=True)
        deviations = values - middle
        unit = np.median(np.abs(part - middle), axis=axis, keepdims=True)
        # Where most rows are equal, the mean deviation is a unit that is not 0.
        unit = np.where(unit > 0.0, unit, np.abs(deviations).mean(axis=axis, keepdims=True))
        scaled = deviations / np.where(unit > 0.0, unit, 1.0)
    return np.asarray(np.clip(np.nan_to_num(scaled), -MOST_DEVIATIONS, MOST_DEVIATIONS))


def _correlations_of_neighbours(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each coordinate, the correlation of neighbours along the first axis, and the ratio.

    The ratio is that of their products to what chance makes of these. Draws that differ by
    rounding alone have correlation 0.
    """
    centred = values - values.mean(axis=0)
    sums = np.einsum("ktj,ktj->kj", centred[1:], centred[:-1])
    squares = np.einsum("ktj,ktj->j", centred, centred)
    total, chance = sums.sum(axis=0), np.sqrt(np.einsum("kj,kj->j", sums, sums))
    correlation, ratio = (
        np.divide(total, unit, out=np.zeros_like(total), where=unit > EPSILON)
        for unit in (squares, chance)
    )
    return correlation, ratio


def _correlation(values: FloatArray) -> float:
    """Correlation of neighbours along the first axis over all coordinates; 0 of a single place.

    Only the mean over both axes is subtracted: chains that sit in different places make
    neighbouring rows alike, too.
    """
    centred = values - values.mean(axis=(0, 1))
    products = float(np.sum(centred[1:] * centred[:-1])) if len(centred) > 1 else 0.0
    squares = float(np.sum(centred**2)) * (len(centred) - 1) / len(centred)
    return products / squares if squares > EPSILON else 0.0


def refuse_absurd_chains(source: Source) -> None:
    """Raise where some chains end at values beside which all other draws look alike."""
    lengths, dimension = source.layout.lengths, source.layout.dimension
    count = min(len(lengths), MOST_CHAINS, max(2, MOST_NUMBERS_AT_ENDS // dimension))
    chosen = [number * len(lengths) // count for number in range(count)]
    if count < 2 or not costs_little(source, chosen, source.layout.total):
        return
    most = max(1, MOST_NUMBERS_AT_ENDS // (count * dimension))
    rows = min(MOST_ROWS, most, *(lengths[chain] for chain in chosen))
    last = [Rows(chain, lengths[chain] - rows, lengths[chain]) for chain in chosen]
    ends = gathered(source, last)[0].reshape(count, rows, dimension)
    with np.errstate(over="ignore"):
        places = _lower_median(ends, axis=1)
        # For each coordinate, the chain in the middle of those ordered by their distance from 0.
        middle = np.argsort(np.abs(places), axis=0, kind="stable")[(count - 1) // 2]
        usual = places[middle, np.arange(dimension)]
        deviation = _lower_median(np.abs(ends - usual).reshape(-1, dimension), axis=0)
        unit = np.maximum(deviation, np.abs(usual))
        absurd = (np.abs(places - usual) / FURTHEST > unit) & (unit > 0.0)
    if not absurd.any():
        return
    found = np.flatnonzero(absurd.any(axis=1)).tolist()
    # The first of these chains, in its most distant coordinate.
    furthest = int(np.argmax(np.where(absurd[found[0]], np.abs(places[found[0]]), 0.0)))
    numbers = [chosen[place] for place in found]
    one = len(numbers) == 1
    raise InputError(
        "`draws` must be chains that overlap; "
        f"{'chain' if one else 'chains'} {first_of(list(map(str, numbers)), 5)} "
        f"{'sits' if one else 'sit'} at absurd values: "
        f"chain {numbers[0]} around {places[found[0], furthest]:.3g} in "
        f"{coordinate_names(source)[furthest]}, where others are around {usual[furthest]:.3g}. "
        "Chains are counted from 0. Such a chain has diverged or never left its start: run it "
        f"again, or judge the others with `np.delete(draws, {numbers}, axis=0)`; the scores "
        "likewise."
    )


def _lower_median(values: FloatArray, axis: int) -> FloatArray:
    """The lower median, which is one of the values: a mean of two could be far from both."""
    middle = (values.shape[axis] - 1) // 2
    return np.asarray(np.take(np.partition(values, middle, axis=axis), middle, axis=axis))


def moved(keys: NDArray[Any], lengths: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which rows differ from the row before them in their chain, by a key for each row."""
    moves = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=moves[1:])
    moves[first_rows(lengths)] = True
    return moves


def first_rows(lengths: tuple[int, ...]) -> NDArray[np.intp]:
    """Where each chain begins among all rows."""
    return np.cumsum([0, *lengths[:-1]])


def stays(keys: NDArray[Any], lengths: tuple[int, ...]) -> NDArray[np.intp]:
    """How many rows each stay has, chain by chain, by a key for each row.

    Examples
    --------
    >>> stays(np.array([7, 7, 7, 8, 8, 9]), (4, 2)).tolist()
    [3, 1, 1, 1]
    """
    (begins,) = moved(keys, lengths).nonzero()
    return np.diff(begins, append=keys.size)
