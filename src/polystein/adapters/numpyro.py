"""NumPyro: the potential energy of the model at the unconstrained draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polystein._lib.arguments import integer
from polystein._lib.arrays import to_numpy
from polystein._lib.imports import imported
from polystein.adapters.assemble import (
    assemble,
    facts_of_fit,
    single_precision_warnings,
    unseen_warnings,
)
from polystein.adapters.jax import X64, differentiated, flat_rows, jax, tree_names, unflatten
from polystein.adapters.numpyro_fits import (
    fitted_parameters,
    guide_draws,
    in_blocks,
    is_svi,
    latent_sites,
)
from polystein.data.facts import Facts
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.errors import InputError
from polystein.types import RNG, Array, FloatArray


def from_numpyro(
    mcmc: Any,
    *model_args: Any,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    n_draws: int = 4000,
    rng: RNG = 0,
    **model_kwargs: Any,
) -> Sample:
    """Compute the gradients of a NumPyro model at its draws, as a `Sample`.

    Parameters
    ----------
    mcmc : numpyro.infer.MCMC or numpyro.infer.SVI
        An `MCMC` after ``run``. If it kept ``z_grad`` (``extra_fields=("z_grad",)``), no gradient
        is computed. An `SVI` is followed by what its ``run`` returned.
    *model_args, **model_kwargs
        The arguments of the model, as given to ``run``. An `MCMC` remembers those of its last
        run.
    var_names, thin, drop_first
        As for `Sample.select`.
    n_draws, rng
        How many draws are taken of the guide of an `SVI`, and their seed.

    Returns
    -------
    Sample
        With the model as its ``target``, and the sampler's statistics among its facts.
        The coordinates are sorted by the names of the sites, as NumPyro does it. Draws of the
        warm-up are not included. Draws of a guide are independent rows. Discrete sites
        (`DiscreteHMCGibbs`, `MixedHMC`) have no score: the others are judged given their draws,
        which is warned about, and there is no ``target`` then.

    Examples
    --------
    >>> import jax
    >>> import numpyro
    >>> import numpyro.distributions as dist
    >>> import polystein as ps
    >>> from numpyro.infer import MCMC, NUTS
    >>> jax.config.update("jax_enable_x64", True)
    >>> def model(y):
    ...     mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    ...     tau = numpyro.sample("tau", dist.HalfNormal(5.0))
    ...     with numpyro.plate("n", len(y)):
    ...         numpyro.sample("y", dist.Normal(mu, tau), obs=y)
    >>> mcmc = MCMC(NUTS(model), num_warmup=500, num_samples=1000, progress_bar=False)
    >>> mcmc.run(jax.random.PRNGKey(1), y=jax.numpy.linspace(-1.0, 2.0, 20))
    >>> sample = ps.from_numpyro(mcmc)
    >>> sample.names
    ('mu', 'tau')
    >>> ps.check(sample, rng=1).verdict  # or ps.check(mcmc, rng=1)
    'not rejected'

    ``svi_result = svi.run(key, 5000, x, y=y)`` and then
    ``ps.check(ps.from_numpyro(svi, svi_result, x, y=y))``.
    """
    selection = Selection(var_names, thin, drop_first)
    for name in ("model_args", "model_kwargs"):
        if name in model_kwargs:
            raise InputError(
                f"`{name}` must not be given by this name: the arguments of the model follow as "
                "they were given to `run`, as in `ps.from_numpyro(svi, svi_result, x, y=y)`; got "
                f"a {type_name(model_kwargs[name])}"
            )
    if is_svi(mcmc):
        count = integer(n_draws, "n_draws", least=1)
        return _of_guide(mcmc, model_args, model_kwargs, selection, count, rng)
    sites = _latent_sites(mcmc)
    if not model_args and not model_kwargs:
        model_args, model_kwargs = mcmc._args, mcmc._kwargs
    own = mcmc.get_samples(group_by_chain=True)
    kept = {name: selection.rows(own[name]) for name in sites}
    extra = mcmc.get_extra_fields(group_by_chain=True)
    statistics = _statistics(mcmc, extra, selection)
    floating = jax().numpy.floating
    discrete = [name for name in sites if not jax().numpy.issubdtype(kept[name].dtype, floating)]
    model = mcmc.sampler.model
    if discrete:
        return _given(model, model_args, model_kwargs, kept, discrete, selection, statistics)
    scores = None
    if "z_grad" in extra:  # the gradient of the potential energy, which is minus the log-density
        stored = {name: extra["z_grad"][name] for name in sorted(extra["z_grad"])}
        scores = -to_numpy(selection.rows(flat_rows(stored, 2)))
    functions = _functions(mcmc.sampler, model, model_args, model_kwargs)
    return _differentiated(functions, kept, selection, scores=scores, statistics=statistics)


#: Potential energy of one point, and the ways to the unconstrained scale and back.
Functions = tuple[Callable[[Any], Array], Callable[[Any], Any], Callable[[Any], Any] | None]


def _differentiated(
    functions: Functions,
    kept: dict[str, Array],
    selection: Selection,
    *,
    scores: FloatArray | None = None,
    statistics: dict[str, Array] | None = None,
    known: Facts | None = None,
) -> Sample:
    """The sample of kept draws of shape (chain, draw, ...) on the model's own scale."""
    potential, unconstrain, constrain = functions
    values = _each_draw(unconstrain, kept)
    rows, point, transform = flat_rows(values, 2), unflatten(values, 2), None
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
        statistics=statistics,
        transform=transform,
        known=known,
    )


