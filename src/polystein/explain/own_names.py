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

#: How far a coordinate is moved, to see which of the model's own numbers moves with it.
_STEP = 0.5
#: More coordinates than this are called by their own names: it takes a row for each of them.
_MOST_COORDINATES = 2000
#: Models of JAX and PyTorch often compute in single precision.
_SINGLE = 1e-5


def own_words(names: Mapping[str, str]) -> dict[str, str]:
    """How coordinates are told whose own names are known, the model's name first.

    "`tau` (`tau_log__`)" for the coordinate ``tau_log__``, and "`tau` (unconstrained)" for one that
    has the name of the model's own number.
    """
    return {
        name: f"`{own}` ({'unconstrained' if own == name else f'`{name}`'})"
        for name, own in names.items()
    }


def own_names(source: Source) -> dict[str, str]:
    """The model's own names of coordinates that are one of its numbers on another scale.

    A number belongs to a coordinate if it moves with that one alone, and alone among the numbers of
    its variable: not those of a simplex. Of several numbers, such as ``tau`` and its square, it is
    the one that the coordinate is named after. A coordinate that is a number itself has no other
    name, unless two underscores call it unconstrained, as PyMC does.
    """
    target, d = source.facts.target, source.layout.dimension
    if target is None or target.transform is None or d > _MOST_COORDINATES:
        return {}
    base = np.array(first_block(source).draws[:1], dtype=np.float64)
    rows = np.concatenate([base, base + _STEP * np.eye(d)])
    try:
        found = own_parameters(target, rows)
    except PolysteinError:  # effects can do without
        return {}
    labels, values = list(found), np.array(list(found.values())).reshape(-1, d + 1)
    variables = [variable(label) for label in labels]
    moved = _differ(values[:, 1:], values[:, :1])
    own = {}
    for coordinate, name in enumerate(coordinate_names(source)):
        touched = np.flatnonzero(moved[:, coordinate]).tolist()
        same = [n for n in touched if not _differ(values[n], rows[:, coordinate]).any()]
        others = [
            number
            for number in touched
            if number not in same
            and moved[number].sum() == 1
            and [variables[one] for one in touched].count(variables[number]) == 1
        ]
        whole = variable(name)
        after = [n for n in others if whole == variables[n] or whole.startswith(f"{variables[n]}_")]
        if not same and len(others) == 1:
            own[name] = labels[others[0]]
        elif after and (not same or whole.endswith("__")):
            own[name] = labels[max(after, key=lambda number: len(variables[number]))]
    return own


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
