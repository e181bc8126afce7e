"""Labels of the real pandas and xarray: what belongs to other coordinates is not paired."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")
pytest.importorskip("dask")

SCALES = np.array([1.0, 3.0])
CHAINS = SCALES * np.random.default_rng(0).standard_normal((4, 500, 2))
#: In memory, and backed by Dask.
HELD: list[Callable[[Any], Any]] = [lambda array: array, lambda array: array.chunk({"draw": 100})]


def labelled(values: Any) -> Any:
    coords = {"p": ["a", "b"], "chain": range(4), "draw": range(500)}
    return xr.DataArray(values, dims=("chain", "draw", "p"), coords=coords, name="theta")


@pytest.mark.parametrize("held", HELD)
def test_scores_of_other_coordinates_are_refused(held: Callable[[Any], Any]) -> None:
    draws, scores = labelled(CHAINS), labelled(-CHAINS / SCALES**2)
    assert ps.check(held(draws), held(scores), rng=1).verdict == "not rejected"
    other = scores.sel(p=["b", "a"])
    with pytest.raises(ps.InputError, match="dimension 'p' of `draws`, a, b, in that order; got b"):
        ps.check(held(draws), held(other))
    assert ps.check(held(draws), held(other.reindex_like(draws)), rng=1).verdict == "not rejected"
    with pytest.raises(ps.InputError, match="dimension 'draw'"):
        ps.check(held(draws[:, :400]), held(scores[:, 100:]))
    assert ps.psd(held(draws), held(other.drop_vars("p")), order=1) > 0.0


@pytest.mark.parametrize("held", HELD)
def test_one_side_may_be_in_memory(held: Callable[[Any], Any]) -> None:
    draws, other = labelled(CHAINS), labelled(-CHAINS / SCALES**2).sel(p=["b", "a"])
    with pytest.raises(ps.InputError, match="dimension 'p'"):
        ps.check(held(draws), other)
    with pytest.raises(ps.InputError, match="dimension 'p'"):
        ps.check(draws, held(other))


def test_dimensions_and_variables_in_another_order_are_refused() -> None:
    draws = xr.DataArray(
        CHAINS.reshape(4, 250, 2, 2), dims=("chain", "draw", "i", "j"), name="theta"
    ).chunk({"draw": 50})
    scores = (-draws).transpose("chain", "draw", "j", "i")
    with pytest.raises(ps.InputError, match="dimensions in the order of `draws`, chain, draw, i, "):
        ps.psd(draws, scores, order=1)
    with pytest.raises(ps.InputError, match="dimensions in the order of `draws`, chain, draw, i, "):
        ps.psd(draws.to_dataset(), scores.to_dataset(name="theta"), order=1)


def test_scores_beside_arviz_data_are_refused_too() -> None:
    draws, scores = labelled(CHAINS), labelled(-CHAINS / SCALES**2)
    other = scores.sel(p=["b", "a"])
    groups = {"posterior": draws, "right": scores, "wrong": other}
    tree = xr.DataTree.from_dict({name: one.to_dataset() for name, one in groups.items()})
    expected = ps.check(CHAINS, -CHAINS / SCALES**2, rng=1).pvalue
    for right in (scores, scores.values, scores.drop_vars("p"), "right"):
        assert ps.from_arviz(tree, right).names == ("theta[a]", "theta[b]")
        assert ps.check(tree, right, rng=1).pvalue == expected
    for wrong in (other, "wrong"):
        with pytest.raises(ps.InputError, match="dimension 'p' of `draws`, a, b, in that order"):
            ps.check(tree, wrong)
    named = other.assign_coords(p=["theta[b]", "theta[a]"]).rename(p="name")
    with pytest.raises(ps.InputError, match=r"the order of `draws`, theta\[a\], theta\[b\]; got"):
        ps.check(tree, named)
    with pytest.raises(ps.InputError, match=r"`scores` must be the name of a group, .* a Dataset"):
        ps.check(tree, scores.to_dataset())


def test_columns_of_pandas_in_another_order_are_refused() -> None:
    rows = CHAINS.reshape(-1, 2)
    draws = pd.DataFrame(rows, columns=["a", "b"])
    scores = pd.DataFrame(-rows / SCALES**2, columns=["a", "b"])
    other = scores[["b", "a"]]
    with pytest.raises(ps.InputError, match=r"got b, a\. Pass `scores\[draws\.columns\]`"):
        ps.check(draws, other)
    expected = ps.check(rows, -rows / SCALES**2, rng=1).pvalue
    assert ps.check(draws, other[draws.columns], rng=1).pvalue == expected
    with pytest.raises(ps.InputError, match=r"Pass `scores\.loc\[draws\.index\]`"):
        ps.check(draws[100:], scores[:-100].set_index(scores.index[:-100] + 50))
    unnamed = pd.DataFrame(-rows / SCALES**2)
    assert ps.check(draws, unnamed, rng=1).pvalue == expected
