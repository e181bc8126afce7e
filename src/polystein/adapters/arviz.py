"""ArviZ: draws from its data and files, with scores from anywhere, and results written to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from polystein._lib.imports import imported
from polystein.adapters.assemble import assemble, axis_labels, coordinate_labels, flat_draws
from polystein.adapters.groups import (
    POSTERIOR,
    STATISTICS,
    ArvizData,
    Groups,
    axes_of,
    labels_of,
    opened,
)
from polystein.adapters.nutpie import GRADIENT, how_to_store, stored_gradients
from polystein.data.facts import Facts
from polystein.data.foreign import type_name
from polystein.data.guard.pairing import require_same_labels, require_same_names
from polystein.data.sample import Sample
from polystein.data.selection import Selection, variable
from polystein.errors import InputError
from polystein.types import Array, ScoreFunction


class NoGradientsError(InputError):
    """ArviZ data hold no gradients, and no scores are given."""


def from_arviz(
    data: ArvizData,
    scores: str | Array | ScoreFunction | None = None,
    *,
    group: str = POSTERIOR,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
) -> Sample:
    """Take draws from ArviZ data, with scores that are stored, given or computed.

    Parameters
    ----------
    data : InferenceData, DataTree or path
        ArviZ data of version 0.x or 1.x, or the path of a netCDF file or a Zarr store.
    scores : str, array, callable or None
        None finds gradients that nutpie stored. A string names a group whose variables have the
        names of the draws' variables, or one variable as ``"group/variable"``. An array has the
        shape (chain, draw, d), and a callable takes (n, d) draws. Both belong to the chosen
        variables, in the order in which `var_names` or else the group has them.
    group : str
        The group that holds the draws, on the unconstrained scale of the scores. It is not used
        if `scores` is None.
    var_names, thin, drop_first
        As for `Sample.select`.

    Returns
    -------
    Sample
        With the sampler's statistics among its facts. Draws of the warm-up are not included.

    Examples
    --------
    ``ps.from_arviz("posterior.nc")`` finds gradients that nutpie stored. Scores may also be
    computed:

    >>> import numpy as np
    >>> import polystein as ps
    >>> import xarray
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> posterior = xarray.Dataset({"theta": (("chain", "draw", "place"), draws)})
    >>> idata = xarray.DataTree.from_dict({"posterior": posterior})
    >>> sample = ps.from_arviz(idata, lambda x: -x)  # the target is N(0, I)
    >>> sample.names
    ('theta[0]', 'theta[1]')
    >>> ps.check(sample, rng=1).verdict
    'not rejected'
    """
    selection = Selection(var_names, thin, drop_first)
    with opened(data) as groups:
        if scores is None:
            if GRADIENT not in groups.variables(STATISTICS):
                raise NoGradientsError(
                    f"`scores` must be given: {groups.source} holds no gradients. "
                    f"{how_to_store(groups)}."
                )
            return stored_gradients(groups, selection)
        selection = groups.without_warm_up(selection)
        chosen = _chosen(groups.require(group), selection, scores, groups)
        names = _names(chosen)
        found = _scores(scores, chosen, names, groups)
        draws = selection.rows(flat_draws(one.values for one in chosen.values()))
        return assemble(
            draws,
            found if callable(found) else selection.rows(_same_shape(found, draws, selection)),
            names,
            selection if isinstance(scores, str) else Selection(),
            statistics=groups.statistics(selection),
            known=Facts(labels=_labels(chosen)),
        )


def _chosen(
    own: dict[str, Any], selection: Selection, scores: object, groups: Groups
) -> dict[str, Any]:
    """The variables whose draws are used: those with scores, or those that were named."""
    if isinstance(scores, str) and "/" not in scores:
        beside = groups.require(scores)
        own = {name: array for name, array in own.items() if name in beside}
        if not own:
            raise InputError(
                f"`scores` must be a group with the variables of the draws; got {scores!r} with "
                f"{', '.join(beside)}"
            )
    if selection.var_names is None:
        return own
    wanted = selection.var_names
    listed = [wanted] if isinstance(wanted, str) else list(wanted)
    if all(name in own for name in listed):
        return {name: own[name] for name in listed}
    names = _names(own)
    kept = [variable(names[place]) for place in selection.columns(names)]
    return {name: own[name] for name in dict.fromkeys(kept)}


def _names(variables: Mapping[str, Any]) -> list[str]:
    """The names of all coordinates, with the labels of the variables' axes."""
    return [
        label
        for name, array in variables.items()
        for label in coordinate_labels(name, array.shape[2:], labels_of(array))
    ]


