"""Properties of the sums that hold for every sample, searched for exceptions by Hypothesis.

Claims about rounding are judged by rational arithmetic (`tests.reference.exact`).
"""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import polystein as ps
from polystein.stein.moments import SteinMoments
from tests.reference import exact
from tests.rows import SEEDS, Array, samples

STRUCTURES = st.sampled_from(["full", "diagonal"])
TOLERANCE = 1e-10


def summed(draws: Array, scores: Array, order: int, structure: Any) -> SteinMoments:
    return ps.SteinMoments(order, structure=structure, norms=True).update(draws, scores)


def close(value: Any, expected: Any, tolerance: float = TOLERANCE) -> bool:
    """Equal relative to the largest entry."""
    value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
    return bool(np.max(np.abs(value - expected)) <= tolerance * np.max(np.abs(expected)))


def assert_same(moments: SteinMoments, others: SteinMoments) -> None:
    first, second = moments.finalise(), others.finalise()
    pairs = zip([*first.matrices, first.score], [*second.matrices, second.score], strict=True)
    assert all(close(value, expected) for value, expected in pairs)
    assert first.squared_norms == pytest.approx(second.squared_norms, rel=TOLERANCE)


# Merging and order


@given(samples(), st.integers(0, 5), STRUCTURES, st.data())
def test_merging_in_any_order_is_one_pass(
    sample: tuple[Array, Array], order: int, structure: Any, data: st.DataObject
) -> None:
    draws, scores = sample
    cuts = data.draw(st.lists(st.integers(1, len(draws) - 1), max_size=3, unique=True))
    bounds = [0, *sorted(cuts), len(draws)]
    parts = [
        slice(low, high)
        for low, high in itertools.pairwise(bounds)
        # A part by itself looks like a transposed array if it is short and wide.
        if high - low >= draws.shape[1]
    ]
    assume(parts)
    chosen = np.concatenate([np.arange(len(draws))[part] for part in parts])
    shuffled = data.draw(st.permutations(parts))
    states = [summed(draws[part], scores[part], order, structure) for part in shuffled]
    while len(states) > 1:
        position = data.draw(st.integers(0, len(states) - 2))
        states[position : position + 2] = [states[position].merge(states[position + 1])]
    assert_same(states[0], summed(draws[chosen], scores[chosen], order, structure))


@given(samples(), st.integers(0, 5), STRUCTURES, SEEDS)
def test_the_order_of_rows_does_not_matter(
    sample: tuple[Array, Array], order: int, structure: Any, seed: int
) -> None:
    draws, scores = sample
    shuffled = np.random.default_rng(seed).permutation(len(draws))
    assert_same(
        summed(draws[shuffled], scores[shuffled], order, structure),
        summed(draws, scores, order, structure),
    )


# Scaling and shifting


@given(samples(), st.integers(0, 6), STRUCTURES, st.integers(-40, 40), st.floats(-50, 50))
def test_scaling_by_a_power_of_two_is_exact(
    sample: tuple[Array, Array], order: int, structure: Any, exponent: int, shift: float
) -> None:
    """mu_i = D^-1 mu~_i D^i to the last bit, however large or small D is."""
    draws, scores = sample
    draws = draws + shift
    scale = 2.0**exponent
    plain = summed(draws, scores, order, structure).finalise()
    scaled = summed(draws * scale, scores / scale, order, structure).finalise()
    assert np.array_equal(scaled.score * scale, plain.score)
    for i in range(1, order + 1):
        assert np.array_equal(scaled.matrices[i - 1], plain.matrices[i - 1] * scale ** (i - 1))


@settings(max_examples=30)
@given(
    samples(most_rows=30, most_dimensions=2),
    st.integers(1, 6),
    STRUCTURES,
    st.sampled_from([0.0, 100.0, -1e3, 1e6]),
    st.integers(-40, 40),
)
@example((np.array([[0.1], [0.9], [-1.3]]), np.array([[0.3], [-0.4], [0.9]])), 6, "full", 1e6, 0)
def test_moments_are_exact_to_rounding_at_any_place_and_scale(
    sample: tuple[Array, Array], order: int, structure: Any, shift: float, exponent: int
) -> None:
    draws, scores = sample
    draws, scores = (draws + shift) * 2.0**exponent, scores * 2.0**-exponent
    mean = summed(draws, scores, order, structure).finalise()
    matrices, vector = exact.stein_moments(draws, scores, order, structure)
    assert close(mean.score, vector)
    assert all(close(*pair) for pair in zip(mean.matrices, matrices, strict=True))
    z = exact.root(exact.z_squared(draws, scores, order, structure))
    assert ps.psd(draws, scores, order=order, structure=structure) == pytest.approx(
        z, rel=TOLERANCE
    )
