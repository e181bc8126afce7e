"""Whether scores look like scores of their draws.

A wrong sign, a wrong order of columns or a forgotten Jacobian would be blamed on the sampler.
Each of them leaves a mark that some hundred rows show. For draws x of a target with score s,
integration by parts gives E[(x_i - E x_i) s_j] = -1 if i = j, and 0 otherwise. Where a log-density
is at hand, its differences are compared with the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein.data.guard.minibatches import shared_batch
from polystein.data.guard.pairing import mismatch
from polystein.data.guard.rows import FEWEST_SCREENED, ScreenedRows, screened_rows
from polystein.data.passes import run_pass
from polystein.data.source import Source, coordinate_names
from polystein.data.target import difference_step
from polystein.errors import InputError, ScoreWarning
from polystein.types import Array, FloatArray

#: One truth value for each coordinate.
Mask = NDArray[np.bool_]

#: Batches of consecutive rows whose means show how uncertain a mean is.
_BATCHES = 16
#: A mean product is known if its standard error is below this ...
_KNOWN = 0.15
#: ... and something is said only if it is this many standard errors away from what it should be.
_CLEAR = 6.0
#: Products beyond this factor of -1 mean different units.
_WILD = 100.0
#: A border is near if the lowest hundredth of the draws comes this close to it, in units of the
#: distance from there to the median.
_NEAR = 0.2
#: Draws at which scores are compared with differences of the log-density.
_DRAWS = 3


class Look(NamedTuple):
    """Some rows, and the means of the products of draws and scores."""

    draws: FloatArray
    scores: FloatArray
    names: tuple[str, ...]
    #: The draws without their mean.
    away: FloatArray
    #: Means of (x_i - mean of x_i) s_i, with their standard errors.
    products: FloatArray
    errors: FloatArray
    #: Whether the scores agree with differences of a log-density.
    verified: bool

    @property
    def known(self) -> Mask:
        """Which products are known well enough to be judged."""
        return np.asarray(self.errors < _KNOWN)


def score_warnings(source: Source, rows: ScreenedRows | None = None) -> list[ScoreWarning]:
    """What looks wrong about the scores: at most one finding about their values, and precision.

    Raises an error if the scores of a coordinate are all 0. Rows are read unless they are given.
    """
    if rows is None:
        rows = ScreenedRows(source.layout)
        run_pass(source, list(screened_rows(source.layout)), rows)
    draws, scores = rows.finalise()
    names, log_density = coordinate_names(source), source.facts.log_density
    if len(draws) == 0:
        return []
    refuse_zeros(scores, names)
    # What overflows is no number, and cannot be judged.
    with np.errstate(all="ignore"):
        wrong, minibatch = None, source.facts.minibatch
        if minibatch:
            wrong = shared_batch(*rows.in_order())
        elif log_density is not None:
            wrong = _contradiction(log_density, draws, scores, names)
        verified = wrong is None and log_density is not None and not minibatch
        if not (verified or minibatch):
            wrong = mismatch(*rows.in_order()) or wrong
        away = draws - np.ones(len(draws)) @ draws / len(draws)
        look = Look(draws, scores, names, away, *mean_and_error(away * scores), verified)
        for finding in (_constant, _flipped, _permuted, _constrained, _wild_scales):
            # Sizes of scores near a border are those of noise.
            if not (minibatch and finding is _constrained):
                wrong = wrong or finding(look)
        found = wrong, _single_precision(scores)
    return [ScoreWarning(words) for words in found if words]


def mean_and_error(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means of columns, with standard errors that allow for autocorrelation."""
    size, left = divmod(len(values), _BATCHES)
    # The first batches have one row more, if rows are left.
    longer, others = np.split(values, [left * (size + 1)])
    # Products with ones are faster than sums of rows.
    parts = [
        np.ones(rows) @ part.reshape(-1, rows, part.shape[1])
        for part, rows in ((longer, size + 1), (others, size))
    ]
    sums = np.concatenate(parts)
    sizes = np.where(np.arange(_BATCHES) < left, size + 1.0, size)
    means = sums / sizes[:, None]
    error = means.std(axis=0, ddof=1) / _BATCHES**0.5
    return sums.sum(axis=0) / len(values), np.where(np.isfinite(error), error, np.inf)


