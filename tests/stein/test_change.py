"""Sums of powers' features in one frame give those in another, exactly."""

from math import comb
from typing import Any

import numpy as np
import pytest

from polystein.data.coordinates import RAW, Frame
from polystein.stein.change import change
from tests.reference import stein
from tests.rows import Array, arbitrary_rows

PAIRS = [
    (None, None, np.array([3.0, -1.0, 0.5]), np.array([2.0, 0.5, 4.0])),
    (None, np.array([2.0, 0.5, 4.0]), None, None),
    (np.array([1.0, 2.0, -1.0]), np.array([2.0, 0.5, 1.0]), None, None),
    (np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.5, 1.0]), np.array([0.3, 1.0, 2.0]), np.ones(3)),
]


def moments(draws: Array, scores: Array, order: int, structure: str) -> tuple[Array, list[Array]]:
    matrices, vector = stein.stein_moments(draws, scores, order, structure)
    return vector, matrices


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("pair", PAIRS)
def test_moments_map_between_frames(structure: Any, pair: Any) -> None:
    """Phi_i(x) = sum_k C(i,k) D^-1 Phi_k(y) D^k diag(c)^(i-k), Phi_0 = s 1'."""
    draws, scores = arbitrary_rows(30, 3)
    source, target = Frame(*pair[:2]), Frame(*pair[2:])
    vector, matrices = moments(*source.apply(draws, scores), 4, structure)
    path = change(source, target, 3)
    assert path is not None
    score, mapped = path.moments(vector, matrices)
    expected_score, expected = moments(*target.apply(draws, scores), 4, structure)
    assert score == pytest.approx(expected_score, rel=1e-12)
    for matrix, literal in zip(mapped, expected, strict=True):
        assert matrix == pytest.approx(literal, abs=1e-12 * np.abs(literal).max())


def test_the_binomial_map_of_one_dimension_by_hand() -> None:
    """x = c + D y with one draw: mu_i = s x^i + i x^(i-1)."""
    y, c, scale, s = 1.5, 3.0, 4.0, -0.7
    working = Frame(np.array([c]), np.array([scale]))
    path = change(working, RAW, 1)
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
    path = change(Frame(rng.normal(size=3), np.array([2.0, 0.5, 4.0])), RAW, 3)
    assert path is not None
    score, matrices = rng.normal(size=3), [rng.normal(size=shape) for _ in range(4)]
    _, mapped = path.moments(score, matrices)
    for i in range(1, 5):
        dual = rng.normal(size=shape)
        parts = path.coefficients(i, dual)
        value = float(parts[0] @ score)
        value += sum(float(np.sum(parts[k] * matrices[k - 1])) for k in range(1, i + 1))
        assert value == pytest.approx(float(np.sum(dual * mapped[i - 1])), rel=1e-11)


def test_no_change_is_no_path() -> None:
    assert change(RAW, RAW, 2) is None
    assert change(RAW, Frame(), 2) is None


def test_a_frame_is_no_way_from_itself() -> None:
    frame = Frame(np.ones(2), np.full(2, 3.0))
    assert change(frame, frame, 2) is None
