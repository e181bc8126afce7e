"""BridgeStan: gradients of a compiled Stan model at the draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from polystein._lib.arrays import to_numpy
from polystein.adapters.assemble import (
    assemble,
    draws_array,
    pointwise,
    require_members,
    stan_names,
    stan_parts,
)
from polystein.adapters.groups import POSTERIOR, opened
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.data.target import Target
from polystein.errors import InputError
from polystein.types import Array, FloatArray, Progress

#: How many draws are looked at to tell whether the transforms change anything.
_LOOKED_AT = 5


def from_bridgestan(
    model: Any,
    draws: Any,
    *,
    constrained: bool | None = None,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
    progress: Progress | None = None,
) -> Sample:
    """Compute the gradients of a BridgeStan model at the draws, as a `Sample`.

    Parameters
    ----------
    model : bridgestan.StanModel
        The model with its data. It must be of the Stan version that drew the draws:
        unconstraining transforms differ between versions.
    draws : array, mapping, or ArviZ data
        An array of shape (n, d) or (chain, draw, d) in the order of ``param_unc_names()`` or of
        ``param_names()``; or constrained draws by name, each of shape (chain, draw, ...): a
        mapping, an InferenceData or a DataTree with a posterior.
    constrained : bool, optional
        Whether an array holds constrained values. Its last size tells if it can; else it must be
        given.
    var_names, thin, drop_first
        As for `Sample.select`.
    progress : callable, optional
        Called as ``progress(done, total)`` while gradients are computed.

    Returns
    -------
    Sample
        With the model as its ``target``.

    Examples
    --------
    With ``model = bridgestan.StanModel("model.stan", data="data.json")`` in the place of this
    stand-in, whose methods are those that are called:

    >>> import numpy as np
    >>> import polystein as ps
    >>> class Model:  # real<lower=0> tau; tau ~ lognormal(0, 1);
    ...     def param_names(self):
    ...         return ["tau"]
    ...     param_unc_names = param_names
    ...     def param_unconstrain(self, theta):
    ...         return np.log(theta)
    ...     def param_constrain(self, theta_unc):
    ...         return np.exp(theta_unc)
    ...     def log_density(self, theta_unc):
    ...         return -0.5 * float(theta_unc @ theta_unc)
    ...     def log_density_gradient(self, theta_unc):
    ...         return self.log_density(theta_unc), -theta_unc
    >>> draws = np.exp(np.random.default_rng(0).standard_normal((4, 500, 1)))
    >>> sample = ps.from_bridgestan(Model(), draws, constrained=True)
    >>> ps.check(sample, rng=1).verdict
    'not rejected'
    """
    selection = Selection(var_names, thin, drop_first)
    require_members(
        model, "model", "a bridgestan.StanModel", "param_unc_names", "log_density_gradient"
    )
    values, by_name = _flat(model, draws)
    chains = values if values.ndim == 3 else values[None]
    kept = selection.rows(chains)
    rows = kept.reshape(-1, kept.shape[-1])
    if by_name or _is_constrained(model, rows, constrained):
        rows = np.stack(pointwise(model.param_unconstrain, rows))
    gradients = pointwise(lambda row: model.log_density_gradient(row)[1].copy(), rows, progress)
    shape = (*kept.shape[:2], rows.shape[1])
    unconstrained, scores = (np.asarray(part).reshape(shape) for part in (rows, gradients))
    ordered = values.ndim == 3
    return assemble(
        unconstrained if ordered else unconstrained[0],
        scores if ordered else scores[0],
        stan_names(model.param_unc_names()),
        selection,
        target=_target(model),
    )


def _target(model: Any) -> Target:
    """The model's log-density and gradient, from row to row.

    Stan raises a RuntimeError where the density is 0, such as for a scale that is infinite.
    """

    def density(points: FloatArray) -> FloatArray:
        found = np.full(len(points), -np.inf)
        for place, point in enumerate(points):
            with suppress(RuntimeError):
                found[place] = model.log_density(point)
        return found

    def both(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        densities, scores = np.full(len(points), -np.inf), np.full(points.shape, np.nan)
        for place, point in enumerate(points):
            with suppress(RuntimeError):
                densities[place], scores[place] = model.log_density_gradient(point)
        return densities, scores

    names = tuple(stan_names(model.param_unc_names()))
    return Target(
        len(names),
        density,
        both,
        names,
        lambda points: _constrained_values(model, points),
        vectorised=False,
    )


def _flat(model: Any, draws: Any) -> tuple[FloatArray, bool]:
    """Draws as an array, and whether they came by name, which means constrained."""
    if type_name(draws).endswith(("InferenceData", "DataTree")):
        with opened(draws) as groups:
            stored = groups.without_warm_up(Selection()).rows
            own = {
                name: stored(np.asarray(variable.values))
                for name, variable in groups.require(POSTERIOR).items()
            }
        return _by_name(model, own), True
    if isinstance(draws, Mapping):
        return _by_name(model, draws), True
    return to_numpy(draws_array(draws)), False


def _by_name(model: Any, draws: Mapping[str, Array]) -> FloatArray:
    """Constrained draws in the order of Stan, which counts the first index fastest."""
    columns = []
    for label in model.param_names():
        name, indices = stan_parts(label)
        if name not in draws:
            raise InputError(
                f"`draws` must hold every parameter of the model; got {', '.join(draws)} without "
                f"{name}"
            )
        values: Array = to_numpy(draws[name])
        columns.append(values[(..., *indices)])
    return np.stack(columns, axis=-1)


def _is_constrained(model: Any, rows: FloatArray, given: bool | None) -> bool:
    """Whether rows are on the constrained scale, which is never guessed."""
    free, own = len(model.param_unc_names()), len(model.param_names())
    size = rows.shape[1]
    fitting = {False: bool(size == free), True: bool(size == own)}
    if given is not None:
        if not fitting[bool(given)]:
            raise InputError(
                f"`draws` must have {own if given else free} coordinates if `constrained` is "
                f"{given}; got {size}"
            )
        return bool(given)
    if sum(fitting.values()) == 1:
        return fitting[True]
    if size not in (free, own):
        raise InputError(
            f"`draws` must have {free} unconstrained or {own} constrained coordinates; got {size}"
        )
    if _changes_nothing(model, rows[:_LOOKED_AT]):
        return False
    raise InputError(
        f"`constrained` must be given: {size} coordinates may be constrained values or not"
    )


def _changes_nothing(model: Any, rows: FloatArray) -> bool:
    """Whether constrained and unconstrained values of these draws are the same."""
    return all(np.array_equal(model.param_constrain(row), row) for row in rows)


def _constrained_values(model: Any, points: FloatArray) -> dict[str, Array]:
    found = np.stack([model.param_constrain(point) for point in points])
    return dict(zip(stan_names(model.param_names()), found.T, strict=True))
