"""Scores against differences of the log-density, where a log-density is at hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from polystein._lib.arrays import holds_real_numbers, is_array, to_numpy
from polystein.errors import InputError
from polystein.types import Array, FloatArray

#: Draws at which scores are compared, and most coordinates that are.
DRAWS, COORDINATES = 3, 100
#: Steps in units of the draws' standard deviation, and what they may leave open.
_STEP, _ALLOWED = 1e-4, 1e-3


def contradiction(
    log_density: Callable[[Array], Array] | None,
    draws: FloatArray,
    scores: FloatArray,
    names: tuple[str, ...],
) -> str | None:
    """What the scores are instead of the log-density's gradient; None if they are that.

    A coordinate contradicts if it does so at most of the draws that are looked at.
    """
    if log_density is None:
        return None
    rows = np.linspace(0, len(draws) - 1, DRAWS).astype(int)
    columns = np.linspace(0, draws.shape[1] - 1, min(COORDINATES, draws.shape[1])).astype(int)
    spread = draws.std(axis=0)[columns]
    columns, spread = columns[spread > 0.0], spread[spread > 0.0]
    found, noise = differences(log_density, draws[rows], columns, spread)
    given = scores[np.ix_(rows, columns)]
    gap = given - found
    with np.errstate(invalid="ignore"):
        size = np.abs(gap) * spread
        wrong = size > _ALLOWED * (1.0 + np.abs(found) * spread) + 10.0 * noise * spread
    bad = wrong.sum(axis=0) * 2 > DRAWS
    return _words(found, given, bad, [names[place] for place in columns]) if bad.any() else None


def differences(
    log_density: Callable[[Array], Array], at: FloatArray, columns: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Central differences of (rows, d) points by coordinate, and how uncertain they are."""
    estimates = []
    for step in (_STEP, 2.0 * _STEP):
        points = []
        for sign in (1.0, -1.0):
            moved = np.repeat(at[:, None, :], len(columns), axis=1)
            moved[:, np.arange(len(columns)), columns] += sign * step * spread
            points.append(_log_densities(log_density, moved.reshape(-1, at.shape[1])))
        shape = (len(at), len(columns))
        estimates.append((points[0] - points[1]).reshape(shape) / (2.0 * step * spread))
    return estimates[0], np.abs(estimates[0] - estimates[1])


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


def _words(found: FloatArray, given: FloatArray, bad: FloatArray, names: list[str]) -> str:
    chosen = [name for name, one in zip(names, bad, strict=True) if one]
    listed = ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")
    first = int(np.argmax(bad))
    return (
        f"`scores` of {listed} are not the gradient of the log-density: at the first draw "
        f"{given[0, first]:.4g} was given for {names[first]}, where differences of the "
        f"log-density give {found[0, first]:.4g}. {_meaning(found[:, bad], given[:, bad])}"
    )


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
