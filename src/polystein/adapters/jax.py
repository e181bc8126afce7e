"""JAX: any log-density, differentiated at the draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polystein.adapters.assemble import assemble, batched, note_single_precision
from polystein.adapters.trees import flat_rows, jax, leading_axes, tree_names, unflatten
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress

X64 = 'Run `jax.config.update("jax_enable_x64", True)` before anything is sampled.'


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
        With the log-density among its facts. Gradients are computed in blocks of draws, so that
        memory is bounded. Single precision is warned about.

    Examples
    --------
    ``ps.check(ps.from_jax(logdensity, states.position))`` for a sampler of BlackJAX that keeps no
    gradients, or for TensorFlow Probability on JAX.
    """
    selection = Selection(var_names, thin, drop_first)
    axes = _sample_ndim(sample_ndim, draws)
    rows = selection.draws(flat_rows(draws, axes))
    function = _of_one_point(logdensity, unflatten(draws, axes), rows.reshape(-1, rows.shape[-1]))
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
    **facts: Any,
) -> Sample:
    """The sample of draws that are flat and kept, with gradients of a flat log-density.

    `scores` are taken as they are if they are known already.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    if scores is None:
        gradient = jax().jit(jax().vmap(jax().grad(logdensity)))
        scores = batched(gradient, flat, progress).reshape(rows.shape)
    notes = []
    if str(rows.dtype) in ("float32", "float16", "bfloat16"):
        notes.append(note_single_precision("JAX's draws and gradients", X64))
    values = jax().jit(jax().vmap(logdensity))

    def log_density(points: FloatArray) -> FloatArray:
        return batched(values, jax().numpy.asarray(points, dtype=rows.dtype))

    return assemble(
        rows, scores, names, selection, log_density=log_density, warnings=notes, **facts
    )


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


def _of_one_point(
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