def _labels(variables: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The labels of all coordinates by the names of axes."""
    return tuple(own for array in variables.values() for own in axis_labels(axes_of(array)))


def _scores(
    scores: Any, chosen: Mapping[str, Any], names: list[str], groups: Groups
) -> Array | ScoreFunction:
    """Scores as an array in the order of the draws' coordinates, or the function itself."""
    if not isinstance(scores, str):
        _require_labels_of(chosen, names, scores)
        return scores
    group, _, name = scores.partition("/")
    stored = groups.require(group)
    if not name:
        for one in chosen:
            require_same_labels(chosen[one], stored[one])
        return flat_draws(stored[one].values for one in chosen)
    if name not in stored:
        raise InputError(
            f"`scores` must name a variable of the group {group!r}; got {name!r}, but there are "
            f"{', '.join(stored)}"
        )
    return _in_order(stored[name], names)


def _require_labels_of(chosen: Mapping[str, Any], names: list[str], scores: Any) -> None:
    """Refuse an array of xarray whose labels are those of other coordinates, or in another order.

    These are the labels of a variable, or the names of all coordinates.
    """
    shape = getattr(scores, "shape", None)
    if not callable(getattr(scores, "reindex_like", None)) or shape is None or len(shape) != 3:
        return
    only = next(iter(chosen.values()))
    if len(chosen) == 1 and only.shape == shape:
        require_same_labels(only, scores)
    require_same_names(names, [str(label) for label in labels_of(scores)[0]])


def _in_order(stored: Any, names: list[str]) -> Array:
    """One variable with all scores: by its labels if they are names, else in the draws' order."""
    if stored.ndim == 2:
        stored = stored.expand_dims("coordinate", axis=2)
    if stored.ndim != 3:
        raise InputError(f"`scores` must have the axes (chain, draw, d); got {stored.dims}")
    labels, values = [str(label) for label in labels_of(stored)[0]], np.asarray(stored.values)
    if set(names) <= set(labels):
        return values[..., [labels.index(name) for name in names]]
    if all(label.isdigit() for label in labels) and len(labels) == len(names):
        return values
    raise InputError(
        f"`scores` must have the coordinates of the draws, {', '.join(names[:8])}; got "
        f"{', '.join(labels[:8])}. Choose the variables by `var_names`."
    )


def _same_shape(scores: Array, draws: Array, selection: Selection) -> Array:
    """Scores of all draws, or an error that names both shapes."""
    if not hasattr(scores, "shape"):
        raise InputError(
            "`scores` must be the name of a group, an array of shape (chain, draw, d) or a "
            f"callable; got a {type(scores).__name__}"
        )
    shape = tuple(scores.shape)
    kept = (shape[0], len(range(*selection.stride.indices(shape[1])))) if len(shape) == 3 else ()
    if (*kept, *shape[2:]) != tuple(draws.shape):
        raise InputError(
            "`scores` must have the shape (chain, draw, d) of the chosen variables, before any "
            f"are dropped or thinned; got {shape}, of which {tuple(draws.shape)} should be kept. "
            "Choose the variables by `var_names`."
        )
    return scores


class Result(Protocol):
    """What a test returned."""

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""


def to_arviz(result: Result, data: Any = None) -> Any:
    """Put a result beside the draws, so that it survives a netCDF round trip.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    data : InferenceData or DataTree, optional
        The draws that were tested. They are not modified.

    Returns
    -------
    InferenceData or DataTree
        The data with a further group ``polystein``, or that group alone if there are no data. It
        has the variables ``pvalue`` and ``statistic``, and the verdict and the whole result (as
        JSON) among its attributes.

    Examples
    --------
    ``ps.to_arviz(result, idata).to_netcdf("posterior.nc")`` keeps the result with the draws. What
    is read from there is equal to it:

    >>> import json
    >>> import numpy as np
    >>> import polystein as ps
    >>> import xarray
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> result = ps.check(draws, -draws, rng=1)  # the target is N(0, I)
    >>> posterior = xarray.Dataset({"theta": (("chain", "draw", "place"), draws)})
    >>> idata = xarray.DataTree.from_dict({"posterior": posterior})
    >>> attributes = ps.to_arviz(result, idata)["polystein"].attrs
    >>> attributes["verdict"]
    'not rejected'
    >>> ps.GofResult.from_dict(json.loads(attributes["result"])) == result
    True
    """
    if not callable(getattr(result, "to_dict", None)):
        raise InputError(
            f"`result` must be a GofResult, as a test returns it; got a {type_name(result)}"
        )
    values = result.to_dict()
    dataset = imported("xarray", "arviz").Dataset(
        {name: float(values[name]) for name in ("pvalue", "statistic")},
        attrs={
            "verdict": values["verdict"],
            "method": values["method"],
            "warnings": json.dumps(values["warnings"]),
            "result": json.dumps(values, allow_nan=False),
        },
    )
    if data is None:
        tree = imported("xarray", "arviz").DataTree
        return tree.from_dict({"polystein": dataset})
    if type_name(data).endswith("DataTree"):
        copied = data.copy()
        copied["polystein"] = type(data)(dataset)
        return copied
    if type_name(data).endswith("InferenceData"):
        copied = data.copy()
        if "polystein" in copied.groups():
            del copied["polystein"]
        copied.add_groups({"polystein": dataset}, warn_on_custom_groups=False)
        return copied
    raise InputError(f"`data` must be an InferenceData or a DataTree; got a {type_name(data)}")
