"""Whether two targets are the same once a parameter of one is taken for a function of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from polystein.types import FloatArray
from polystein.workflows.parameters import places_of

#: Rows at which candidates are tried, and the most candidates.
_ROWS, _MOST_CANDIDATES = 40, 300


#: Scores of `a` and `b` at any rows.
Scores = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class Compared(NamedTuple):
    """Scores of two targets at (n, d) rows, and how far rounding explains that they differ.

    ``families`` are the transforms of the coordinates, empty where they are not known.
    ``jacobians`` are the gradients of the log-Jacobians of the transforms of `a` and `b`, where the
    transforms differ, and 0 elsewhere.
    """

    rows: FloatArray
    a: FloatArray
    b: FloatArray
    tolerance: FloatArray
    names: tuple[str, ...]
    families: tuple[str, ...]
    jacobians: tuple[FloatArray, FloatArray]

    @property
    def gap(self) -> FloatArray:
        """The scores of `b` less those of `a`."""
        return self.b - self.a


class _Change(NamedTuple):
    """A function of a parameter, its derivative, and the derivative of the log of that."""

    words: str
    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    log_slope_slope: Callable[[FloatArray], FloatArray]


def _times(factor: float) -> _Change:
    return _Change(
        f"{factor:g} times that of a" if factor != -1.0 else "minus that of a",
        lambda x: factor * x,
        lambda x: np.full_like(x, factor),
        np.zeros_like,
    )


#: -2 is the log of a precision for the log of an sd, -1 that of a rate for that of a scale.
_CHANGES = (
    *map(_times, (-1.0, -2.0, 2.0, 0.5, -0.5)),
    _Change("the exponential of that of a", np.exp, np.exp, np.ones_like),
    _Change("the logarithm of that of a", np.log, lambda x: 1.0 / x, lambda x: -1.0 / x),
    _Change(
        "the inverse logit of that of a",
        expit,
        lambda x: expit(x) * expit(-x),
        lambda x: 1.0 - 2.0 * expit(x),
    ),
    _Change(
        "the logit of that of a",
        logit,
        lambda x: 1.0 / (x * (1.0 - x)),
        lambda x: (2.0 * x - 1.0) / (x * (1.0 - x)),
    ),
)
#: Words, parameters, rows to evaluate `b` at, and its scores there to those at the draws, without
#: and with the Jacobian.
_Candidate = tuple[
    str, list[int], FloatArray, Callable[[FloatArray], tuple[FloatArray, FloatArray]]
]


def reparametrisation(
    compared: Compared, touched: list[int], again: Scores
) -> tuple[list[int], str] | None:
    """The parameters of `b` that are functions of those of `a`, and which, if that explains all."""
    some = np.linspace(0, len(compared.rows) - 1, min(_ROWS, len(compared.rows))).astype(int)
    rows, own, allowed = compared.rows[some], compared.a[some], compared.tolerance[some]
    allowed = allowed + allowed.max(axis=0) + 1e-9 * np.abs(own)
    with np.errstate(all="ignore"):
        for count, (words, columns, points, back) in enumerate(
            _candidates(compared, rows, touched)
        ):
            if count >= _MOST_CANDIDATES:
                break
            if not np.isfinite(points).all():
                continue
            plain, full = back(again(points)[1])
            for scores, jacobian in (
                (full, ""),
                (plain, ", and the Jacobian of that is missing in b"),
            ):
                if (np.abs(scores - own) <= allowed).all():
                    return columns, f"{words}{jacobian}"
    return None


def _candidates(compared: Compared, rows: FloatArray, touched: list[int]) -> Iterator[_Candidate]:
    for column in touched:
        for change in _CHANGES:
            yield _of_one(rows, column, change)
    places = places_of(compared.names)
    single = [columns[0] for columns in places.values() if len(columns) == 1]
    for columns in (columns for columns in places.values() if len(columns) > 1):
        for scale in single:
            for location in (None, *(one for one in single if one != scale)):
                about = "" if location is None else f" about `{compared.names[location]}`"
                of = f"with the scale exp(`{compared.names[scale]}`){about}"
                for centred, which in ((True, "b is centred"), (False, "b is not centred")):
                    words = f"{which}, {of}, and a is {'not' if centred else ''}".rstrip()
                    yield _of_scale(rows, columns, scale, location, centred, words)


def _of_one(rows: FloatArray, column: int, change: _Change) -> _Candidate:
    x, points = rows[:, column], rows.copy()
    points[:, column] = change.value(x)

    def back(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        plain = scores.copy()
        plain[:, column] *= change.slope(x)
        full = plain.copy()
        full[:, column] += change.log_slope_slope(x)
        return plain, full

    return f"the parameter of b is {change.words}", [column], points, back


def _of_scale(
    rows: FloatArray,
    columns: list[int],
    scale: int,
    location: int | None,
    centred: bool,
    words: str,
) -> _Candidate:
    """`b` is centred and `a` is not: y = m + exp(t) x; or the other way round."""
    middle = np.zeros(len(rows)) if location is None else rows[:, location]
    factor = np.exp(rows[:, scale] if centred else -rows[:, scale])
    points, x = rows.copy(), rows[:, columns]
    shifted = factor[:, None] * x if centred else factor[:, None] * (x - middle[:, None])
    points[:, columns] = shifted + middle[:, None] if centred else shifted
    sign = 1.0 if centred else -1.0

    def back(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        plain, own = scores.copy(), scores[:, columns]
        plain[:, columns] = factor[:, None] * own
        if location is not None:
            plain[:, location] += own.sum(axis=1) * (1.0 if centred else -factor)
        plain[:, scale] += sign * (own * shifted).sum(axis=1)
        full = plain.copy()
        full[:, scale] += sign * len(columns)
        return plain, full

    return words, columns, points, back
