"""The guard, which asks whether these scores look like scores of these draws.

A wrong sign, a wrong order of columns or a forgotten Jacobian would be blamed on the sampler.
Each of them leaves a mark that some hundred rows show. For draws x of a target with score s,
integration by parts gives E[(x_i - E x_i) s_j] = -1 if i = j, and 0 otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polystein._lib.notes import Notes
from polystein.data.finite_differences import contradiction
from polystein.data.mismatched_rows import mismatch
from polystein.data.passes import run_pass
from polystein.data.screened_rows import LEAST_ROWS, ScreenedRows, stretches
from polystein.data.source import Source, coordinate_names
from polystein.errors import InputError, PolysteinWarning, ScoreWarning
from polystein.types import FloatArray

#: One truth value for each coordinate.
Mask = NDArray[np.bool_]

#: Groups of neighbouring rows whose means show how uncertain a mean is.
_GROUPS = 16
#: A mean product is known if its standard error is below this ...
_KNOWN = 0.15
#: ... and something is said only if it is this many standard errors away from what it should be.
_CLEAR = 6.0
#: Products beyond this factor of -1 mean different units.
_WILD = 100.0
#: Most coordinates whose order is looked at: the search takes the cube of their number.
_MOST_ORDERED = 300
#: A border is near if the lowest hundredth of the draws comes this close to it, in units of the
#: distance from there to the median.
_NEAR = 0.2
#: The scales of x and log x differ if the standard deviation is beyond this part of the mean.
_SCALES_DIFFER = 0.25
#: Scores explode if they grow by this factor from the middle of the draws to the border.
_EXPLODES = 20.0


class Look(NamedTuple):
    """Some rows, their means and what the products of draws and scores are worth."""

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


def screen_scores(source: Source, rows: ScreenedRows, notes: Notes) -> None:
    """Say what speaks against the input itself, before any verdict on the sampler.

    Raises an error if the scores of a coordinate are all 0, and adds warnings to the notes.
    """
    for warning in score_warnings(source, rows):
        notes.add(warning)


def score_warnings(source: Source, rows: ScreenedRows | None = None) -> Iterator[PolysteinWarning]:
    """What looks wrong about the scores: at most one finding about their values, and precision.

    Rows are read for it unless they are given.
    """
    if rows is None:
        rows = ScreenedRows(source.layout)
        run_pass(source, list(stretches(source.layout)), rows)
    draws, scores = rows.finalise()
    names = coordinate_names(source)
    if len(draws) == 0:
        return
    _refuse_zeros(scores, names)
    # What overflows is no number, and says nothing.
    with np.errstate(all="ignore"):
        wrong = contradiction(source.facts.log_density, draws, scores, names)
        verified = wrong is None and source.facts.log_density is not None
        if not verified and (words := mismatch(*rows.in_order())):
            wrong = words
        yield from _findings(_look(draws, scores, names, verified), wrong)


def _findings(look: Look, wrong: str | None) -> Iterator[PolysteinWarning]:
    """Warnings about values, of which the first is given, and about precision."""
    findings: tuple[Callable[[Look], str | None], ...] = (
        _constant,
        _flipped,
        _permuted,
        _constrained,
        _wild_scales,
    )
    found = wrong or next((words for finding in findings if (words := finding(look))), None)
    if found:
        yield ScoreWarning(found)
    if words := _single_precision(look):
        yield ScoreWarning(words)


def _look(draws: FloatArray, scores: FloatArray, names: tuple[str, ...], verified: bool) -> Look:
    away = draws - np.ones(len(draws)) @ draws / len(draws)
    products, errors = mean_and_error(away * scores)
    return Look(draws, scores, names, away, products, errors, verified)


def mean_and_error(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means of columns with standard errors that allow for memory between neighbouring rows."""
    size, left = divmod(len(values), _GROUPS)
    # The first groups have one row more, if rows are left.
    longer, others = np.split(values, [left * (size + 1)])
    sums = np.concatenate([_group_sums(longer, size + 1), _group_sums(others, size)])
    sizes = np.where(np.arange(_GROUPS) < left, size + 1.0, size)
    groups = sums / sizes[:, None]
    error = groups.std(axis=0, ddof=1) / _GROUPS**0.5
    return sums.sum(axis=0) / len(values), np.where(np.isfinite(error), error, np.inf)


