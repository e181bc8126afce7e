"""PyTorch: any log-density, differentiated at the draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polystein._lib.arrays import library, to_numpy
from polystein._lib.imports import imported
from polystein.adapters.assemble import (
    assemble,
    batched,
    draws_array,
    single_precision_warnings,
)
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress


def from_torch(
    log_prob: Callable[[Any], Any],
    draws: Array,
    *,
    names: Sequence[str] | None = None,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    progress: Progress | None = None,
) -> Sample:
    """Differentiate a log-density by PyTorch at the draws, as a `Sample`.

    Parameters
    ----------
    log_prob : callable
        The log-density, up to a constant, on the unconstrained scale: of one point of shape (d,),
        or of (n, d) points with n values, each of which depends on its own point only.
    draws : tensor or array
        Unconstrained draws of shape (n, d) or (chain, draw, d). They are differentiated in their
        own precision and on their own device.
    names : sequence of str, optional
        One name for each coordinate.
    var_names, thin, drop_first
        As for `Sample.select`.
    progress : callable, optional
        Called as ``progress(done, total)`` while gradients are computed.

    Returns
    -------
    Sample
        With the log-density among its facts. Gradients are computed in blocks of draws, so that
        memory is bounded. Single precision is warned about.

    Notes
    -----
    A function of one point is vectorised by `torch.func.vmap`. Points are differentiated one by
    one if it cannot be. For Pyro, `pyro.infer.mcmc.util.initialize_model` gives a potential
    function of the unconstrained values; its negative is the log-density.

    Examples
    --------
    ``ps.check(ps.from_torch(log_prob, draws))``
    """
    torch = imported("torch", "torch")
    selection = Selection(var_names, thin, drop_first)
    array = draws_array(draws)
    tensor = array.detach() if library(array) == "torch" else torch.as_tensor(to_numpy(array))
    rows = selection.draws(tensor if tensor.dtype.is_floating_point else tensor.double())
    flat = rows.reshape(-1, rows.shape[-1])
    values = _values(torch, log_prob, flat)
    scores = batched(_gradient(torch, log_prob, values, flat), flat, progress)

    def log_density(points: FloatArray) -> FloatArray:
        with torch.no_grad():
            return batched(values, torch.as_tensor(points, dtype=rows.dtype, device=rows.device))

    remedy = "Pass draws and parameters in `torch.float64`."
    return assemble(
        rows,
        scores.reshape(rows.shape),
        names,
        selection,
        log_density=log_density,
        warnings=single_precision_warnings(rows.dtype, "PyTorch's gradients", remedy),
    )


def _values(torch: Any, log_prob: Callable[[Any], Any], flat: Any) -> Callable[[Any], Any]:
    """The log-density of (n, d) points, whichever of the two kinds of function was given."""
    if _shape(log_prob, flat[0]) == ():

        def of_rows(rows: Any) -> Any:
            return torch.stack([log_prob(row) for row in rows])

        return of_rows
    if _shape(log_prob, flat[:2]) == (len(flat[:2]),):
        return log_prob
    raise InputError(
        "`log_prob` must give one number for a point of shape (d,), or n for (n, d); got the "
        f"shapes {_shape(log_prob, flat[0])} and {_shape(log_prob, flat[:2])}"
    )


def _shape(log_prob: Callable[[Any], Any], points: Any) -> tuple[int, ...] | None:
    """The shape of the answer; None if the function does not take such points."""
    try:
        found = log_prob(points.clone())
    except (TypeError, ValueError, IndexError, RuntimeError):
        return None
    return tuple(found.shape) if hasattr(found, "shape") else None


def _gradient(
    torch: Any, log_prob: Callable[[Any], Any], values: Callable[[Any], Any], flat: Any
) -> Callable[[Any], Any]:
    """Gradients of (n, d) points: vectorised if that works, else through the sum of the values."""
    if values is not log_prob:
        vectorised = torch.func.vmap(torch.func.grad(log_prob))
        try:
            vectorised(flat[:2])
        except (RuntimeError, ValueError, TypeError):
            pass
        else:
            return lambda rows: vectorised(rows).detach()

    def through_the_sum(rows: Any) -> Any:
        points = rows.clone().requires_grad_()
        total = values(points).sum()
        (found,) = torch.autograd.grad(total, points, allow_unused=True)
        return torch.zeros_like(points) if found is None else found

    return through_the_sum
