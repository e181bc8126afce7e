"""Whether two models, such as a port and its original, are one target up to a constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.notes import first_of
from polystein._lib.numerics import is_single
from polystein.data.source import Source
from polystein.data.spread import evenly, rows_at
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.results.same_target import Precision, TargetComparison, TargetDifference
from polystein.types import Array, FloatArray, ScoreFunction
from polystein.workflows.parameters import ParameterMap, parameter_map, unmapped
from polystein.workflows.reparametrised import Compared
from polystein.workflows.score_patterns import named_differences
from polystein.workflows.target_inputs import in_order, read_model, renamed, shared_draws, side_of
from polystein.workflows.two_targets import DOUBLE, SINGLE, TERMS, Evaluator, Values

#: Fewer different draws cannot tell a form with two constants from others.
_FEWEST = 20
#: Rows that are compared; fewer where coordinates are mapped numerically.
_MOST, _MOST_NUMERICAL = 400, 40
#: Relative error of central differences of a log-density with steps of 1e-4 sd.
_TRUNCATION = 1e-6
#: Neighbours of the draws, in sds. A smooth difference hardly changes over such a distance, and
#: rounding changes altogether.
_NEARBY = 1e-3
#: A difference that changes by more than this between neighbours, relative to independent numbers,
#: is rounding or other noise.
_ROUGH = 0.3
#: A rough difference is rounding, of single precision or of long sums, if it is at most this part
#: of the terms of a score.
_ROUGHEST = 1e-3
#: A rough difference of scores below this, in units of 1 / sd, is rounding whatever their terms.
_NOTHING = 1e-9
#: Squares of larger numbers overflow.
_LARGEST = 1e150
#: Below this part of the terms, which single precision explains, most draws have to be smooth.
_FAINT = 1e-6
_SMALL = "It is so small that data stored in single precision would explain it"

Model = Target | Source | ScoreFunction | tuple[Any, Any]


def same_target(
    a: Model,
    b: Model,
    /,
    *,
    draws: Array | Source | None = None,
    rename: Mapping[str, str] | None = None,
) -> TargetComparison:
    """Compare the scores and log-densities of two targets at the same draws.

    Parameters
    ----------
    a, b : Sample, Target, callable, or pair of callables
        A `Sample` of an adapter, which keeps its ``target``; a target; a score function of (n, d)
        draws; or a pair ``(log_density, scores)``, one of which may be None. A `Sample` without a
        target stands for the scores that it holds.
    draws : array or Sample, optional
        Where they are compared, of shape (n, d) or (chain, draw, d), on the unconstrained scale of
        `a`. By default the draws of `a`, or those of `b` if only `b` is a `Sample`; these are on
        the scale of `b`. At least 20 different ones; of many some 400 are used, evenly spaced.
    rename : mapping, optional
        From parameters of `b` to their names in `a`, where they differ.

    Returns
    -------
    TargetComparison
        ``same``, and ``differences`` by parameter and pattern. `print` shows them.

    Notes
    -----
    Coordinates are matched by name and index: PyMC's ``tau_log__`` is ``tau``, and Stan counts
    from 1. Without names they are matched by position. If both targets have a transform, the
    coordinates of `b` are those with the same parameters, and its scores are those of the density
    of the coordinates of `a`, with the Jacobian. Transforms of single coordinates by the identity,
    exp, logit and softplus, with bounds, are inverted exactly. All others are inverted by
    Gauss-Newton steps and differentiated numerically, to about eight digits.

    A difference has to exceed rounding, which is derived from the size of the scores and of their
    change over the rounding of the draws. One that does but jumps between neighbouring points is
    rounding as well, and not a difference. The answer holds at the draws: two targets that agree
    there may differ where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((100, 2))
    >>> found = ps.same_target(lambda x: -x, lambda x: -x / [1.0, 4.0], draws=draws)
    >>> found
    TargetComparison(prior scale; 100 draws, d=2)
    >>> found.differences[0].parameter
    'x[1]'
    """
    models = {"a": read_model(a, "a"), "b": read_model(b, "b")}
    source, owner = shared_draws(models, draws)
    places = evenly(np.arange(source.layout.total), min(source.layout.total, _MOST))
    rows, d = rows_at(source, places)[0], source.layout.dimension
    sides = {name: side_of(model, name, d, places) for name, model in models.items()}
    sides["b"] = sides["b"]._replace(target=renamed(sides["b"].target, rename))
    own, other = sides[owner], sides["b" if owner == "a" else "a"]
    if own.target.dimension != d:
        raise InputError(
            f"`draws` must have the {own.target.dimension} coordinates of `{owner}`; got {d}"
        )
    if (largest := float(np.abs(rows).max())) >= _LARGEST:
        raise InputError(f"`draws` must be below {_LARGEST:g}; got {largest:g}. Rescale them")
    if (different := len(np.unique(rows, axis=0))) < _FEWEST:
        raise InputError(f"`draws` must hold at least {_FEWEST} different rows; got {different}")
    rows = in_order(rows, source.names, own)
    mapping = parameter_map(own.target, other.target, rows)
    if mapping.numerical is not None:
        fewer = evenly(np.arange(len(rows)), min(len(rows), _MOST_NUMERICAL))
        rows, places, own, other = rows[fewer], places[fewer], own.some(fewer), other.some(fewer)
    names = own.target.names or other.target.names or tuple(f"x[{place}]" for place in range(d))
    at = Evaluator(own, other, mapping, swapped=owner == "b")
    here = at(rows)
    reached = np.asarray(here.carried.reached.all(axis=1))
    if reached.sum() < _FEWEST:
        name = names[int(np.argmin(here.carried.reached.sum(axis=0)))]
        why = (
            "has values at the draws that the transform of the other target does not reach, or "
            "not by a search"
        )
        raise unmapped(name, why)
    found = _of_bounds(mapping, here.carried.reached, names, (own.name, other.name))
    if not reached.all():
        words = (
            f"{(~reached).sum()} of {len(rows)} draws are left out, whose parameters the transform "
            f"of {other.name} does not reach, or not by a search"
        )
        rows, places = rows[reached], places[reached]
        mapping = replace(mapping, words=(*mapping.words, words))
        at = Evaluator(own.some(reached), other.some(reached), mapping, swapped=owner == "b")
        here = at(rows)
    _require_finite(here, names, places)
    with np.errstate(all="ignore"):
        return _judged(at, rows, here, names, found)


def _of_bounds(
    mapping: ParameterMap,
    reached: NDArray[np.bool_],
    names: tuple[str, ...],
    sides: tuple[str, str],
) -> tuple[TargetDifference, ...]:
    """Parameters that have other bounds in each target, at least as far as formulas tell."""
    found = []
    for column, (one, two) in mapping.formulas.items():
        if one.has_bounds_of(two):
            continue
        (low, high), (other_low, other_high) = one.bounds, two.bounds
        outside = int((~reached[:, column]).sum())
        text = (
            f"the parameter is between {low:.6g} and {high:.6g} in {sides[0]}, and between "
            f"{other_low:.6g} and {other_high:.6g} in {sides[1]}; {outside} of {len(reached)} "
            f"draws are outside of {sides[1]}"
        )
        size = outside / len(reached)
        found.append(TargetDifference(names[column], "support", size, text))
    return tuple(found)


def _judged(
    at: Evaluator,
    rows: FloatArray,
    here: Values,
    names: tuple[str, ...],
    found: tuple[TargetDifference, ...],
) -> TargetComparison:
    """Tell differences from rounding, and name them, after those that were found already."""
    spread = np.where(np.std(rows, axis=0) > 0.0, np.std(rows, axis=0), 1.0)
    # Neighbours lie in fixed directions: nothing here is random.
    signs = np.where(np.arange(rows.size).reshape(rows.shape) * 7 % 5 < 2, 1.0, -1.0)
    step = np.maximum(_NEARBY * spread, 1e3 * (SINGLE if here.single else DOUBLE) * np.abs(rows))
    there = at(rows + signs * step) if at.repeatable else None
    # Draws in single precision may give scores in it that are exact: neighbours are in double.
    # Stored scores may be those of draws that had more digits than are stored.
    single = here.single or is_single(rows) if there is None else there.single
    unit = SINGLE if single else DOUBLE
    # The rounding of a draw moves the score by its derivative: what a step does says how far.
    reach = (np.abs(rows) + spread) / step
    reach = reach + np.median(reach, axis=1)[:, None]
    terms = np.abs(here.a) + np.abs(here.b)
    if there is not None:
        # Noise in one of them is not a derivative, and the other one has none.
        moved = 2.0 * np.fmin(np.abs(there.a - here.a), np.abs(there.b - here.b))
        terms = terms + np.where(np.isfinite(moved), moved, 0.0) * reach
    else:  # a score of the size 1 / sd has a derivative of 1 / sd^2
        terms = terms * (1.0 + _NEARBY * reach) + 1.0 / spread
    # A score may be near 0 by chance. A few draws far out must not hide what differs elsewhere.
    terms = terms + np.median(terms, axis=0)
    score_errors, density_errors = at.errors(rows, spread, here)
    tolerance = TERMS * unit * terms + score_errors
    if at.by_differences:
        tolerance = tolerance + _TRUNCATION * terms
    gap = here.b - here.a
    beyond = (np.abs(gap) > tolerance).any(axis=0)
    sizes = spread * np.sqrt(np.mean(gap**2, axis=0))
    relative = np.sqrt(np.mean((gap / terms.clip(1e-300)) ** 2, axis=0))
    rough = np.zeros(len(names), dtype=np.bool_)
    if there is not None:
        rough = _roughness(gap, there.b - there.a) > _ROUGH
        # One draw far out may have most of the rounding, and keep it: then others tell.
        for column in np.flatnonzero(beyond & ~rough & (relative < _FAINT)).tolist():
            kept = np.abs(gap[:, column]) > tolerance[:, column]
            each = [one[kept, column][None] for one in (gap, there.b - there.a)]
            rough[column] = np.median(_roughness(*each)) > _ROUGH
        # Terms of a score that is 0 cancel: rounding is all that there is of it.
        beyond &= ~(rough & (sizes < _NOTHING))
    noise = rough & beyond & (relative > _ROUGHEST)
    touched = np.flatnonzero(beyond & ~rough).tolist()
    compared = Compared(rows, here.a, here.b, tolerance, names, at.mapping.families, here.jacobians)
    again = at.scores if at.repeatable else None
    # Smooth, and still no larger than what data in single precision would do.
    small = {names[column] for column in touched if relative[column] < 4.0 * SINGLE}
    found += tuple(
        row._replace(text=f"{row.text}. {_SMALL}") if row.parameter in small else row
        for row in named_differences(
            compared, touched, again, parametrisations=at.mapping.numerical is None
        )
    )
    text = "the scores jump between neighbouring draws: random ones, or too few digits"
    found += tuple(
        TargetDifference(names[column], "noise", float(sizes[column]), text)
        for column in np.flatnonzero(noise).tolist()
    )
    constant = None
    if here.densities is not None:
        found += _density_of_zero(*here.densities)
        if not found:
            found, constant = _of_densities(here, there, rows, unit, density_errors)
    agreed = np.fmin(relative, sizes)[~(beyond & ~rough)]
    precision: Precision = "single" if single or (rough & beyond & ~noise).any() else "double"
    if at.by_differences:
        precision = "differences"
    return TargetComparison(
        same=not found,
        differences=found,
        constant=constant,
        precision=precision,
        rounding=float(agreed.max()) if len(agreed) else 0.0,
        mapping=at.mapping.words,
        draws=len(rows),
        dimension=len(names),
    )


def _roughness(here: FloatArray, there: FloatArray) -> FloatArray:
    """How much a difference changes between neighbours: 0 if it is smooth, about 1 if random."""
    known = np.isfinite(there)
    change = np.where(known, there - here, 0.0)
    size = np.where(known, here**2 + there**2, 0.0)
    found: FloatArray = np.sqrt((change**2).sum(axis=0) / size.sum(axis=0).clip(1e-300))
    return found


def _density_of_zero(one: FloatArray, two: FloatArray) -> tuple[TargetDifference, ...]:
    """Draws at which one density is 0 and the other one is not."""
    zero = np.isneginf(one), np.isneginf(two)
    text = "the log-density of {} is -inf at {} of {} draws, and that of {} is finite there"
    return tuple(
        TargetDifference("", "support", count / len(one), text.format(name, count, len(one), other))
        for name, other, count in (
            ("a", "b", int((zero[0] & ~zero[1]).sum())),
            ("b", "a", int((zero[1] & ~zero[0]).sum())),
        )
        if count
    )


def _of_densities(
    here: Values,
    there: Values | None,
    rows: FloatArray,
    unit: float,
    errors: FloatArray,
) -> tuple[tuple[TargetDifference, ...], float | None]:
    """Whether the log-densities differ by a constant, where the scores agree."""
    assert here.densities is not None
    inside = np.isfinite(here.densities[0])
    if not inside.any():
        return (), None
    one, two = (values[inside] for values in here.densities)
    gap = two - one
    constant = float(np.median(gap))
    # A log-density is a sum of terms as well, and draws are rounded.
    terms = np.abs(one) + np.abs(two) + np.abs(rows * here.a).sum(axis=1)[inside]
    tolerance = 4.0 * TERMS * unit * (terms + terms.max()) + errors[inside]
    if (np.abs(gap - constant) <= tolerance).all():
        return (), constant
    if there is not None and there.densities is not None:
        nearby = (there.densities[1] - there.densities[0])[inside] - constant
        largest = np.abs(gap - constant).max()
        rough = _roughness((gap - constant)[:, None], nearby[:, None])[0] > _ROUGH
        if rough and largest <= _ROUGHEST * terms.max():
            return (), constant
    text = (
        f"the scores agree, and the log-densities differ by {gap.min():.6g} to {gap.max():.6g}: "
        "one score is not the gradient of its log-density, or a constant depends on the region"
    )
    return (TargetDifference("", "log-density", float(np.std(gap)), text),), None


def _require_finite(here: Values, names: tuple[str, ...], places: NDArray[np.intp]) -> None:
    """Raise an error if scores are infinite, NaN or too large, or a log-density is no number."""
    for name, scores in (("a", here.a), ("b", here.b)):
        bad = ~(np.abs(scores) < _LARGEST)
        if not bad.any():
            continue
        rows = np.flatnonzero(bad.any(axis=1))
        column = int(np.argmax(bad[rows[0]]))
        listed = first_of([str(place) for place in places[rows]], 6)
        raise InputError(
            f"`{name}` must have finite scores at the draws, below {_LARGEST:g}; got "
            f"{scores[rows[0], column]:g} for `{names[column]}` at draw {places[rows[0]]}, and "
            f"such ones at {len(rows)} of {len(scores)} draws: {listed}. Are the draws on the "
            "unconstrained scale? A density that is 0 at draws of the other target is another "
            "target"
        )
    for name, densities in zip("ab", here.densities or (), strict=False):
        if (bad := np.isnan(densities) | np.isposinf(densities)).any():
            first = int(np.argmax(bad))
            raise InputError(
                f"`{name}` must have log-densities at the draws that are finite, or -inf where the "
                f"density is 0; got {densities[first]} at draw {places[first]}"
            )
