"""Features at a finite set of locations and their power: the literal formulas, and the gradient."""

from functools import partial

import numpy as np
import pytest

from polystein.rivals.fssd_features import REGULARISER, FiniteSet, power_criterion
from tests.conftest import Array, arbitrary_rows
from tests.reference import fssd as literal


def test_features_are_the_literal_ones() -> None:
    draws, scores = arbitrary_rows(7, 3)
    chosen = FiniteSet(arbitrary_rows(4, 3, seed=1)[0], 1.7)
    expected = literal.taus(draws, scores, chosen.locations, 1.7)
    np.testing.assert_allclose(chosen.features(draws, scores), expected, rtol=1e-12, atol=1e-14)


def random_place(seed: int) -> tuple[Array, Array, Array, float]:
    draws, scores = arbitrary_rows(15, 3, seed=seed)
    locations = arbitrary_rows(4, 3, seed=seed + 100)[0]
    return draws, scores, locations, 0.5 + seed


@pytest.mark.parametrize("seed", range(4))
def test_the_criterion_is_the_literal_one(seed: int) -> None:
    draws, scores, locations, width = random_place(seed)
    expected = literal.power_criterion(literal.taus(draws, scores, locations, width), REGULARISER)
    found, _, _ = power_criterion(draws, scores, width, locations)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_that_of_finite_differences(seed: int) -> None:
    draws, scores, locations, width = random_place(seed)
    criterion = partial(power_criterion, draws, scores)
    _, by_width, by_locations = criterion(width, locations)

    def slope(step: Array, by: float) -> float:
        """Central differences at two steps, extrapolated: the error is of the fourth order."""
        rates = []
        for size in (1e-3, 5e-4):
            forth = criterion(width + size * by, locations + size * step)[0]
            back = criterion(width - size * by, locations - size * step)[0]
            rates.append((forth - back) / (2 * size))
        return (4 * rates[1] - rates[0]) / 3

    units = np.eye(locations.size).reshape(-1, *locations.shape)
    numerical = np.array([slope(unit, 0.0) for unit in units]).reshape(locations.shape)
    size = float(np.abs(by_locations).max())
    assert size > 1e-4
    np.testing.assert_allclose(by_locations, numerical, rtol=1e-6, atol=1e-6 * size)
    assert by_width == pytest.approx(slope(np.zeros_like(locations), 1.0), rel=1e-6, abs=1e-9)
