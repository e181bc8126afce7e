"""JAX: any log-density, differentiated at the draws, which may be pytrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein._lib.imports import imported
from polystein.adapters.assemble import (
    assemble,
    batched,
    blocks,
    coordinate_labels,
    single_precision_warnings,
)
from polystein.data.facts import Facts
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress

X64 = 'Run `jax.config.update("jax_enable_x64", True)` before anything is sampled.'


def jax() -> Any:
    """JAX itself."""
    return imported("jax", "jax")


def from_jax(
    logdensity: Callable[[Any], Any],
    draws: Any,
    *,
    names: Sequence[str] | None = None,
    sample_ndim: int | None = None,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    progress: Progress | None = None,
) -> Sample:
    """Differentiate a log-density by JAX at the draws, as a `Sample`.

    Parameters
    ----------
    logdensity : callable
        The log-density of one point, up to a constant, on the unconstrained scale. A function of
        (n, d) points that gives n values will do, too.
    draws : array or pytree
        Unconstrained draws of shape (n, d) or (chain, draw, d), or a pytree of arrays whose first
        axes count the draws, as in ``states.position``.
    names : sequence of str, optional
        One name for each coordinate; those of a pytree are known.
    sample_ndim : int, optional
        How many axes of a pytree's arrays count draws: 1 for (draw, ...), 2 for (chain, draw,
        ...). It is worked out from the shapes unless it is given.
    var_names, thin, drop_first
        As for `Sample.select`.
    progress : callable, optional
        Called as ``progress(done, total)`` while gradients are computed.

    Returns
    -------
    Sample
        With the log-density as its ``target``. Gradients are computed in blocks of draws, so that
        memory is bounded. Single precision is warned about.

    Examples
    --------
    >>> import jax
    >>> import polystein as ps
    >>> jax.config.update("jax_enable_x64", True)
    >>> def logdensity(x):  # the target is N(0, I)
    ...     return -0.5 * (x["mu"] ** 2 + x["log_tau"] ** 2)
    >>> keys = jax.random.split(jax.random.PRNGKey(18))
    >>> draws = {
    ...     "mu": jax.random.normal(keys[0], (4, 500)),
    ...     "log_tau": 0.7 * jax.random.normal(keys[1], (4, 500)),
    ... }
    >>> sample = ps.from_jax(logdensity, draws)
    >>> print(ps.check(sample, rng=1).effects.found[0].sentence)  # doctest: +ELLIPSIS
    the sd of `log_tau` is 30 % too small (...)

    ``ps.from_jax(logdensity, states.position)`` takes states of samplers of BlackJAX that keep no
    gradients.
    """
    selection = Selection(var_names, thin, drop_first)
    axes = _sample_ndim(sample_ndim, draws)
    rows = selection.draws(flat_rows(draws, axes))
    function = of_one_point(logdensity, unflatten(draws, axes), rows.reshape(-1, rows.shape[-1]))
    return differentiated(
        function,
        rows,
        list(names) if names is not None else tree_names(draws, axes),
        selection,
        progress=progress,
    )


def differentiated(
    logdensity: Callable[[Array], Array],
    rows: Array,
    names: Sequence[str] | None,
    selection: Selection,
    *,
    progress: Progress | None = None,
    scores: FloatArray | None = None,
    statistics: Mapping[str, Array] | None = None,
    transform: Callable[[FloatArray], Mapping[str, Array]] | None = None,
    known: Facts | None = None,
) -> Sample:
    """The sample of draws that are flat and kept, with gradients of a flat log-density.

    `scores` are taken as they are if they are known already, and `known` are further facts.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    if scores is None:
        gradient = jax().jit(jax().vmap(jax().grad(logdensity)))
        scores = batched(gradient, flat, progress).reshape(rows.shape)
    return assemble(
        rows,
        scores,
        names,
        selection,
        statistics=statistics,
        target=jax_target(logdensity, rows, names, transform),
        warnings=single_precision_warnings(rows.dtype, "JAX's draws and gradients", X64),
        known=known,
    )


def jax_target(
    logdensity: Callable[[Array], Array],
    rows: Array,
    names: Sequence[str] | None,
    transform: Callable[[FloatArray], Mapping[str, Array]] | None = None,
) -> Target:
    """The target of a log-density of one flat point, in the precision of the draws.

    JAX compiles a function anew for every number of rows, so that blocks are filled up to a power
    of two with copies of their first row.
    """
    values = jax().jit(jax().vmap(logdensity))
    gradients = jax().jit(jax().vmap(jax().value_and_grad(logdensity)))

    def filled(points: FloatArray) -> tuple[int, Array]:
        count = len(points)
        missing = (1 << (count - 1).bit_length()) - count
        whole = np.concatenate([points, np.broadcast_to(points[0], (missing, points.shape[1]))])
        return count, jax().numpy.asarray(whole, dtype=rows.dtype)

    def density(points: FloatArray) -> FloatArray:
        parts = []
        for part in blocks(*points.shape):
            count, whole = filled(points[part])
            parts.append(to_numpy(values(whole))[:count])
        return np.concatenate(parts)

    def both(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = []
        for part in blocks(*points.shape):
            count, whole = filled(points[part])
            parts.append([to_numpy(one)[:count] for one in gradients(whole)])
        densities, scores = zip(*parts, strict=True)
        return np.concatenate(densities), np.concatenate(scores)

    labels = None if names is None else tuple(names)
    return Target(int(rows.shape[-1]), density, both, labels, transform)


def _sample_ndim(given: int | None, draws: Any) -> int:
    leaves = jax().tree_util.tree_leaves(draws)
    if not leaves or not all(hasattr(leaf, "shape") for leaf in leaves):
        raise InputError(f"`draws` must be an array or a pytree of arrays; got {type(draws)}")
    axes = leading_axes(leaves) if given is None else given
    if axes not in (1, 2) or min(len(leaf.shape) for leaf in leaves) < axes:
        raise InputError(
            "`sample_ndim` must be 1 for (draw, ...) or 2 for (chain, draw, ...), and the draws "
            f"must have that many axes; got {axes} for {[tuple(leaf.shape) for leaf in leaves]}"
        )
    return axes


def of_one_point(
    logdensity: Callable[[Any], Any], point: Callable[[Array], Any], rows: Array
) -> Callable[[Array], Array]:
    """The log-density of one flat point, which also a batched function gives."""

    def single(row: Array) -> Array:
        return logdensity(point(row))

    if _shape(single, rows[0]) == ():
        return single

    def of_a_batch_of_one(row: Array) -> Array:
        batch = jax().tree_util.tree_map(lambda leaf: leaf[None], point(row))
        return logdensity(batch)[0]

    if _shape(of_a_batch_of_one, rows[0]) == ():
        return of_a_batch_of_one
    raise InputError(
        f"`logdensity` must give one number for one point; got the shape {_shape(single, rows[0])}"
    )


def _shape(function: Callable[[Array], Array], row: Array) -> tuple[int, ...] | None:
    """The shape of the answer for one point; None if the function does not take one."""
    try:
        found = jax().eval_shape(function, row)
    except (TypeError, ValueError, IndexError):
        return None
    shape = getattr(found, "shape", None)
    return None if shape is None else tuple(shape)


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
