"""A verdict beside the draws that it is about, in ArviZ data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from polystein._lib.imports import imported
from polystein.data.foreign import type_name
from polystein.errors import InputError

#: The group that holds a result, and the attribute with all of it.
GROUP, WHOLE = "polystein", "result"


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
    ``ps.to_arviz(result, idata).to_netcdf("posterior.nc")``, and later
    ``ps.GofResult.from_dict(json.loads(tree["polystein"].attrs["result"]))``.
    """
    if not callable(getattr(result, "to_dict", None)):
        raise InputError(
            f"`result` must be a GofResult, as a test returns it; got a {type_name(result)}"
        )
    values = result.to_dict()
    dataset = imported("xarray", "arviz").Dataset(
        {name: float(values[name]) for name in ("pvalue", "statistic")}, attrs=_attributes(values)
    )
    if data is None:
        tree = imported("xarray", "arviz").DataTree
        return tree.from_dict({GROUP: dataset})
    if type_name(data).endswith("DataTree"):
        copied = data.copy()
        copied[GROUP] = type(data)(dataset)
        return copied
    if type_name(data).endswith("InferenceData"):
        copied = data.copy()
        if GROUP in copied.groups():
            del copied[GROUP]
        copied.add_groups({GROUP: dataset}, warn_on_custom_groups=False)
        return copied
    raise InputError(f"`data` must be an InferenceData or a DataTree; got a {type_name(data)}")


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "verdict": values["verdict"],
        "method": values["method"],
        "warnings": json.dumps(values["warnings"]),
        WHOLE: json.dumps(values, allow_nan=False),
    }
