"""Whether the functions of a target are what they should be: repeatable, and of one density.

Kernels accept by the log-density and steer by its gradient. If the log-density is random, the runs
lead to another law than the one asked about. If the gradient is that of something else, they
hardly move.
"""

from __future__ import annotations

import numpy as np

from polystein.data.target import ROUNDINGS, SINGLE, Target, precision
from polystein.errors import InputError
from polystein.types import FloatArray

#: Rows that are looked at.
_ROWS = 8
#: Steps of differences, in standard deviations of the draws. Long ones are right for functions in
#: single precision, whose short differences are rounding.
_STEPS = 1e-4 * 2.0 ** np.arange(15)
#: Answers at the same rows may differ by this, scores in units of the draws' sds, or by so many
#: times the rounding of one number: threads and neighbours change the order of sums.
_MOST_CHANGE, _CHANGE_UNITS = 1e-2, 100.0
#: A score and a difference may differ by this part, and by this many of the errors of both.
_PART, _ERRORS = 1e-3, 2.0


def require_sound_target(target: Target, rows: FloatArray, rng: np.random.Generator) -> None:
    """Raise an error if the target's functions are random, or contradict each other."""
    at = rows[np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(int)]
    spread = rows.std(axis=0)
    _require_repeatable(target, at, spread)
    if target.has_score:
        _require_matching_score(target, at, rng.standard_normal(at.shape) * spread)


def _require_repeatable(target: Target, at: FloatArray, spread: FloatArray) -> None:
    """All functions give each row the same whenever they are called, whatever its neighbours."""
    other = at[::-1]
    _require_same("log_density", target.log_density(at), target.log_density(other)[::-1])
    if target.has_score:
        first, second = target.log_density_and_score(at), target.log_density_and_score(other)
        _require_same("log_density", first[0], second[0][::-1])
        _require_same("scores", first[1], second[1][::-1], spread)


def _require_same(
    function: str, first: FloatArray, second: FloatArray, unit: FloatArray | float = 1.0
) -> None:
    with np.errstate(all="ignore"):
        scaled = np.fmax(np.abs(first * unit), np.abs(second * unit))
        size = scaled if scaled.ndim == 1 else scaled.max(axis=1, keepdims=True)
        allowed = _MOST_CHANGE + _CHANGE_UNITS * precision(first, second) * size
        # Where both are infinite or undefined, there is nothing to compare.
        changed = (np.abs(first - second) * unit > allowed) | (
            np.isfinite(first) != np.isfinite(second)
        )
    if not changed.any():
        return
    place = tuple(np.argwhere(changed)[0])
    raise InputError(
        f"`{function}` must give the same for a draw at every call; at one of the draws it gave "
        f"{first[place]:.8g}, then {second[place]:.8g}. Does it draw random numbers, take a "
        "minibatch, or mix the rows? `refine` needs the log-density of all data, row by row"
    )


def _require_matching_score(target: Target, at: FloatArray, along: FloatArray) -> None:
    """The score is the gradient of the log-density, along one random direction at each row.

    Most rows have to contradict.
    """
    _, scores = target.log_density_and_score(at)
    given = np.einsum("ij,ij->i", scores, along)
    values = np.stack(
        [target.log_density(at + sign * step * along) for step in _STEPS for sign in (1.0, -1.0)]
    )
    with np.errstate(all="ignore"):
        unit = ROUNDINGS * _precision(target, at + _STEPS[0] * along, scores)
        # Rows are rounded as well, and the score with them.
        nearby = target.log_density_and_score(at * (1.0 + unit))[1]
        off = np.abs(np.einsum("ij,ij->i", nearby - scores, along))
        rounding = unit * (np.abs(values).max(axis=0) + np.abs(scores * at).sum(axis=1))
        slopes = (values[0::2] - values[1::2]) / (2.0 * _STEPS[:, None])
        expected, error = _best_slopes(slopes, rounding / _STEPS[:, None])
        reach = _PART * (1.0 + np.abs(expected)) + _ERRORS * (error + off)
        # What is not finite is no contradiction.
        wrong = np.abs(given - expected) > reach
    if wrong.sum() * 2 <= len(at):
        return
    first = int(np.argmax(wrong))
    sign = " Their sign is wrong." if np.allclose(given, -expected, rtol=1e-2) else ""
    raise InputError(
        "`scores` must be the gradient of `log_density`; along a random direction at one of the "
        f"draws the scores give {given[first]:.4g}, and differences of the log-density "
        f"{expected[first]:.4g}.{sign} Are both of the same model, data and parametrisation "
        "(Jacobian)?"
    )


def _best_slopes(slopes: FloatArray, rounding: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The slopes by the step with the least error, and these errors; both one for each row.

    The error of a step is that of rounding, and what the step leaves out: the change to the next
    longer one, or the distance to a shorter one beyond twice that one's rounding.
    """
    left_out = np.abs(np.diff(slopes, axis=0))
    for place in range(1, len(left_out)):
        beyond = np.abs(slopes[place] - slopes[:place]) - 2.0 * rounding[:place]
        left_out[place] = np.maximum(left_out[place], beyond.max(axis=0))
    errors = left_out + rounding[:-1]
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best, rows = np.argmin(errors, axis=0), np.arange(slopes.shape[1])
    return slopes[best, rows], errors[best, rows]


def _precision(target: Target, rows: FloatArray, scores: FloatArray) -> float:
    """The rounding of the target's functions: also single if they round what they are given."""
    values = target.log_density(rows)
    rounded = target.log_density(rows.astype(np.float32).astype(np.float64))
    return SINGLE if np.array_equal(values, rounded) else precision(values, scores)
