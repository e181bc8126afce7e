"""Are the axes of the draws what they are taken for? (chain, draw, d), in this order.

Functions that keep time order measure autocorrelation along the second axis. If time runs along
another one, they do not see it, and reject correct draws or judge nothing. A small corner of the
draws is enough to tell, and it is looked at before anything is computed.

Neighbouring chains are independent of each other. With y the draws of a coordinate, centred over
the chains, the sums over rows

    S_k = sum_t y_kt y_(k+1)t

are then uncorrelated with mean 0, whatever the memory of a chain is, and the ratio
sum_k S_k / sqrt(sum_k S_k^2) is about standard normal. If time runs along the first axis, all S_k
are positive, and the ratio is near the root of their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polystein._lib.arguments import boolean
from polystein._lib.numerics import EPSILON
from polystein.data.passes import gathered
from polystein.data.source import Layout, Rows, Source, costs_little, in_time_order
from polystein.errors import InputError
from polystein.types import FloatArray

#: With fewer neighbours along an axis, the ratio cannot be large enough to tell.
LEAST_LENGTH = 40
#: Signs that are + and - alike give a larger ratio with probability exp(-18) at the most.
LARGEST_RATIO = 6.0
#: The corner has at most so many places along the axis in question ...
MOST_PLACES = 256
#: ... so many rows at each of them ...
MOST_ROWS = 16
#: ... and so many numbers.
MOST_NUMBERS = 2**15
#: The middle and the unit of draws come from about so many of the places.
SOME_PLACES = 32
#: Draws further from their median than this many median deviations are drawn in, so that a few
#: cannot outweigh the others.
MOST_DEVIATIONS = 4.0
#: From so many draws in a chain on, more coordinates than draws are no reason to ask.
FEW_DRAWS = 20
#: Autocorrelation along the coordinates, of draws and scores, that time alone is likely to make.
LEAST_CORRELATION = 0.3


def require_time_along_chains(source: Source) -> None:
    """Raise where time runs along the first or the last axis instead of the second."""
    chains, draws, dimension = shape = _shape(source.layout)
    if source.names is None and draws < FEW_DRAWS and chains * draws < dimension:
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


def require_independent_rows(source: Source) -> None:
    """Raise where chains are called independent rows."""
    if source.layout.time_ordered:
        chains, draws, dimension = _shape(source.layout)
        raise InputError(
            "`iid=True` is for independent rows, (n, d); got chains, (chain, draw, d) = "
            f"({chains}, {draws}, {dimension}). Leave `iid` out: chains are judged in time order. "
            "If every row is independent of all others, pass `draws.reshape(-1, "
            f"{dimension})` and the scores likewise."
        )


def rows_or_chains(source: Source, iid: bool) -> Source:
    """The source as independent rows if ``iid`` says so, otherwise as chains in time order."""
    if not boolean(iid, "iid"):
        return in_time_order(source)
    require_independent_rows(source)
    return source


def rearranged(argument: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """How an array of one shape may be brought into another: a sentence, or nothing."""
    if sorted(shape) == sorted(expected) and len(set(shape)) == len(shape):
        order = tuple(shape.index(size) for size in expected)
        return f" Its axes are in another order: pass `np.transpose({argument}, {order})`."
    if np.prod(shape) == np.prod(expected) and shape[-1:] == expected[-1:]:
        return f" If its rows are in the order of `draws`, pass `{argument}.reshape({expected})`."
    return ""


def _shape(layout: Layout) -> tuple[int, int, int]:
    """(chain, draw, d); of chains that differ in length the shortest counts."""
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
    """Whether neighbouring chains follow each other, and neighbouring rows do not."""
    corner = _corner_of_chains(source)
    if corner is None:
        return False
    drawn_in = _drawn_in(corner, axis=(0, 1))
    along = _following(drawn_in)
    marked = along.ratio > LARGEST_RATIO
    if not marked.any():
        return False
    across = _correlation(drawn_in[..., marked].swapaxes(0, 1))
    return across < 0.5 * float(along.correlation[marked].mean())


def _time_runs_along_coordinates(source: Source) -> bool:
    """Whether neighbouring coordinates follow each other in draws and scores as time makes them.

    Coordinates of a smooth target follow each other as well, but the scores of smooth draws are
    rough: their covariance is near the inverse of the draws'. In time both are alike.
    """
    corners = _corner_of_coordinates(source)
    if corners is None:
        return False
    draws, scores = (_drawn_in(corner, axis=2) for corner in corners)
    # The places are the coordinates; all rows count as one coordinate.
    found = [
        _following(np.moveaxis(part, 2, 0).reshape(part.shape[2], -1, 1))
        for part in (draws, scores)
    ]
    of_draws, of_scores = (float(part.correlation[0]) for part in found)
    if min(float(part.ratio[0]) for part in found) <= LARGEST_RATIO:
        return False
    if min(of_draws, of_scores) < max(LEAST_CORRELATION, 0.5 * of_draws):
        return False
    return _correlation(draws.swapaxes(0, 1)) < 0.5 * of_draws


def _corner_of_chains(source: Source) -> FloatArray | None:
    """Draws of neighbouring chains, (chain, row, coordinate); None if they cost too much."""
    layout = source.layout
    chains = min(len(layout.lengths), MOST_PLACES)
    first = (len(layout.lengths) - chains) // 2
    chosen = range(first, first + chains)
    rows = min(MOST_ROWS, *(layout.lengths[chain] for chain in chosen))
    if not costs_little(source, chosen, sum(layout.lengths[: chosen.stop])):
        return None
    draws, _, _ = gathered(source, [Rows(chain, 0, rows) for chain in chosen])
    step = -(-layout.dimension * rows * chains // MOST_NUMBERS)
    return draws[:, ::step].reshape(chains, rows, -1)


def _corner_of_coordinates(source: Source) -> tuple[FloatArray, FloatArray] | None:
    """Draws and scores of a few rows, (chain, row, coordinate), at neighbouring coordinates."""
    layout = source.layout
    chosen = range(min(len(layout.lengths), MOST_ROWS))
    most = 4 if len(chosen) > 1 else MOST_ROWS
    rows = min(most, *(layout.lengths[chain] for chain in chosen))
    if not costs_little(source, chosen, sum(layout.lengths[: chosen.stop])):
        return None
    draws, scores, _ = gathered(source, [Rows(chain, 0, rows) for chain in chosen])
    first = max(0, layout.dimension - MOST_PLACES) // 2
    places = slice(first, first + MOST_PLACES)
    shape = (len(chosen), rows, -1)
    return draws[:, places].reshape(shape), scores[:, places].reshape(shape)


def _drawn_in(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Deviations from the median in units of their own median, none of them large."""
    # A part of the places is enough for a rough middle and unit.
    part = values[:: max(1, values.shape[0] // SOME_PLACES)]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.median(part, axis=axis, keepdims=True)
        deviations = values - middle
        unit = np.median(np.abs(part - middle), axis=axis, keepdims=True)
        # Where most rows are equal, the mean deviation is a unit that is not 0.
        unit = np.where(unit > 0.0, unit, np.abs(deviations).mean(axis=axis, keepdims=True))
        scaled = deviations / np.where(unit > 0.0, unit, 1.0)
    result: FloatArray = np.clip(np.nan_to_num(scaled), -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return result


class _Following(NamedTuple):
    """For each coordinate, how far neighbours along the first axis follow each other."""

    correlation: FloatArray
    ratio: FloatArray


def _following(values: FloatArray) -> _Following:
    """Correlation of neighbours along the first axis, and its ratio to what chance makes."""
    centred = values - values.mean(axis=0)
    sums = np.einsum("ktj,ktj->kj", centred[1:], centred[:-1])
    squares = np.einsum("ktj,ktj->j", centred, centred)
    total, chance = sums.sum(axis=0), np.sqrt(np.einsum("kj,kj->j", sums, sums))
    return _Following(_ratio(total, squares), _ratio(total, chance))


def _correlation(values: FloatArray) -> float:
    """Correlation of neighbours along the first axis over all coordinates; 0 of a single place.

    Only the mean over both axes is taken off: chains that sit in different places make
    neighbouring rows alike, too.
    """
    centred = values - values.mean(axis=(0, 1))
    products = float(np.sum(centred[1:] * centred[:-1])) if len(centred) > 1 else 0.0
    squares = float(np.sum(centred**2)) * (len(centred) - 1) / len(centred)
    return products / squares if squares > EPSILON else 0.0


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    result: FloatArray = np.zeros_like(numerator)
    # Draws that differ by rounding alone follow nothing.
    np.divide(numerator, denominator, out=result, where=denominator > EPSILON)
    return result
