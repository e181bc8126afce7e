"""Stein features of a test of a sampler are the literal ones, and their sizes are effects."""

import numpy as np
import pytest

from polystein.testing.features import (
    frame_of,
    inverse_information,
    pairs,
    parts_shown,
    plain_columns,
    sizes_of,
    stein_columns,
)
from tests.reference.sampler_tests import stein_features


@pytest.mark.parametrize("d", [1, 2, 3])
def test_columns_are_the_literal_ones(d: int) -> None:
    rng = np.random.default_rng(d)
    draws, scores = rng.normal(3.0, 2.0, (40, d)), rng.standard_normal((40, d))
    frame, columns = frame_of(draws, scores, tuple("abc"[:d]))
    np.testing.assert_array_equal(columns, stein_columns(frame, draws, scores))
    centre, scale = draws.mean(axis=0), draws.std(axis=0)
    keys = [(kind, j) for kind in ("mean", "sd", "sine", "cosine") for j in range(d)]
    keys += [("product", j, k) for j in range(d) for k in range(d) if j != k]
    assert len(keys) == len(frame.features)
    for row in (0, 7, 39):
        literal = stein_features(
            draws[row].tolist(),
            scores[row].tolist(),
            centre.tolist(),
            scale.tolist(),
            inverse_information(scores * scale).tolist(),
        )
        np.testing.assert_allclose(columns[row], [literal[key] for key in keys], rtol=1e-10)


def test_shares_add_up_to_one_and_many_coordinates_have_neighbours_only() -> None:
    rows = np.random.default_rng(2).standard_normal((50, 8))
    frame, _ = frame_of(rows, -rows, tuple("abcdefgh"))
    assert frame.shares.sum() == pytest.approx(1.0)
    assert pairs(8) == [(a, a + 1) for a in range(7)]


def test_sizes_are_those_where_coordinates_are_correlated() -> None:
    """N(0, Σ) with correlation 0.8: all means, or all sds, or one mean off."""
    rng = np.random.default_rng(4)
    root = np.linalg.cholesky([[1.0, 1.6], [1.6, 4.0]])
    precision = np.linalg.inv(root @ root.T)
    pilots, draws = rng.standard_normal((2, 200_000, 2)) @ root.T
    frame, _ = frame_of(pilots, -pilots @ precision, ("a", "b"))
    scale = np.array([1.0, 2.0])
    common = 0.03 / 0.9 * (draws / scale).mean(axis=1, keepdims=True) * scale
    for moved, expected in (
        (draws + 0.05 * np.array([1.0, 2.0]), [0.05, 0.05, 0.0, 0.0]),
        (draws + np.array([0.05, 0.0]), [0.05, 0.0, 0.0, 0.0]),
        (1.03 * draws, [0.0, 0.0, 0.03, 0.03]),
        # The first principal axis alone is longer: correlations change, too.
        (draws + common, [0.0, 0.0, 0.03, 0.03]),
    ):
        sizes = sizes_of(frame, stein_columns(frame, moved, -moved @ precision)).mean(axis=0)
        np.testing.assert_allclose(sizes[:4], expected, atol=0.008)


def test_the_inverse_information_is_the_literal_one() -> None:
    columns = np.random.default_rng(5).standard_normal((30, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    first, second = columns.T.tolist()
    a, b, c = (
        sum(p * q for p, q in zip(one, two, strict=True)) / 30
        for one, two in ((first, first), (first, second), (second, second))
    )
    b *= 1.0 - 2 / (2 + 3)
    expected = np.array([[c, -b], [-b, a]]) / (a * c - b * b)
    np.testing.assert_allclose(inverse_information(columns), expected, rtol=1e-10)


def test_sizes_are_those_of_the_errors() -> None:
    """Draws of N(0.05, 1.03²) with correlation 0.04, for the target N(0, I)."""
    rng = np.random.default_rng(3)
    pilots = rng.standard_normal((200_000, 2))
    frame, _ = frame_of(pilots, -pilots, ("a", "b"))
    draws = rng.standard_normal((200_000, 2))
    draws = 1.03 * (draws @ np.array([[1.0, 0.04], [0.0, 1.0]])) + 0.05
    sizes = sizes_of(frame, stein_columns(frame, draws, -draws)).mean(axis=0)
    np.testing.assert_allclose(sizes[:4], [0.05, 0.05, 0.03, 0.03], atol=0.008)
    np.testing.assert_allclose(sizes[8:], 0.0424 + 0.0025, atol=0.008)
    changes = plain_columns(frame, draws).mean(axis=0) - plain_columns(frame, pilots).mean(axis=0)
    np.testing.assert_allclose(changes[:4], [0.05, 0.05, 0.03, 0.03], atol=0.01)


def test_the_part_of_a_mean_that_is_shown_is_the_literal_one() -> None:
    """Few pilots: their matrix, drawn towards the diagonal, shows a part of a common error."""
    rng = np.random.default_rng(6)
    root = np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]])
    precision = np.linalg.inv(root @ root.T)
    pilots, draws = rng.standard_normal((30, 2)) @ root.T, rng.standard_normal((20_000, 2)) @ root.T
    frame, _ = frame_of(pilots, -pilots @ precision, ("a", "b"))
    scores = -draws @ precision * frame.scale
    shown = parts_shown(frame, scores.T @ scores / len(scores), len(scores))
    # The least visible error of the first mean, in sds, and what its feature tells of it.
    least = np.array([1.0, 0.9]) * frame.scale[0] / frame.scale
    told = frame.inverse @ (frame.scale[:, None] * precision * frame.scale) @ least
    assert shown[0] == pytest.approx(told[0], rel=0.05)
    assert 0.3 < shown[0] == shown[2] < 0.95
    assert (shown[4:] == 1.0).all()
    assert (parts_shown(frame, np.ones((2, 2)), 100)[:4] == 0.0).all()
