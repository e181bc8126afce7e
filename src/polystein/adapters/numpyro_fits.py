"""NumPyro's stochastic variational inference: draws of a guide, and how they compare with a model.

On whatever scale both densities are taken, their ratio is the same: the Jacobian cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein._lib.imports import imported
from polystein._lib.random import seed_sequence
from polystein.adapters.assemble import blocks
from polystein.adapters.jax import jax
from polystein.data.foreign import type_name
from polystein.errors import InputError
from polystein.types import RNG, Array, FloatArray


def is_svi(value: Any) -> bool:
    """Whether this is NumPyro's `SVI`, which holds a model and a guide."""
    return all(hasattr(value, name) for name in ("model", "guide", "loss", "optim"))


def fitted_parameters(result: Any) -> dict[str, Any]:
    """The parameters of what `SVI.run` returned, or those of `SVI.get_params`."""
    found = getattr(result, "params", result)
    if not isinstance(found, Mapping):
        raise InputError(
            "`svi_result` must be what `svi.run` returned, or the mapping of `svi.get_params`; got "
            f"a {type_name(result)}. Pass `ps.from_numpyro(svi, svi_result, *args)`."
        )
    return dict(found)


def latent_sites(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The names of the sites of a model that are sampled and not observed, sorted."""
    handlers = imported("numpyro.handlers", "numpyro")
    seeded = handlers.seed(model, jax().random.PRNGKey(0))
    trace = handlers.trace(seeded).get_trace(*args, **kwargs)
    return sorted(name for name, site in trace.items() if _is_latent(site))


def _is_latent(site: Mapping[str, Any]) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def guide_draws(
    svi: Any,
    model: Any,
    parameters: dict[str, Any],
    sites: list[str],
    model_args: tuple[Any, ...],
    model_kwargs: dict[str, Any],
    n_draws: int,
    rng: RNG,
) -> tuple[dict[str, Array], FloatArray | None]:
    """Draws of the model's sites, each of shape (1, draw, ...), and log p - log q of every draw.

    The second is None for a guide whose density is not known.
    """
    seed = int(seed_sequence(rng).generate_state(1)[0])
    key = jax().random.PRNGKey(seed)
    guides = imported("numpyro.infer.autoguide", "numpyro")
    util = imported("numpyro.infer.util", "numpyro")

    def log_density(values: dict[str, Array]) -> Array:
        return util.log_density(model, model_args, model_kwargs, values)[0]

    if isinstance(svi.guide, guides.AutoLaplaceApproximation):
        # The guide itself is a point. Its draws are those of a normal law of unconstrained values.
        law = svi.guide.get_posterior(parameters)
        latent = law.sample(key, (n_draws,))
        values = svi.guide._unpack_and_constrain(latent, parameters)
        values = {name: values[name] for name in sites}

        def ratio(point: tuple[Array, dict[str, Array]]) -> Array:
            unconstrained = util.unconstrain_fn(model, model_args, model_kwargs, point[1])
            energy = util.potential_energy(model, model_args, model_kwargs, unconstrained)
            return -energy - law.log_prob(point[0])

        ratios = in_blocks(ratio, (latent, values), n_draws)
        return {name: array[None] for name, array in values.items()}, to_numpy(ratios)

    handlers = imported("numpyro.handlers", "numpyro")
    known = _has_density(svi.guide, guides)

    def draw(own: Array) -> tuple[dict[str, Array], Array]:
        seeded = handlers.seed(handlers.substitute(svi.guide, data=parameters), own)
        trace = handlers.trace(seeded).get_trace(*model_args, **model_kwargs)
        latent = {name: site for name, site in trace.items() if _is_latent(site)}
        missing = [name for name in sites if name not in latent]
        if missing:
            raise InputError(
                "`svi` must have a guide that samples every latent site of its model; got one "
                f"without {', '.join(missing)}"
            )
        values = {name: latent[name]["value"] for name in sites}
        terms = [site["fn"].log_prob(site["value"]).sum() for site in latent.values()]
        return values, log_density(values) - sum(terms) if known else jax().numpy.zeros(())

    values, ratios = in_blocks(draw, jax().random.split(key, n_draws), n_draws)
    found = {name: array[None] for name, array in values.items()}
    return found, to_numpy(ratios) if known else None


def _has_density(guide: Any, guides: Any) -> bool:
    """Whether the sites of a guide give its density: those with auxiliary variables do not."""
    return not isinstance(guide, guides.AutoDAIS | guides.AutoSemiDAIS)


def in_blocks(function: Callable[[Any], Any], points: Any, count: int) -> Any:
    """Apply a function of one point to a pytree of `count` points, in blocks."""
    tree_map, numpy = jax().tree_util.tree_map, jax().numpy
    leaves = jax().tree_util.tree_leaves(points)
    size = sum(int(np.prod(leaf.shape[1:], dtype=int)) for leaf in leaves)
    many = jax().jit(jax().vmap(function))
    parts = [
        many(tree_map(lambda leaf, own=part: leaf[own], points)) for part in blocks(count, size)
    ]
    return tree_map(lambda *own: numpy.concatenate(own), *parts)
