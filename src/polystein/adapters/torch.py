"""PyTorch: any log-density, differentiated at the draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polystein._lib.arrays import library, to_numpy
from polystein._lib.imports import imported
from polystein.adapters.assemble import (
    assemble,
    batched,
    blocks,
    draws_array,
    single_precision_warnings,
)
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
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
        With the log-density as its ``target``. Gradients are computed in blocks of draws, so that
        memory is bounded. Single precision is warned about.

    Notes
    -----
    A function of one point is vectorised by `torch.func.vmap`. Points are differentiated one by
    one if it cannot be. For Pyro, `pyro.infer.mcmc.util.initialize_model` gives a potential
    function of the unconstrained values; its negative is the log-density.

    Examples
    --------
    >>> import polystein as ps
    >>> import torch
    >>> covariance = torch.tensor([[1.0, 0.6], [0.6, 1.0]], dtype=torch.float64)
    >>> target = torch.distributions.MultivariateNormal(covariance.new_zeros(2), covariance)
    >>> _ = torch.manual_seed(1)
    >>> sample = ps.from_torch(target.log_prob, target.sample((4, 500)), names=["a", "b"])
    >>> ps.check(sample, rng=1).verdict
    'not rejected'
    """
    torch = imported("torch", "torch")
    selection = Selection(var_names, thin, drop_first)
    array = draws_array(draws)
    tensor = array.detach() if library(array) == "torch" else torch.as_tensor(to_numpy(array))
    rows = selection.draws(tensor if tensor.dtype.is_floating_point else tensor.double())
    flat = rows.reshape(-1, rows.shape[-1])
    values, gradient = _functions(torch, log_prob, flat)
    scores = batched(lambda part: gradient(part)[1], flat, progress)
    remedy = "Pass draws and parameters in `torch.float64`."
    return assemble(
        rows,
        scores.reshape(rows.shape),
        names,
        selection,
        target=_target(torch, values, gradient, flat, names),
        warnings=single_precision_warnings(rows.dtype, "PyTorch's gradients", remedy),
    )


def _target(
    torch: Any,
    values: Callable[[Any], Any],
    gradient: Callable[[Any], tuple[Any, Any]],
    flat: Any,
    names: Sequence[str] | None,
) -> Target:
    """The log-density in the precision and on the device of the draws, block by block.

    Distributions of PyTorch raise a ValueError for points outside their support, where the density
    is 0. Such points are found by halving the rows.
    """

    def tensor(points: FloatArray) -> Any:
        return torch.as_tensor(points, dtype=flat.dtype, device=flat.device)

    def density(points: FloatArray) -> FloatArray:
        try:
            with torch.no_grad():
                return batched(values, tensor(points))
        except ValueError:
            if len(points) == 1:
                return np.array([-np.inf])
            half = len(points) // 2
            return np.concatenate([density(points[:half]), density(points[half:])])

    def both(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        try:
            parts = [gradient(tensor(points[part])) for part in blocks(*points.shape)]
        except ValueError:
            if len(points) == 1:
                return np.array([-np.inf]), np.full(points.shape, np.nan)
            half = len(points) // 2
            parts = [both(points[:half]), both(points[half:])]
        densities, scores = (
            np.concatenate([to_numpy(one) for one in each]) for each in zip(*parts, strict=True)
        )
        return densities, scores

    return Target(int(flat.shape[1]), density, both, None if names is None else tuple(names))


def _functions(
    torch: Any, log_prob: Callable[[Any], Any], flat: Any
) -> tuple[Callable[[Any], Any], Callable[[Any], tuple[Any, Any]]]:
    """The log-density of (n, d) points, and beside it the gradients.

    A function of one point is vectorised if that works. Otherwise gradients go through the sum of
    the values, which gives every point its own.
    """
    if _shape(log_prob, flat[0]) == ():
        values = torch.func.vmap(log_prob)
        vectorised = torch.func.vmap(torch.func.grad_and_value(log_prob))
        try:
            vectorised(flat[:2])
        except (RuntimeError, ValueError, TypeError):
            values = lambda rows: torch.stack([log_prob(row) for row in rows])  # noqa: E731
        else:
            return values, lambda rows: tuple(one.detach() for one in reversed(vectorised(rows)))
    elif _shape(log_prob, flat[:2]) == (len(flat[:2]),):
        values = log_prob
    else:
        raise InputError(
            "`log_prob` must give one number for a point of shape (d,), or n for (n, d); got the "
            f"shapes {_shape(log_prob, flat[0])} and {_shape(log_prob, flat[:2])}"
        )

    def through_the_sum(rows: Any) -> tuple[Any, Any]:
        points = rows.clone().requires_grad_()
        found = values(points)
        (gradients,) = torch.autograd.grad(found.sum(), points, allow_unused=True)
        return found.detach(), torch.zeros_like(points) if gradients is None else gradients

    return values, through_the_sum


def _shape(log_prob: Callable[[Any], Any], points: Any) -> tuple[int, ...] | None:
    """The shape of the answer; None if the function does not take such points."""
    try:
        found = log_prob(points.clone())
    except (TypeError, ValueError, IndexError, RuntimeError):
        return None
    return tuple(found.shape) if hasattr(found, "shape") else None
