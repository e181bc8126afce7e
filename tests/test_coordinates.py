"""Going to working coordinates rounds nothing, and the way back is exact."""

from math import comb
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polystein.data.coordinates import (
    RAW,
    Coordinates,
    change,
    standard_coordinates,
    working_coordinates,
)
from polystein.errors import DegenerateError
from polystein.stein.operator import operator_for
from tests.conftest import arbitrary_rows
from tests.reference import stein

Array = NDArray[np.float64]


def moments(draws: Array, scores: Array, order: int, structure: str) -> tuple[Array, list[Array]]:
    matrices, vector = stein.stein_moments(draws, scores, order, structure)
    return vector, matrices


@pytest.mark.parametrize("shift", [0.0, 1.0, -2.0])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_tame_draws_stay_as_they_are(xp: ModuleType, shift: float, scale: float) -> None:
    draws, scores = arbitrary_rows(500, 3)
    tame = xp.asarray((draws + shift) * scale)
    assert working_coordinates(tame) is RAW
    assert RAW.apply(tame, scores) == (tame, scores)


@pytest.mark.parametrize(
    ("shift", "scale"), [(100.0, 1.0), (-1e6, 1.0), (0.0, 2.0**30), (0.0, 1e-9), (3e5, 1e3)]
)
def test_working_coordinates_are_tame_and_exact(xp: ModuleType, shift: float, scale: float) -> None:
    draws, scores = arbitrary_rows(500, 3)
    draws = draws * scale + [0.0, shift, shift]
    working = working_coordinates(xp.asarray(draws))
    tame, scaled = (np.asarray(a) for a in working.apply(xp.asarray(draws), xp.asarray(scores)))
    assert np.abs(tame.mean(axis=0)).max() < 4.0
    assert 0.2 < tame.std(axis=0).min() <= tame.std(axis=0).max() < 4.0
    factors = np.asarray(working.scale)
    assert np.all(np.frexp(factors)[0] == 0.5)
    centre = 0.0 if working.centre is None else np.asarray(working.centre)
    # Both steps can be undone without a trace.
    assert np.array_equal(tame * factors + centre, draws)
    assert np.array_equal(scaled / factors, scores)


def test_constant_coordinates_have_working_coordinates() -> None:
    draws = np.column_stack([np.full(50, 7e5), np.zeros(50), np.full(50, -3e-7)])
    working = working_coordinates(draws)
    tame, _ = working.apply(draws, draws)
    assert np.all(np.isfinite(tame))
    assert np.abs(tame).max() <= 4.0


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_extreme_scales_have_working_coordinates(scale: float) -> None:
    draws, scores = arbitrary_rows(100, 2)
    tame, _ = working_coordinates(draws * scale).apply(draws * scale, scores / scale)
    assert 0.1 < np.abs(tame).max() < 1e3


PAIRS = [
    (None, None, np.array([3.0, -1.0, 0.5]), np.array([2.0, 0.5, 4.0])),
    (None, np.array([2.0, 0.5, 4.0]), None, None),
    (np.array([1.0, 2.0, -1.0]), np.array([2.0, 0.5, 1.0]), None, None),
    (np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.5, 1.0]), np.array([0.3, 1.0, 2.0]), np.ones(3)),
]


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("pair", PAIRS)
def test_moments_map_between_coordinates(xp: ModuleType, structure: Any, pair: Any) -> None:
    """Phi_i(x) = sum_k C(i,k) D^-1 Phi_k(y) D^k diag(c)^(i-k), Phi_0 = s 1'."""
    draws, scores = arbitrary_rows(30, 3)
    source, target = Coordinates(*pair[:2]), Coordinates(*pair[2:])
    vector, matrices = moments(*source.apply(draws, scores), 4, structure)
    convert = [None if part is None else xp.asarray(part) for part in pair]
    path = change(Coordinates(*convert[:2]), Coordinates(*convert[2:]), xp.asarray(vector))
    assert path is not None
    score, mapped = path.moments(
        operator_for(structure), xp.asarray(vector), [xp.asarray(matrix) for matrix in matrices]
    )
    expected_score, expected = moments(*target.apply(draws, scores), 4, structure)
    assert np.asarray(score) == pytest.approx(expected_score, rel=1e-12)
    for matrix, literal in zip(mapped, expected, strict=True):
        assert np.asarray(matrix) == pytest.approx(literal, abs=1e-12 * np.abs(literal).max())


def test_the_binomial_map_of_one_dimension_by_hand() -> None:
    """x = c + D y with one draw: mu_i = s x^i + i x^(i-1)."""
    y, c, scale, s = 1.5, 3.0, 4.0, -0.7
    working = Coordinates(np.array([c]), np.array([scale]))
    path = change(working, RAW, np.array([s]))
    assert path is not None
    x = c + scale * y
    for i in (1, 2, 5):
        total = comb(i, 0) * c**i * s * scale
        for k in range(1, i + 1):
            phi = s * scale * y**k + k * y ** (k - 1)
            total += float(path.scale_columns(np.array([phi]), i, k)[0])
        assert float(path.rows[0]) * total == pytest.approx(s * x**i + i * x ** (i - 1), rel=1e-13)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_coefficients_are_the_adjoint_of_moments(structure: Any) -> None:
    rng = np.random.default_rng(1)
    shape = (3, 3) if structure == "full" else (3,)
    operator = operator_for(structure)
    path = change(Coordinates(rng.normal(size=3), np.array([2.0, 0.5, 4.0])), RAW, np.ones(3))
    assert path is not None
    score, matrices = rng.normal(size=3), [rng.normal(size=shape) for _ in range(4)]
    _, mapped = path.moments(operator, score, matrices)
    for i in range(1, 5):
        dual = rng.normal(size=shape)
        parts = path.coefficients(operator, i, dual)
        value = float(parts[0] @ score)
        value += sum(float(np.sum(parts[k] * matrices[k - 1])) for k in range(1, i + 1))
        assert value == pytest.approx(float(np.sum(dual * mapped[i - 1])), rel=1e-11)


def test_no_change_is_no_path() -> None:
    assert change(RAW, RAW, np.ones(2)) is None
    assert change(RAW, Coordinates(), np.ones(2)) is None


def test_constant_coordinates_cannot_be_standardised() -> None:
    message = r"`draws` must vary in every coordinate .* coordinate 1 is constant .* \(2 of 3 are\)"
    with pytest.raises(DegenerateError, match=message):
        standard_coordinates(np.ones(3), np.array([1.0, 0.0, 1e-17]), RAW, np.ones((1, 3)))
