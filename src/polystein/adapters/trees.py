"""Pytrees of JAX: draws in nested containers, flattened with names."""

from __future__ import annotations

from typing import Any

import numpy as np

from polystein._lib.imports import imported
from polystein.adapters.labels import coordinate_labels
from polystein.errors import InputError
from polystein.types import Array


def jax() -> Any:
    """JAX itself."""
    return imported("jax", "jax")


def leading_axes(leaves: list[Array]) -> int:
    """How many axes count draws: 1 for (draw, ...), 2 for (chain, draw, ...).

    The first two sizes are shared by all leaves if there are chains. With nothing else to tell
    them apart, more draws than chains are expected.
    """
    shapes = [tuple(leaf.shape) for leaf in leaves]
    if min(len(shape) for shape in shapes) < 2:
        return 1
    if len({shape[:2] for shape in shapes}) > 1:
        return 1
    if len(shapes) == 1:
        return len(shapes[0]) - 1 if len(shapes[0]) <= 3 else 2
    return 2 if shapes[0][0] < shapes[0][1] else 1


def tree_names(tree: Any, axes: int) -> list[str] | None:
    """Names of the coordinates: keys of the leaves and indices; None for a bare array."""
    paths = jax().tree_util.tree_flatten_with_path(tree)[0]
    if len(paths) == 1 and not paths[0][0]:
        return None
    names = []
    for path, leaf in paths:
        names += coordinate_labels(".".join(map(_key, path)), leaf.shape[axes:])
    return names


def _key(entry: Any) -> str:
    """A key of a dictionary, a field of a tuple, or a place in a list."""
    for attribute in ("key", "name", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def flat_rows(tree: Any, axes: int) -> Array:
    """The leaves side by side, of shape (chain, draw, d) or (draw, d), in JAX."""
    numpy = jax().numpy
    leaves = [numpy.asarray(leaf) for leaf in jax().tree_util.tree_leaves(tree)]
    leading = {leaf.shape[:axes] for leaf in leaves}
    if len(leading) != 1:
        raise InputError(
            f"`draws` must have the same first {axes} sizes in all parts; got {sorted(leading)}"
        )
    return numpy.concatenate([leaf.reshape(*leaf.shape[:axes], -1) for leaf in leaves], axis=-1)


def unflatten(tree: Any, axes: int) -> Any:
    """A function from one flat point to the containers of the draws."""
    leaves, structure = jax().tree_util.tree_flatten(tree)
    shapes = [leaf.shape[axes:] for leaf in leaves]
    ends = np.cumsum([int(np.prod(shape, dtype=int)) for shape in shapes])

    def point(row: Array) -> Any:
        starts = [0, *ends[:-1].tolist()]
        parts = [
            row[low:high].reshape(shape)
            for low, high, shape in zip(starts, ends.tolist(), shapes, strict=True)
        ]
        return jax().tree_util.tree_unflatten(structure, parts)

    return point
