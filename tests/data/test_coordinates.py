"""Frames: the working one rounds nothing, the standard one has mean 0 and variance 1."""

import itertools
import pickle
from collections.abc import Iterable

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import RAW, DrawMoments, Frame, working_frame
from polystein.data.passes import every_row, run_pass
from polystein.data.source import Block, Rows
from polystein.errors import DegenerateError
from tests.rows import Array, arbitrary_rows, arbitrary_weights

FRAMES = [RAW, Frame(None, np.arange(1.0, 4.0)), Frame(np.ones(3), np.arange(1.0, 4.0))]


def standard_frame(sample: ps.Sample, rows: Iterable[Rows]) -> Frame:
    moments = DrawMoments(sample.layout.dimension)
    run_pass(sample, rows, moments)
    return moments.standard_frame()


@pytest.mark.parametrize("shift", [0.0, 1.0, -2.0])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_tame_draws_stay_as_they_are(shift: float, scale: float) -> None:
    draws, scores = arbitrary_rows(500, 3)
    tame = (draws + shift) * scale
    assert working_frame(tame) is RAW
    assert RAW.apply(tame, scores) == (tame, scores)


@pytest.mark.parametrize(
    ("shift", "scale"), [(100.0, 1.0), (-1e6, 1.0), (0.0, 2.0**30), (0.0, 1e-9), (3e5, 1e3)]
)
def test_working_frames_are_tame_and_exact(shift: float, scale: float) -> None:
    draws, scores = arbitrary_rows(500, 3)
    draws = draws * scale + [0.0, shift, shift]
    working = working_frame(draws)
    tame, scaled = working.apply(draws, scores)
    assert np.abs(tame.mean(axis=0)).max() < 4.0
    assert 0.2 < tame.std(axis=0).min() <= tame.std(axis=0).max() < 4.0
    factors = working.scale
    assert factors is not None
    assert np.all(np.frexp(factors)[0] == 0.5)
    centre = 0.0 if working.centre is None else working.centre
    # Both steps can be undone without a trace.
    assert np.array_equal(tame * factors + centre, draws)
    assert np.array_equal(scaled / factors, scores)


def test_constant_coordinates_have_working_frame() -> None:
    draws = np.column_stack([np.full(50, 7e5), np.zeros(50), np.full(50, -3e-7)])
    working = working_frame(draws)
    tame, _ = working.apply(draws, draws)
    assert np.all(np.isfinite(tame))
    assert np.abs(tame).max() <= 4.0


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_extreme_scales_have_working_frame(scale: float) -> None:
    draws, scores = arbitrary_rows(100, 2)
    tame, _ = working_frame(draws * scale).apply(draws * scale, scores / scale)
    assert 0.1 < np.abs(tame).max() < 1e3


def test_blocks_are_seen_in_a_frame() -> None:
    draws, scores = arbitrary_rows(20, 3)
    frame = Frame(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 0.5]))
    block = Block(draws, scores, np.arange(20.0), 3, 7)
    seen = frame.see(block)
    assert np.array_equal(seen.draws, (draws - [1.0, 2.0, 3.0]) / [2.0, 4.0, 0.5])
    assert np.array_equal(seen.scores, scores * [2.0, 4.0, 0.5])
    assert seen.weights is block.weights
    assert (seen.chain, seen.start) == (3, 7)


@pytest.mark.parametrize("frame", FRAMES)
def test_draws_can_be_seen_alone_and_put_back(frame: Frame) -> None:
    draws, scores = arbitrary_rows(20, 3)
    alone = frame.of_draws(draws)
    assert np.array_equal(alone, frame.apply(draws, scores)[0])
    assert frame.back(alone) == pytest.approx(draws, rel=1e-14)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("other", FRAMES)
def test_units_are_compared_between_frames(frame: Frame, other: Frame) -> None:
    """A step of one unit of a frame, seen in another."""
    start, stop = frame.back(np.zeros(3)), frame.back(np.ones(3))
    expected = other.of_draws(stop) - other.of_draws(start)
    assert frame.scale_in(other) * np.ones(3) == pytest.approx(expected, rel=1e-14)


# Standardising


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1e6, 1.0), (3e5, 1e-3), (0.0, 1e200)])
def test_chosen_rows_have_mean_zero_and_variance_one(
    shift: float, scale: float, weighted: bool
) -> None:
    draws, scores = arbitrary_rows(300, 3)
    draws = draws * scale + shift
    log_weights, weights = arbitrary_weights(300)
    sample = ps.Sample(draws, scores, log_weights=log_weights if weighted else None)
    frame = standard_frame(sample, [Rows(0, 20, 300)])
    standard, scaled = frame.apply(draws[20:], scores[20:])
    shares = weights[20:] if weighted else np.ones(280)
    mean = np.average(standard, axis=0, weights=shares)
    assert mean == pytest.approx(np.zeros(3), abs=1e-6)
    assert np.average((standard - mean) ** 2, axis=0, weights=shares) == pytest.approx(
        np.ones(3), rel=1e-9
    )
    assert frame.scale is not None
    assert np.array_equal(scaled, scores[20:] * frame.scale)