def _listed(names: tuple[str, ...], places: Mask) -> str:
    chosen = [names[place] for place in np.flatnonzero(places)]
    return ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")


def refuse_zeros(scores: FloatArray, names: tuple[str, ...]) -> None:
    """Raise an error if the scores of a coordinate are all 0."""
    # A column that is not 0 at the first draw is not 0 at all of them.
    zero: Mask = scores[0] == 0.0
    if zero.any() and (zero := np.logical_not(scores.any(axis=0))).any():
        raise InputError(
            f"`scores` must not be 0 at all draws; got zeros for {_listed(names, zero)}. No "
            "density has them: was the gradient computed, and does the log-density depend on "
            "every coordinate?"
        )


def _constant(look: Look) -> str | None:
    """Scores that are the same at all draws."""
    first, last = look.scores[0], look.scores[-1]
    if not (first == last).any() or not (constant := (look.scores == first).all(axis=0)).any():
        return None
    return (
        f"`scores` are the same at all draws for {_listed(look.names, constant)}: no density on "
        "the whole line has a constant score. Draws on (0, inf) must be transformed (log x), with "
        "the Jacobian in the density."
    )


def _flipped(look: Look) -> str | None:
    """All known products lie at +1."""
    judged = look.known
    near = np.abs(look.products - 1.0) < np.maximum(0.25, 3.0 * look.errors)
    above = look.products > _CLEAR * look.errors
    if look.verified or 2 * judged.sum() < judged.size or not (near & above)[judged].all():
        return None
    return (
        "`scores` look as if their sign were wrong: the mean of (x - mean) * score is "
        f"{np.median(look.products[judged]):+.2f} in the coordinates of these draws, where it "
        "should be -1. Is this the gradient of a loss or a potential energy? Pass `-scores`."
    )


def _permuted(look: Look) -> str | None:
    """Another order of the scores' columns makes the products -1, and this order does not."""
    # The search takes the cube of the number of coordinates.
    if look.verified or not 2 <= look.draws.shape[1] <= 300:
        return None
    cross = look.away.T @ look.scores / len(look.away)
    if not np.isfinite(cross).all():
        return None
    rows, order = linear_sum_assignment(np.clip(cross, -1.0, 1.0))
    moved = np.flatnonzero(order != rows)
    if moved.size == 0:
        return None
    found, errors = mean_and_error(look.away[:, moved] * look.scores[:, order[moved]])
    before, before_errors = look.products[moved], look.errors[moved]
    fits = (np.abs(found + 1.0) < 0.4) & (errors < _KNOWN) & (found < -_CLEAR * errors)
    misfits = (before > -0.5) & (before + 1.0 > _CLEAR * before_errors)
    if np.mean(fits & misfits) < 0.7:
        return None
    pairs = [f"{look.names[i]} fits column {order[i]}" for i in moved[fits & misfits][:4]]
    return (
        f"`scores` look as if their columns were in another order than those of `draws`: "
        f"{'; '.join(pairs)} of the scores{', ...' if moved.size > 4 else ''}. PyMC's gradients "
        "are in the order of its value variables, not of the posterior: use `from_pymc`, or "
        "concatenate by name."
    )


