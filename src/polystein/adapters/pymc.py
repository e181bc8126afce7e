"""PyMC: gradients of the model at the draws, in the order of its value variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polystein._lib.arguments import integer
from polystein._lib.imports import imported
from polystein.adapters.assemble import (
    assemble,
    axis_labels,
    coordinate_labels,
    facts_of_fit,
    flat_draws,
    unseen_warnings,
)
from polystein.adapters.bambi import is_bambi, made_by_bambi, pymc_model, sampled_intercepts
from polystein.adapters.groups import (
    POSTERIOR,
    UNCONSTRAINED,
    ArvizData,
    Groups,
    axes_of,
    complete_chains,
    is_arviz_data,
    opened,
)
from polystein.adapters.pymc_fits import (
    approximate_draws,
    are_independent,
    is_approximation,
    stored_log_q,
    stored_pareto_k,
    without_repeats,
)
from polystein.adapters.pymc_gradients import (
    LogDensityGradient,
    log_density_gradient,
    scores_at,
)
from polystein.data.facts import Facts
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import RNG, Array, FloatArray, Progress


def from_pymc(
    model: Any,
    idata: ArvizData = None,
    *,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    n_draws: int = 4000,
    rng: RNG = 0,
    cores: int = 1,
    progress: Progress | None = None,
) -> Sample:
    """Compute the gradients of a PyMC model at its draws, as a `Sample`.

    Parameters
    ----------
    model : pymc.Model, bambi.Model or an approximation
        The model that was sampled. An approximation of `pm.fit` keeps its model, and draws are
        taken of it.
    idata : InferenceData, DataTree or path
        What `pm.sample` returned, or the file that it was saved to. Unconstrained values are
        taken from ``posterior`` or ``unconstrained_posterior`` if they were stored
        (``idata_kwargs={"include_transformed": True}``). Otherwise the constrained draws are
        transformed. Draws of variational fits, also those of `pymc_extras.fit_laplace` and
        `fit_pathfinder`, become independent rows. The data may also come first.
    var_names, thin, drop_first
        As for `Sample.select`. A variable may be named without its transform.
    n_draws, rng
        How many draws are taken of an approximation, and their seed.
    cores : int
        Processes that compute gradients. It pays if one gradient takes milliseconds. A script
        must then have an ``if __name__ == "__main__"`` guard.
    progress : callable, optional
        Called as ``progress(done, total)`` while gradients are computed.

    Returns
    -------
    Sample
        With the model as its ``target``, and the sampler's statistics among its facts.
        Draws of the warm-up are not included. Discrete variables have no score: the others are
        judged given their draws, which is warned about, and there is no ``target`` then.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import polystein as ps
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0.0, 5.0)
    ...     tau = pm.HalfNormal("tau", 5.0)
    ...     y = pm.Normal("y", mu, tau, observed=np.linspace(-1.0, 2.0, 20))
    ...     idata = pm.sample(500, chains=4, cores=1, random_seed=1, progressbar=False)
    >>> sample = ps.from_pymc(model, idata)
    >>> sample.names
    ('mu', 'tau_log__')
    >>> ps.check(sample, rng=1).verdict  # or ps.check(idata, model=model, rng=1)
    'not rejected'

    After ``approximation = pm.fit(model=model)``, ``ps.check(approximation)``.
    """
    if is_arviz_data(model):
        model, idata = idata, model
    selection = Selection(var_names, thin, drop_first)
    discrete: dict[str, Array] = {}
    statistics: dict[str, Array] = {}
    weights, log_q, pareto_k = None, None, None
    if is_approximation(model):
        if idata is not None:
            raise InputError(
                "`idata` must not be given with an approximation, of which draws are taken; got a "
                f"{type_name(idata)}. Pass its model: `ps.from_pymc(approximation.model, idata)`."
            )
        plain, independent = model.model, True
        drawn, log_q = approximate_draws(model, integer(n_draws, "n_draws", least=1), rng)
        values = {name: selection.rows(array) for name, array in drawn.items()}
        log_q = None if log_q is None else selection.rows(log_q[None])[0]
        names, labels = _names(plain, values, {})
        draws = _joined(values)
    else:
        plain = plain_model(model)
        with opened(idata) as groups:
            selection = groups.without_warm_up(selection)
            own = _as_sampled(model, groups)
            values = unconstrained_values(plain, own, groups, selection)
            discrete = _discrete_values(plain, own, selection)
            names, labels = _names(plain, values, groups.variables(POSTERIOR))
            statistics, draws = groups.statistics(selection), _joined(values)
            independent = not discrete and are_independent(groups, len(draws))
            if independent:
                draws, weights = without_repeats(draws.reshape(-1, draws.shape[-1]))
                log_q, pareto_k = stored_log_q(groups, draws, names), stored_pareto_k(groups)
    function = log_density_gradient(plain)
    cores = integer(cores, "cores", least=1)
    densities, scores, notes = scores_at(function, draws, discrete, cores, progress)
    known = Facts()
    if independent:
        known = facts_of_fit(None if log_q is None else densities - log_q)
        known = known if pareto_k is None else replace(known, pareto_k=pareto_k)
    return assemble(
        draws,
        scores,
        names,
        selection,
        statistics=statistics,
        target=None if discrete else _target(plain, function, names, values),
        warnings=(*notes, *unseen_warnings(list(discrete))),
        known=replace(known, labels=labels),
        log_weights=weights,
    )


def _joined(values: Mapping[str, Array]) -> FloatArray:
    """The value variables side by side, (chain, draw, d)."""
    if not values:
        raise InputError("`model` must have continuous free variables: discrete ones have no score")
    return np.ascontiguousarray(flat_draws(values.values()), dtype=np.float64)


def _discrete_values(model: Any, own: dict[str, Any], selection: Selection) -> dict[str, Array]:
    """The draws of discrete variables, each of shape (chain * draw, ...)."""
    found = {}
    for value in model.discrete_value_vars:
        if value.name not in own:
            raise _lacking([value.name])
        kept = selection.rows(complete_chains(own[value.name].values, f"draws of {value.name}"))
        found[value.name] = kept.reshape(-1, *kept.shape[2:]).astype(value.dtype)
    return found


def _target(
    model: Any,
    function: LogDensityGradient,
    names: Sequence[str],
    values: Mapping[str, Array],
) -> Target:
    """The model's log-density and gradient, from row to row of its compiled function."""

    def both(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        densities, scores = np.empty(len(rows)), np.empty(rows.shape)
        for place, row in enumerate(rows):
            densities[place], scores[place] = function(row)
        return densities, scores

    return Target(
        len(names),
        lambda rows: both(rows)[0],
        both,
        tuple(names),
        _Constrained(model, {name: array.shape[2:] for name, array in values.items()}),
        vectorised=False,
    )


def plain_model(model: Any) -> Any:
    """A PyMC model, also out of a Bambi model that was built."""
    if is_bambi(model):
        return pymc_model(model)
    if not hasattr(model, "logp_dlogp_function"):
        raise InputError(f"`model` must be a PyMC or Bambi model; got a {type_name(model)}")
    return model


def _as_sampled(model: Any, groups: Groups) -> dict[str, Any]:
    """The posterior with the axes of the model, and with Bambi's intercepts as sampled."""
    own = groups.require(POSTERIOR)
    if made_by_bambi(groups):
        if not is_bambi(model):
            raise InputError(
                "`model` must be the Bambi model, whose intercepts are changed after sampling; got "
                f"a {type_name(model)}"
            )
        for name, values in sampled_intercepts(model, own).items():
            own[name] = own[name].copy(data=values)
    for name, dims in plain_model(model).named_vars_to_dims.items():
        axes = ("chain", "draw", *dims)
        if name in own and set(axes) == set(own[name].dims):
            own[name] = own[name].transpose(*axes)
    return own


def unconstrained_values(
    model: Any, own: dict[str, Any], groups: Groups, selection: Selection
) -> dict[str, Array]:
    """The kept unconstrained draws by the names of value variables, in the model's order.

    `own` are the variables of the posterior as they were sampled.
    """
    # pymc_extras 0.15 leaves the mode there, one row beside the draws of a Laplace approximation.
    drawn = {array.shape[:2] for array in own.values()}
    transformed = {
        name: array
        for name, array in groups.variables(UNCONSTRAINED).items()
        if array.shape[:2] in drawn or not drawn
    }
    variables = {value.name: model.values_to_rvs[value] for value in model.continuous_value_vars}
    found: dict[str, Array] = {}
    for name, variable in variables.items():
        unchanged = model.rvs_to_transforms.get(variable) is None
        # ArviZ's schema wants the names of `posterior` in `unconstrained_posterior`.
        places = [(transformed, name), (own, name)]
        places += [] if unchanged else [(transformed, variable.name)]
        stored = next((group[key] for group, key in places if key in group), None)
        if stored is not None:
            found[name] = selection.rows(complete_chains(stored.values, f"draws of {name}"))
    missing = [name for name in variables if name not in found]
    if missing:
        found |= _forward(model, own, missing, selection)
    return {name: found[name] for name in variables}


def _lacking(absent: list[str]) -> InputError:
    return InputError(
        "`idata` must hold draws of every free variable of the model; its posterior lacks "
        f"{', '.join(absent)}. Is this the model that was sampled? Bambi drops offsets unless it "
        "is told `omit_offsets=False`."
    )


def _forward(
    model: Any, own: dict[str, Any], missing: list[str], selection: Selection
) -> dict[str, Array]:
    """Unconstrained values from constrained draws, by the forward transforms of the model.

    Bounds of a transform may depend on other variables of the same draw.
    """
    free = {variable.name: variable for variable in model.free_RVs}
    absent = [name for name in free if name not in own]
    if absent:
        raise _lacking(absent)
    replace = imported("pytensor.graph.replace", "pymc").clone_replace
    inputs = {variable: variable.type() for variable in free.values()}
    outputs = []
    for value in model.continuous_value_vars:
        if value.name in missing:
            variable = model.values_to_rvs[value]
            forward = model.rvs_to_transforms[variable].forward
            output = forward(variable, *variable.owner.inputs)
            outputs.append(replace(output, inputs))
    function = model.compile_fn(
        outputs, inputs=list(inputs.values()), point_fn=False, on_unused_input="ignore"
    )
    kept = [selection.rows(complete_chains(own[name].values, f"draws of {name}")) for name in free]
    chains, draws = kept[0].shape[:2]
    rows = [array.reshape(chains * draws, *array.shape[2:]) for array in kept]
    found = [function(*point) for point in zip(*rows, strict=True)]
    return {
        name: np.stack([np.asarray(point[number]) for point in found]).reshape(
            chains, draws, *np.shape(found[0][number])
        )
        for number, name in enumerate(missing)
    }


class _Constrained:
    """From (n, d) unconstrained draws to the model's own variables; compiled when first asked."""

    def __init__(self, model: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._model, self._shapes = model, shapes
        self._function: Any = None

    def __call__(self, draws: FloatArray) -> dict[str, Array]:
        if self._function is None:
            self._function = self._model.compile_fn(
                self._model.unobserved_value_vars, on_unused_input="ignore"
            )
        names = [variable.name for variable in self._model.unobserved_value_vars]
        found = [self._function(self._point(row)) for row in draws]
        return {
            name: np.stack([np.asarray(point[number]) for point in found])
            for number, name in enumerate(names)
        }

    def _point(self, row: FloatArray) -> dict[str, Array]:
        point, low = {}, 0
        for name, shape in self._shapes.items():
            high = low + int(np.prod(shape, dtype=int))
            point[name] = row[low:high].reshape(shape)
            low = high
        return point


def _names(
    model: Any, values: Mapping[str, Array], own: Mapping[str, Any]
) -> tuple[list[str], tuple[dict[str, Any], ...]]:
    """Names of all coordinates, and their labels by the names of axes.

    Value variables keep their names. An axis that the transform leaves alone keeps its labels:
    those of the posterior, or else those of the model.
    """
    names: list[str] = []
    labels: list[dict[str, Any]] = []
    variables = {value.name: model.values_to_rvs[value].name for value in model.value_vars}
    for name, array in values.items():
        shape, stored = array.shape[2:], own.get(variables[name])
        if stored is not None:
            axes = axes_of(stored)
        else:
            dims = model.named_vars_to_dims.get(variables[name]) or ()
            axes = [(dim, list(model.coords.get(dim) or ())) for dim in dims]
        same = tuple(len(along) for _, along in axes) == shape
        axes = axes if same else []
        names += coordinate_labels(name, shape, [along for _, along in axes] if axes else None)
        labels += axis_labels(axes, int(np.prod(shape, dtype=int)))
    return names, tuple(labels)
