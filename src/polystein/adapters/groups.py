"""Groups of an ArviZ object or file: `InferenceData` of 0.x, `DataTree` of 1.x, netCDF, Zarr."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polystein.adapters.assemble import imported
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
#: Its statistics are partly pickled, which zarr 3 does not read.
_PYMC_TRACE = (
    ". This is a trace of PyMC's, which only zarr 2 reads: pass what `pm.sample` returned, or save "
    "that with `to_netcdf`"
)


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

    def attributes(self, group: str) -> Mapping[str, Any]:
        """What is noted about a group, such as the sampler's name."""
        found: Mapping[str, Any] = self._groups[group].attrs if group in self._groups else {}
        return found

    def statistics(self, selection: Selection) -> dict[str, Array]:
        """The sampler's statistics of the kept draws, each of shape (chain, draw)."""
        found = {
            _SAMPLER.sub("", name): np.asarray(variable.values)
            for name, variable in self.variables(STATISTICS).items()
            if variable.ndim == 2 and variable.dtype.kind in "biuf"
        }
        return {name: selection.rows(values) for name, values in found.items()}

    def without_warm_up(self, selection: Selection) -> Selection:
        """The selection that also drops draws which the sampler marked as tuning."""
        stored = self.variables(STATISTICS)
        tuning = next((stored[name] for name in _WARM_UP if name in stored), None)
        if tuning is None:
            return selection
        marked = np.asarray(tuning.values, dtype=bool).any(axis=0)
        last = int(np.flatnonzero(marked).max(initial=-1)) + 1
        return Selection(selection.var_names, selection.thin, selection.drop_first + last)


@contextmanager
def opened(data: ArvizData) -> Iterator[Groups]:
    """The groups of an object, or of a file that stays open meanwhile."""
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
    engine = "zarr" if path.is_dir() or path.suffix == ".zarr" else None
    by_pymc = (path / _STATE_OF_PYMC).is_dir()
    try:
        if by_pymc:
            return _trace_of_pymc(xarray, path)
        return xarray.open_datatree(path, engine=engine)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"`data` must be a netCDF file or a Zarr store; got {path}: {error}"
            f"{_PYMC_TRACE if by_pymc else ''}"
        ) from error


def _trace_of_pymc(xarray: Any, path: Path) -> Any:
    """The groups of a Zarr trace one by one: PyMC's own state has no dimensions to be read."""
    names = [part.name for part in sorted(path.iterdir()) if part.is_dir() and part.name[0] != "_"]
    groups = {
        name: xarray.open_zarr(path, group=name, consolidated=False, chunks=None) for name in names
    }
    return xarray.DataTree.from_dict(groups)


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
