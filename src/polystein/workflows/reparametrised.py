"""Whether two targets are the same once a parameter of one is taken for a function of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from polystein.types import FloatArray
from polystein.workflows.parameters import places_of

#: Rows at which candidates are tried, and the most candidates.
_ROWS, _MOST_CANDIDATES = 40, 300
#: Of candidates that explain a part, so many are looked at again.
_MOST_NEARLY = 20


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


class Reparametrisation(NamedTuple):
    """Parameters of `b` that are functions of those of `a`, which, and what is left to explain.

    ``changed`` are the targets once `b` is in the parameters of `a`. They differ in the columns
    ``own``, each by a function of this parameter alone.
    """

    columns: list[int]
    words: str
    own: list[int]
    changed: Compared


class _Change(NamedTuple):
    """A function of a parameter, its derivative, and the derivative of the log of that."""

    words: str
    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    log_slope_slope: Callable[[FloatArray], FloatArray]


def _times(factor: float, log: str) -> _Change:
    return _Change(
        (f"{factor:g} times that of a" if factor != -1.0 else "minus that of a")
        + f", as the log of a {log}",
        lambda x: factor * x,
        lambda x: np.full_like(x, factor),
        np.zeros_like,
    )


_CHANGES = (
    _times(-1.0, "rate is for that of a scale"),
    _times(-2.0, "precision is for that of an sd"),
    _times(2.0, "variance is for that of an sd"),
    _times(0.5, "sd is for that of a variance"),
    _times(-0.5, "sd is for that of a precision"),
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
#: Scores of `b` at the points of a candidate, as those at the draws: without and with Jacobian.
_Back = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class _Candidate(NamedTuple):
    """What `b` may be, its parameters, and the rows to evaluate it at for rows of `a`."""

    words: str
    columns: list[int]
    at: Callable[[FloatArray], tuple[FloatArray, _Back]]


def reparametrisation(
    compared: Compared, touched: list[int], rest: list[int], again: Scores
) -> Reparametrisation | None:
    """The parameters of `b` that are functions of those of `a`, if that explains the rest.

    Priors or Jacobians of single parameters may differ besides, if no candidate explains all.
    """
    some = np.linspace(0, len(compared.rows) - 1, min(_ROWS, len(compared.rows))).astype(int)
    rows, own, allowed = compared.rows[some], compared.a[some], compared.tolerance[some]
    allowed = allowed + allowed.max(axis=0) + 1e-9 * np.abs(own)
    nearly: list[tuple[_Candidate, list[int]]] = []
    with np.errstate(all="ignore"):
        for candidate in islice(_candidates(compared, touched), _MOST_CANDIDATES):
            points, back = candidate.at(rows)
            if not np.isfinite(points).all():
                continue
            plain, full = back(again(points)[1])
            for scores, jacobian in (
                (full, ""),
                (plain, ", and the Jacobian of that is missing in b"),
            ):
                # Scores that are not finite explain nothing.
                off = np.flatnonzero(~(np.abs(scores - own) <= allowed).all(axis=0)).tolist()
                if not off:
                    words = f"{candidate.words}{jacobian}"
                    return Reparametrisation(candidate.columns, words, [], compared)
                known = set(off) <= {*touched, *candidate.columns}
                if known and not jacobian and set(rest) - set(off):
                    nearly.append((candidate, off))
        for candidate, off in sorted(nearly, key=lambda one: len(one[1]))[:_MOST_NEARLY]:
            left = partial(_left, candidate, again)
            here = left(rows)
            if all(stays_as_it_is(left, here[:, one], rows, one, allowed) for one in off):
                points, back = candidate.at(compared.rows)
                changed = compared._replace(b=back(again(points)[1])[1])
                return Reparametrisation(candidate.columns, candidate.words, off, changed)
    return None


def _left(candidate: _Candidate, again: Scores, rows: FloatArray) -> FloatArray:
    """What a candidate leaves of the difference of the scores."""
    points, back = candidate.at(rows)
    return back(again(points)[1])[1] - again(rows)[0]


def stays_as_it_is(
    difference: Callable[[FloatArray], FloatArray],
    here: FloatArray,
    rows: FloatArray,
    column: int,
    allowed: FloatArray,
) -> bool:
    """Whether a parameter's difference, ``here`` at the rows, depends on this parameter alone.

    It then stays as it is when all other parameters come from other draws.
    """
    mixed = np.roll(rows, 1, axis=0)
    mixed[:, column] = rows[:, column]
    there = difference(mixed)[:, column]
    known = np.isfinite(here) & np.isfinite(there)
    if known.mean() < 0.5:
        return False
    limit = 10.0 * (allowed[known, column] + allowed[known, column].max())
    return bool((np.abs(there - here)[known] <= limit).all())


def _candidates(compared: Compared, touched: list[int]) -> Iterator[_Candidate]:
    for column in touched:
        for change in _CHANGES:
            yield _of_one([column], change)
    places = places_of(compared.names)
    single = [columns[0] for columns in places.values() if len(columns) == 1]
    several = [columns for columns in places.values() if len(columns) > 1]
    for columns in several:
        if set(columns) <= set(touched):
            for change in _CHANGES:
                yield _of_one(columns, change)
    for columns in several:
        for scale in single:
            for location in (None, *(one for one in single if one != scale)):
                about = "" if location is None else f" about `{compared.names[location]}`"
                of = f"with the scale exp(`{compared.names[scale]}`){about}"
                for centred, which in ((True, "b is centred"), (False, "b is not centred")):
                    words = f"{which}, {of}, and a is {'not centred' if centred else 'centred'}"
                    yield _of_scale(columns, scale, location, centred, words)


def _of_one(columns: list[int], change: _Change) -> _Candidate:
    """One parameter, all of whose coordinates are changed alike."""

    def at(rows: FloatArray) -> tuple[FloatArray, _Back]:
        x, points = rows[:, columns], rows.copy()
        points[:, columns] = change.value(x)

        def back(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            plain = scores.copy()
            plain[:, columns] *= change.slope(x)
            full = plain.copy()
            full[:, columns] += change.log_slope_slope(x)
            return plain, full

        return points, back

    return _Candidate(f"the parameter of b is {change.words}", columns, at)


def _of_scale(
    columns: list[int], scale: int, location: int | None, centred: bool, words: str
) -> _Candidate:
    """`b` is centred and `a` is not: y = m + exp(t) x; or the other way round."""

    def at(rows: FloatArray) -> tuple[FloatArray, _Back]:
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

        return points, back

    return _Candidate(words, columns, at)
