"""What the model itself calls the unconstrained coordinates of its draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from polystein._lib.arrays import to_numpy
from polystein.adapters.assemble import coordinate_labels
from polystein.data.passes import first_block
from polystein.data.selection import variable
from polystein.data.source import Source, coordinate_names
from polystein.data.target import Target, user_code
from polystein.errors import PolysteinError
from polystein.types import FloatArray

#: A coordinate is moved by these, and over the range of the first draws, to see which of the
#: model's own numbers moves with it.
_STEPS = (-2.0, -0.5, 0.5, 2.0)
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: More coordinates than this are called by their own names: it takes rows for each of them.
_MOST_COORDINATES = 2000
#: Models of JAX and PyTorch often compute in single precision.
_SINGLE = 1e-5


def own_words(names: Mapping[str, str]) -> dict[str, str]:
    """How coordinates are told that are a parameter of the model on another scale.

    "`tau_log__` (unconstrained `tau`)" for the coordinate ``tau_log__``, and "`tau`
    (unconstrained)" for one that has the parameter's name. The coordinate comes first: a number
    that is told of it is none of the parameter, and may even have the other sign.
    """
    return {
        name: f"`{name}` (unconstrained{'' if own == name else f' `{own}`'})"
        for name, own in names.items()
    }


def own_names(source: Source) -> dict[str, str]:
    """The model's own names of coordinates that are one of its numbers on another scale.

    A number belongs to a coordinate that is named after it if it moves with that one alone, always
    up or always down, and alone among the numbers of its variable: not those of a simplex. Of
    several numbers it is the one with the longest name. A coordinate that is a number itself has no
    other name, unless two underscores call it unconstrained, as PyMC does.
    """
    target, d = source.facts.target, source.layout.dimension
    if target is None or target.transform is None or d > _MOST_COORDINATES:
        return {}
    draws = np.array(first_block(source).draws, dtype=np.float64)
    try:
        labels, moved, steady, same = _moves(target, draws)
    except PolysteinError:  # effects can do without
        return {}
    variables = [variable(label) for label in labels]
    own = {}
    for coordinate, name in enumerate(coordinate_names(source)):
        touched = np.flatnonzero(moved[:, coordinate]).tolist()
        itself = same[:, coordinate].any()
        whole = variable(name)
        after = [
            number
            for number in touched
            if not same[number, coordinate]
            and steady[number, coordinate]
            and moved[number].sum() == 1
            and [variables[one] for one in touched].count(variables[number]) == 1
            and (whole == variables[number] or whole.startswith(f"{variables[number]}_"))
        ]
        if after and (not itself or whole.endswith("__")):
            own[name] = labels[max(after, key=lambda number: len(variables[number]))]
    return own


def _moves(
    target: Target, draws: FloatArray
) -> tuple[list[str], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """The model's numbers, and by number and coordinate what happens when that one is moved.

    Whether the number moves, whether it goes up always or down always, and whether it is the
    coordinate itself. The first and the last of the draws are moved.
    """
    d = draws.shape[1]
    labels = list(own_parameters(target, draws[:1]))
    shape = (len(labels), d)
    moved, same = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
    rising, falling = np.ones(shape, dtype=bool), np.ones(shape, dtype=bool)
    for base in (draws[0], draws[-1]):
        near = [base + step for step in _STEPS]
        levels = np.sort(np.concatenate([np.quantile(draws, _QUANTILES, axis=0), near]), axis=0)
        before = None
        for level in levels:
            rows = np.tile(base, (d, 1))
            np.fill_diagonal(rows, level)
            values = np.array(list(own_parameters(target, rows).values())).reshape(shape)
            same &= ~_differ(values, level)
            if before is not None:
                step = _differ(values, before)
                moved |= step
                rising &= ~step | (values > before)
                falling &= ~step | (values < before)
            before = values
    return labels, moved, rising | falling, same


def _differ(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    """Where numbers differ by more than the rounding of single precision."""
    differ: NDArray[np.bool_] = ~np.isclose(one, other, rtol=_SINGLE, atol=0.0)
    return differ


def own_parameters(target: Target, rows: FloatArray) -> dict[str, FloatArray]:
    """Everything that the transform gives at rows, number by number."""
    if target.transform is None:
        return {}
    found: dict[str, FloatArray] = {}
    with user_code("transform", "It must return a mapping of arrays, with a value for each draw"):
        for name, values in target.transform(rows.copy()).items():
            array = np.asarray(to_numpy(values)).reshape(len(rows), *np.shape(values)[1:])
            flat = array.reshape(len(rows), -1).T
            found |= dict(zip(coordinate_labels(name, array.shape[1:]), flat, strict=True))
    return found
