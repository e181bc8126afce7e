"""Draws and scores whose labels differ; `integration/` tries the real pandas and xarray."""

import re
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.labels import require_same_names

DRAWS = np.random.default_rng(0).standard_normal((40, 2))


class Index(tuple[Any, ...]):
    """As much of an index of pandas as labels need."""

    def equals(self, other: Any) -> bool:
        return tuple(self) == tuple(other)


class RangeIndex(Index):
    """Labels that nobody chose, if they begin at 0."""

    def __new__(cls, start: int, stop: int) -> "RangeIndex":
        return super().__new__(cls, range(start, stop))

    @property
    def start(self) -> int:
        return int(self[0])

    step = 1


class DataFrame:
    """As much of a pandas DataFrame as the door asks for."""

    def __init__(self, columns: Index, index: Index | None = None) -> None:
        self.columns, self.index = columns, index or RangeIndex(0, 40)

    def to_numpy(self) -> Any:
        return DRAWS


class DataArray:
    """As much of an xarray DataArray as the door asks for."""

    def __init__(self, dims: str, values: Any = DRAWS, **indexes: Index) -> None:
        self.dims, self.indexes, self.values = tuple(dims.split()), indexes, values
        self.shape = values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


DataFrame.__module__ = "pandas.core.frame"
DataArray.__module__ = "xarray.core.dataarray"

AB, BA, GRADIENTS = Index("ab"), Index("ba"), Index(("grad_a", "grad_b"))
LATER, LATEST = RangeIndex(1000, 1040), RangeIndex(2000, 2040)


@pytest.mark.parametrize(
    ("draws", "scores", "message"),
    [
        (DataFrame(AB), DataFrame(BA), "the columns of `draws`, a, b, in that order; got b, a"),
        (DataFrame(AB), DataFrame(BA), "Pass `scores[draws.columns]`, or `scores.to_numpy()`"),
        (DataFrame(AB), DataFrame(Index("ac")), "got a, c"),
        (DataFrame(AB, LATER), DataFrame(AB, LATEST), "the index of `draws`, 1000, 1001, "),
        (DataFrame(AB, LATER), DataFrame(AB, LATEST), "Pass `scores.loc[draws.index]`"),
        (DataArray("draw p", p=AB), DataArray("draw p", p=BA), "dimension 'p' of `draws`, a, b"),
        (DataArray("draw p", p=AB), DataArray("draw p", p=BA), "Pass `scores.reindex_like(draws)`"),
        (DataArray("draw p", p=AB), DataArray("draw p", p=GRADIENTS), "`scores.drop_vars('p')`"),
        (DataArray("draw p", draw=LATER), DataArray("draw p", draw=LATEST), "dimension 'draw'"),
        (DataArray("i j"), DataArray("j i"), "in the order of `draws`, i, j; got j, i"),
        (DataArray("i j"), DataArray("j i"), "Pass `scores.transpose(*draws.dims)`"),
        (DataFrame(AB), DataArray("draw p", p=BA), "of `draws`, a, b, in that order; got b, a"),
    ],
)
def test_other_labels_are_refused(draws: Any, scores: Any, message: str) -> None:
    with pytest.raises(ps.InputError, match=f"^`scores` must have .*{re.escape(message)}"):
        ps.Sample(draws, scores)


@pytest.mark.parametrize(
    ("draws", "scores"),
    [
        (DataFrame(AB), DataFrame(AB)),
        (DataFrame(AB), DataFrame(RangeIndex(0, 2))),
        (DataFrame(AB, LATER), DataFrame(AB)),
        (DataFrame(AB), DataFrame(GRADIENTS)),
        (DataFrame(AB), DRAWS),
        (DataFrame(AB), lambda x: -x),
        (DataArray("draw p", p=AB), DataArray("draw p", p=AB)),
        (DataArray("draw p", p=AB), DataArray("draw p")),
        (DataArray("draw p", p=AB), DataArray("draw q", q=GRADIENTS)),
    ],
)
def test_the_same_labels_and_labels_of_one_side_are_accepted(draws: Any, scores: Any) -> None:
    assert ps.Sample(draws, scores).layout.total == 40


def test_a_difference_far_behind_is_named() -> None:
    many = Index(range(100, 140))
    other = Index((*many[:-2], many[-1], many[-2]))
    with pytest.raises(ps.InputError, match=r"107, \.\.\. \(the first .* 38: 138 against 139\)"):
        ps.Sample(DataFrame(AB, many), DataFrame(AB, other))


def test_a_monitor_looks_at_labels_too() -> None:
    watched = ps.Monitor(None, 1, looks=(500,), chains=1)
    with pytest.raises(ps.InputError, match="dimension 'p'"):
        watched.update(DataArray("draw p", p=AB), DataArray("draw p", p=BA))
    assert watched.n_draws == (0,)


@pytest.mark.parametrize("scores", ["abc", "xyz", "abcd"])
def test_names_may_be_the_same_or_others_altogether(scores: str) -> None:
    require_same_names("abc", scores)


@pytest.mark.parametrize("scores", ["acb", "bax", "abx"])
def test_names_in_another_order_are_refused(scores: str) -> None:
    with pytest.raises(ps.InputError, match="in the order of `draws`, a, b, c; got "):
        require_same_names("abc", scores)
