"""Arrays and datasets of xarray, whose values are computed or read when they are asked for."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystein.errors import InputError
from polystein.scale.stores import Groups, Shape

_LEADING = (("chain", "draw"), ("draw",))


class LabelledTable:
    """A DataArray, or the variables of a Dataset side by side, with the dimensions (chain, draw).

    All other dimensions of a variable are its coordinates, ``theta[0]``, ``theta[1]``, ...
    """

    names: tuple[str, ...] | None

    def __init__(self, value: Any, argument: str) -> None:
        self._variables = _variables(value, argument)
        first = self._variables[0]
        leading = _leading(first, argument)
        lengths = tuple(int(first.sizes[name]) for name in leading)
        for variable in self._variables[1:]:
            if _leading(variable, argument) != leading:
                raise InputError(
                    f"`{argument}` must have the same leading dimensions in all variables, "
                    f"{leading}; got {variable.dims} in {variable.name}"
                )
        chains = len(leading) == 2
        self.names = names = tuple(
            name for variable in self._variables for name in _names(variable)
        )
        shape = (lengths[1],) * lengths[0] if chains else lengths[:1]
        self.names, self.shape = names, Shape(shape, len(names), chains)
        sizes = (getattr(first, "chunksizes", None) or {}).get("draw", (1,))
        self.grain, self._bounds = max(sizes), np.cumsum([0, *sizes])
        self._groups = Groups(self._bounds, self._decoded) if self.grain > 1 else None

    def read(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        """Rows ``start:stop`` of a chain."""
        if self._groups is not None:
            return self._groups.read(chain, start, stop)
        return self._computed(chain, start, stop)

    def _decoded(self, chain: int, first: int, last: int) -> NDArray[Any]:
        return self._computed(chain, int(self._bounds[first]), int(self._bounds[last]))

    def _computed(self, chain: int, start: int, stop: int) -> NDArray[Any]:
        place = {"draw": slice(start, stop), **({"chain": chain} if self.shape.chains else {})}
        parts = [
            np.asarray(variable.isel(place).values).reshape(stop - start, -1)
            for variable in self._variables
        ]
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts, axis=1)


def _variables(value: Any, argument: str) -> list[Any]:
    """The DataArray itself, or the data variables of a Dataset."""
    if type(value).__name__ == "DataArray":
        return [value]
    found = [value[name] for name in value.data_vars]
    if not found:
        raise InputError(f"`{argument}` must have data variables; got an empty Dataset")
    return found


def _leading(variable: Any, argument: str) -> tuple[str, ...]:
    """The dimensions of chains and draws, which come first."""
    for leading in _LEADING:
        if variable.dims[: len(leading)] == leading and "chain" not in variable.dims[1:]:
            return leading
    raise InputError(
        f"`{argument}` must have the dimensions ('chain', 'draw', ...) or ('draw', ...); got "
        f"{variable.dims}. Pass `array.transpose('chain', 'draw', ...)`."
    )


def _names(variable: Any) -> list[str]:
    """``theta`` for a scalar, ``theta[0, 1]`` for an entry of a matrix."""
    name = "x" if variable.name is None else str(variable.name)
    sizes = [size for dim, size in variable.sizes.items() if dim not in ("chain", "draw")]
    if not sizes:
        return [name]
    return [f"{name}[{', '.join(map(str, place))}]" for place in product(*map(range, sizes))]