def _group_sums(values: FloatArray, size: int) -> FloatArray:
    """Sums over groups of so many rows; products with ones are faster than sums of rows."""
    return np.asarray(np.ones(size) @ values.reshape(-1, size, values.shape[1]))


def _listed(names: tuple[str, ...], places: Mask) -> str:
    chosen = [names[place] for place in np.flatnonzero(places)]
    return ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")


def _refuse_zeros(scores: FloatArray, names: tuple[str, ...]) -> None:
    # A column that is not 0 at the first draw is not 0 at all of them.
    zero: Mask = scores[0] == 0.0
    if zero.any() and (zero := np.logical_not(scores.any(axis=0))).any():
        raise InputError(
            f"`scores` must not be 0 at all draws; got zeros for {_listed(names, zero)}. No "
            "density has them: was the gradient computed, and does the log-density depend on "
            "every coordinate?"
        )


def _constant(look: Look) -> str | None:
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
    dimension = look.draws.shape[1]
    if look.verified or not 2 <= dimension <= _MOST_ORDERED:
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
    # Few rows tell of most coordinates that they are not.
    for place in np.flatnonzero(look.draws[:LEAST_ROWS].min(axis=0) > 0.0).tolist():
        name, column, score = look.names[place], look.draws[:, place], look.scores[:, place]
        if column.min() <= 0.0:
            continue
        inside = column.max() < 1.0
        for unconstrained in (_logit, np.log) if inside else (np.log,):
            if words := _border(column, score, unconstrained, look.verified):
                return _constrained_words(name, inside, unconstrained, words)
    return None


def _logit(column: FloatArray) -> FloatArray:
    return np.asarray(np.log(column) - np.log1p(-column))


def _constrained_words(
    name: str, inside: bool, unconstrained: Callable[[FloatArray], FloatArray], words: str
) -> str:
    where = "(0, 1)" if inside and unconstrained is _logit else "(0, inf)"
    scale = "logit" if unconstrained is _logit else "log"
    return (
        f"`draws` of {name} live on {where}, and {words}. Is this {name} rather than {scale} "
        f"{name}? Draws and scores belong to the unconstrained space: pass {scale}({name}) with "
        "the score of its density, the Jacobian included."
    )


def _border(
    column: FloatArray,
    score: FloatArray,
    unconstrained: Callable[[FloatArray], FloatArray],
    verified: bool,
) -> str | None:
    """What is wrong near the border, in words; None if nothing is."""
    own, own_error = mean_and_error(((column - column.mean()) * score)[:, None])
    wrong = abs(own[0] + 1.0) > _CLEAR * own_error[0]
    if wrong and not verified and _fits(unconstrained(column), column, score):
        return "the scores fit the draws on the unconstrained scale"
    near = _comes_near(column)
    if near and _explodes(column, score):
        return "the scores explode near the border"
    mean, error = mean_and_error(score[:, None])
    if near and abs(mean[0]) > _CLEAR * error[0] and wrong:
        return "the mean of the scores is far from 0, as for a density that is cut off there"
    return "the scores are huge" if near and _is_huge(column, score) else None


def _fits(free: FloatArray, column: FloatArray, score: FloatArray) -> bool:
    """Whether scores are those of the unconstrained values, where the two scales differ.

    A column far from the border has nearly the same shape on both, and a sampler that is wrong
    may fit by chance.
    """
    if column.std() < _SCALES_DIFFER * column.mean():
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
    """Whether scores grow as the draws approach 0 or 1, as those of c log(x) do."""
    sizes = np.abs(score)
    border = np.minimum(column, 1.0 - column) if column.max() < 1.0 else column
    closest = np.argsort(border)[: max(5, len(border) // 100)]
    middle = float(np.median(sizes))
    return bool(np.median(sizes[closest]) > _EXPLODES * max(middle, np.finfo(float).tiny))


def _is_huge(column: FloatArray, score: FloatArray) -> bool:
    """Whether scores are beyond all proportion to the width of the draws."""
    return bool(np.abs(score).max() * column.std() > _WILD**3)


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


def _single_precision(look: Look) -> str | None:
    """Scores that float32 represents exactly, though they are no round numbers."""
    values = look.scores[:256]
    single = values.astype(np.float32).astype(np.float64)
    if not np.array_equal(single, values) or np.array_equal(np.round(values, 3), values):
        return None
    return (
        "`scores` have the digits of float32: each is off by up to 6e-8 of its size, and by more "
        "if the log-density was computed in float32. Compute them in double precision."
    )
