"""Groups of an ArviZ object or file: `InferenceData` of 0.x, `DataTree` of 1.x, netCDF, Zarr."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polystein._lib.imports import imported
from polystein._lib.zarr_codecs import require_safe_store
from polystein.data.foreign import type_name
from polystein.data.selection import Selection
from polystein.errors import InputError
from polystein.types import Array

#: ArviZ data or the path of a file with them.
ArvizData = Any
STATISTICS = "sample_stats"
POSTERIOR = "posterior"
UNCONSTRAINED = "unconstrained_posterior"
#: How samplers mark draws of the warm-up.
_WARM_UP = ("tuning", "tune", "in_warmup")
#: PyMC's Zarr traces put the number of the sampler before the names of its statistics.
_SAMPLER = re.compile(r"^sampler_\d+__")
#: Where such a trace keeps the state of the sampler.
_STATE_OF_PYMC = "_sampling_state"


class Groups:
    """The groups by name; each is a mapping from names to variables of (chain, draw, ...)."""

    def __init__(self, groups: Mapping[str, Any], source: str) -> None:
        self._groups, self.source = groups, source

    @property
    def names(self) -> list[str]:
        """The names of the groups."""
        return sorted(self._groups)

    def variables(self, group: str) -> dict[str, Any]:
        """The variables of a group, each with the axes (chain, draw, ...); none if it is absent."""
        if group not in self._groups:
            return {}
        found = self._groups[group].data_vars
        leading = ("chain", "draw")
        return {
            str(name): variable.transpose(*leading, ...)
            for name, variable in found.items()
            if set(leading) <= set(variable.dims)
        }

    def require(self, group: str) -> dict[str, Any]:
        """The variables of a group that must be there."""
        found = self.variables(group)
        if not found:
            raise InputError(
                f"{self.source} must have a group {group!r} with the dimensions 'chain' and "
                f"'draw'; got the groups {', '.join(self.names) or '(none)'}"
            )
        return found

    def dataset(self, group: str) -> Any:
        """A group with all of its variables, whatever their axes; None if it is absent."""
        return self._groups.get(group)

    def attributes(self, group: str) -> Mapping[str, Any]:
        """What is noted about a group, such as the sampler's name."""
        found: Mapping[str, Any] = self._groups[group].attrs if group in self._groups else {}
        return found

    def statistics(self, selection: Selection) -> dict[str, Array]:
        """The sampler's statistics of the kept draws, each of shape (chain, draw)."""
        found = {}
        for name, variable in self.variables(STATISTICS).items():
            values = _numbers(variable) if variable.ndim == 2 else None
            if values is not None:
                found[_SAMPLER.sub("", name)] = selection.rows(values)
        return found

    def without_warm_up(self, selection: Selection) -> Selection:
        """The selection that also drops draws which the sampler marked as tuning."""
        stored = self.variables(STATISTICS)
        tuning = next((stored[name] for name in _WARM_UP if name in stored), None)
        if tuning is None:
            return selection
        values = _numbers(tuning)
        marked = np.zeros(1) if values is None else np.asarray(values, dtype=bool).any(axis=0)
        last = int(np.flatnonzero(marked).max(initial=-1)) + 1
        return Selection(selection.var_names, selection.thin, selection.drop_first + last)


def is_arviz_data(value: object) -> bool:
    """Whether this is ArviZ data, or the path of a file."""
    named = type_name(value).endswith(("InferenceData", "DataTree"))
    return named or isinstance(value, str | os.PathLike)


@contextmanager
def opened(data: ArvizData) -> Iterator[Groups]:
    """The groups of an object, or of a file, which stays open within this context."""
    if isinstance(data, str | os.PathLike):
        with _file(Path(data)) as tree:
            yield Groups(_of_tree(tree), str(data))
    elif type_name(data).endswith("InferenceData"):
        yield Groups({name: data[name] for name in data.groups()}, "the InferenceData")
    elif type_name(data).endswith("DataTree"):
        yield Groups(_of_tree(data), "the DataTree")
    else:
        raise InputError(
            "`data` must be an InferenceData, a DataTree, or the path of a netCDF file or Zarr "
            f"store; got a {type_name(data)}"
        )


def _of_tree(tree: Any) -> dict[str, Any]:
    return {str(name): child.to_dataset() for name, child in tree.children.items()}


def _file(path: Path) -> Any:
    """Open a netCDF file or a Zarr store; both generations of ArviZ write the same."""
    if not path.exists():
        raise InputError(f"`data` must be a file that exists; got {path}")
    xarray = imported("xarray", "arviz")
    # The engine is chosen here: xarray would offer the file to any that is installed.
    engine, library = (
        ("zarr", "zarr") if path.is_dir() or path.suffix == ".zarr" else ("netcdf4", "netCDF4")
    )
    imported(library, "arviz")
    if (path / _STATE_OF_PYMC).is_dir():
        raise InputError(
            f"`data` must be a netCDF file or a Zarr store of ArviZ; got {path}, a trace of PyMC's "
            "with pickled parts, which are never read. Pass what `pm.sample` returned."
        )
    if engine == "zarr":
        require_safe_store(path, "data")
    try:
        return xarray.open_datatree(path, engine=engine)
    except MemoryError:
        raise
    except Exception as error:  # damaged stores make Zarr and xarray raise errors of any class
        raise InputError(
            f"`data` must be a netCDF file or a Zarr store; got {path}: {error}"
        ) from error


def _numbers(variable: Any) -> Array | None:
    """The values of a statistic; None if they are not numbers.

    xarray takes False for a missing value in Zarr stores, so that truth values become True and NaN.
    """
    values = np.asarray(variable.values)
    if values.dtype.kind != "O":
        return values if values.dtype.kind in "biuf" else None
    if not all(isinstance(one, bool | np.bool_ | float) for one in values.flat):
        return None
    return np.equal(values, True).astype(bool)


def complete_chains(array: Array, what: str) -> Array:
    """An array of numbers; missing values mean that chains differ in length."""
    values = np.asarray(array)
    if values.dtype.kind == "f" and np.isnan(values).any():
        first = np.argwhere(np.isnan(values))[0]
        raise InputError(
            f"{what} must be complete; got NaN first at chain {first[0]}, draw {first[1]}. If the "
            "chains differ in length, cut them to the shortest: `idata.isel(draw=slice(n))`."
        )
    return values


def labels_of(array: Any) -> list[list[Any]]:
    """The labels of an xarray variable's axes beyond (chain, draw); numbers if there are none."""
    return [
        array.coords[dim].values.tolist() if dim in array.coords else list(range(array.sizes[dim]))
        for dim in array.dims[2:]
    ]


def axes_of(array: Any) -> list[tuple[str, list[Any]]]:
    """The names of an xarray variable's axes beyond (chain, draw), each with its labels."""
    return list(zip(map(str, array.dims[2:]), labels_of(array), strict=True))
