"""Log-densities and gradients of a PyMC model, row by row, in one process or in several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from polystein._lib.arguments import require_progress
from polystein._lib.imports import imported
from polystein.adapters.assemble import pointwise, single_precision_warnings
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress

#: A point's log-density and gradient, as PyMC compiles them.
LogDensityGradient = Callable[[FloatArray], tuple[Any, Any]]
#: In a process that computes gradients: the function that was sent to it.
_LOADED: list[LogDensityGradient] = []


def log_density_gradient(model: Any) -> LogDensityGradient:
    """PyMC's compiled function of one point, ready to be called."""
    function = model.logp_dlogp_function(ravel_inputs=True)
    if not model.discrete_value_vars:  # else their values are set before every call
        function.set_extra_values({})  # PyMC 5 refuses to be called before
    found: LogDensityGradient = function
    return found


def scores_at(
    function: LogDensityGradient,
    draws: FloatArray,
    discrete: Mapping[str, Array],
    cores: int,
    progress: Progress | None,
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Log-densities and gradients at all draws, and warnings about them.

    The values of `discrete` variables belong to the draws in their order.
    """
    rows = draws.reshape(-1, draws.shape[-1])
    first = _at(function, rows, discrete, 0)[1]
    if np.shape(first) != rows[0].shape:
        raise InputError(
            "`idata` must hold draws of this model; got values of dimension "
            f"{rows.shape[1]} where the model has {np.size(first)}"
        )
    remedy = 'Set `pytensor.config.floatX = "float64"` before the model is made.'
    notes = single_precision_warnings(np.asarray(first).dtype, "PyMC's gradients", remedy)
    if cores > 1:
        found = _in_processes(function, rows, discrete, cores, progress)
    else:
        found = _evaluated(function, rows, discrete, progress)
    return found[:, 0], found[:, 1:].reshape(draws.shape), notes


def _at(
    function: LogDensityGradient, rows: FloatArray, discrete: Mapping[str, Array], place: int
) -> tuple[Any, Any]:
    """The log-density and its gradient at one row, given the discrete values of that row."""
    if discrete:
        point = {name: np.asarray(values[place]) for name, values in discrete.items()}
        function.set_extra_values(point)  # type: ignore[attr-defined]
    return function(rows[place])


def _evaluated(
    function: LogDensityGradient,
    rows: FloatArray,
    discrete: Mapping[str, Array],
    progress: Progress | None = None,
) -> FloatArray:
    """One row for each draw: the log-density, then its gradient."""
    found = np.empty((len(rows), 1 + rows.shape[1]))

    def evaluate(place: int) -> None:
        found[place, 0], found[place, 1:] = _at(function, rows, discrete, place)

    pointwise(evaluate, range(len(rows)), progress)
    return found


def _in_processes(
    function: LogDensityGradient,
    rows: FloatArray,
    discrete: Mapping[str, Array],
    cores: int,
    progress: Progress | None,
) -> FloatArray:
    """What `_evaluated` gives of parts of the rows, in processes that load the function once."""
    require_progress(progress)
    pickled = imported("cloudpickle", "pymc").dumps(function)
    # Progress is told after each of eight parts for each process.
    count = min(len(rows), 8 * cores)
    beside = {name: np.array_split(values, count) for name, values in discrete.items()}
    own = [{name: parts[place] for name, parts in beside.items()} for place in range(count)]
    found: list[FloatArray] = []
    with ProcessPoolExecutor(cores, initializer=_load, initargs=(pickled,)) as pool:
        for part in pool.map(_evaluated_by_loaded, np.array_split(rows, count), own):
            found.append(part)
            if progress is not None:
                progress(sum(map(len, found)), len(rows))
    return np.concatenate(found)


def _load(pickled: bytes) -> None:
    """In a process of its own: keep the function for all parts to come."""
    _LOADED.append(imported("cloudpickle", "pymc").loads(pickled))


def _evaluated_by_loaded(rows: FloatArray, discrete: Mapping[str, Array]) -> FloatArray:
    return _evaluated(_LOADED[-1], rows, discrete)
