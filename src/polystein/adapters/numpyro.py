"""NumPyro: the potential energy of the model at the unconstrained draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein._lib.imports import imported
from polystein.adapters.assemble import blocks
from polystein.adapters.jax import differentiated, flat_rows, jax, tree_names, unflatten
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.errors import InputError
from polystein.types import Array, FloatArray


def from_numpyro(
    mcmc: Any,
    *model_args: Any,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    **model_kwargs: Any,
) -> Sample:
    """Compute the gradients of a NumPyro model at the draws of an `MCMC`, as a `Sample`.

    Parameters
    ----------
    mcmc : numpyro.infer.MCMC
        After ``run``. If it kept ``z_grad`` (``extra_fields=("z_grad",)``), no gradient is
        computed.
    *model_args, **model_kwargs
        The arguments of the model, as given to ``run``; those of the last run by default.
    var_names, thin, drop_first
        As for `Sample.select`.

    Returns
    -------
    Sample
        With the model as its ``target``, and the sampler's statistics among its facts.
        The coordinates are sorted by the names of the sites, as NumPyro does it. Draws of the
        warm-up are not included.

    Examples
    --------
    ``mcmc.run(key, x, y=y)`` and then ``ps.check(ps.from_numpyro(mcmc, x, y=y))``, or
    ``ps.check(mcmc)``.
    """
    selection = Selection(var_names, thin, drop_first)
    sites = _latent_sites(mcmc)
    if not model_args and not model_kwargs:
        model_args, model_kwargs = mcmc._args, mcmc._kwargs
    potential, unconstrain, constrain = _functions(mcmc, model_args, model_kwargs)
    own = mcmc.get_samples(group_by_chain=True)
    values = _in_blocks(unconstrain, {name: selection.rows(own[name]) for name in sites})
    rows, point = flat_rows(values, 2), unflatten(values, 2)
    extra, scores, transform = mcmc.get_extra_fields(group_by_chain=True), None, None
    if "z_grad" in extra:  # the gradient of the potential energy, which is minus the log-density
        stored = {name: extra["z_grad"][name] for name in sorted(extra["z_grad"])}
        scores = -to_numpy(selection.rows(flat_rows(stored, 2)))
    if constrain is not None:
        constrained = jax().jit(jax().vmap(lambda row: constrain(point(row))))

        def transform(draws: FloatArray) -> dict[str, Array]:
            return {name: np.asarray(found) for name, found in constrained(draws).items()}

    return differentiated(
        lambda row: -potential(point(row)),
        rows,
        tree_names(values, 2),
        selection,
        scores=scores,
        statistics=_statistics(mcmc, extra, selection),
        transform=transform,
    )


def _latent_sites(mcmc: Any) -> list[str]:
    """The names of the sites that are sampled, deterministic ones left out."""
    state = getattr(mcmc, "last_state", None)
    if state is None:
        raise InputError("`mcmc` must have been run; got an MCMC without draws. Call `mcmc.run`.")
    kernel, sites = mcmc.sampler, getattr(state, "z", None)
    if hasattr(kernel, "inner_kernel"):
        raise InputError(
            f"`mcmc` must sample continuous sites only: discrete ones have no score; got a "
            f"{type_name(kernel)}. Marginalise them out of the model."
        )
    if not isinstance(sites, dict):
        raise InputError(
            f"`mcmc` must have named sites; got a {type_name(kernel)} whose state has "
            f"{type_name(sites)}. Pass `ps.from_jax(logdensity, draws)`."
        )
    return sorted(sites)


def _functions(
    mcmc: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[[Any], Array], Callable[[Any], Any], Callable[[Any], Any] | None]:
    """Potential energy of one point, and the ways to the unconstrained scale and back."""
    util, model = imported("numpyro.infer.util", "numpyro"), mcmc.sampler.model
    if model is None:  # the sampler was given a potential, whose draws are unconstrained
        return mcmc.sampler._potential_fn, lambda point: point, None
    return (
        lambda point: util.potential_energy(model, args, kwargs, point),
        lambda point: util.unconstrain_fn(model, args, kwargs, point),
        lambda point: util.constrain_fn(model, args, kwargs, point, return_deterministic=True),
    )


def _in_blocks(function: Callable[[Any], Any], kept: dict[str, Array]) -> dict[str, Array]:
    """Apply a function of one point to all draws, in blocks, keeping (chain, draw, ...)."""
    tree_map, numpy = jax().tree_util.tree_map, jax().numpy
    leading = next(iter(kept.values())).shape[:2]
    flat = tree_map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), kept)
    many = jax().jit(jax().vmap(function))
    size = sum(int(np.prod(leaf.shape[2:], dtype=int)) for leaf in kept.values())
    parts = [
        many({name: leaf[part] for name, leaf in flat.items()})
        for part in blocks(leading[0] * leading[1], size)
    ]
    joined = tree_map(lambda *leaves: numpy.concatenate(leaves), *parts)
    found: dict[str, Array] = {
        name: joined[name].reshape(*leading, *joined[name].shape[1:]) for name in kept
    }
    return found


def _statistics(mcmc: Any, fields: Mapping[str, Any], selection: Selection) -> dict[str, Array]:
    """Divergences, energies, and trees that reached the largest depth, where they were kept."""
    found = {name: np.asarray(fields[name]) for name in ("diverging", "energy") if name in fields}
    depth = getattr(mcmc.sampler, "_max_tree_depth", None)
    if "num_steps" in fields and depth is not None:
        deepest = depth[1] if isinstance(depth, tuple) else depth
        found["reached_max_treedepth"] = np.asarray(fields["num_steps"]) >= 2**deepest - 1
    return {name: selection.rows(values) for name, values in found.items()}
