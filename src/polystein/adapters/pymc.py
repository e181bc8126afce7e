"""PyMC: gradients of the model at the draws, in the order of its value variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from polystein._lib.arguments import integer, require_progress
from polystein._lib.imports import imported
from polystein.adapters.assemble import (
    assemble,
    coordinate_labels,
    flat_draws,
    pointwise,
    single_precision_warnings,
)
from polystein.adapters.bambi import is_bambi, made_by_bambi, pymc_model, sampled_intercepts
from polystein.adapters.groups import (
    POSTERIOR,
    UNCONSTRAINED,
    ArvizData,
    Groups,
    complete_chains,
    labels_of,
    opened,
)
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress

#: A point's log-density and gradient, as PyMC compiles them.
LogDensityGradient = Callable[[FloatArray], tuple[Any, Any]]
#: In a process that computes gradients: the function that was sent to it.
_LOADED: list[LogDensityGradient] = []


def from_pymc(
    model: Any,
    idata: ArvizData,
    *,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    cores: int = 1,
    progress: Progress | None = None,
) -> Sample:
    """Compute the gradients of a PyMC model at its draws, as a `Sample`.

    Parameters
    ----------
    model : pymc.Model or bambi.Model
        The model that was sampled.
    idata : InferenceData, DataTree or path
        What `pm.sample` returned, or the file that it was saved to. Unconstrained values are
        taken from ``posterior`` or ``unconstrained_posterior`` if they were stored
        (``idata_kwargs={"include_transformed": True}``). Otherwise the constrained draws are
        transformed.
    var_names, thin, drop_first
        As for `Sample.select`. A variable may be named without its transform.
    cores : int
        Processes that compute gradients. It pays if one gradient takes milliseconds. A script
        must then have an ``if __name__ == "__main__"`` guard.
    progress : callable, optional
        Called as ``progress(done, total)`` while gradients are computed.

    Returns
    -------
    Sample
        With the model as its ``target``, and the sampler's statistics among its facts.
        Draws of the warm-up are not included.

    Examples
    --------
    ``ps.check(ps.from_pymc(model, idata))``, or ``ps.check(idata, model=model)``.
    """
    plain = plain_model(model)
    discrete = [value.name for value in plain.discrete_value_vars]
    if discrete:
        raise InputError(
            "`model` must have continuous free variables only: discrete ones have no score; got "
            f"{', '.join(discrete)}. Marginalise them out of the model."
        )
    selection = Selection(var_names, thin, drop_first)
    with opened(idata) as groups:
        selection = groups.without_warm_up(selection)
        values = unconstrained_values(plain, _as_sampled(model, groups), groups, selection)
        names = _names(plain, values, groups)
        statistics = groups.statistics(selection)
    draws = np.ascontiguousarray(flat_draws(values.values()), dtype=np.float64)
    function = log_density_gradient(plain)
    scores, notes = _scores(function, draws, integer(cores, "cores", least=1), progress)
    return assemble(
        draws,
        scores,
        names,
        selection,
        statistics=statistics,
        target=_target(plain, function, names, values),
        warnings=notes,
    )


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


def log_density_gradient(model: Any) -> LogDensityGradient:
    """PyMC's compiled function of one point, ready to be called."""
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})  # PyMC 5 refuses to be called before
    found: LogDensityGradient = function
    return found


def unconstrained_values(
    model: Any, own: dict[str, Any], groups: Groups, selection: Selection
) -> dict[str, Array]:
    """The kept unconstrained draws by the names of value variables, in the model's order.

    `own` are the variables of the posterior as they were sampled.
    """
    transformed = groups.variables(UNCONSTRAINED)
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


def _forward(
    model: Any, own: dict[str, Any], missing: list[str], selection: Selection
) -> dict[str, Array]:
    """Unconstrained values from constrained draws, by the forward transforms of the model.

    Bounds of a transform may depend on other variables of the same draw.
    """
    free = {variable.name: variable for variable in model.free_RVs}
    absent = [name for name in free if name not in own]
    if absent:
        raise InputError(
            "`idata` must hold draws of every free variable of the model; its posterior lacks "
            f"{', '.join(absent)}. Is this the model that was sampled? Bambi drops offsets unless "
            "it is told `omit_offsets=False`."
        )
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


def _scores(
    function: LogDensityGradient, draws: FloatArray, cores: int, progress: Progress | None
) -> tuple[FloatArray, tuple[str, ...]]:
    """The gradients at all draws, and warnings about them."""
    rows = draws.reshape(-1, draws.shape[-1])
    first = function(rows[0])[1]
    if np.shape(first) != rows[0].shape:
        raise InputError(
            "`idata` must hold draws of this model; got values of dimension "
            f"{rows.shape[1]} where the model has {np.size(first)}"
        )
    remedy = 'Set `pytensor.config.floatX = "float64"` before the model is made.'
    notes = single_precision_warnings(np.asarray(first).dtype, "PyMC's gradients", remedy)
    if cores > 1:
        gradients = _in_processes(function, rows, cores, progress)
    else:
        gradients = _gradients(function, rows, progress)
    return gradients.reshape(draws.shape), notes


def _gradients(
    function: LogDensityGradient, rows: FloatArray, progress: Progress | None = None
) -> FloatArray:
    found = pointwise(lambda row: np.asarray(function(row)[1]), rows, progress)
    return np.asarray(found, dtype=np.float64)


def _in_processes(
    function: LogDensityGradient, rows: FloatArray, cores: int, progress: Progress | None
) -> FloatArray:
    """Gradients of parts of the rows, computed in processes that load the function once."""
    require_progress(progress)
    pickled = imported("cloudpickle", "pymc").dumps(function)
    # Progress is told after each of eight parts for each process.
    parts = np.array_split(rows, min(len(rows), 8 * cores))
    found: list[FloatArray] = []
    with ProcessPoolExecutor(cores, initializer=_load, initargs=(pickled,)) as pool:
        for part in pool.map(_gradients_of_loaded, parts):
            found.append(part)
            if progress is not None:
                progress(sum(map(len, found)), len(rows))
    return np.concatenate(found)


def _load(pickled: bytes) -> None:
    """In a process of its own: keep the function for all parts to come."""
    _LOADED.append(imported("cloudpickle", "pymc").loads(pickled))


def _gradients_of_loaded(rows: FloatArray) -> FloatArray:
    return _gradients(_LOADED[-1], rows)


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


def _names(model: Any, values: Mapping[str, Array], groups: Groups) -> list[str]:
    """Value variables by name; an axis that the transform leaves alone keeps its labels."""
    own, names = groups.variables(POSTERIOR), []
    variables = {value.name: model.values_to_rvs[value].name for value in model.value_vars}
    for name, array in values.items():
        shape = array.shape[2:]
        stored = own.get(variables[name])
        same = stored is not None and stored.shape[2:] == shape
        names += coordinate_labels(name, shape, labels_of(stored) if same else None)
    return names
