"""Properties of the discrepancies that hold for every sample, searched by Hypothesis.

Claims about rounding are judged by rational arithmetic (`tests.reference.exact`).
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import polystein as ps
from tests.reference import exact, stein
from tests.rows import SEEDS, Array, samples

STRUCTURES = st.sampled_from(["full", "diagonal"])
TOLERANCE = 1e-10


# Rounding


# 100.3 in 20 binary digits: its powers have more digits than a float64.
@pytest.mark.parametrize("centre", [round(100.3 * 2**20) / 2**20, 1e6])
def test_raw_powers_would_fail_the_same_tolerance(centre: float) -> None:
    """Points whose first four moments are those of N(centre, 1/3): large terms cancel."""
    centred = np.array([[1.0], [-1.0], [0.0], [0.0], [0.0], [0.0]])
    draws, scores = centred + centre, -3.0 * centred
    z = exact.root(exact.z_squared(draws, scores, 6))
    # mu_5 = 2/3 and mu_6 = 4 centre are all that is left.
    assert z == pytest.approx(np.hypot(2 / 3, 4 * centre), rel=1e-15)
    assert ps.psd(draws, scores, order=6) == pytest.approx(z, rel=TOLERANCE)
    raw = stein.psd_v(draws, scores, 6)
    assert raw != pytest.approx(z, rel=TOLERANCE)


@settings(max_examples=30)
@given(samples(most_rows=30, most_dimensions=2), st.integers(1, 5), st.sampled_from([0.0, 100.0]))
def test_the_unbiased_square_is_exact_to_rounding(
    sample: tuple[Array, Array], order: int, shift: float
) -> None:
    draws, scores = sample[0] + shift, sample[1]
    value = ps.psd(draws, scores, order=order, estimator="u")
    expected = float(exact.u_statistic(draws, scores, order))
    # U is a difference, so that its rounding is relative to what is subtracted.
    v = float(exact.z_squared(draws, scores, order))
    assert value == pytest.approx(expected, rel=0, abs=1e-12 * len(draws) * (v + abs(expected)))


# Identities of the paper


@given(samples(), st.integers(0, 4), STRUCTURES)
def test_u_is_v_without_the_diagonal(
    sample: tuple[Array, Array], order: int, structure: Any
) -> None:
    draws, scores = sample
    n = len(draws)
    v = ps.psd(draws, scores, order=order, structure=structure) ** 2
    u = ps.psd(draws, scores, order=order, structure=structure, estimator="u")
    rows = [stein.xi(x, s, order, structure) for x, s in zip(draws, scores, strict=True)]
    diagonal = sum(float(row @ row) for row in rows) / n**2
    assert (n - 1) / n * u == pytest.approx(v - diagonal, abs=1e-12 * (v + diagonal))


@given(samples(), STRUCTURES)
def test_order_zero_is_the_norm_of_the_mean_score(
    sample: tuple[Array, Array], structure: Any
) -> None:
    """Equation (8), whatever the structure."""
    draws, scores = sample
    value = ps.psd(draws, scores, order=0, structure=structure)
    assert value == pytest.approx(float(np.linalg.norm(scores.mean(axis=0))), rel=1e-11)


@given(samples(), st.integers(0, 5))
def test_psd_grows_with_the_order_and_the_structure(
    sample: tuple[Array, Array], order: int
) -> None:
    lower, upper = (ps.psd(*sample, order=q) for q in (order, order + 1))
    assert lower <= upper * (1.0 + 1e-14)
    assert ps.psd(*sample, order=order, structure="diagonal") <= lower * (1.0 + 1e-14)


def lattice(points: list[tuple[int, int]]) -> Array:
    """Points and their images under all sign changes, scaled to unit variances.

    Sums of the squares in both coordinates are made equal by adding the points
    with their coordinates exchanged.
    """
    whole = [
        (s * a, t * b) for p in points for a, b in (p, p[::-1]) for s in (1, -1) for t in (1, -1)
    ]
    return np.array(whole, dtype=float)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6),
    st.sampled_from([0.0, 100.0]),
)
def test_psd_of_order_one_is_zero_if_two_moments_match(
    points: list[tuple[int, int]], shift: float
) -> None:
    """Corollary 3.4, one way: p = N(shift, v I) with v the points' own variance.

    Multiplied by v, scores are integers: then every sum is exact, and so is zero.
    """
    centred = lattice(points)
    variance = float(np.mean(centred[:, 0] ** 2))
    value = ps.psd(centred + shift, -centred / variance, order=1)
    assert value <= 1e-14 * max(1.0, shift)
    if variance == int(variance) and int(variance) & (int(variance) - 1) == 0:
        assert value == 0.0


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6),
    st.sampled_from([0.0, 100.0]),
    st.floats(1e-3, 2.0),
    st.sampled_from(["mean", "variance", "correlation"]),
)
def test_psd_of_order_one_is_positive_if_a_moment_differs(
    points: list[tuple[int, int]], shift: float, size: float, which: str
) -> None:
    """Corollary 3.4, the other way: any of the first two moments off gives PSD above zero."""
    centred = lattice(points)
    variance = float(np.mean(centred[:, 0] ** 2))
    draws = centred / variance**0.5
    if which == "mean":
        draws = draws + np.array([0.0, size])
    elif which == "variance":
        draws = draws * [1.0, 1.0 + size]
    else:
        draws = np.column_stack([draws[:, 0], draws[:, 1] + size * draws[:, 0]])
    assert ps.psd(draws + shift, -draws, order=1) > 0.5 * size


@pytest.mark.parametrize("centre", [0.0, 100.0])
def test_exactly_matching_points_give_exactly_zero(centre: float) -> None:
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 5)
    assert ps.psd(square + centre, -square, order=1) == 0.0
    assert ps.psd(square * 2.0 + centre, -square * 2.0, order=1) > 0.1
    # The third order sees what the first two moments do not: these are no Gaussians.
    assert ps.psd(square + centre, -square, order=3) > 0.1


@settings(max_examples=50)
@given(SEEDS, st.integers(1, 3), st.integers(0, 3), STRUCTURES)
def test_lambda_psd_never_exceeds_o_psd(seed: int, d: int, order: int, structure: Any) -> None:
    """Its weights are some test functions among all."""
    rng = np.random.default_rng(seed)
    draws, scores = rng.normal(0.3, 1.2, (150, d)), rng.normal(-0.2, 1.0, (150, d))
    options: Any = {"order": order, "structure": structure}
    squared = ps.lambda_psd(draws, scores, **options) ** 2
    assert squared <= ps.o_psd(draws, scores, shrinkage=0.0, **options) * (1.0 + 1e-9)


@settings(max_examples=50)
@given(samples(), st.integers(2, 6), st.integers(20, 250))
def test_a_discrepancy_is_finite_or_an_error(
    sample: tuple[Array, Array], order: int, exponent: int
) -> None:
    """Order i at scale D has size D^(i-1): beyond 1e308 that is an error."""
    scale = 10.0**exponent
    draws, scores = sample[0] * scale, sample[1] / scale
    largest = exact.z_squared(draws, scores, order)
    # Within a factor of 100 of the largest float64 either may happen.
    assume(not 10**612 < largest < 10**620)
    if largest <= 10**612:
        value = ps.psd(draws, scores, order=order)
        assert value == pytest.approx(exact.root(largest), rel=TOLERANCE)
    else:
        with pytest.raises(ps.ScaleError, match="overflows in the coordinates of `draws`"):
            ps.psd(draws, scores, order=order)