def _of_guide(
    svi: Any,
    given: tuple[Any, ...],
    kwargs: dict[str, Any],
    selection: Selection,
    n_draws: int,
    rng: RNG,
) -> Sample:
    """Independent draws of the guide of an SVI, with gradients of its model."""
    parameters = fitted_parameters(given[0] if given else None)
    args, kwargs = given[1:], {**kwargs, **svi.static_kwargs}
    model = imported("numpyro.handlers", "numpyro").substitute(svi.model, data=parameters)
    sites = latent_sites(model, args, kwargs)
    values, ratios = guide_draws(svi, model, parameters, sites, args, kwargs, n_draws, rng)
    if discrete := [name for name in sites if values[name].dtype.kind not in "fV"]:
        raise InputError(
            "`svi` must have continuous latent sites: discrete ones have no score; got "
            f"{', '.join(discrete)}"
        )
    kept = {name: selection.rows(array) for name, array in values.items()}
    ratios = None if ratios is None else selection.rows(ratios[None])
    functions = _functions(None, model, args, kwargs)
    return _differentiated(functions, kept, selection, known=facts_of_fit(ratios))


def _given(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kept: dict[str, Array],
    discrete: list[str],
    selection: Selection,
    statistics: dict[str, Array],
) -> Sample:
    """The sample of the continuous sites, with their scores given the discrete ones."""
    condition = imported("numpyro.handlers", "numpyro").condition
    continuous = [name for name in kept if name not in discrete]
    if not continuous:
        raise InputError("`mcmc` must sample continuous sites: discrete ones have no score")

    def parts(point: dict[str, Array]) -> tuple[Functions, dict[str, Array]]:
        conditioned = condition(model, data={name: point[name] for name in discrete})
        functions = _functions(None, conditioned, args, kwargs)
        return functions, {name: point[name] for name in continuous}

    def evaluate(point: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        (potential, unconstrain, _), own = parts(point)
        values = {name: unconstrain(own)[name] for name in continuous}
        return values, jax().grad(lambda at: -potential(at))(values)

    values, scores = _each_draw(evaluate, kept)
    rows = flat_rows(values, 2)
    return assemble(
        rows,
        to_numpy(flat_rows(scores, 2)),
        tree_names(values, 2),
        selection,
        statistics=statistics,
        warnings=(
            *single_precision_warnings(rows.dtype, "JAX's draws and gradients", X64),
            *unseen_warnings(discrete),
        ),
    )


def _latent_sites(mcmc: Any) -> list[str]:
    """The names of the sites that are sampled, deterministic ones left out."""
    state = getattr(mcmc, "last_state", None)
    if state is None:
        raise InputError("`mcmc` must have been run; got an MCMC without draws. Call `mcmc.run`.")
    kernel, sites = mcmc.sampler, getattr(state, "z", None)
    if type_name(kernel).endswith(".HMCECS"):
        raise InputError(
            f"`mcmc` must sample by the whole data; got a {type_name(kernel)}, which takes parts "
            "of them. Pass `ps.from_jax(logdensity, draws)` with the log-density of all data."
        )
    if not isinstance(sites, dict):
        raise InputError(
            f"`mcmc` must have named sites; got a {type_name(kernel)} whose state has "
            f"{type_name(sites)}. Pass `ps.from_jax(logdensity, draws)`."
        )
    return sorted(sites)


def _functions(
    sampler: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Functions:
    """What is computed of a model, or of a potential that the sampler was given."""
    if model is None:  # its draws are unconstrained
        return sampler._potential_fn, lambda point: point, None
    util = imported("numpyro.infer.util", "numpyro")
    return (
        lambda point: util.potential_energy(model, args, kwargs, point),
        lambda point: util.unconstrain_fn(model, args, kwargs, point),
        lambda point: util.constrain_fn(model, args, kwargs, point, return_deterministic=True),
    )


def _each_draw(function: Callable[[Any], Any], kept: dict[str, Array]) -> Any:
    """Apply a function of one point to all draws, in blocks, keeping (chain, draw, ...)."""
    tree_map = jax().tree_util.tree_map
    leading = next(iter(kept.values())).shape[:2]
    flat = {name: leaf.reshape(-1, *leaf.shape[2:]) for name, leaf in kept.items()}
    found = in_blocks(function, flat, leading[0] * leading[1])
    return tree_map(lambda leaf: leaf.reshape(*leading, *leaf.shape[1:]), found)


def _statistics(mcmc: Any, fields: Mapping[str, Any], selection: Selection) -> dict[str, Array]:
    """Divergences, energies, and trees that reached the largest depth, where they were kept.

    Kernels with blocks keep them as fields of a block's state, as in ``hmc_state.diverging``.
    """
    fields = {name.rpartition(".")[2]: array for name, array in fields.items()}
    found: dict[str, Array] = {
        name: np.asarray(fields[name]) for name in ("diverging", "energy") if name in fields
    }
    depth = getattr(mcmc.sampler, "_max_tree_depth", None)
    if "num_steps" in fields and depth is not None:
        deepest = depth[1] if isinstance(depth, tuple) else depth
        found["reached_max_treedepth"] = np.asarray(fields["num_steps"]) >= 2**deepest - 1
    return {name: selection.rows(values) for name, values in found.items()}
