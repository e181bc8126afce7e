"""Numbers behind the plots of draws, beside sums written out row by row."""

import numpy as np
import pytest

import polystein as ps
from polystein.methods.views import first_moments, growing_chains
from tests.rows import Array


def standardised(draws: Array) -> tuple[Array, Array]:
    """Draws and scores of N(0, I) in units of the draws' own sd, around their mean."""
    rows = draws.reshape(-1, draws.shape[-1])
    mean, sd = rows.mean(axis=0), rows.std(axis=0)
    return (draws - mean) / sd, -draws * sd


def wrong_draws(shape: tuple[int, ...], seed: int = 0) -> Array:
    draws: Array = np.random.default_rng(seed).standard_normal(shape)
    draws[..., 1] = 0.3 + 1.4 * draws[..., 1]
    return draws


def test_moments_are_means_over_rows() -> None:
    draws = wrong_draws((2, 100, 3))
    found = first_moments(ps.Sample(draws, -draws), 20)
    x, s = (one.reshape(-1, 3) for one in standardised(draws))
    expected = np.zeros((3, 4))
    for row in range(len(x)):
        for left in range(3):
            expected[left, 0] += s[row, left] / len(x)
            for right in range(3):
                product = s[row, left] * x[row, right] + float(left == right)
                expected[left, 1 + right] += product / len(x)
    np.testing.assert_allclose(found.means, expected, rtol=1e-10, atol=1e-13)
    assert found.shown == [0, 1, 2]


def test_the_largest_moments_are_shown_first() -> None:
    draws = wrong_draws((400, 6))
    draws[:, 4] *= 3.0
    found = first_moments(ps.Sample(draws, -draws), 2)
    every = first_moments(ps.Sample(draws, -draws), 6)
    assert found.shown == [4, 1]
    np.testing.assert_allclose(found.means, every.means[[4, 1]][:, [0, 5, 2]], rtol=1e-10)


def test_far_moments_are_told_from_chance() -> None:
    draws = wrong_draws((4, 500, 3))
    found = first_moments(ps.Sample(draws, -draws), 3).beyond_chance
    assert found is not None
    expected = np.zeros((3, 4), dtype=bool)
    expected[1, [0, 2]] = True  # the mean and the sd of the second coordinate
    np.testing.assert_array_equal(found, expected)


def test_autocorrelation_widens_what_chance_explains() -> None:
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((4, 40, 2))
    repeated = np.repeat(draws, 25, axis=1) + 1e-6 * rng.standard_normal((4, 1000, 2))
    shuffled = rng.permutation(repeated, axis=1)
    found, without_order = (
        first_moments(ps.Sample(x, -x), 2).beyond_chance for x in (repeated, shuffled)
    )
    assert found is not None
    assert without_order is not None
    assert not found.any()
    assert without_order.any()


@pytest.mark.parametrize("shape", [(15, 2), (10, 1, 2)])
def test_few_rows_say_nothing_about_chance(shape: tuple[int, ...]) -> None:
    draws = wrong_draws(shape)
    assert first_moments(ps.Sample(draws, -draws), 2).beyond_chance is None


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_a_growing_chain_has_the_discrepancy_of_its_first_rows(structure: str) -> None:
    draws = wrong_draws((3, 120, 2))
    grown, square = growing_chains(ps.Sample(draws, -draws), 2, structure, 3)  # type: ignore[arg-type]
    x, s = standardised(draws)
    assert sorted(one.chain for one in grown) == [0, 1, 2]
    last = [one.values[-1] for one in grown]
    assert last == sorted(last, reverse=True)
    for one in grown:
        assert (one.rows[0], one.rows[-1]) == (10, 120)
        for rows, value in list(zip(one.rows, one.values, strict=True))[::7]:
            expected = ps.psd(
                x[one.chain, :rows],
                s[one.chain, :rows],
                order=2,
                structure=structure,  # type: ignore[arg-type]
            )
            assert value == pytest.approx(expected, rel=1e-10)
    assert square == pytest.approx(mean_square(x, s, structure), rel=1e-10)


def mean_square(x: Array, s: Array, structure: str) -> float:
    """The mean over rows of the squared norm of all Stein features of order 2."""
    total = 0.0
    x, s = x.reshape(-1, 2), s.reshape(-1, 2)
    for row in range(len(x)):
        for power in (1, 2):
            feature = np.outer(s[row], x[row] ** power) + power * np.diag(x[row] ** (power - 1))
            kept = feature if structure == "full" else np.diag(feature)
            total += float(np.sum(kept**2))
        total += float(np.sum(s[row] ** 2))
    return total / len(x)


def test_rows_without_weight_are_passed_over() -> None:
    draws = wrong_draws((2, 100, 2))
    weights = np.zeros((2, 100))
    weights[0, :30] = -np.inf
    weights[1] = -np.inf
    weights[1, -1] = -800.0
    grown, _ = growing_chains(ps.Sample(draws, -draws, log_weights=weights), 1, "full", 2)
    (only,) = [one for one in grown if one.chain == 0]
    assert only.rows[0] > 30
    assert np.isfinite(only.values).all()


def test_only_the_worst_chains_are_followed() -> None:
    draws = np.random.default_rng(0).standard_normal((30, 40, 2))
    draws[11] += 2.0
    grown, _ = growing_chains(ps.Sample(draws, -draws), 1, "full", 1)
    assert [one.chain for one in grown] == [11]
