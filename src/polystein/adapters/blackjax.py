"""BlackJAX: states that carry a position and the gradient of the log-density there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.adapters.assemble import (
    assemble,
    batched,
    facts_of_fit,
    single_precision_warnings,
)
from polystein.adapters.jax import (
    X64,
    differentiated,
    flat_rows,
    jax,
    jax_target,
    of_one_point,
    tree_names,
    unflatten,
)
from polystein.data.foreign import type_name
from polystein.data.sample import MANY_CHAINS, Sample
from polystein.data.selection import Selection
from polystein.errors import InputError
from polystein.types import Array


def from_blackjax(
    states: Any,
    info: Any = None,
    *,
    logdensity: Callable[[Any], Any] | None = None,
    chain_axis: int | None = None,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
) -> Sample:
    """Take positions and gradients from states of BlackJAX, as a `Sample`.

    Parameters
    ----------
    states : a state of HMC, NUTS, MALA, Barker, GHMC, MCLMC, ... or a list of them
        With ``position`` and ``logdensity_grad``, whose first axis counts draws, or whose first
        two count chains and draws. Or the pair of draws and log q that `pathfinder.sample` gives,
        with `logdensity`.
    info : a sampler's info, optional
        From the same steps, for divergences and energies.
    logdensity : callable, optional
        The log-density that the sampler was given. The sample then has a ``target``, which
        `refine` needs. Pathfinder's draws carry no gradients, and need it.
    chain_axis : int, optional
        0 if states have the axes (chain, draw, ...), 1 if they have (draw, chain, ...), as a
        vectorised step in one loop gives them. It must be given if the shape does not tell.
    var_names, thin, drop_first
        As for `Sample.select`.

    Returns
    -------
    Sample
        Leave out the warm-up's states yourself: BlackJAX keeps them apart. States of SGLD are
        positions without gradients: pass them to `check` with scores of fresh minibatches.

    Examples
    --------
    The states of all steps, from `jax.lax.scan`, are what to pass:

    >>> import blackjax
    >>> import jax
    >>> import polystein as ps
    >>> jax.config.update("jax_enable_x64", True)
    >>> def logdensity(x):  # the target is N(0, I)
    ...     return -0.5 * jax.numpy.sum(x**2)
    >>> sampler = blackjax.nuts(logdensity, step_size=0.8, inverse_mass_matrix=jax.numpy.ones(2))
    >>> def step(state, key):
    ...     state, info = sampler.step(key, state)
    ...     return state, (state, info)
    >>> keys = jax.random.split(jax.random.PRNGKey(1), 1000)
    >>> _, (states, info) = jax.lax.scan(step, sampler.init(jax.numpy.zeros(2)), keys)
    >>> sample = ps.from_blackjax(states, info, logdensity=logdensity)
    >>> sample.layout.lengths
    (1000,)
    >>> ps.check(sample, rng=1).verdict
    'not rejected'

    For Pathfinder,
    ``ps.check(ps.from_blackjax(pathfinder.sample(key, state, 4000), logdensity=logdensity))``.
    """
    if _is_of_pathfinder(states):
        draws, log_q = states
        return _independent(draws, log_q, logdensity, Selection(var_names, thin, drop_first))
    if isinstance(states, list | tuple) and not hasattr(states, "_fields"):
        if not states or not hasattr(states[0], "_fields"):
            raise InputError(f"`states` must be states of BlackJAX; got a {type_name(states)}")
        states = jax().tree_util.tree_map(lambda *parts: jax().numpy.stack(parts), *states)
    if type_name(states).endswith(".PathfinderState"):
        raise InputError(
            "`states` must be draws; got a state of Pathfinder. Pass `ps.from_blackjax("
            "pathfinder.sample(key, state, 4000), logdensity=logdensity)`."
        )
    if not hasattr(states, "logdensity_grad"):
        raise InputError(
            f"`states` must carry `logdensity_grad`; got a {type_name(states)}, whose sampler uses "
            "no gradients. Pass `ps.from_jax(logdensity, states.position)`."
        )
    leading = np.shape(states.logdensity)
    if len(leading) not in (1, 2):
        raise InputError(
            "`states` must have one axis for draws, or two for chains and draws; got a "
            f"log-density of shape {leading}. Is this the last state alone? Return the states of "
            "all steps from `jax.lax.scan`."
        )
    selection, axes = Selection(var_names, thin, drop_first), len(leading)
    swapped = _chain_axis(chain_axis, leading) == 1

    def kept(array: Array) -> Array:
        """The kept draws of (draw, ...), (chain, draw, ...) or (draw, chain, ...)."""
        chains = array[None] if axes == 1 else array.swapaxes(0, 1) if swapped else array
        return selection.rows(chains)

    draws, names = kept(flat_rows(states.position, axes)), tree_names(states.position, axes)
    target = None
    if logdensity is not None:
        point = unflatten(states.position, axes)
        function = of_one_point(logdensity, point, draws.reshape(-1, draws.shape[-1]))
        target = jax_target(function, draws, names)
    found = {name: getattr(info, name, None) for name in ("is_divergent", "energy")}
    return assemble(
        draws,
        kept(flat_rows(states.logdensity_grad, axes)),
        names,
        selection,
        target=target,
        statistics={
            name: kept(to_numpy(values))
            for name, values in found.items()
            if values is not None and len(np.shape(values)) == axes
        },
        warnings=single_precision_warnings(draws.dtype, "BlackJAX's draws and gradients", X64),
    )


def _is_of_pathfinder(value: Any) -> bool:
    """Whether this is a pair of draws and log q, one number for each draw."""
    if not isinstance(value, tuple) or hasattr(value, "_fields") or len(value) != 2:
        return False
    return not hasattr(value[0], "_fields") and len(getattr(value[1], "shape", ())) == 1


def _independent(
    draws: Any, log_q: Array, logdensity: Callable[[Any], Any] | None, selection: Selection
) -> Sample:
    """The sample of independent draws of a fitted density, with gradients of the target."""
    if logdensity is None:
        raise InputError(
            "`logdensity` must be given with draws of Pathfinder, which carry no gradients; got "
            "None. Pass the function that `pathfinder.approximate` was given."
        )
    rows = selection.draws(flat_rows(draws, 1))
    function = of_one_point(logdensity, unflatten(draws, 1), rows)
    densities = batched(jax().jit(jax().vmap(function)), rows)
    ratios = densities - to_numpy(selection.rows(log_q[None])[0])
    return differentiated(
        function, rows, tree_names(draws, 1), selection, known=facts_of_fit(ratios)
    )


def _chain_axis(given: int | None, shape: tuple[int, ...]) -> int:
    """Which of two axes counts chains; many chains of fewer draws are suspect."""
    if given in (0, 1):
        return int(given)
    if given is not None:
        raise InputError(f"`chain_axis` must be 0 or 1; got {given!r}")
    if len(shape) == 2 and shape[0] > shape[1] and shape[0] >= MANY_CHAINS:
        raise InputError(
            f"`chain_axis` must be given: states of shape {shape} are {shape[0]} chains of "
            f"{shape[1]} draws with 0, and {shape[1]} chains of {shape[0]} draws with 1"
        )
    return 0
