"""Names of coordinates: a variable's name, with indices or labels in brackets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from polystein.types import Array

#: nutpie's names: a variable, an underscore, and indices with dots between them.
_NUTPIE = re.compile(r"(?P<name>.+)_(?P<indices>\d+(?:\.\d+)*)")
#: Stan's names: a variable and indices from 1 on, with dots between them.
_STAN = re.compile(r"(?P<name>[^.]+)\.(?P<indices>\d+(?:\.\d+)*)")


def coordinate_labels(
    name: str, shape: Sequence[int], labels: Sequence[Sequence[Any]] | None = None
) -> list[str]:
    """``theta[0]``, ``theta[1]``, ... in the order of a flattened array; ``mu`` for a scalar.

    `labels` are those of each axis, in the place of numbers.
    """
    if len(shape) == 0:
        return [name]
    axes = labels or [range(size) for size in shape]
    return [f"{name}[{', '.join(map(str, place))}]" for place in itertools.product(*axes)]


def labels_of(array: Any) -> list[list[Any]]:
    """The labels of an xarray variable's axes beyond (chain, draw); numbers if there are none."""
    return [
        array.coords[dim].values.tolist() if dim in array.coords else list(range(array.sizes[dim]))
        for dim in array.dims[2:]
    ]


def nutpie_parts(label: str, variables: Iterable[str]) -> tuple[str, tuple[int, ...]]:
    """A variable and the indices of one coordinate: ``z_0.1`` is ``z``, (0, 1)."""
    found = _NUTPIE.fullmatch(label)
    if label in variables or found is None:
        return label, ()
    return found["name"], tuple(int(index) for index in found["indices"].split("."))


def stan_parts(label: str) -> tuple[str, tuple[int, ...]]:
    """A variable and the indices, from 0 on, of Stan's ``theta.1.2``."""
    found = _STAN.fullmatch(label)
    if found is None:
        return label, ()
    return found["name"], tuple(int(index) - 1 for index in found["indices"].split("."))


def stan_names(labels: Iterable[str]) -> list[str]:
    """Stan's own notation, from 1 on: ``theta[1, 2]`` for ``theta.1.2``."""
    names = []
    for label in labels:
        name, indices = stan_parts(label)
        inside = ", ".join(str(index + 1) for index in indices)
        names.append(f"{name}[{inside}]" if indices else name)
    return names


def flattened(variables: Mapping[str, Array]) -> tuple[Array, list[str]]:
    """Variables of shape (chain, draw, ...) side by side, (chain, draw, d), with names.

    xarray variables bring the labels of their axes.
    """
    columns, names = [], []
    for name, variable in variables.items():
        labels = labels_of(variable) if hasattr(variable, "dims") else None
        values = np.asarray(getattr(variable, "values", variable))
        names += coordinate_labels(name, values.shape[2:], labels)
        columns.append(values.reshape(*values.shape[:2], -1))
    return np.concatenate(columns, axis=2), names
