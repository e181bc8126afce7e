"""Ranks and normal scores of rows: numbers that are equal, nearly equal, or none at all."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from polystein.inference.ranks import normal_scores, ordered
from tests.conftest import Array

COUNT = 60


def blom(rows: Array) -> Array:
    """Normal scores by the ranks of SciPy, row by row."""
    ranks = np.array([rankdata(row) for row in rows])
    return np.asarray(norm.ppf((ranks - 0.375) / (rows.shape[1] + 0.25)))


def kinds() -> dict[str, Array]:
    """Rows of many kinds, four of each."""
    plain = np.random.default_rng(2).standard_normal((4, COUNT))
    close = 1.0 + 2.0**-50 * np.round(8.0 * plain)
    one_close = plain.copy()
    one_close[2] = close[2]
    pair, three = plain.copy(), plain.copy()
    pair[1, 5] = pair[1, 40] + 1e-12
    three[1, 5], three[1, 9] = three[1, 40] + 2e-12, three[1, 40] + 1e-12
    return {
        "plain": plain,
        "rounded": np.round(plain, 1),
        "signs": np.sign(plain),
        "equal": np.full((4, COUNT), 0.3),
        "different in their last digits": close,
        "different in their last digits in one row": one_close,
        "two nearly equal": pair,
        "three nearly equal": three,
        "of all sizes": np.exp(100.0 * plain),
        "tiny": np.round(3.0 * plain) * 5e-324,
        "zeros of both signs": np.where(plain > 0.5, plain, np.copysign(0.0, plain)),
        "huge": np.where(np.abs(plain) < 0.5, plain, np.copysign(1.7e308, plain)),
    }


@pytest.mark.parametrize("kind", list(kinds()))
def test_rows_are_put_in_order(kind: str) -> None:
    rows = kinds()[kind]
    found = ordered(rows)
    assert np.array_equal(found.inorder, np.sort(rows, axis=1))
    assert np.array_equal(rows.ravel()[found.order], found.inorder)
    places = np.arange(rows.size).reshape(rows.shape)
    assert np.array_equal(np.sort(found.order, axis=1), places)


@pytest.mark.parametrize("count", [1024, 1025, 4096, 4097])
@pytest.mark.parametrize("close", [False, True])
def test_long_rows_are_put_in_order(count: int, close: bool) -> None:
    rows = np.random.default_rng(0).standard_normal((3, count))
    rows[1] = 1.0 + 1e-13 * rows[1] if close else rows[1]
    found = ordered(rows)
    assert np.array_equal(found.inorder, np.sort(rows, axis=1))
    assert np.array_equal(rows.ravel()[found.order], found.inorder)


@pytest.mark.parametrize("kind", list(kinds()))
def test_scores_are_those_of_average_ranks(kind: str) -> None:
    rows = kinds()[kind]
    scores, folded = np.empty_like(rows), np.empty_like(rows)
    normal_scores(ordered(rows), of_values=scores, of_distances=folded)
    assert scores == pytest.approx(blom(rows), rel=1e-12, abs=1e-15)
    with np.errstate(over="ignore"):
        inorder = np.sort(rows, axis=1)
        median = 0.5 * inorder[:, COUNT // 2 - 1] + 0.5 * inorder[:, COUNT // 2]
        distances = np.abs(rows - median[:, None])
    assert folded == pytest.approx(blom(distances), rel=1e-12, abs=1e-15)


def test_rows_that_are_no_numbers_come_last() -> None:
    rows = np.random.default_rng(1).standard_normal((2, 8))
    rows[0, 3] = rows[0, 5] = np.nan
    found = ordered(rows)
    assert np.isnan(found.inorder[0, -2:]).all()
    assert np.array_equal(found.inorder[0, :-2], np.sort(rows[0])[:-2])
    assert np.array_equal(found.inorder[1], np.sort(rows[1]))
