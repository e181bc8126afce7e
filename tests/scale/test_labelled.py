"""Arrays of xarray by their interface; `integration/` tries the real ones."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.scale.labelled import LabelledTable
from tests.scale.doubles import chains


class DataArray:
    """What a table needs of a DataArray that is backed by Dask."""

    def __init__(self, values: Any, dims: tuple[str, ...], name: str, chunk: int) -> None:
        self.values, self.dims, self.name, self._chunk = values, dims, name, chunk
        self.sizes = dict(zip(dims, values.shape, strict=True))
        length = self.sizes.get("draw", 1)
        self.chunksizes = {"draw": tuple(np.diff([*range(0, length, chunk), length]).tolist())}

    def isel(self, place: dict[str, Any]) -> Any:
        index = tuple(place.get(dim, slice(None)) for dim in self.dims)
        return DataArray(np.asarray(self.values[index]), self.dims[-self.values[index].ndim :],
                         self.name, self._chunk)  # fmt: skip


class Dataset(dict[str, DataArray]):
    """Several variables by name."""

    @property
    def data_vars(self) -> list[str]:
        return list(self)


def test_variables_stand_side_by_side_under_their_names() -> None:
    draws, _ = chains(2, 50, 7)
    dims = ("chain", "draw")
    table = LabelledTable(
        Dataset(
            mu=DataArray(draws[..., 0], dims, "mu", 20),
            theta=DataArray(draws[..., 1:].reshape(2, 50, 2, 3), (*dims, "a", "b"), "theta", 20),
        ),
        "draws",
    )
    assert table.names is not None
    assert table.names[:3] == ("mu", "theta[0, 0]", "theta[0, 1]")
    assert (table.shape.lengths, table.shape.dimension, table.grain) == ((50, 50), 7, 20)
    for chain, start, stop in [(0, 0, 50), (1, 13, 41), (1, 49, 50)]:
        assert np.array_equal(table.read(chain, start, stop), draws[chain, start:stop])


def test_dimensions_in_another_order_are_refused() -> None:
    draws, _ = chains(2, 50, 2)
    with pytest.raises(ps.InputError, match=r"transpose\('chain', 'draw', \.\.\.\)"):
        LabelledTable(DataArray(draws, ("draw", "chain", "a"), "x", 20), "draws")