def _constrained(look: Look) -> str | None:
    """A coordinate on (0, inf) or (0, 1) whose scores are not those of the line."""
    # The first rows rule out most coordinates.
    for place in np.flatnonzero(look.draws[:FEWEST_SCREENED].min(axis=0) > 0.0).tolist():
        name, column, score = look.names[place], look.draws[:, place], look.scores[:, place]
        if column.min() <= 0.0:
            continue
        scales = [("log", "(0, inf)", np.log(column))]
        if column.max() < 1.0:
            scales.insert(0, ("logit", "(0, 1)", np.log(column) - np.log1p(-column)))
        for scale, where, free in scales:
            if words := _border(column, score, free, look.verified):
                return (
                    f"`draws` of {name} live on {where}, and {words}. Is this {name} rather than "
                    f"{scale} {name}? Draws and scores belong to the unconstrained space: pass "
                    f"{scale}({name}) with the score of its density, the Jacobian included."
                )
    return None


def _border(column: FloatArray, score: FloatArray, free: FloatArray, verified: bool) -> str | None:
    """What is wrong near the border, in words; None if nothing is. `free` is unconstrained."""
    own, own_error = mean_and_error(((column - column.mean()) * score)[:, None])
    wrong = abs(own[0] + 1.0) > _CLEAR * own_error[0]
    if wrong and not verified and _fits(free, column, score):
        return "the scores fit the draws on the unconstrained scale"
    if not _comes_near(column):
        return None
    if _explodes(column, score):
        return "the scores explode near the border"
    mean, error = mean_and_error(score[:, None])
    if abs(mean[0]) > _CLEAR * error[0] and wrong:
        return "the mean of the scores is far from 0, as for a density that is cut off there"
    huge = np.abs(score).max() * column.std() > _WILD**3
    return "the scores are huge" if huge else None


def _fits(free: FloatArray, column: FloatArray, score: FloatArray) -> bool:
    """Whether scores are those of the unconstrained values, where the two scales differ.

    A column far from the border, with a standard deviation below a quarter of its mean, has nearly
    the same shape on both, and a sampler that is wrong may fit by chance.
    """
    if column.std() < 0.25 * column.mean():
        return False
    away = free - free.mean()
    mean, error = mean_and_error(np.column_stack([score, away * score + 1.0]))
    return bool((np.abs(mean) < np.maximum(0.05, 2.5 * error)).all() and error[1] < _KNOWN)


def _comes_near(column: FloatArray) -> bool:
    """Whether the draws come close to 0 or 1, as draws far inside do not."""
    low, middle, high = np.quantile(column, [0.01, 0.5, 0.99])
    near_zero = low < _NEAR * (middle - low)
    near_one = column.max() < 1.0 and 1.0 - high < _NEAR * (high - middle)
    return bool(near_zero or near_one)


