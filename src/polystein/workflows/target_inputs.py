"""What `same_target` is given: two models, the draws that they share, and other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import is_array
from polystein._lib.notes import shown_name
from polystein.data.foreign import adapted, type_name
from polystein.data.sample import Sample, validated_array
from polystein.data.selection import parameter, variable
from polystein.data.source import Source, checked_names, complete, is_source
from polystein.data.spread import rows_at
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.explain.own_names import own_parameters
from polystein.types import Array, FloatArray
from polystein.workflows.parameters import paired, places_of
from polystein.workflows.two_targets import Side


def read_model(value: object, name: str) -> Target | Source | tuple[Any, Any]:
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
    expected = (
        f"`{name}` must be a Sample of a fit, as `ps.from_pymc(model, idata)` gives, a score "
        "function of (n, d) draws, or a pair (log_density, scores) of functions; got a "
        f"{type_name(value)}"
    )
    if type(value) is not tuple and not isinstance(value, type):
        try:
            found: Source | None = adapted(value, None, None)
        except InputError as error:
            raise InputError(f"{expected}. {error}") from error
        if found is not None:
            return found
    raise InputError(expected)


def shared_draws(models: Mapping[str, Any], draws: object) -> tuple[Source, str]:
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


def side_of(model: Any, name: str, dimension: int, places: NDArray[np.intp]) -> Side:
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


def renamed(target: Target, rename: object) -> Target:
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
    if target.names is None:
        if new:
            raise InputError(
                f"`rename` must name parameters of `b`, which has no names; got {next(iter(new))!r}"
            )
        return target
    # A model's transform also gives what it derives from its parameters.
    derived = own_parameters(target, np.zeros((1, target.dimension)))
    known = {parameter(name) for name in (*target.names, *derived)}
    if unknown := [name for name in new if name not in known]:
        raise InputError(
            f"`rename` must name parameters of `b`, {sorted(known)}; got {unknown[0]!r}"
        )
    if twice := [name for name in new.values() if name in known and name not in new]:
        raise InputError(
            f"`rename` must give each parameter of `b` a name of its own; {twice[0]!r} is the name "
            "of another one"
        )

    def changed(label: str) -> str:
        short = parameter(label)
        return new[short] + label[len(variable(label)) :] if short in new else label

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


def in_order(rows: FloatArray, names: tuple[str, ...] | None, own: Side) -> FloatArray:
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
        ordered[:, places] = rows[:, paired(wanted, places, names, mine[name])]
    return ordered
