"""Which coordinate of one target is which of another: by name, index and transform."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polystein._lib.notes import first_of
from polystein._lib.numerics import is_single
from polystein.data.selection import parameter, variable
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.explain.own_names import own_parameters
from polystein.types import FloatArray
from polystein.workflows.transforms import (
    ARRIVED,
    OUTER_STEP,
    STEP,
    Formula,
    carried_by_formulas,
    jacobian,
    log_volume_slopes,
    recognised,
    solved,
)

#: Parameters of two transforms are the same to this part of their size, for single precision.
_SINGLE = 1e-5
#: In single precision steps of numerical derivatives are this many times as long.
_STRETCHED = 16.0
#: More coordinates than this are not differentiated numerically: it takes 16 g^2 evaluations.
_MOST_NUMERICAL = 24
#: Rows that a dependence on other coordinates is looked for at.
_LOOKED_AT = 8
#: Parameters that change less with a coordinate, relative to their size, do not fix it.
_SINGULAR = 1e-7
_NUMBERS = re.compile(r"\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]$")


class Carried(NamedTuple):
    """Rows in the coordinates of another target, and how its scores come back.

    ``pull`` multiplies scores by the derivatives of the new coordinates by the old ones.
    ``own`` and ``other`` are the gradients, by the old coordinates, of the log-Jacobians of the two
    transforms to the parameters, where these differ. ``reached`` says which coordinates (n, d) were
    found; where one is not, the log-Jacobian is NaN. ``condition`` (n,) is by how many times the
    rounding of parameters moves the new coordinates.
    """

    rows: FloatArray
    reached: NDArray[np.bool_]
    condition: FloatArray
    log_jacobian: FloatArray
    own: FloatArray
    other: FloatArray
    pull: Callable[[FloatArray], FloatArray]

    def scores(self, scores: FloatArray) -> FloatArray:
        """Scores of the other target, in the coordinates that the rows came from."""
        return self.pull(scores) + self.own - self.other


class _Numerical(NamedTuple):
    """Coordinates that are found, and differentiated, numerically: two functions of full rows.

    ``single`` says whether one of them computes in single precision.
    """

    own: Callable[[FloatArray], FloatArray]
    other: Callable[[FloatArray], FloatArray]
    columns: list[int]
    other_columns: list[int]
    single: bool

    @property
    def steps(self) -> tuple[float, float]:
        """Steps of first derivatives, and of the gradient of a log-determinant."""
        stretched = _STRETCHED if self.single else 1.0
        return stretched * STEP, stretched * OUTER_STEP


@dataclass(frozen=True)
class ParameterMap:
    """From rows of one target to rows of another with the same parameters.

    Attributes
    ----------
    order : array of int
        Coordinate j belongs to coordinate ``order[j]`` of the other target.
    formulas : mapping
        From a coordinate to its formula and that of its counterpart, where they differ.
    numerical : _Numerical or None
        The coordinates without formulas.
    families : tuple of str
        The kind of transform of each coordinate; empty where it is not known.
    words : tuple of str
        What was mapped, and what was taken for granted.
    """

    order: NDArray[np.intp]
    formulas: Mapping[int, tuple[Formula, Formula]]
    numerical: _Numerical | None
    families: tuple[str, ...]
    words: tuple[str, ...]

    def carry(self, rows: FloatArray, refined: float = 1.0) -> Carried:
        """The same points in the coordinates of the other target.

        Numerical derivatives have steps that are ``refined`` times as long.
        """
        moved, slopes = np.empty(rows.shape), np.ones(rows.shape)
        volume, mine, theirs = np.zeros(len(rows)), np.zeros(rows.shape), np.zeros(rows.shape)
        moved[:, self.order], condition = rows, np.zeros(len(rows))
        for column, (own, other) in self.formulas.items():
            found = carried_by_formulas(rows[:, column], own, other)
            moved[:, self.order[column]], slopes[:, column], log_slope = found[:3]
            mine[:, column], theirs[:, column] = found[3:5]
            condition = np.fmax(condition, found[5])
            volume = volume + log_slope
        reached = np.isfinite(moved)[:, self.order]
        moved = np.where(np.isfinite(moved), moved, 0.0)
        numerical = self.numerical
        if numerical is None:
            volume = np.where(reached.all(axis=1), volume, np.nan)
            return Carried(
                moved,
                reached,
                condition,
                volume,
                mine,
                theirs,
                lambda s: slopes * s[:, self.order],
            )
        columns, others = numerical.columns, numerical.other_columns
        wanted = numerical.own(rows)
        close = _SINGLE if numerical.single else ARRIVED
        moved, left = solved(numerical.other, moved, others, wanted, close)
        arrived = left.max(axis=1) <= close
        step, outer = (refined * one for one in numerical.steps)
        first, second = (
            np.nan_to_num(jacobian(function, points, places, step))
            for function, points, places in (
                (numerical.own, rows, columns),
                (numerical.other, moved, others),
            )
        )
        # A parameter is rounded to its largest values: in a corner of a simplex little is left.
        scale = np.abs(wanted).max(axis=0)[:, None]
        smallest = [np.linalg.svd(one / scale, compute_uv=False)[:, -1] for one in (first, second)]
        condition = np.fmax(condition, 1.0 / smallest[1])
        arrived &= np.minimum(*smallest) >= _SINGULAR
        reached[:, columns] = arrived[:, None]
        between = np.einsum("ngm,nmh->ngh", np.linalg.pinv(second), first)
        volume = volume + np.linalg.slogdet(between)[1]
        mine[:, columns] = log_volume_slopes(numerical.own, rows, columns, (step, outer))
        back = log_volume_slopes(numerical.other, moved, others, (step, outer))
        theirs[:, columns] = np.einsum("ngh,ng->nh", between, back)
        volume = np.where(reached.all(axis=1), volume, np.nan)
        mine[~reached] = np.nan

        def pull(scores: FloatArray) -> FloatArray:
            found = slopes * scores[:, self.order]
            found[:, columns] = np.einsum("ngh,ng->nh", between, scores[:, others])
            return found

        return Carried(moved, reached, condition, volume, mine, theirs, pull)


def unmapped(name: str, why: str) -> InputError:
    """The error that says which parameter cannot be mapped."""
    return InputError(
        f"`a` and `b` must have parameters that can be mapped to each other; `{name}` {why}. Give "
        "both targets the same parameters, or pass pairs of functions, which are compared by "
        "position"
    )


def parameter_map(own: Target, other: Target, rows: FloatArray) -> ParameterMap:
    """Map the coordinates of rows of one target to another target, or say which one cannot be."""
    if own.dimension != other.dimension:
        lone = _lonely(own, other)
        raise InputError(
            "`a` and `b` must have as many coordinates as each other; got "
            f"{own.dimension} and {other.dimension}{lone}"
        )
    d = own.dimension
    by_place = np.arange(d)
    if own.names is None or other.names is None:
        unnamed = own.names is other.names is None
        position = () if unnamed else ("coordinates are taken by position",)
        return ParameterMap(by_place, {}, None, ("",) * d, position)
    mine, theirs = places_of(own.names), places_of(other.names)
    lonely = [name for name in mine if len(theirs.get(name, ())) != len(mine[name])]
    values = _by_parameter(own_parameters(own, rows))
    if lonely:
        return _all_at_once(own, other, values, rows, lonely[0])
    order = np.empty(d, dtype=np.intp)
    for name, columns in mine.items():
        order[columns] = paired(own.names, columns, other.names, theirs[name])
    permuted = np.empty(rows.shape)
    permuted[:, order] = rows
    other_values = _by_parameter(own_parameters(other, permuted))
    words = [] if np.array_equal(order, by_place) else ["coordinates come in another order"]
    families, numerical = [""] * d, list[str]()
    formulas: dict[int, tuple[Formula, Formula]] = {}
    for name, columns in mine.items():
        one, two = values.get(name), other_values.get(name)
        if one is None or two is None:
            continue
        if one.shape != two.shape:
            raise unmapped(name, "has another size in each")
        fits: list[tuple[Formula, Formula]] = []
        for column, first, second in zip(columns, one.T, two.T, strict=False):
            pair = recognised(rows[:, column], first), recognised(rows[:, column], second)
            if one.shape[1] == len(columns) and pair[0] is not None and pair[1] is not None:
                families[column] = pair[0].family
                fits.append((pair[0], pair[1]))
        if _equal(one, two):
            continue
        if len(fits) < len(columns):
            numerical.append(name)
            continue
        formulas |= dict(zip(columns, fits, strict=True))
        kinds = f"{fits[0][0].family} and {fits[0][1].family}"
        words.append(f"`{name}` is mapped by formulas, from its transforms {kinds}")
    if not numerical:
        return ParameterMap(order, formulas, None, tuple(families), tuple(words))
    columns = [column for name in numerical for column in mine[name]]
    others = [int(order[column]) for column in columns]
    found = _numerically(own, other, columns, others, numerical, (rows, permuted))
    if _depends_on_others(found, rows, permuted):
        return _all_at_once(own, other, values, rows, numerical[0])
    what = "is" if len(numerical) == 1 else "are"
    words.append(f"{_quoted(numerical)} {what} mapped numerically, since the transforms differ")
    return ParameterMap(order, formulas, found, tuple(families), tuple(words))


def _all_at_once(
    own: Target,
    other: Target,
    values: Mapping[str, FloatArray],
    rows: FloatArray,
    suspect: str,
) -> ParameterMap:
    """Map all coordinates together, through every parameter that both transforms give."""
    d = own.dimension
    given = _by_parameter(own_parameters(other, np.zeros((2, d))))
    shared = [n for n, v in values.items() if n in given and given[n].shape[1] == v.shape[1]]
    if not shared:
        why = "is in one of them alone, and there are no transforms that give it for both"
        raise unmapped(suspect, why)
    every = list(range(d))
    found = _numerically(own, other, every, every, shared, (rows, rows))
    some = rows[:_LOOKED_AT]
    slopes = jacobian(found.own, some, found.columns, STEP)
    if np.linalg.matrix_rank(slopes, rtol=_SINGULAR).min() < d:
        raise unmapped(suspect, "is in one of them alone, or has another size in each")
    words = f"another parametrisation, mapped numerically through {_quoted(shared)}"
    return ParameterMap(np.arange(d), {}, found, ("",) * d, (words,))


def _numerically(
    own: Target,
    other: Target,
    columns: list[int],
    others: list[int],
    names: Sequence[str],
    points: tuple[FloatArray, FloatArray],
) -> _Numerical:
    """The parameters of these names as functions of rows; at points their precision is seen."""
    if len(columns) > _MOST_NUMERICAL:
        why = (
            "has another transform in each, without a formula, and numerical derivatives take at "
            f"most {_MOST_NUMERICAL} coordinates; got {len(columns)}"
        )
        raise unmapped(names[0], why)

    def of(target: Target) -> Callable[[FloatArray], FloatArray]:
        def parameters(points: FloatArray) -> FloatArray:
            with np.errstate(all="ignore"):  # a search may look far out
                found = _by_parameter(own_parameters(target, points))
            return np.column_stack([found[name] for name in names])

        return parameters

    functions = of(own), of(other)
    single = any(
        is_single(function(one[:_LOOKED_AT]))
        for function, one in zip(functions, points, strict=True)
    )
    return _Numerical(*functions, columns, others, single)


def _depends_on_others(found: _Numerical, rows: FloatArray, permuted: FloatArray) -> bool:
    """Whether the parameters change with coordinates that are not theirs."""
    for function, columns, points in (
        (found.own, found.columns, rows),
        (found.other, found.other_columns, permuted),
    ):
        some = points[:_LOOKED_AT]
        moved = some + 0.37
        moved[:, columns] = some[:, columns]
        if not _equal(function(some), function(moved)):
            return True
    return False


def _equal(one: FloatArray, two: FloatArray) -> bool:
    with np.errstate(all="ignore"):
        return bool((np.abs(one - two).max(axis=0) <= _SINGLE * np.abs(one).max(axis=0)).all())


def places_of(names: Sequence[str]) -> dict[str, list[int]]:
    """The places of each parameter's coordinates, in the row-major order of their indices.

    Stan counts indices from 1 and the first one fastest; others count from 0 and the last one.
    Numbers that do not count, as years, are labels: their coordinates stay in their order.
    """
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(parameter(name), []).append(place)
    for places in found.values():
        indices = [_NUMBERS.search(names[place]) for place in places]
        numbers = {
            place: tuple(map(int, one[1].split(",")))
            for place, one in zip(places, indices, strict=True)
            if one is not None
        }
        if len(numbers) == len(places) and all(
            max(axis) - min(axis) < len(set(axis)) and min(axis) in (0, 1)
            for axis in zip(*numbers.values(), strict=False)
        ):
            places.sort(key=numbers.__getitem__)
    return found


def paired(
    names: Sequence[str], places: list[int], other_names: Sequence[str], others: list[int]
) -> list[int]:
    """The counterparts of the places: with the same labels if there are, else in the same order."""
    labels = {other_names[place][len(variable(other_names[place])) :]: place for place in others}
    own = [names[place][len(variable(names[place])) :] for place in places]
    return [labels[label] for label in own] if set(labels) == set(own) else others


def _by_parameter(values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Columns (n, m) of each parameter; PyMC gives unconstrained values as well."""
    own = {label: one for label, one in values.items() if parameter(label) == variable(label)}
    labels = list(own)
    return {
        name: np.column_stack([own[labels[place]] for place in places])
        for name, places in places_of(labels).items()
    }


def _lonely(own: Target, other: Target) -> str:
    """Which parameters are in one of them alone, if they have names."""
    if own.names is None or other.names is None:
        return ""
    one, two = (list(places_of(target.names or ())) for target in (own, other))
    alone = [name for name in (*one, *two) if name not in one or name not in two]
    return f"; {_quoted(alone)} in one of them alone" if alone else ""


def _quoted(names: Sequence[str]) -> str:
    return first_of([f"`{name}`" for name in names], 4)
