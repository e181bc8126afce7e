"""Whether two models, such as a port and its original, are one target up to a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import is_array
from polystein._lib.notes import first_of, shown_name
from polystein.data.foreign import adapted, type_name
from polystein.data.sample import Sample, validated_array
from polystein.data.selection import parameter, variable
from polystein.data.source import Source, checked_names, complete, is_source
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.refinement.rows import evenly, rows_at
from polystein.results.same_target import Precision, TargetComparison, TargetDifference
from polystein.types import Array, FloatArray, ScoreFunction
from polystein.workflows.parameters import parameter_map, places_of, unmapped
from polystein.workflows.reparametrised import Compared
from polystein.workflows.score_patterns import named_differences
from polystein.workflows.two_targets import DOUBLE, SINGLE, TERMS, Evaluator, Side, Values

#: Fewer different draws cannot tell a form with two constants from others.
_FEWEST = 20
#: Rows that are compared; fewer where coordinates are mapped numerically.
_MOST, _MOST_NUMERICAL = 400, 40
#: Relative error of central differences of a log-density with steps of 1e-4 sd.
_TRUNCATION = 1e-6
#: Neighbours of the draws, in sds. A smooth difference hardly changes over such a distance, and
#: rounding is another one.
_NEARBY = 1e-3
#: From this change between neighbours on, relative to that of independent numbers, a difference is
#: rounding or other noise.
_ROUGH = 0.3
#: A rough difference is rounding, of single precision or of long sums, if it is at most this part
#: of the terms of a score.
_ROUGHEST = 1e-3

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
    models = {"a": _model(a, "a"), "b": _model(b, "b")}
    source, owner = _shared_draws(models, draws)
    places = evenly(np.arange(source.layout.total), min(source.layout.total, _MOST))
    rows, d = rows_at(source, places)[0], source.layout.dimension
    sides = {name: _side(model, name, d, places) for name, model in models.items()}
    sides["b"] = sides["b"]._replace(target=_renamed(sides["b"].target, rename))
    own, other = sides[owner], sides["b" if owner == "a" else "a"]
    if own.target.dimension != d:
        raise InputError(
            f"`draws` must have the {own.target.dimension} coordinates of `{owner}`; got {d}"
        )
    if (different := len(np.unique(rows, axis=0))) < _FEWEST:
        raise InputError(f"`draws` must hold at least {_FEWEST} different rows; got {different}")
    rows = _in_order(rows, source.names, own)
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
    if not reached.all():
        rows, places = rows[reached], places[reached]
        at = Evaluator(own.some(reached), other.some(reached), mapping, swapped=owner == "b")
        here = at(rows)
    for name, scores in (("a", here.a), ("b", here.b)):
        _require_finite(scores, name, names, places)
    with np.errstate(all="ignore"):
        return _judged(at, rows, here, names)


def _judged(
    at: Evaluator, rows: FloatArray, here: Values, names: tuple[str, ...]
) -> TargetComparison:
    """Tell differences from rounding, and name them."""
    spread = np.where(np.std(rows, axis=0) > 0.0, np.std(rows, axis=0), 1.0)
    # Neighbours lie in fixed directions: nothing here is random.
    signs = np.where(np.arange(rows.size).reshape(rows.shape) * 7 % 5 < 2, 1.0, -1.0)
    step = np.maximum(_NEARBY * spread, 1e3 * (SINGLE if here.single else DOUBLE) * np.abs(rows))
    there = at(rows + signs * step) if at.repeatable else None
    # Draws in single precision may give scores in it that are exact: neighbours are in double.
    single = here.single if there is None else there.single
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
        terms = terms * (1.0 + _NEARBY * reach)
    terms = terms + np.sqrt(np.mean(terms**2, axis=0))
    score_errors, density_errors = at.errors(rows, spread, here)
    tolerance = TERMS * unit * terms + score_errors
    if at.by_differences:
        tolerance = tolerance + _TRUNCATION * terms
    gap = here.b - here.a
    beyond = (np.abs(gap) > tolerance).any(axis=0)
    relative = np.sqrt(np.mean(gap**2, axis=0) / np.mean(terms**2, axis=0).clip(1e-300))
    rough = np.zeros(len(names), dtype=np.bool_)
    if there is not None:
        rough = _roughness(gap, there.b - there.a) > _ROUGH
        # One draw far out may have most of the rounding, and keep it: then others tell.
        for column in np.flatnonzero(beyond & ~rough & (relative < _FAINT)).tolist():
            kept = np.abs(gap[:, column]) > tolerance[:, column]
            each = [one[kept, column][None] for one in (gap, there.b - there.a)]
            rough[column] = np.median(_roughness(*each)) > _ROUGH
    noise = rough & beyond & (relative > _ROUGHEST)
    touched = np.flatnonzero(beyond & ~rough).tolist()
    compared = Compared(rows, here.a, here.b, tolerance, names, at.mapping.families, here.jacobians)
    again = at.scores if at.repeatable else None
    found = named_differences(
        compared, touched, again, parametrisations=at.mapping.numerical is None
    )
    # Smooth, and still no larger than what data in single precision would do.
    small = {names[column] for column in touched if relative[column] < 4.0 * SINGLE}
    found = tuple(
        row._replace(text=f"{row.text}. {_SMALL}") if row.parameter in small else row
        for row in found
    )
    for column in np.flatnonzero(noise).tolist():
        size = float(spread[column] * np.sqrt(np.mean(gap[:, column] ** 2)))
        text = "the scores jump between neighbouring draws: random ones, or too few digits"
        found += (TargetDifference(names[column], "noise", size, text),)
    constant = None
    if not found and here.densities is not None:
        found, constant = _of_densities(here, there, rows, unit, density_errors)
    agreed = relative[~(beyond & ~rough)]
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


def _of_densities(
    here: Values,
    there: Values | None,
    rows: FloatArray,
    unit: float,
    errors: FloatArray,
) -> tuple[tuple[TargetDifference, ...], float | None]:
    """Whether the log-densities differ by a constant, where the scores agree."""
    assert here.densities is not None
    one, two = here.densities
    gap = two - one
    constant = float(np.median(gap))
    # A log-density is a sum of terms as well, and draws are rounded.
    terms = np.abs(one) + np.abs(two) + np.abs(rows * here.a).sum(axis=1)
    tolerance = 4.0 * TERMS * unit * (terms + terms.max()) + errors
    if (np.abs(gap - constant) <= tolerance).all():
        return (), constant
    if there is not None and there.densities is not None:
        nearby = there.densities[1] - there.densities[0] - constant
        largest = np.abs(gap - constant).max()
        rough = _roughness((gap - constant)[:, None], nearby[:, None])[0] > _ROUGH
        if rough and largest <= _ROUGHEST * terms.max():
            return (), constant
    text = (
        f"the scores agree, and the log-densities differ by {gap.min():.6g} to {gap.max():.6g}: "
        "one score is not the gradient of its log-density, or a constant depends on the region"
    )
    return (TargetDifference("", "log-density", float(np.std(gap)), text),), None


def _model(value: object, name: str) -> Target | Source | tuple[Any, Any]:
    """What was given for a target, or an error that says what may be."""
    if isinstance(value, Target):
        return value
    if type(value) is tuple and len(value) == 2:
        known = [one is None or (callable(one) and not is_array(one)) for one in value]
        if all(known) and value != (None, None):
            return value
    elif is_source(value):
        return complete(value)  # type: ignore[arg-type]
    elif callable(value) and not is_array(value) and not isinstance(value, type):
        return None, value
    elif not isinstance(value, type) and (found := adapted(value, None, None)) is not None:
        source: Source = found
        return source
    raise InputError(
        f"`{name}` must be a Sample, a target, a score function of (n, d) draws, or a pair "
        f"(log_density, scores) of functions; got a {type_name(value)}"
    )


def _shared_draws(models: Mapping[str, Any], draws: object) -> tuple[Source, str]:
    """The draws to compare at, and whose coordinates they have."""
    if draws is None:
        for name, model in models.items():
            if is_source(model):
                return model, name
        raise InputError(
            "`draws` must be given, an array or a Sample, unless `a` or `b` is a Sample; got None"
        )
    if is_source(draws):
        source = complete(draws)  # type: ignore[arg-type]
        own = [name for name, model in models.items() if draws is getattr(model, "source", model)]
        return source, own[0] if own else "a"
    array = validated_array(draws, "draws")
    return Sample(array, np.broadcast_to(0.0, array.shape)), "a"  # scores that nothing reads


def _side(model: Any, name: str, dimension: int, places: NDArray[np.intp]) -> Side:
    """A target, with the scores of a sample that keeps none."""
    if isinstance(model, Target):
        if model.density is None and model.density_and_score is None:
            raise InputError(f"`{name}` must know its score or log-density; it has neither")
        return Side(name, model, None)
    if isinstance(model, tuple):
        density, score = model
        if density is None:
            target = Target(dimension, None, lambda rows: (np.zeros(len(rows)), score(rows)))
        else:
            target = Target.of_functions(dimension, density, score)
        return Side(name, target, None)
    target = model.facts.target or Target(model.layout.dimension, None)
    target = replace(target, names=target.names or model.names)
    if target.has_score:
        return Side(name, target, None)
    if places[-1] >= model.layout.total:
        raise InputError(
            f"`{name}` must be a sample that keeps its target, or hold the draws that are "
            "compared; its scores are those of other draws"
        )
    return Side(name, target, rows_at(model, places))


def _renamed(target: Target, rename: object) -> Target:
    """The target with names of its parameters changed."""
    if rename is None:
        return target
    if not isinstance(rename, Mapping) or not all(
        isinstance(one, str) for pair in rename.items() for one in pair
    ):
        raise InputError(
            f"`rename` must be a mapping from names in `b` to names in `a`; got {rename!r}"
        )
    new = {shown_name(old): shown_name(name) for old, name in rename.items()}
    known = {parameter(name) for name in target.names or ()}
    if unknown := [name for name in new if name not in known]:
        raise InputError(
            f"`rename` must name parameters of `b`, {sorted(known)}; got {unknown[0]!r}"
        )

    if target.names is None:
        return target

    def changed(label: str) -> str:
        short = parameter(label)
        return new.get(short, short) + label[len(variable(label)) :] if short in new else label

    names = checked_names(tuple(map(changed, target.names)), target.dimension)
    before = target.transform
    if before is None:
        return replace(target, names=names)
    transform: Callable[[FloatArray], Mapping[str, Array]] = before
    return replace(
        target,
        names=names,
        transform=lambda rows: {changed(key): value for key, value in transform(rows).items()},
    )


def _in_order(rows: FloatArray, names: tuple[str, ...] | None, own: Side) -> FloatArray:
    """The draws with their coordinates in the order of the target, if both have names."""
    wanted = own.target.names
    if names is None or wanted is None or names == wanted or own.kept is not None:
        return rows
    mine, theirs = places_of(names), places_of(wanted)
    for name, places in theirs.items():
        if len(mine.get(name, ())) != len(places):
            raise InputError(
                f"`draws` must have the coordinates of `{own.name}`; got none, or another number, "
                f"for `{name}`"
            )
    ordered = np.empty(rows.shape)
    for name, places in theirs.items():
        ordered[:, places] = rows[:, mine[name]]
    return ordered


def _require_finite(
    scores: FloatArray, name: str, names: tuple[str, ...], places: NDArray[np.intp]
) -> None:
    bad = ~np.isfinite(scores)
    if not bad.any():
        return
    rows = np.flatnonzero(bad.any(axis=1))
    column = int(np.argmax(bad[rows[0]]))
    listed = first_of([str(place) for place in places[rows]], 6)
    raise InputError(
        f"`{name}` must have finite scores at the draws; got {scores[rows[0], column]} for "
        f"`{names[column]}` at draw {places[rows[0]]}, and non-finite ones at {len(rows)} of "
        f"{len(scores)} draws: {listed}. Are the draws on the unconstrained scale? A density that "
        "is 0 at draws of the other target is another target"
    )
