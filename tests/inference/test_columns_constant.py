"""Columns that do not vary have a spread of no more than rounding, however long they are."""

import numpy as np
import pytest

import polystein as ps
from polystein._lib.numerics import is_constant
from polystein.inference.columns import ColumnMoments


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("rows", "block"), [(50, 7), (3000, 3000), (8192, 8192), (20_000, 8192)])
def test_a_constant_column_is_constant(rows: int, block: int, weighted: bool, joint: bool) -> None:
    """Beside one that varies: a product of a matrix with a vector sums row after row."""
    rng = np.random.default_rng(1)
    values = rng.normal(0.0, 10.0, 40)
    columns = np.column_stack([rng.standard_normal(rows), np.tile(values, (rows, 1))])
    weights = rng.exponential(size=rows) if weighted else None
    moments = ColumnMoments(41, joint=joint)
    for low in range(0, rows, block):
        part = np.s_[low : low + block]
        moments.update(columns[part], None if weights is None else weights[part])
    found = moments.finalise()
    assert is_constant(found.spread, found.mean).tolist() == [False, *[True] * 40]
    assert found.mean[1:] == pytest.approx(values, rel=1e-15)


@pytest.mark.parametrize("value", np.random.default_rng(0).normal(size=8).tolist())
def test_draws_with_a_constant_coordinate_are_refused(value: float) -> None:
    draws = np.random.default_rng(1).standard_normal((8000, 3))
    draws[:, 0] = value
    with pytest.raises(ps.DegenerateError, match="coordinate 0 is constant"):
        ps.check(draws, -draws, iid=True, rng=0)