def _explodes(column: FloatArray, score: FloatArray) -> bool:
    """Whether scores grow twentyfold as draws approach 0 or 1, as those of c log(x) do."""
    sizes = np.abs(score)
    border = np.minimum(column, 1.0 - column) if column.max() < 1.0 else column
    closest = np.argsort(border)[: max(5, len(border) // 100)]
    middle = float(np.median(sizes))
    return bool(np.median(sizes[closest]) > 20.0 * max(middle, np.finfo(float).tiny))


def _wild_scales(look: Look) -> str | None:
    """Products beyond a factor of a hundred: other units, or another parameter."""
    large = np.abs(look.products) - _CLEAR * look.errors > _WILD
    small = (np.abs(look.products) + _CLEAR * look.errors < 1.0 / _WILD) & look.known
    wild = large | small
    if not wild.any():
        return None
    values = ", ".join(f"{value:.3g}" for value in look.products[wild][:5])
    return (
        f"`draws` and `scores` are on wildly different scales for {_listed(look.names, wild)}: the "
        f"mean of (x - mean) * score is {values}, where it should be -1. Are they in the same "
        "units, of the same parameters, and was one of them standardised?"
    )


def _single_precision(scores: FloatArray) -> str | None:
    """Scores that float32 represents exactly, though they are no round numbers."""
    values = scores[:256]
    single = values.astype(np.float32).astype(np.float64)
    if not np.array_equal(single, values) or np.array_equal(np.round(values, 3), values):
        return None
    return (
        "`scores` have the digits of float32: each is off by up to 6e-8 of its size, and by more "
        "if the log-density was computed in float32. Compute them in double precision."
    )


def _contradiction(
    log_density: Callable[[Array], Array],
    draws: FloatArray,
    scores: FloatArray,
    names: tuple[str, ...],
) -> str | None:
    """What the scores are instead of the log-density's gradient; None if they are that.

    A coordinate contradicts if it does so at most of the draws that are looked at.
    """
    rows = np.linspace(0, len(draws) - 1, _DRAWS).astype(int)
    # At most 100 coordinates are compared.
    columns = np.linspace(0, draws.shape[1] - 1, min(100, draws.shape[1])).astype(int)
    spread = draws.std(axis=0)[columns]
    columns, spread = columns[spread > 0.0], spread[spread > 0.0]
    found, noise = _differences(log_density, draws[rows], columns, spread)
    given = scores[np.ix_(rows, columns)]
    size = np.abs(given - found) * spread
    wrong = size > 1e-3 * (1.0 + np.abs(found) * spread) + 10.0 * noise * spread
    bad = wrong.sum(axis=0) * 2 > _DRAWS
    if not bad.any():
        return None
    first, own = int(np.argmax(bad)), tuple(names[place] for place in columns)
    return (
        f"`scores` of {_listed(own, bad)} are not the gradient of the log-density: at the first "
        f"draw {given[0, first]:.4g} was given for {own[first]}, where differences of the "
        f"log-density give {found[0, first]:.4g}. {_meaning(found[:, bad], given[:, bad])}"
    )


def _differences(
    log_density: Callable[[Array], Array],
    at: FloatArray,
    columns: NDArray[np.intp],
    spread: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Central differences of (rows, d) points by coordinate, and how uncertain they are."""
    estimates = []
    shortest, rounding = difference_step(_log_densities(log_density, at))
    for step in (shortest, 2.0 * shortest):
        values = []
        for sign in (1.0, -1.0):
            moved = np.repeat(at[:, None, :], len(columns), axis=1)
            moved[:, np.arange(len(columns)), columns] += sign * step * spread
            values.append(_log_densities(log_density, moved.reshape(-1, at.shape[1])))
        difference = (values[0] - values[1]).reshape(len(at), len(columns))
        estimates.append(difference / (2.0 * step * spread))
    return estimates[0], np.abs(estimates[0] - estimates[1]) + rounding / spread


def _log_densities(log_density: Callable[[Array], Array], points: FloatArray) -> FloatArray:
    """The log-density at each point, in NumPy."""
    found = log_density(points)
    array = found if is_array(found) else np.asarray(found)
    if not holds_real_numbers(array) or math.prod(array.shape) != len(points):
        raise InputError(
            "`facts['log_density']` must return a real number for each of (n, d) draws, an array "
            f"of shape ({len(points)},) here; got dtype {array.dtype} of shape {tuple(array.shape)}"
        )
    return to_numpy(array).reshape(len(points))


def _meaning(found: FloatArray, given: FloatArray) -> str:
    """What the difference looks like."""
    gap = given - found
    if np.allclose(given, -found, rtol=1e-2, atol=1e-6):
        return "Their sign is wrong: pass `-scores`."
    if np.allclose(np.abs(gap), 1.0, rtol=1e-2):
        return (
            "The difference is 1, the Jacobian of a log transform: it is in one of them and not "
            "in the other. Draws, scores and log-density belong to the unconstrained space, with "
            "the Jacobian."
        )
    if np.allclose(gap, gap.mean(axis=0), rtol=1e-2, atol=1e-6):
        return "The difference is the same at all draws: is a term missing in one of them?"
    return "Are they of the same model, the same data and the same parametrisation (Jacobian)?"