def test_constant_coordinates_cannot_be_standardised() -> None:
    """Neither one that is constant to the last bit, nor one that moves by its rounding."""
    draws, scores = arbitrary_rows(50, 3)
    draws[:, 1], draws[:, 2] = 0.1, 1.0
    draws[::2, 2] += np.finfo(np.float64).eps
    sample = ps.Sample(draws, scores)
    message = r"`draws` must vary in every coordinate .* coordinate 1 is constant .* \(2 of 3 are\)"
    with pytest.raises(DegenerateError, match=message):
        standard_frame(sample, every_row(sample))


# Moments of draws in parts


def far_apart(n: int) -> tuple[Array, list[DrawMoments]]:
    """Three parts of the draws, each with a working frame of its own, and their moments."""
    draws, _ = arbitrary_rows(3 * n, 3)
    draws[n : 2 * n] = draws[n : 2 * n] * 1e3 + 4e5
    draws[2 * n :] *= 1e-4
    parts = [DrawMoments(3) for _ in range(3)]
    for k, part in enumerate(parts):
        part.add(draws[k * n : (k + 1) * n], None)
    return draws, parts


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_moments_of_different_working_frames_are_merged(order: tuple[int, ...]) -> None:
    draws, parts = far_apart(100)
    assert len({str(working_frame(part).scale) for part in np.split(draws, 3)}) == 3
    merged = DrawMoments(3)
    for k in order:
        assert merged.merge(parts[k]) is merged
    frame = merged.standard_frame()
    assert frame.centre == pytest.approx(draws.mean(axis=0), rel=1e-12)
    assert frame.scale == pytest.approx(draws.std(axis=0), rel=1e-12)


def test_merging_leaves_other_moments_alone() -> None:
    _, (first, second, third) = far_apart(100)
    before = second.standard_frame()
    first.merge(second).merge(third)
    assert np.array_equal(second.standard_frame().centre, before.centre)
    assert np.array_equal(second.standard_frame().scale, before.scale)


def test_moments_without_rows_change_nothing() -> None:
    draws, (first, *_) = far_apart(100)
    first.merge(first.zero())
    assert first.standard_frame().centre == pytest.approx(draws[:100].mean(axis=0), rel=1e-13)
    assert first.zero().dimension == 3


# Pickles


def test_a_frame_survives_pickling() -> None:
    draws, scores = arbitrary_rows(20, 3)
    frame = Frame(np.ones(3), np.arange(1.0, 4.0))
    copy = pickle.loads(pickle.dumps(frame))
    for values, expected in zip(copy.apply(draws, scores), frame.apply(draws, scores), strict=True):
        assert np.array_equal(values, expected)
    # The raw frame is told from others by identity.
    assert pickle.loads(pickle.dumps(RAW)) is RAW
    assert pickle.loads(pickle.dumps(Frame())) is not RAW


def test_a_whitening_frame_goes_back_merges_and_pickles() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3)) * 1e6 + 1e7
    whole, merged = DrawMoments(3, joint=True), DrawMoments(3, joint=True)
    whole.add(rows, None)
    for part in (rows[:100], rows[100:] + 0.0):
        other = merged.zero()
        other.add(part, None)
        merged.merge(other)
    frame = pickle.loads(pickle.dumps(merged.whitening_frame()))
    expected = whole.whitening_frame().of_draws(rows)
    white, scores = frame.apply(rows, -rows)
    np.testing.assert_allclose(white, expected, atol=1e-9)
    np.testing.assert_allclose(white.T @ white / 300, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(frame.back(white), rows, rtol=1e-12)
    # s dx stays as it is under any map of the coordinates.
    steps = white[1:] - white[:-1]
    np.testing.assert_allclose(
        (scores[1:] * steps).sum(axis=1), (-rows[1:] * np.diff(rows, axis=0)).sum(axis=1), rtol=1e-7
    )


def test_the_ratio_of_far_apart_units_is_infinite_without_a_warning() -> None:
    wide, narrow = Frame(np.zeros(1), np.array([1e300])), Frame(np.zeros(1), np.array([1e-30]))
    assert wide.scale_in(narrow) == np.inf
    assert narrow.scale_in(wide) == 0.0
